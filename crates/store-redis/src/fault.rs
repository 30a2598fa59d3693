//! What an error of the client library means to a store.

use core::time::Duration;
use std::sync::Arc;

use cupo_core::{Refusal, StoreError};
use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::error::ConnectionError;

/// What went wrong with a call, and what follows.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server does not know the script: nothing ran.
    NoScript,
    /// The slot lives at another node for good: nothing ran.
    Moved(String),
    /// The slot is on its way to another node, which has these keys: nothing ran.
    Ask(String),
    /// The keys are on their way: nothing ran, and soon it will.
    TryAgain,
    /// Nothing was heard in time; it may have run.
    Timeout,
    /// The connection broke; it may have run.
    Broken,
    /// The server refused: nothing ran.
    Refused(Refusal),
}

impl Fault {
    pub(crate) fn of(error: &RedisError) -> Self {
        let node = || error.redirect_node().map(|(address, _)| address.to_owned());
        match error.kind() {
            ErrorKind::Server(kind) => match kind {
                ServerErrorKind::NoScript => Self::NoScript,
                ServerErrorKind::Moved => node().map_or(Self::Refused(Refusal::Protocol), Self::Moved),
                ServerErrorKind::Ask => node().map_or(Self::Refused(Refusal::Protocol), Self::Ask),
                ServerErrorKind::TryAgain => Self::TryAgain,
                ServerErrorKind::BusyLoading => Self::Refused(Refusal::Loading),
                ServerErrorKind::ReadOnly => Self::Refused(Refusal::ReadOnly),
                ServerErrorKind::ClusterDown | ServerErrorKind::MasterDown => {
                    Self::Refused(Refusal::ClusterDown)
                }
                ServerErrorKind::NoPerm => Self::Refused(Refusal::NoPermission),
                _ => Self::Refused(refusal_in(error)),
            },
            ErrorKind::Extension => Self::Refused(refusal_in(error)),
            ErrorKind::AuthenticationFailed => Self::Refused(Refusal::Unauthenticated),
            ErrorKind::Io if error.is_timeout() => Self::Timeout,
            // Half a reply, or bytes that are none: nothing that comes after them on this connection can be trusted.
            ErrorKind::Io | ErrorKind::Parse => Self::Broken,
            _ => Self::Refused(Refusal::Protocol),
        }
    }

    pub(crate) fn store_error(&self) -> StoreError {
        match self {
            Self::Timeout => StoreError::Timeout,
            Self::Broken => StoreError::Unavailable,
            Self::Refused(refusal) => StoreError::Refused(*refusal),
            Self::NoScript => StoreError::Refused(Refusal::Protocol),
            Self::Moved(_) | Self::Ask(_) | Self::TryAgain => StoreError::Refused(Refusal::ClusterDown),
        }
    }
}

/// Errors that the client library has no word for. An error inside a script may carry the code of what the script was refused.
fn refusal_in(error: &RedisError) -> Refusal {
    let (code, detail) = (error.code().unwrap_or_default(), error.detail().unwrap_or_default());
    let says = |word: &str| code == word || detail.contains(word);
    if says("OOM") {
        Refusal::OutOfMemory
    } else if says("BUSY") {
        Refusal::Busy
    } else if says("NOAUTH") || says("WRONGPASS") {
        Refusal::Unauthenticated
    } else if says("NOPERM") || detail.contains("can't access") || detail.contains("no permissions") {
        Refusal::NoPermission
    } else if says("MISCONF") || says("NOREPLICAS") {
        Refusal::Misconfigured
    } else if says("READONLY") {
        Refusal::ReadOnly
    } else {
        Refusal::Protocol
    }
}

/// Why a connection could not be made, for callers and for those who try it.
pub(crate) fn connection_error(error: RedisError, within: Duration) -> ConnectionError {
    match Fault::of(&error) {
        Fault::Timeout => ConnectionError::Silent(within),
        Fault::Refused(refusal @ (Refusal::Unauthenticated | Refusal::Loading | Refusal::NoPermission)) => {
            ConnectionError::Store(StoreError::Refused(refusal))
        }
        _ => ConnectionError::Failed(Arc::new(error)),
    }
}

impl ConnectionError {
    /// What it means to a check.
    pub(crate) fn store_error(&self) -> StoreError {
        match self {
            Self::Silent(_) | Self::Failed(_) | Self::UnknownMaster { .. } | Self::NoLayout(_) => {
                StoreError::Unavailable
            }
            Self::IsReplica => StoreError::Refused(Refusal::ReadOnly),
            Self::IsSentinel
            | Self::IsNoSentinel
            | Self::IsCluster
            | Self::IsNoCluster
            | Self::TooOld { .. } => StoreError::Refused(Refusal::WrongServer),
            Self::Answer(_) => StoreError::Refused(Refusal::Protocol),
            Self::Store(error) => error.clone(),
        }
    }
}
