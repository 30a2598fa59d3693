//! The vocabulary and all the thinking of the Cupo rate limiter: algorithms, keys, policy, engine. No I/O.
