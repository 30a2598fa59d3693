//! The Redis and Valkey store of the Cupo rate limiter: one script, one round trip, all or nothing.
