//! HTTP semantics of the Cupo rate limiter: headers, problem bodies, client address.
