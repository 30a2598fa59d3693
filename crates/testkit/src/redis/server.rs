//! One server.

use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::path::PathBuf;

use parking_lot::{Mutex, MutexGuard};
use rustix::process::Signal;
use tempfile::TempDir;

use super::binary::redis_server;
use super::client::{Client, Reply};
use super::port::free_port;
use super::process::Process;
use super::wait::until;

/// How a server is to be.
#[derive(Debug, Clone)]
pub struct Builder {
    binary: Option<PathBuf>,
    password: Option<String>,
    users: Option<String>,
    config: Vec<(String, String)>,
    #[cfg(feature = "tls")]
    tls: Option<super::tls::Certificates>,
}

/// The user that this kit itself comes as where there is an ACL file.
const KIT: &str = "cupo-testkit";

impl Builder {
    /// Another binary than the `redis-server` of the search path, such as [`valkey_server`](super::valkey_server)'s.
    #[must_use]
    pub fn binary(mut self, binary: impl Into<PathBuf>) -> Self {
        self.binary = Some(binary.into());
        self
    }

    /// A password for the default user.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// An ACL file of these lines, such as `user cupo on >secret ~cupo:* +@all`. Without a line for it, the default user
    /// is off.
    #[must_use]
    pub fn users(mut self, lines: &str) -> Self {
        self.users = Some(lines.to_owned());
        self
    }

    /// A line of the configuration.
    #[must_use]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "numbers and texts, not references to them, are what is written"
    )]
    pub fn config(mut self, name: &str, value: impl ToString) -> Self {
        self.config.push((name.to_owned(), value.to_string()));
        self
    }

    /// A TLS port beside the plain one, with certificates of its own: the client has to show one.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = Some(super::tls::Certificates::generate());
        self
    }

    /// Starts it and waits until it answers.
    ///
    /// # Panics
    /// Where it does not start.
    #[must_use]
    pub fn start(self) -> RedisServer {
        RedisServer::start(&self)
    }
}

/// Calls of a command since the last [`reset_stats`](RedisServer::reset_stats).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommandStat {
    /// How often it ran.
    pub calls: u64,
    /// Microseconds that it took in all.
    pub micros: u64,
}

/// A private server on 127.0.0.1, which is gone when this value is dropped.
#[derive(Debug)]
pub struct RedisServer {
    process: Option<Process>,
    builder: Builder,
    port: u16,
    #[cfg(feature = "tls")]
    tls_port: u16,
    admin: Mutex<Option<Client>>,
    folder: TempDir,
}

impl RedisServer {
    /// A server for itself, to be configured and started.
    #[must_use]
    pub fn standalone() -> Builder {
        Builder {
            binary: None,
            password: None,
            users: None,
            config: Vec::new(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    fn start(builder: &Builder) -> Self {
        // Somebody else may take a free port first: then this one ends, and another is tried.
        for _ in 0..10 {
            let mut server = Self {
                process: None,
                builder: builder.clone(),
                port: free_port(),
                #[cfg(feature = "tls")]
                tls_port: free_port(),
                admin: Mutex::new(None),
                folder: tempfile::Builder::new().prefix("cupo-redis-").tempdir().unwrap(),
            };
            if server.launch() {
                return server;
            }
            let log = std::fs::read_to_string(server.folder.path().join("log")).unwrap_or_default();
            assert!(log.contains("Address already in use") || log.contains("bind"), "no server: {log}");
        }
        panic!("no free port in ten tries");
    }

    /// Starts the process; whether it lives.
    fn launch(&mut self) -> bool {
        let path = self.folder.path();
        let mut lines = vec![
            format!("port {}", self.port),
            "bind 127.0.0.1".to_owned(),
            "daemonize no".to_owned(),
            format!("dir {}", path.display()),
            format!("unixsocket {}", self.unix_socket().display()),
            "save \"\"".to_owned(),
            "appendonly no".to_owned(),
        ];
        if let Some(password) = &self.builder.password {
            lines.push(format!("requirepass {password}"));
        }
        if let Some(users) = &self.builder.users {
            let mut users = users.clone();
            if !users.lines().any(|line| line.starts_with("user default ")) {
                users.push_str("\nuser default off");
            }
            let file = path.join("users.acl");
            std::fs::write(&file, format!("{users}\nuser {KIT} on nopass ~* &* +@all\n")).unwrap();
            lines.push(format!("aclfile {}", file.display()));
        }
        #[cfg(feature = "tls")]
        if let Some(certificates) = &self.builder.tls {
            lines.push(format!("tls-port {}", self.tls_port));
            lines.extend(certificates.write(path));
        }
        lines.extend(self.builder.config.iter().map(|(name, value)| format!("{name} {value}")));
        let file = path.join("redis.conf");
        std::fs::write(&file, lines.join("\n")).unwrap();
        let binary = self.builder.binary.clone().unwrap_or_else(redis_server);
        self.process = Some(Process::spawn(&binary, &[&file], &path.join("log")));
        *self.admin.lock() = None;
        until("the server answers", || {
            if self.process.as_mut().is_none_or(Process::has_ended) {
                return Some(false);
            }
            let mut client = Client::unix(&self.unix_socket()).ok()?;
            self.authenticate(&mut client)?;
            // While it loads its data it says so in an error.
            (client.try_command(&["PING"]).ok()?.eq(&Reply::Bytes(b"PONG".to_vec()))).then_some(true)
        })
    }

    fn authenticate(&self, client: &mut Client) -> Option<()> {
        let reply = match (&self.builder.users, &self.builder.password) {
            (Some(_), _) => client.try_command(&["AUTH", KIT, "none"]),
            (None, Some(password)) => client.try_command(&["AUTH", password]),
            (None, None) => return Some(()),
        };
        matches!(reply, Ok(Reply::Bytes(_))).then_some(())
    }

    /// The plain port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port that speaks TLS.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls_port(&self) -> u16 {
        self.tls_port
    }

    /// The certificates of the TLS port.
    ///
    /// # Panics
    /// Where the server was built without.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn certificates(&self) -> &super::tls::Certificates {
        self.builder.tls.as_ref().unwrap()
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `redis://127.0.0.1:PORT`, with the default user's password if there is one.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.builder.password {
            Some(password) => format!("redis://:{password}@127.0.0.1:{}", self.port),
            None => format!("redis://127.0.0.1:{}", self.port),
        }
    }

    /// The Unix socket.
    #[must_use]
    pub fn unix_socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::id)
    }

    /// What the server has logged.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A new connection that may do everything.
    ///
    /// # Panics
    /// Where the server does not answer.
    #[must_use]
    pub fn connect(&self) -> Client {
        let mut client = Client::unix(&self.unix_socket()).unwrap();
        self.authenticate(&mut client).expect("the server lets the kit in");
        client
    }

    /// Runs a command.
    ///
    /// # Panics
    /// Where the server does not answer or replies with an error.
    pub fn command<A: AsRef<[u8]>>(&self, words: &[A]) -> Reply {
        self.session().command(words)
    }

    /// Holds the connection that [`command`](Self::command) uses, for many commands in a row.
    ///
    /// # Panics
    /// Where the server does not answer.
    pub fn session(&self) -> impl DerefMut<Target = Client> + '_ {
        let mut admin = self.admin.lock();
        // A server that changes its role hangs up on everybody.
        admin.take_if(|client| client.try_command(&["PING"]).is_err());
        MutexGuard::map(admin, |admin| admin.get_or_insert_with(|| self.connect()))
    }

    /// A field of `INFO`.
    ///
    /// # Panics
    /// Where there is no such field.
    #[must_use]
    pub fn info(&self, section: &str, field: &str) -> String {
        let mut info = self.session().info(section);
        info.remove(field).unwrap_or_else(|| panic!("no {field} in {section}"))
    }

    /// Calls per command since the last [`reset_stats`](Self::reset_stats), by lower-case name.
    #[must_use]
    pub fn command_stats(&self) -> BTreeMap<String, CommandStat> {
        let parse = |value: &str, name: &str| -> u64 {
            let number = value.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            number.unwrap().parse().unwrap()
        };
        let info = self.session().info("commandstats");
        info.iter()
            .filter_map(|(field, value)| {
                let name = field.strip_prefix("cmdstat_")?.to_owned();
                Some((name, CommandStat { calls: parse(value, "calls"), micros: parse(value, "usec") }))
            })
            .collect()
    }

    /// Sets the counters of [`command_stats`](Self::command_stats) back.
    pub fn reset_stats(&self) {
        self.command(&["CONFIG", "RESETSTAT"]);
    }

    /// Deletes all keys.
    pub fn flush(&self) {
        self.command(&["FLUSHALL", "SYNC"]);
    }

    /// Kills the process with SIGKILL. Its port stays reserved for [`restart`](Self::restart).
    pub fn kill9(&mut self) {
        self.process = None;
        *self.admin.lock() = None;
    }

    /// Stops the process with SIGSTOP: connections stay open and nothing is answered.
    pub fn pause(&mut self) {
        self.process.iter_mut().for_each(|process| process.signal(Signal::STOP));
    }

    /// Lets a paused process go on.
    pub fn resume(&mut self) {
        self.process.iter_mut().for_each(|process| process.signal(Signal::CONT));
    }

    /// Starts it again on the same ports, after killing it if it still runs.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn restart(&mut self) {
        self.kill9();
        // The kernel may hold the port for a moment.
        until("the server starts again", || self.launch().then_some(()));
    }

    /// Every key has a time to live.
    ///
    /// # Panics
    /// Where one has none.
    pub fn assert_every_key_has_a_ttl(&self) {
        let mut session = self.session();
        let mut cursor = "0".to_owned();
        loop {
            let reply = session.command(&["SCAN", &cursor, "COUNT", "1000"]);
            for key in reply.array()[1].array() {
                let ttl = session.command(&[b"PTTL", key.bytes()]).int();
                assert!(ttl != -1, "{} lives for ever", key.bytes().escape_ascii());
            }
            reply.array()[0].text().clone_into(&mut cursor);
            if cursor == "0" {
                return;
            }
        }
    }
}
