//! What can be wrong with settings, and with a connection that is tried on request.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use cupo_core::StoreError;
use thiserror::Error;

/// An error of the client library.
pub type Cause = Arc<dyn core::error::Error + Send + Sync>;

/// Why there is no store with these settings. No message shows a password.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum RedisError {
    /// The address begins with no scheme that is known.
    #[error(
        "the address begins with `{scheme}`; write redis://, rediss://, unix://, redis-sentinel://, rediss-sentinel://, redis-cluster:// or rediss-cluster://"
    )]
    Scheme {
        /// What it begins with.
        scheme: String,
    },
    /// The address names no server, or a server without a name.
    #[error("the address names no server; write redis://HOST:PORT")]
    NoHost,
    /// A port is not a number from 1 to 65535.
    #[error("`{port}` is not a port; write a number from 1 to 65535")]
    Port {
        /// What was written.
        port: String,
    },
    /// Several servers where one is meant.
    #[error(
        "{hosts} servers in the address of a single one; for several write redis-sentinel:// or redis-cluster://"
    )]
    SeveralHosts {
        /// How many.
        hosts: usize,
    },
    /// The database is not a number.
    #[error("`{database}` is not the number of a database; write redis://HOST:PORT/0")]
    Database {
        /// What was written.
        database: String,
    },
    /// A database other than 0 on a cluster, which has no other.
    #[error("a cluster has only database 0; database {database} was asked for")]
    ClusterDatabase {
        /// The number that was asked for.
        database: u32,
    },
    /// The name of the primary that the Sentinels watch is missing.
    #[error(
        "which primary do the Sentinels watch? write redis-sentinel://HOST:PORT,HOST:PORT/NAME or /NAME/DATABASE"
    )]
    NoMaster,
    /// A part of the address is not percent-encoded UTF-8.
    #[error("the {part} in the address is not percent-encoded UTF-8")]
    Encoding {
        /// Which part.
        part: &'static str,
    },
    /// The address goes on where it should have ended.
    #[error(
        "`{rest}` at the end of the address means nothing here; user, password and database go before it, all else into settings"
    )]
    Rest {
        /// What follows.
        rest: String,
    },
    /// The key prefix would disturb how a cluster spreads keys.
    #[error(
        "the key prefix `{prefix}` contains `{{`, by which a cluster chooses where keys live; leave it out"
    )]
    Prefix {
        /// The prefix.
        prefix: String,
    },
    /// A setting that has to be above zero, or below a bound.
    #[error("{setting} is {value}; it has to be from {least} to {most}")]
    Range {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: u64,
        /// The least value.
        least: u64,
        /// The greatest value.
        most: u64,
    },
    /// A time that has to be within bounds.
    #[error("{setting} is {value:?}; it has to be from {least:?} to {most:?}")]
    Time {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: Duration,
        /// The least value.
        least: Duration,
        /// The greatest value.
        most: Duration,
    },
    /// Certificates are given, but the address does not ask for TLS.
    #[error("certificates are given for a connection without TLS; write rediss:// in the address")]
    CertificatesWithoutTls,
    /// A client certificate without its key, or the other way round.
    #[error("a client certificate and its key come together; only one of them is given")]
    HalfClientCertificate,
    /// No certificate is in what should be the certificates of an authority.
    #[error("no certificate in the PEM of the authority; it should hold BEGIN CERTIFICATE")]
    NoAuthority,
    /// The certificates cannot be used.
    #[error("the certificates cannot be used: {source}")]
    Certificates {
        /// What is wrong.
        source: Cause,
    },
    /// A user without a password. The user is not shown, since what stands there may be meant for a password.
    #[error("a user without a password; a server asks for both (a password alone is written `:PASSWORD@`)")]
    NoPassword,
    /// An environment variable that should hold a secret does not.
    #[error("the environment variable {name} is not set or empty; it should hold the password")]
    SecretVariable {
        /// The variable.
        name: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Arc<std::io::Error>,
    },
    /// A file that should hold a secret is empty.
    #[error("{} is empty; it should hold the password", path.display())]
    EmptySecretFile {
        /// The file.
        path: PathBuf,
    },
    /// There is no tokio runtime to connect in.
    #[error("no tokio runtime here; make the store inside of one")]
    NoRuntime,
    /// The connection was tried and failed.
    #[error("{server}: {source}")]
    Connection {
        /// The server, without user and password.
        server: String,
        /// Why.
        source: ConnectionError,
    },
}

/// Why a server is of no use.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// Nothing answered in time.
    #[error("no answer within {0:?}; is the address right, and does a firewall drop it?")]
    Silent(Duration),
    /// The connection could not be made, or it broke.
    #[error("{0}")]
    Failed(Cause),
    /// It is a Sentinel.
    #[error("this is a Sentinel; write redis-sentinel://HOST:PORT/NAME")]
    IsSentinel,
    /// It is no Sentinel.
    #[error("this is not a Sentinel; write redis://HOST:PORT for a single server")]
    IsNoSentinel,
    /// It is a node of a cluster.
    #[error("this is a node of a cluster; write redis-cluster://HOST:PORT")]
    IsCluster,
    /// It is not a node of a cluster.
    #[error("this is not a node of a cluster; write redis://HOST:PORT for a single server")]
    IsNoCluster,
    /// It is a replica.
    #[error("this is a replica; write the address of its primary, or of the Sentinels that know it")]
    IsReplica,
    /// It is older than what the scripts need.
    #[error("version {version} is too old; Redis 6.2 or Valkey is needed")]
    TooOld {
        /// Its version.
        version: String,
    },
    /// It answered in a way that is not understood.
    #[error("the answer to {0} is not understood; is this Redis or Valkey?")]
    Answer(&'static str),
    /// No Sentinel knows the primary.
    #[error("no Sentinel knows a primary called `{master}`; correct the name")]
    UnknownMaster {
        /// The name that was asked for.
        master: String,
    },
    /// None of the nodes that were given could be asked for the layout of the cluster.
    #[error("none of the {0} nodes told the layout of the cluster")]
    NoLayout(usize),
    /// The server answers but refuses what a check needs.
    #[error(transparent)]
    Store(StoreError),
}
