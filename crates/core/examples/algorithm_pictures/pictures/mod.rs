//! One picture per algorithm: the same arrivals, the same quota of 5 units, the same long-run rate of 5 per 10 s.
//!
//! Shared by the example, which writes the pictures, and the test, which compares them with what is committed.

mod layout;
mod scene;
mod svg;

use core::time::Duration;

use cupo_core::{Limit, LimitError, Rate};

pub(crate) use layout::draw;
#[allow(unused_imports, reason = "the test reads them, the example does not")]
pub(crate) use scene::{PHASES, Scene};

/// The limits that are drawn, each with its title.
pub(crate) fn limits() -> Result<[(String, Limit); 5], LimitError> {
    let window = Duration::from_secs(10);
    let rate = Rate::new(5, window);
    Ok([
        (format!("fixed_window, {rate}"), Limit::fixed_window(rate.count, window)?),
        (format!("sliding_window_log, {rate}"), Limit::sliding_window_log(rate.count, window)?),
        (format!("sliding_window_counter, {rate}"), Limit::sliding_window_counter(rate.count, window)?),
        (format!("token_bucket, capacity 5, refill {rate}"), Limit::token_bucket(5, rate)?),
        (format!("leaky_bucket, rate {rate}, queue 4"), Limit::leaky_bucket(rate, 4)?),
    ])
}
