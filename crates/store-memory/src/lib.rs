//! The in-memory store of the Cupo rate limiter: sharded, bounded, exact.
