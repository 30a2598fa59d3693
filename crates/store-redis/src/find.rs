//! Finds the primary: at a fixed address, or by asking Sentinels.

use parking_lot::Mutex;
use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::time::timeout;

use crate::connect::{Hello, Login, Mode, Opener, text};
use crate::error::ConnectionError;
use crate::settings::Address;

/// How to find the server that a node stands for.
#[derive(Debug)]
pub(crate) enum Finder {
    /// A single server, which has to be a primary.
    Fixed(Address),
    /// A node of a cluster, primary or not: replicas say where the primary is.
    ClusterNode(Address),
    /// The primary that Sentinels know.
    Sentinels(Sentinels),
}

/// Sentinels, and the name under which they know the primary.
#[derive(Debug)]
pub(crate) struct Sentinels {
    pub(crate) master: String,
    pub(crate) login: Login,
    /// The one that answered last goes first.
    pub(crate) addresses: Mutex<Vec<Address>>,
}

impl Finder {
    /// The address, if the server is there where it was always.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Fixed(address) | Self::ClusterNode(address) => address.to_string(),
            Self::Sentinels(sentinels) => sentinels.master.clone(),
        }
    }

    /// Where the server is now.
    pub(crate) async fn find(&self, opener: &Opener) -> Result<Address, ConnectionError> {
        match self {
            Self::Fixed(address) | Self::ClusterNode(address) => Ok(address.clone()),
            Self::Sentinels(sentinels) => sentinels.primary(opener).await,
        }
    }

    /// A connection to the server, which is of the right kind.
    pub(crate) async fn connect(
        &self,
        opener: &Opener,
        login: &Login,
    ) -> Result<(MultiplexedConnection, Address), ConnectionError> {
        let address = self.find(opener).await?;
        let (connection, hello) = opener.open(&address, login).await?;
        self.accept(&hello)?;
        Ok((connection, address))
    }

    /// Whether a server that says this is one to work with.
    pub(crate) fn accept(&self, hello: &Hello) -> Result<(), ConnectionError> {
        match (self, hello.mode) {
            (_, Mode::Sentinel) => Err(ConnectionError::IsSentinel),
            (Self::Fixed(_) | Self::Sentinels(_), Mode::Cluster) => Err(ConnectionError::IsCluster),
            (Self::ClusterNode(_), Mode::Standalone) => Err(ConnectionError::IsNoCluster),
            (Self::Fixed(_) | Self::Sentinels(_), Mode::Standalone) if hello.is_replica => {
                Err(ConnectionError::IsReplica)
            }
            _ => Ok(()),
        }
    }
}

impl Sentinels {
    /// The first answer counts. Whether it is a primary is seen when it is connected to.
    async fn primary(&self, opener: &Opener) -> Result<Address, ConnectionError> {
        let addresses = self.addresses.lock().clone();
        let mut failure = ConnectionError::UnknownMaster { master: self.master.clone() };
        for address in addresses {
            match self.ask(opener, &address).await {
                Ok(Some(primary)) => {
                    let mut order = self.addresses.lock();
                    if let Some(i) = order.iter().position(|other| *other == address) {
                        order.swap(0, i);
                    }
                    return Ok(primary);
                }
                Ok(None) => failure = ConnectionError::UnknownMaster { master: self.master.clone() },
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn ask(&self, opener: &Opener, address: &Address) -> Result<Option<Address>, ConnectionError> {
        let (mut connection, hello) = opener.open(address, &self.login).await?;
        if hello.mode != Mode::Sentinel {
            return Err(ConnectionError::IsNoSentinel);
        }
        let mut command = redis::cmd("SENTINEL");
        command.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.master);
        let within = opener.within();
        let answer: Value = match timeout(within, command.query_async(&mut connection)).await {
            Ok(answer) => answer.map_err(|error| crate::fault::connection_error(error, within))?,
            Err(_) => return Err(ConnectionError::Silent(within)),
        };
        match answer {
            Value::Nil => Ok(None),
            Value::Array(parts) => match parts.as_slice() {
                [host, port] => {
                    let port = text(port).and_then(|port| port.parse().ok());
                    let (Some(host), Some(port)) = (text(host), port) else {
                        return Err(ConnectionError::Answer("SENTINEL GET-MASTER-ADDR-BY-NAME"));
                    };
                    Ok(Some(Address::Tcp { host: host.to_owned(), port }))
                }
                _ => Err(ConnectionError::Answer("SENTINEL GET-MASTER-ADDR-BY-NAME")),
            },
            _ => Err(ConnectionError::Answer("SENTINEL GET-MASTER-ADDR-BY-NAME")),
        }
    }
}
