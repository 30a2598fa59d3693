//! Keys that are blocked for a time: what a store keeps of them, and what the engine asks with every request.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::key::Key;
use crate::settled::{Entry, Settled};
use crate::time::Timestamp;

/// The most keys that are blocked at a time.
pub const MOST_BLOCKS: usize = 4_096;

/// A key that is blocked, and for how long still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The name of the rule and the parts of the key.
    pub key: Key,
    /// The time that is left.
    pub left: Duration,
}

/// Everything that is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockList {
    /// Another one with every change.
    pub version: u64,
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// What became of a request to block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockChange {
    /// It is done; this is how long the key was blocked for still before, if it was.
    Done(Option<Duration>),
    /// As many keys are blocked as may be.
    Full,
}

/// The blocks of a store that serves one process. Bounded by [`MOST_BLOCKS`].
#[derive(Debug, Default)]
pub struct BlockBook {
    ends: BTreeMap<Key, Timestamp>,
    version: u64,
}

impl BlockBook {
    /// As [`Upkeep::block`](crate::Upkeep::block).
    pub fn set(&mut self, key: &Key, span: Option<Duration>, now: Timestamp) -> BlockChange {
        let key = key.without_limit();
        self.ends.retain(|_, end| *end > now);
        let before = self.ends.remove(&key).map(|end| end.since(now));
        if let Some(span) = span.filter(|span| !span.is_zero()) {
            if self.ends.len() >= MOST_BLOCKS {
                return BlockChange::Full;
            }
            self.ends.insert(key, now.after(span));
        }
        self.version = self.version.saturating_add(1);
        BlockChange::Done(before)
    }

    /// As [`Upkeep::blocks`](crate::Upkeep::blocks).
    #[must_use]
    pub fn list(&self, known: Option<u64>, now: Timestamp) -> Option<BlockList> {
        if known == Some(self.version) {
            return None;
        }
        let live = self.ends.iter().filter(|(_, end)| **end > now);
        let blocks = live.map(|(key, end)| Block { key: key.clone(), left: end.since(now) }).collect();
        Some(BlockList { version: self.version, blocks })
    }
}

/// What the engine knows to be blocked.
pub(crate) struct Blocks {
    /// Whether there is anything: nearly always all that a request asks.
    some: AtomicBool,
    known: ArcSwap<Known>,
    turns: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct Known {
    version: Option<u64>,
    /// Whose answer it is.
    turn: u64,
    ends: HashMap<Key, Timestamp>,
    rules: HashSet<Box<[u8]>>,
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("known", &self.known.load().ends.len()).finish_non_exhaustive()
    }
}

impl Default for Blocks {
    fn default() -> Self {
        Self { some: AtomicBool::new(false), known: ArcSwap::default(), turns: AtomicU64::new(1) }
    }
}

impl Blocks {
    /// What is blocked, if anything is.
    #[inline]
    pub(crate) fn load(&self) -> Option<Arc<Known>> {
        self.some.load(Ordering::Relaxed).then(|| self.known.load_full())
    }

    pub(crate) fn version(&self) -> Option<u64> {
        self.known.load().version
    }

    /// Begins to ask: of two that ask at once, who began later knows better.
    pub(crate) fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Goes by this list from now on, unless whoever asked later was answered before.
    pub(crate) fn apply(&self, list: BlockList, now: Timestamp, turn: u64) {
        let rules = list.blocks.iter().map(|block| block.key.rule_name().into()).collect();
        let ends: HashMap<Key, Timestamp> =
            list.blocks.into_iter().map(|block| (block.key, now.after(block.left))).collect();
        let next = Arc::new(Known { version: Some(list.version), turn, ends, rules });
        self.known.rcu(|known| if known.turn > turn { Arc::clone(known) } else { Arc::clone(&next) });
        // Whoever writes last looks whether it still holds.
        loop {
            let none = self.known.load().ends.is_empty();
            self.some.store(!none, Ordering::SeqCst);
            if self.known.load().ends.is_empty() == none {
                return;
            }
        }
    }
}

impl Known {
    /// Whether a key of the rule is blocked, so that keys have to be made.
    pub(crate) fn names(&self, rule: &str) -> bool {
        self.rules.contains(rule.as_bytes())
    }

    /// How long a key is blocked for still.
    pub(crate) fn left(&self, key: &Key, now: Timestamp) -> Option<Duration> {
        self.ends.get(key).map(|end| end.since(now)).filter(|left| !left.is_zero())
    }

    /// What settles a request that is counted under this key, if that is blocked now.
    pub(crate) fn settle(&self, key: &Key, now: Timestamp) -> Option<Settled> {
        let blocked = self.ends.get(key).is_some_and(|end| *end > now);
        blocked.then(|| Settled::Blocked(Entry::Key(key.to_string().into())))
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockBook, BlockChange, Duration, Key, MOST_BLOCKS, Timestamp};

    fn key(n: usize) -> Key {
        Key::continued(&Key::scope("r", &[1, 2])).part(2, "", &n.to_be_bytes()).build()
    }

    #[test]
    fn a_block_ends_is_replaced_and_is_lifted() {
        let (mut book, now) = (BlockBook::default(), Timestamp::from_micros(1_000_000));
        let minute = Duration::from_secs(60);
        assert_eq!(book.set(&key(1), Some(minute), now), BlockChange::Done(None));
        let list = book.list(None, now).unwrap();
        assert_eq!((list.blocks.len(), list.blocks[0].left), (1, minute));
        assert_eq!(list.blocks[0].key, key(1).without_limit());
        assert_eq!(book.list(Some(list.version), now), None);
        let later = now.after(Duration::from_secs(20));
        assert_eq!(book.set(&key(1), Some(minute), later), BlockChange::Done(Some(Duration::from_secs(40))));
        assert_eq!(book.list(Some(list.version), later).unwrap().blocks[0].left, minute);
        assert_eq!(book.set(&key(1), None, later), BlockChange::Done(Some(minute)));
        assert_eq!(book.set(&key(1), None, later), BlockChange::Done(None));
        book.set(&key(2), Some(minute), later);
        assert!(book.list(None, later.after(minute)).unwrap().blocks.is_empty());
    }

    #[test]
    fn they_are_bounded() {
        let (mut book, now) = (BlockBook::default(), Timestamp::EPOCH);
        for n in 0..MOST_BLOCKS {
            assert_eq!(book.set(&key(n), Some(Duration::from_secs(60)), now), BlockChange::Done(None));
        }
        assert_eq!(book.set(&key(MOST_BLOCKS), Some(Duration::from_secs(1)), now), BlockChange::Full);
        assert!(matches!(book.set(&key(0), Some(Duration::from_secs(1)), now), BlockChange::Done(Some(_))));
        let later = now.after(Duration::from_secs(2));
        assert_eq!(book.set(&key(MOST_BLOCKS), Some(Duration::from_secs(1)), later), BlockChange::Done(None));
    }
}
