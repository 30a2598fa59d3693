//! The number domain: every value and every intermediate product of a decision lies in `[0, 2^53)`.
//!
//! Redis computes Lua numbers as IEEE 754 doubles, which are exact for integers only below 2^53. Staying inside that
//! range in Rust as well is what lets both give the same answer to the last tick.

/// The first integer outside the domain: 2^53.
pub const DOMAIN: u64 = 1 << 53;

/// The last instant of the domain, in ticks: sums of an instant and a span stay below [`DOMAIN`].
pub const MAX_INSTANT: u64 = (1 << 52) - 1;

/// The longest span (window, period, time to full) of the domain, in ticks.
pub const MAX_SPAN: u64 = (1 << 51) - 1;

/// `a * b`, or `None` where the product leaves the domain.
#[must_use]
pub(crate) const fn product(a: u64, b: u64) -> Option<u64> {
    match a.checked_mul(b) {
        Some(p) if p < DOMAIN => Some(p),
        _ => None,
    }
}

/// `a + b`, or `None` where the sum leaves the domain.
#[must_use]
pub(crate) const fn sum(a: u64, b: u64) -> Option<u64> {
    match a.checked_add(b) {
        Some(s) if s < DOMAIN => Some(s),
        _ => None,
    }
}

/// `ceil(a / b)`; 0 where `b` is 0, which the constructors of the parameters exclude.
#[must_use]
pub(crate) const fn ceil_div(a: u64, b: u64) -> u64 {
    if b == 0 { 0 } else { a.div_ceil(b) }
}

/// `floor(a / b)`; 0 where `b` is 0, which the constructors of the parameters exclude.
#[must_use]
pub(crate) const fn floor_div(a: u64, b: u64) -> u64 {
    match a.checked_div(b) {
        Some(q) => q,
        None => 0,
    }
}

/// `a mod b`; 0 where `b` is 0, which the constructors of the parameters exclude.
#[must_use]
pub(crate) const fn modulo(a: u64, b: u64) -> u64 {
    match a.checked_rem(b) {
        Some(r) => r,
        None => 0,
    }
}

/// The greatest common divisor, by Euclid.
#[must_use]
pub(crate) const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, modulo(a, b));
    }
    a
}

#[cfg(test)]
mod tests {
    use super::{DOMAIN, gcd, product, sum};

    #[test]
    fn the_domain_ends_below_two_to_the_53() {
        assert_eq!(product(1 << 26, 1 << 26), Some(1 << 52));
        assert_eq!(product(1 << 27, 1 << 26), None);
        assert_eq!(product(u64::MAX, 2), None);
        assert_eq!(sum(DOMAIN - 2, 1), Some(DOMAIN - 1));
        assert_eq!(sum(DOMAIN - 1, 1), None);
        assert_eq!(sum(u64::MAX, 1), None);
    }

    #[test]
    fn gcd_of_zero_is_the_other() {
        assert_eq!(gcd(0, 7), 7);
        assert_eq!(gcd(7, 0), 7);
        assert_eq!(gcd(12, 18), 6);
    }
}
