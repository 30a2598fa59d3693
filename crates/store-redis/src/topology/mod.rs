//! The servers behind the store: one that is found somehow, or a cluster of them.

mod cluster;
mod layout;

use std::sync::Arc;

use cupo_core::StoreError;
use parking_lot::Mutex;
use redis::Value;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::codec::Call;
use crate::connect::{Login, Opener};
use crate::error::{ConnectionError, RedisError};
use crate::find::{Finder, Sentinels};
use crate::name::SLOTS;
use crate::node::{Connection, Node};
use crate::script::Script;
use crate::settings::{Address, Deployment, RedisSettings};
use cluster::Cluster;

/// The servers.
#[derive(Debug)]
pub(crate) enum Topology {
    /// One server holds all keys.
    Single(Node),
    /// Each slot of keys has its server.
    Cluster(Cluster),
}

impl Topology {
    pub(crate) fn new(settings: &RedisSettings, runtime: &Handle) -> Result<Self, RedisError> {
        let opener = Arc::new(Opener::new(settings)?);
        let login = Login {
            username: settings.username.clone(),
            password: settings.password.clone(),
            database: settings.database,
        };
        if let Deployment::Cluster(seeds) = &settings.deployment {
            return Ok(Self::Cluster(Cluster::new(seeds.clone(), opener, login, settings, runtime)));
        }
        let finder = finder(&settings.deployment);
        Ok(Self::Single(Node::new(finder, opener, login, settings, runtime)))
    }

    pub(crate) const fn slots(&self) -> u16 {
        match self {
            Self::Single(_) => 1,
            Self::Cluster(_) => SLOTS,
        }
    }

    /// Why a check of this slot need not be sent now, if so.
    pub(crate) fn refuses(&self, slot: u16) -> Option<StoreError> {
        match self {
            Self::Single(node) => node.refuses(),
            Self::Cluster(cluster) => cluster.refuses(slot),
        }
    }

    pub(crate) async fn call(
        &self,
        slot: u16,
        script: &Script,
        call: &Call,
        until: Instant,
    ) -> Result<Value, StoreError> {
        match self {
            Self::Single(node) => node.call(script, call, false, until).await.map_err(|f| f.store_error()),
            Self::Cluster(cluster) => cluster.call(slot, script, call, until).await,
        }
    }

    pub(crate) async fn command(
        &self,
        slot: u16,
        command: &redis::Cmd,
        until: Instant,
    ) -> Result<Value, StoreError> {
        match self {
            Self::Single(node) => {
                node.command(command, until).await.map(|(value, _)| value).map_err(|f| f.store_error())
            }
            Self::Cluster(cluster) => cluster.command(slot, command, until).await,
        }
    }

    /// Every server that is known, with its connection and whether it is left alone.
    pub(crate) fn servers(&self) -> Vec<(Connection, bool)> {
        match self {
            Self::Single(node) => vec![(node.connection(), node.is_resting())],
            Self::Cluster(cluster) => {
                cluster.nodes().iter().map(|node| (node.connection(), node.is_resting())).collect()
            }
        }
    }
}

fn finder(deployment: &Deployment) -> Finder {
    match deployment {
        Deployment::Standalone(address) => Finder::Fixed(address.clone()),
        Deployment::Sentinel { sentinels, master, username, password } => Finder::Sentinels(Sentinels {
            master: master.clone(),
            login: Login { username: username.clone(), password: password.clone(), database: 0 },
            addresses: Mutex::new(sentinels.clone()),
        }),
        Deployment::Cluster(seeds) => Finder::ClusterNode(
            seeds.first().cloned().unwrap_or(Address::Tcp { host: "localhost".to_owned(), port: 6379 }),
        ),
    }
}

/// Connects once, in the foreground, and tells what is there. Every address of a cluster is tried until one answers.
pub(crate) async fn try_connection(settings: &RedisSettings) -> Result<String, RedisError> {
    settings.validate()?;
    let opener = Opener::new(settings)?;
    let login = Login {
        username: settings.username.clone(),
        password: settings.password.clone(),
        database: settings.database,
    };
    let finders: Vec<Finder> = match &settings.deployment {
        Deployment::Cluster(seeds) => seeds.iter().cloned().map(Finder::ClusterNode).collect(),
        other => vec![finder(other)],
    };
    let mut failure = None;
    for finder in finders {
        let server = finder.label();
        match one(&finder, &opener, &login).await {
            Ok(found) => return Ok(found),
            Err(source) => failure = failure.or(Some(RedisError::Connection { server, source })),
        }
    }
    Err(failure.unwrap_or(RedisError::NoHost))
}

async fn one(finder: &Finder, opener: &Opener, login: &Login) -> Result<String, ConnectionError> {
    let (_connection, address) = finder.connect(opener, login).await?;
    Ok(address.to_string())
}
