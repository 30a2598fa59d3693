//! Cupo: an exact rate limiter. Five algorithms, all-or-nothing checks, honest headers.
