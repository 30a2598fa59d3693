//! What every key of a rule begins with: its name, and how its states are to be read.

use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;

use crate::algorithm::Params;
use crate::algorithm::ending_window::Edges;
use crate::calendar::Calendar;
use crate::key::Key;
use crate::limit::Limit;
use crate::time::Resolution;

/// The prefix of the keys that count by `limit`.
///
/// A state counted in other ticks, in other windows or at another rate would be misread, or be let go of too early: so it gets other
/// keys. How much the limit holds is not among them, since any state is read right under another count or capacity.
///
/// All of it is in the scope of the key, so that keys differ by what they count only behind it: a cluster keeps those that count by
/// the same parts together. A name has no byte below 16.
pub(super) fn prefix(name: &str, limit: &Limit) -> Key {
    let (kind, window, rate) = match limit.params() {
        Params::FixedWindow(p) => (1, p.window, 1),
        Params::SlidingWindowLog(p) => (2, p.window, 1),
        Params::SlidingWindowCounter(p) => (3, p.window, 1),
        Params::TokenBucket(p) => (4, p.period, p.refill),
        Params::LeakyBucket(p) => (5, p.period, p.rate),
        Params::EndingWindow(p) => match p.edges {
            Edges::FirstRequest { window } => (6, window, 1),
            Edges::Calendar(calendar) => {
                let mut shape = SmallVec::<[u8; 24]>::from_slice(&[7]);
                shape.extend(four(calendar));
                return Key::scope(name, &shape);
            }
        },
    };
    let tick = match limit.resolution() {
        Resolution::Micros => 0,
        Resolution::Millis => 8,
    };
    let mut shape = SmallVec::<[u8; 24]>::from_slice(&[kind | tick]);
    push(&mut shape, window);
    if rate != 1 {
        push(&mut shape, rate);
    }
    Key::scope(name, &shape)
}

/// Adds a number below 2^53 as digits and a power of ten: usual times take one to three bytes.
fn push(shape: &mut SmallVec<[u8; 24]>, mut number: u64) {
    let mut zeros = 0_u64;
    while zeros < 15
        && number > 0
        && let (tenth, Some(0)) = (number / 10, number.checked_rem(10))
    {
        number = tenth;
        zeros = zeros.saturating_add(1);
    }
    let mut rest = number << 4 | zeros;
    loop {
        let [low, ..] = (rest & 0x7f).to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            shape.push(low);
            return;
        }
        shape.push(low | 0x80);
    }
}

/// Four bytes, which tell the calendars of one rule's past from each other.
fn four(calendar: &Calendar) -> impl Iterator<Item = u8> {
    Sha256::digest(calendar.name()).into_iter().take(4)
}

#[cfg(test)]
#[path = "prefix_tests.rs"]
mod tests;
