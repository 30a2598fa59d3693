//! The memory store beside `governor`'s keyed limiter, in one run: rounds interleaved, medians and ratios printed.
//!
//! `cargo bench -p cupo-store-memory` runs everything; `-- keys`, `-- hot`, `-- bytes`, `-- log`, `-- parts` one part.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a program for people who measure"
)]

mod bytes;
mod hot;
mod keys;
mod log;
mod parts;
mod sides;
mod time;

#[global_allocator]
static ALLOCATOR: bytes::Counting = bytes::Counting;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let runs = |part: &str| wanted.is_empty() || wanted.iter().any(|w| w == part);
    if runs("keys") {
        keys::run();
    }
    if runs("bytes") {
        bytes::run();
    }
    if runs("hot") {
        hot::run();
    }
    if runs("log") {
        log::run();
    }
    if runs("parts") {
        parts::run();
    }
}
