//! The Cupo gateway: a reverse proxy that enforces a policy.
