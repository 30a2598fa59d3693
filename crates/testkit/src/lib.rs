//! Dev-only: conformance suite, reference models, strategies.
