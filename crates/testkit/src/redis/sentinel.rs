//! A master, a replica of it, and three sentinels that watch both.

use std::collections::BTreeMap;

use rustix::process::Signal;
use tempfile::TempDir;

use super::binary::redis_server;
use super::client::{Client, Reply};
use super::port::free_port;
use super::process::Process;
use super::server::RedisServer;
use super::wait::until;

/// A trio of sentinels with the servers that they watch.
#[derive(Debug)]
pub struct SentinelTrio {
    servers: [RedisServer; 2],
    sentinels: Vec<Sentinel>,
}

#[derive(Debug)]
struct Sentinel {
    process: Process,
    port: u16,
    _folder: TempDir,
}

impl SentinelTrio {
    /// The name that the sentinels know the master by.
    pub const MASTER: &'static str = "cupo-master";

    /// Starts all and waits until a failover would succeed.
    ///
    /// # Panics
    /// Where they do not start.
    #[must_use]
    pub fn start() -> Self {
        // Without the delay of 0 a new replica waits 5 s for its first copy, and cannot replace a master until then.
        let server = || RedisServer::standalone().config("repl-diskless-sync-delay", 0);
        let master = server().start();
        let replica = server().config("replicaof", format!("127.0.0.1 {}", master.port())).start();
        until("the replica has its copy", || {
            (replica.info("replication", "master_link_status") == "up").then_some(())
        });
        let sentinels = (0..3).map(|_| Sentinel::start(master.port())).collect();
        let trio = Self { servers: [master, replica], sentinels };
        for sentinel in &trio.sentinels {
            until("the sentinels know each other and the replica", || {
                let master = sentinel.master()?;
                let known = |field: &str| master.get(field).and_then(|n| n.parse().ok()).unwrap_or(0);
                let all = known("num-slaves") == 1 && known("num-other-sentinels") == 2;
                (all && master.get("flags").is_some_and(|flags| flags == "master")).then_some(())
            });
        }
        trio
    }

    /// The ports of the sentinels.
    #[must_use]
    pub fn sentinel_ports(&self) -> Vec<u16> {
        self.sentinels.iter().map(|sentinel| sentinel.port).collect()
    }

    /// The port of the master, as most sentinels see it.
    ///
    /// # Panics
    /// Where no sentinel answers.
    #[must_use]
    pub fn master_port(&self) -> u16 {
        let mut votes: BTreeMap<u16, usize> = BTreeMap::new();
        for port in self.sentinels.iter().filter_map(Sentinel::master_port) {
            *votes.entry(port).or_default() += 1;
        }
        votes.into_iter().max_by_key(|&(_, votes)| votes).expect("a sentinel answers").0
    }

    /// The server that was started as the master (0) or as the replica (1).
    pub fn server(&mut self, number: usize) -> &mut RedisServer {
        &mut self.servers[number]
    }

    /// The server that is the master now.
    ///
    /// # Panics
    /// Where no sentinel answers.
    pub fn master(&mut self) -> &mut RedisServer {
        let port = self.master_port();
        self.servers.iter_mut().find(|server| server.port() == port).expect("one of ours")
    }

    /// Waits until the sentinels have agreed on another master than the one on `port`, and it accepts writes; its port.
    ///
    /// # Panics
    /// Where that does not come about.
    pub fn until_replaced(&mut self, port: u16) -> u16 {
        until("the master is replaced", || {
            let all: Vec<_> = self.sentinels.iter().filter_map(Sentinel::master_port).collect();
            let first = *all.first()?;
            if first == port || all.iter().any(|&other| other != first) {
                return None;
            }
            let role = self.master().connect().info("replication").remove("role")?;
            (role == "master").then_some(first)
        })
    }

    /// Kills sentinel `number` with SIGKILL.
    pub fn kill_sentinel(&mut self, number: usize) {
        self.sentinels[number].process.kill();
    }

    /// Pauses sentinel `number` with SIGSTOP.
    pub fn pause_sentinel(&mut self, number: usize) {
        self.sentinels[number].process.signal(Signal::STOP);
    }

    /// Lets a paused sentinel go on.
    pub fn resume_sentinel(&mut self, number: usize) {
        self.sentinels[number].process.signal(Signal::CONT);
    }
}

impl Sentinel {
    fn start(master: u16) -> Self {
        for _ in 0..10 {
            let port = free_port();
            let folder = tempfile::Builder::new().prefix("cupo-sentinel-").tempdir().unwrap();
            let name = SentinelTrio::MASTER;
            let config = format!(
                "port {port}\nbind 127.0.0.1\ndaemonize no\ndir {}\nsentinel monitor {name} 127.0.0.1 {master} 2\n\
                 sentinel down-after-milliseconds {name} 1000\nsentinel failover-timeout {name} 5000\n\
                 sentinel parallel-syncs {name} 1\n",
                folder.path().display()
            );
            let file = folder.path().join("sentinel.conf");
            std::fs::write(&file, config).unwrap();
            let arguments = [file.as_os_str(), "--sentinel".as_ref()];
            let mut process = Process::spawn(&redis_server(), &arguments, &folder.path().join("log"));
            let lives = until("the sentinel answers", || {
                if process.has_ended() {
                    return Some(false);
                }
                Client::tcp(port).ok()?.try_command(&["PING"]).ok().map(|_| true)
            });
            if lives {
                return Self { process, port, _folder: folder };
            }
        }
        panic!("no free port for a sentinel in ten tries");
    }

    fn master(&self) -> Option<BTreeMap<String, String>> {
        let reply =
            Client::tcp(self.port).ok()?.try_command(&["SENTINEL", "MASTER", SentinelTrio::MASTER]).ok()?;
        let Reply::Array(fields) = reply else { return None };
        Some(
            fields
                .chunks_exact(2)
                .map(|pair| (pair[0].text().to_owned(), pair[1].text().to_owned()))
                .collect(),
        )
    }

    fn master_port(&self) -> Option<u16> {
        self.master()?.get("port")?.parse().ok()
    }
}
