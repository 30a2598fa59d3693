//! The store boundary: checks go in, decisions come out; plain values, never closures or requests.

use core::future::Future;

use smallvec::SmallVec;
use thiserror::Error;

use crate::check::{Check, CheckItem, Executed, Preview};
use crate::settlement::Settlement;
use crate::time::Timestamp;

/// Executes checks, all or nothing.
///
/// # Contract
/// - All items of a check are decided in one atomic step. If one does not admit, no state changes, and the decisions of
///   the others show the balance without this request (as a peek does).
/// - Each decision is the one of [`Limit::decide`](crate::Limit::decide) on the key's state.
/// - A state may be dropped once [`Params::expires_at`](crate::Params::expires_at) has passed, and earlier only where a
///   stated memory bound forces it. Compare ticks: an instant saturates at the end of the number domain, where a clock that is
///   broken would make every state look expired.
/// - A peek creates no key.
/// - Dropping the future before it is ready may or may not have charged the check, but never charged a part of it.
///
/// `cupo-testkit` exports a conformance suite that tells whether an implementation keeps it.
pub trait Store: Send + Sync {
    /// Executes `check`. `now` is the caller's clock: a store that serves one process decides by it, a store that is shared
    /// between machines decides by its own.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not decide.
    fn check(
        &self,
        check: &Check,
        now: Timestamp,
    ) -> impl Future<Output = Result<Executed, StoreError>> + Send;

    /// What [`check`](Self::check) would answer to `check`, and the balances as they are, of one instant. Nothing is charged
    /// and no key is created.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not tell.
    fn preview(
        &self,
        check: &Check,
        now: Timestamp,
    ) -> impl Future<Output = Result<Preview, StoreError>> + Send;

    /// Takes back the slot of a delayed request that was cancelled before its slot came, as far as
    /// [`Limit::cancel`](crate::Limit::cancel) allows. `end` is the instant of the decision plus its `reset_after`.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached; the slot then passes unused.
    fn cancel(
        &self,
        item: &CheckItem,
        now: Timestamp,
        end: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Moves what is counted under the key of `from` to that of `to`, whose limit is of the same algorithm and has other
    /// numbers: the state becomes what [`Limit::carry`](crate::Limit::carry) makes of both, and the key of `from` is gone. Costs are
    /// not looked at.
    ///
    /// In one atomic step, so that no unit counts twice or nowhere; to do it again changes nothing. Nothing happens where nothing
    /// counts under `from`, or the algorithms differ. What a bounded store counts for several keys together stays there.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not do it; it may be done nevertheless.
    fn carry(
        &self,
        from: &CheckItem,
        to: &CheckItem,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Settles charges, each by itself, as [`Limit::settle`](crate::Limit::settle) says. No key comes twice. Answers in the order
    /// of the settlements.
    ///
    /// Once the future has been polled it is carried out, also if it is dropped then: whoever drops a reservation cannot wait.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached; what was charged then stays charged.
    fn settle(
        &self,
        settlements: &[Settlement],
        now: Timestamp,
    ) -> impl Future<Output = Result<Uncovered, StoreError>> + Send;
}

/// Units of each settlement that found no room.
pub type Uncovered = SmallVec<[u64; 2]>;

impl<S: Store> Store for std::sync::Arc<S> {
    fn check(
        &self,
        check: &Check,
        now: Timestamp,
    ) -> impl Future<Output = Result<Executed, StoreError>> + Send {
        (**self).check(check, now)
    }

    fn preview(
        &self,
        check: &Check,
        now: Timestamp,
    ) -> impl Future<Output = Result<Preview, StoreError>> + Send {
        (**self).preview(check, now)
    }

    fn cancel(
        &self,
        item: &CheckItem,
        now: Timestamp,
        end: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        (**self).cancel(item, now, end)
    }

    fn carry(
        &self,
        from: &CheckItem,
        to: &CheckItem,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        (**self).carry(from, to, now)
    }

    fn settle(
        &self,
        settlements: &[Settlement],
        now: Timestamp,
    ) -> impl Future<Output = Result<Uncovered, StoreError>> + Send {
        (**self).settle(settlements, now)
    }
}

/// Decides from this node's memory, without waiting, while the store is out of reach.
pub trait Fallback: Send + Sync {
    /// Executes `check` as [`Store::check`] does.
    fn execute(&self, check: &Check, now: Timestamp) -> Executed;

    /// What it would answer, as [`Store::preview`] does.
    fn preview(&self, check: &Check, now: Timestamp) -> Preview;

    /// Takes back a slot as [`Store::cancel`] does.
    fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp);

    /// Settles charges as [`Store::settle`] does.
    fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Uncovered;
}

/// Why a store could not decide.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store did not answer within its deadline; whether it charged the check is unknown.
    #[error("the store did not answer in time")]
    Timeout,
    /// The store cannot be reached or refuses to work.
    #[error("the store is unavailable")]
    Unavailable,
    /// As many checks wait for the store already as may wait; nothing was charged.
    #[error("too many checks wait for the store: it is slower than the traffic")]
    Overloaded,
    /// The store failed several times in a row and is left alone for a moment; nothing was charged.
    #[error("the store failed repeatedly and is not asked for a moment")]
    Resting,
    /// The store answered that it does not work now; nothing was charged.
    #[error("the store refuses: {0}")]
    Refused(Refusal),
}

impl StoreError {
    /// A short name for metrics and logs, such as `timeout` or `out_of_memory`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Overloaded => "overloaded",
            Self::Resting => "resting",
            Self::Refused(refusal) => refusal.name(),
        }
    }
}

/// Why a store that can be reached does not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Refusal {
    /// It loads its data after a start.
    #[error("it is loading its data; wait until it has started")]
    Loading,
    /// It is a replica, or may not write for another reason.
    #[error("it does not accept writes; point the store at the primary server")]
    ReadOnly,
    /// It has no memory left.
    #[error("it is out of memory; raise its memory limit or give the limits fewer keys")]
    OutOfMemory,
    /// It is busy with somebody else's script.
    #[error("it is busy with a script of another client; stop that script")]
    Busy,
    /// A part of its cluster is down, or its replica has lost its primary.
    #[error("a part of the cluster is down; bring its nodes back")]
    ClusterDown,
    /// The user may not do what a check needs.
    #[error("the user lacks a permission; grant the commands and keys that the documentation lists")]
    NoPermission,
    /// The user or password is wrong or missing.
    #[error("it does not accept the user and password; correct them")]
    Unauthenticated,
    /// It cannot write to its disk or has too few replicas, and stops accepting writes because of that.
    #[error("it stopped accepting writes to protect its data; see its log")]
    Misconfigured,
    /// It runs in another mode or is older than the store can use.
    #[error("it is not a server of the expected kind and version; see the log of the connection")]
    WrongServer,
    /// It answered something that the store does not understand.
    #[error("it answered in a way that is not understood; see the log for the answer")]
    Protocol,
}

impl Refusal {
    /// A short name for metrics and logs, such as `out_of_memory`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::ReadOnly => "read_only",
            Self::OutOfMemory => "out_of_memory",
            Self::Busy => "busy",
            Self::ClusterDown => "cluster_down",
            Self::NoPermission => "no_permission",
            Self::Unauthenticated => "unauthenticated",
            Self::Misconfigured => "misconfigured",
            Self::WrongServer => "wrong_server",
            Self::Protocol => "protocol",
        }
    }
}
