//! A tower layer that enforces a Cupo policy.
