//! The policy file of the Cupo rate limiter: YAML with positions and hints.
