//! How much memory a store may use, and how it is divided.

use thiserror::Error;

use crate::heap::NEW_LOG_BYTES;
use crate::slot::SLOT_BYTES;
use crate::table::{margin, most_keys, places_for, table_bytes};

/// Why a budget makes no store.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemoryStoreError {
    /// No key would fit.
    #[error("a store of 0 keys enforces nothing; write at least 1")]
    NoKeys,
    /// Too few bytes to hold even a few keys.
    #[error("{bytes} bytes are too few for a store of {shards} shards; write at least {least}")]
    TooFewBytes {
        /// The bytes that were asked for.
        bytes: usize,
        /// The number of shards.
        shards: usize,
        /// The least that works.
        least: usize,
    },
    /// More memory than an address can reach.
    #[error("{keys} keys do not fit into memory")]
    TooManyKeys {
        /// The keys that were asked for.
        keys: usize,
    },
    /// The number of shards is not a power of two between 1 and 65,536.
    #[error("{shards} shards: write a power of two from 1 to 65536")]
    Shards {
        /// The shards that were asked for.
        shards: usize,
    },
    /// Some shards would hold no key.
    #[error("{keys} keys are fewer than {shards} shards; write fewer shards or more keys")]
    FewerKeysThanShards {
        /// The keys that were asked for.
        keys: usize,
        /// The number of shards.
        shards: usize,
    },
}

/// The bytes of a store of which nobody said more.
pub(crate) const DEFAULT_BYTES: usize = 64 << 20;

/// The bytes below which a shard is not worth having, and below which there is no store.
const LEAST_BYTES: usize = 8 << 10;

/// Places of a shard above which there are rather more shards: what bounds the pause of growing one.
const MOST_PLACES: usize = 1 << 16;

/// What the builder was told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    pub(crate) keys: Option<usize>,
    pub(crate) bytes: Option<usize>,
    pub(crate) shards: Option<usize>,
}

/// The budget of one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Share {
    /// Keys it may hold.
    pub(crate) keys: usize,
    /// Places its table may have: at most eleven sixteenths of the bytes, so that logs have a quarter.
    pub(crate) places: usize,
    /// Bytes it may allocate.
    pub(crate) bytes: usize,
    /// Overflow groups it may hold.
    pub(crate) groups: usize,
    /// Overflow groups that the keys of one limit are spread over.
    pub(crate) groups_per_limit: u32,
}

impl Share {
    /// The bytes that its overflow groups need.
    pub(crate) const fn group_bytes(&self) -> usize {
        table_bytes(places_for(self.groups))
    }
}

/// Divides what was wanted: the number of shards, and the share of each.
pub(crate) fn divide(
    wanted: Wanted,
    cores: usize,
    header: usize,
) -> Result<(usize, Share), MemoryStoreError> {
    let keys = wanted.keys.unwrap_or(usize::MAX);
    if keys == 0 {
        return Err(MemoryStoreError::NoKeys);
    }
    let bytes = match (wanted.bytes, wanted.keys) {
        (Some(bytes), _) => bytes,
        (None, None) => DEFAULT_BYTES,
        (None, Some(keys)) => keys
            .checked_mul(SLOT_BYTES * 4)
            .and_then(|bytes| bytes.checked_add(DEFAULT_BYTES))
            .filter(|&bytes| bytes <= isize::MAX.unsigned_abs())
            .ok_or(MemoryStoreError::TooManyKeys { keys })?,
    };
    let shards = match wanted.shards {
        Some(shards) if !shards.is_power_of_two() || shards > 1 << 16 => {
            return Err(MemoryStoreError::Shards { shards });
        }
        Some(shards) => shards,
        None => {
            let places = (bytes / SLOT_BYTES).min(places_for(keys));
            let many = (cores * 16).max(places / MOST_PLACES).clamp(1, 1 << 16).next_power_of_two();
            // With few keys each, the fullest shard is much fuller than the average.
            let worth = (bytes / (LEAST_BYTES + header)).min(keys / 512).max(1);
            many.min(1 << worth.ilog2())
        }
    };
    if keys < shards {
        return Err(MemoryStoreError::FewerKeysThanShards { keys, shards });
    }
    let least = shards * (header + LEAST_BYTES);
    if bytes < least {
        return Err(MemoryStoreError::TooFewBytes { bytes, shards, least });
    }
    Ok((shards, share(keys / shards, bytes / shards - header)))
}

fn share(keys: usize, bytes: usize) -> Share {
    let slots = bytes / SLOT_BYTES * 11 / 16;
    let by_bytes = slots - margin(slots).min(slots);
    let places = places_for(keys).min(by_bytes);
    let keys = keys.min(most_keys(places));
    // Of the quarter that is left, groups with logs may have half.
    let by_bytes = bytes / 8 / (SLOT_BYTES * 2 + NEW_LOG_BYTES);
    let groups = (places / 16).clamp(16, by_bytes.max(16));
    let groups_per_limit = u32::try_from(groups / 8).unwrap_or(u32::MAX).max(2);
    Share { keys, places, bytes, groups, groups_per_limit }
}

#[cfg(test)]
mod tests {
    use super::{MemoryStoreError, Wanted, divide};

    fn of(keys: Option<usize>, bytes: Option<usize>, shards: Option<usize>) -> Wanted {
        Wanted { keys, bytes, shards }
    }

    #[test]
    fn shares_together_stay_within_the_budget() {
        for keys in [1, 2, 7, 8, 100, 511, 1_024, 10_000, 1_000_000, 50_000_000] {
            let (shards, share) = divide(of(Some(keys), None, None), 4, 256).unwrap();
            assert!(share.keys * shards <= keys && share.keys * shards + shards > keys, "{keys}: {share:?}");
        }
        for bytes in [20_000, 1 << 20, 64 << 20, 8 << 30] {
            let (shards, share) = divide(of(None, Some(bytes), None), 4, 256).unwrap();
            assert!((share.bytes + 256) * shards <= bytes);
            assert!(share.keys * shards * 32 > bytes / 100 * 45, "{bytes}: {share:?}");
            let slots = super::table_bytes(share.places) + share.group_bytes();
            assert!(slots < share.bytes / 4 * 3 + 2_048, "{bytes}: {share:?}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let error = |wanted| divide(wanted, 2, 256).unwrap_err();
        assert_eq!(error(of(Some(0), None, None)), MemoryStoreError::NoKeys);
        assert_eq!(
            error(of(Some(4), None, Some(8))),
            MemoryStoreError::FewerKeysThanShards { keys: 4, shards: 8 }
        );
        assert_eq!(error(of(None, None, Some(12))), MemoryStoreError::Shards { shards: 12 });
        assert_eq!(error(of(None, None, Some(0))), MemoryStoreError::Shards { shards: 0 });
        assert!(matches!(error(of(None, Some(0), None)), MemoryStoreError::TooFewBytes { least: 8_448, .. }));
        assert!(matches!(error(of(Some(usize::MAX), None, None)), MemoryStoreError::TooManyKeys { .. }));
    }
}
