//! Keys: what a rule counts, as canonical bytes, and how a policy says so.

mod builder;
mod hash;
mod kind;
mod said;
mod show;
mod spec;

pub use builder::{Key, KeyBuilder};
pub(crate) use hash::Hasher;
pub use hash::{ApiKeyHash, KeySecret, LEAST_SECRET_BYTES, NotAHash, SecretTooShort};
pub(crate) use kind::Context;
pub use kind::{Kind, canonical_address};
pub use said::{SaidError, Spelling};
pub use spec::{KeySpec, KeySpecError};
