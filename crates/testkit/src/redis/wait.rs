//! Waiting for other processes, which no virtual clock can tick.

#![allow(clippy::disallowed_methods, reason = "a server's start can only be waited for in real time")]

use std::time::{Duration, Instant};

/// Asks `condition` again and again until it gives something, for at most a minute.
///
/// # Panics
/// Where the time is over, with `what` did not come about.
pub fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "waited a minute in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Lets `span` pass.
pub(super) fn pass(span: Duration) {
    std::thread::sleep(span);
}
