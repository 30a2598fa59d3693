//! The engine as its users see it: requests go in, outcomes come out.

mod failing_store;
mod keys;
mod outcomes;
mod support;
