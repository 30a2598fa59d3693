//! Where the server is and how the store behaves towards it.

use core::time::Duration;
use std::path::PathBuf;

use crate::error::RedisError;
use crate::secret::Secret;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A host name or address, and a port.
    Tcp {
        /// The host; an IPv6 address without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// A socket in the file system.
    Unix(PathBuf),
}

impl core::fmt::Display for Address {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// How the servers stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deployment {
    /// One server, or one address that always leads to the primary.
    Standalone(Address),
    /// A primary and its replicas, watched by Sentinels.
    Sentinel {
        /// The Sentinels.
        sentinels: Vec<Address>,
        /// The name under which they know the primary.
        master: String,
        /// User at the Sentinels, where they ask for one.
        username: Option<String>,
        /// Password at the Sentinels, where they ask for one.
        password: Option<Secret>,
    },
    /// A cluster, found through any of these nodes.
    Cluster(Vec<Address>),
}

/// TLS: on or off, and whose certificates count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// Whether connections are encrypted. Certificates and host names are always verified.
    pub enabled: bool,
    /// The certificate authority that signs the servers' certificates, as PEM; the system's if not given.
    pub ca: Option<Vec<u8>>,
    /// This client's certificate chain, as PEM, for servers that ask for one.
    pub client_certificate: Option<Vec<u8>>,
    /// The key of the client's certificate, as PEM.
    pub client_key: Option<Secret>,
}

/// When the store stops asking a server that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Calls to the server that fail in a row until it is left alone; 1 to 1,000.
    pub failures: u32,
    /// How long it is left alone before one check may try again; 1 ms to 60 s.
    pub rest: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 3, rest: Duration::from_millis(250) }
    }
}

/// By whose clock the store decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreClock {
    /// By the server's, so that the clocks of those who ask do not matter.
    #[default]
    Server,
    /// By the instants given by the caller: for replays and tests in virtual time. Checks are sent one by one, and denials
    /// are not cached.
    Caller,
}

/// Everything about a Redis or Valkey store. Make one from an address and change what should differ.
///
/// ```
/// use core::time::Duration;
/// use cupo_store_redis::RedisSettings;
///
/// let mut settings = RedisSettings::from_url("redis://cupo:secret@10.0.0.7:6379/2")?;
/// settings.deadline = Duration::from_millis(20);
/// assert!(!format!("{settings:?}").contains("secret"));
/// # Ok::<(), cupo_store_redis::RedisError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisSettings {
    /// The servers.
    pub deployment: Deployment,
    /// The ACL user; the server's default user if not given.
    pub username: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// The number of the database; a cluster has only 0.
    pub database: u32,
    /// What every key in the server begins with; `cupo:` unless said otherwise.
    pub prefix: String,
    /// Encryption.
    pub tls: Tls,
    /// The longest that a check may take before it is [`Timeout`](cupo_core::StoreError::Timeout); 50 ms unless said
    /// otherwise, 1 ms to 60 s.
    pub deadline: Duration,
    /// The longest that making a connection may take; 1 s unless said otherwise. No check waits for longer than its deadline.
    pub connect_timeout: Duration,
    /// Checks that may wait for the store at once, 1 to 1,000,000; more are
    /// [`Overloaded`](cupo_core::StoreError::Overloaded) at once. 10,000 unless said otherwise.
    pub max_waiters: usize,
    /// Checks in one call of the script, 1 to 500; more make larger calls, which nobody else's commands can overtake in the
    /// server. 128 unless said otherwise.
    pub batch_max: usize,
    /// Calls under way at once on a connection (on a cluster: per slot), 1 to 64; 2 unless said otherwise. Another begins only
    /// while those under way are small, or when enough checks wait to fill it.
    pub calls_in_flight: usize,
    /// Whether denials are answered from memory while they certainly hold, for a second at most. On unless said otherwise.
    pub denial_cache: bool,
    /// When the store stops asking.
    pub breaker: BreakerSettings,
    /// By whose clock the store decides.
    pub clock: StoreClock,
}

impl RedisSettings {
    /// The defaults for a deployment.
    #[must_use]
    pub fn new(deployment: Deployment) -> Self {
        Self {
            deployment,
            username: None,
            password: None,
            database: 0,
            prefix: "cupo:".to_owned(),
            tls: Tls::default(),
            deadline: Duration::from_millis(50),
            connect_timeout: Duration::from_secs(1),
            max_waiters: 10_000,
            batch_max: 128,
            calls_in_flight: 2,
            denial_cache: true,
            breaker: BreakerSettings::default(),
            clock: StoreClock::Server,
        }
    }

    /// The defaults for the servers that `url` names:
    ///
    /// - `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, and `rediss://` for TLS;
    /// - `unix:///PATH` of a socket;
    /// - `redis-sentinel://[USER:PASSWORD@]HOST[:PORT],…/NAME[/DATABASE]`, and `rediss-sentinel://` (port 26379 if none);
    /// - `redis-cluster://[USER:PASSWORD@]HOST[:PORT],…`, and `rediss-cluster://`.
    ///
    /// `valkey` may stand for `redis`. User, password and the name are percent-encoded.
    ///
    /// # Errors
    /// [`RedisError`] says what is wrong with it.
    pub fn from_url(url: &str) -> Result<Self, RedisError> {
        crate::url::parse(url)
    }

    /// Whether the store can work with these settings.
    ///
    /// # Errors
    /// [`RedisError`] says which setting is wrong.
    pub fn validate(&self) -> Result<(), RedisError> {
        let count = |setting, value: usize, most: u64| {
            let value = u64::try_from(value).unwrap_or(u64::MAX);
            let range = RedisError::Range { setting, value, least: 1, most };
            if (1..=most).contains(&value) { Ok(()) } else { Err(range) }
        };
        count("max_waiters", self.max_waiters, 1_000_000)?;
        count("batch_max", self.batch_max, 500)?;
        count("calls_in_flight", self.calls_in_flight, 64)?;
        count("breaker.failures", usize::try_from(self.breaker.failures).unwrap_or(usize::MAX), 1_000)?;
        for (setting, value) in [
            ("deadline", self.deadline),
            ("connect_timeout", self.connect_timeout),
            ("breaker.rest", self.breaker.rest),
        ] {
            let (least, most) = (Duration::from_millis(1), Duration::from_secs(60));
            if !(least..=most).contains(&value) {
                return Err(RedisError::Time { setting, value, least, most });
            }
        }
        match &self.deployment {
            Deployment::Standalone(Address::Unix(_)) if self.tls.enabled => return Err(RedisError::NoHost),
            Deployment::Standalone(_) => {}
            Deployment::Sentinel { sentinels: servers, master, .. } => {
                if servers.is_empty() {
                    return Err(RedisError::NoHost);
                }
                if master.is_empty() {
                    return Err(RedisError::NoMaster);
                }
            }
            Deployment::Cluster(servers) => {
                if servers.is_empty() {
                    return Err(RedisError::NoHost);
                }
                if self.database != 0 {
                    return Err(RedisError::ClusterDatabase { database: self.database });
                }
                if self.prefix.contains('{') {
                    return Err(RedisError::Prefix { prefix: self.prefix.clone() });
                }
            }
        }
        if self.username.is_some() && self.password.is_none() {
            return Err(RedisError::NoPassword);
        }
        let Tls { enabled, ca, client_certificate, client_key } = &self.tls;
        if !enabled && (ca.is_some() || client_certificate.is_some() || client_key.is_some()) {
            return Err(RedisError::CertificatesWithoutTls);
        }
        if client_certificate.is_some() != client_key.is_some() {
            return Err(RedisError::HalfClientCertificate);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
