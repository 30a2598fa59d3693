//! The in-memory store of Cupo: sharded, bounded, exact.
//!
//! [`MemoryStore`] is the embedded default. It executes checks over any number of keys all or nothing, decides exactly what
//! [`Limit::decide`](cupo_core::Limit::decide) says, and keeps to a budget of bytes or keys whatever is asked of it. It
//! knows no clock: the caller passes the instant.
//!
//! # How it works
//!
//! A key is hashed once, by SipHash-1-3 under a seed that is drawn for each store, and known by 88 bits of that hash from
//! then on; its text is not kept. Some bits choose the shard, others the place in the shard's table, whose slots of 32 bytes
//! hold the state itself. A sliding log does not fit and lies beside the table. A check of one item takes one lock; one of
//! several takes those of its shards in ascending order, so that no two checks wait for each other, decides all items
//! without changing anything, and charges them only if all are admitted.
//!
//! # What is kept, and what may be forgotten
//!
//! With room in the budget every state is kept until it is at rest: from
//! [`Limit::expires_at`](cupo_core::Limit::expires_at) on, rounded up to whole seconds and one more, it decides like no
//! state, and is reclaimed by the insertions that pass by and by [`MemoryStore::sweep`]. That is not observable.
//!
//! When the budget of a shard is spent, a new key takes the place of one of the next 32 keys at a hand that goes around the
//! table:
//!
//! 1. one that is at rest, if there is one; else
//! 2. the one whose limit is pressed least, measured by how often what remains has been halved; of several the one that is at
//!    rest soonest. It is forgotten alive and counted in [`Stats::evicted_alive`]. Its owner gains what it had used, which
//!    is less than the limit;
//! 3. but never one under active limitation: nothing remained after its last admission, or its last request was denied. If
//!    all 32 are, the new key is decided on an *overflow group* of its limit, which is chosen by its hash: an exact state
//!    under the same limit that several keys share, counted in [`Stats::grouped`].
//!
//! From this follows:
//!
//! - **A key under active limitation is not forgotten** until it is at rest, whoever floods, however long, and whether or
//!   not it is asked meanwhile. No one frees his own exhausted key.
//! - **A full store does not let everything through.** An admission is always charged to a state: the key's own, or the
//!   group's. With `k` keys and `g` groups of a limit of `L`, all new keys together get at most `g * L` once no key gives way,
//!   and a key that moves from its group to a place of its own gets at most `L` more, once.
//! - **A full store does not block everyone.** Keys in the store keep their own states. New keys share `L` per group; there is
//!   a group for each sixteenth key or so, an eighth of which any one limit uses. Against a limit of 1 per day a flood can
//!   use up all of them with as many requests as there are keys, and from then on new keys are denied until a group or a
//!   key is at rest: a larger budget, or a limit on something dearer than a fresh key, is the remedy, and `grouped` says when.
//! - **A key that is not exhausted can be forgotten** by a flood of keys that are pressed at least as hard. It takes about
//!   one flooding key for each 32 in its shard, of which the flooder cannot know, and restores less than one limit. Keys
//!   that are used less go first.
//! - **Memory is bounded**, groups and logs included. More limits at a time than eight may make one group forget another; it
//!   is counted in `evicted_alive`. A log that would outgrow the budget merges neighbouring entries into the later
//!   one, so it admits less than an exact log for a while and never more ([`Stats::coarsened`]). A log of a group has at
//!   most 16 entries.
//! - **Two keys share a state** only if 88 bits of their hashes are equal: with a hundred million keys in the store, the odds
//!   are below one in ten billion that any two do.
//!
//! # Clocks that step back
//!
//! A key never sees time run backwards; that is in its state. A state that was reclaimed cannot remember, so a shard
//! remembers the latest instant before which it may have forgotten something, and holds the clock there for callers who are up
//! to an hour behind ([`Executed::at`](cupo_core::Executed::at) says which instant was decided by). A caller further behind
//! is believed: the clock must have been wrong before, and to hold it would lock everybody out.

#![forbid(unsafe_code)]

mod budget;
mod fingerprint;
mod heap;
mod shard;
mod siphash;
mod slot;
mod stats;
mod store;
mod table;
mod upkeep;

pub use budget::MemoryStoreError;
pub use stats::Stats;
pub use store::{MemoryStore, MemoryStoreBuilder};
