//! What can be wrong with the way callers are to be answered.

use thiserror::Error;

/// What is wrong with a [`PresentationSource`](crate::PresentationSource) or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PresentationError {
    /// The text is no name of a field.
    #[error("`{0}` is not a header name")]
    FieldName(Box<str>),
    /// The field frames the message, belongs to one hop, or is not a policy's to set.
    #[error("the header `{0}` is not for a policy to set")]
    FieldReserved(Box<str>),
    /// Two fields of one name.
    #[error("the header `{0}` is named twice")]
    FieldTwice(Box<str>),
    /// The text is no value of a field.
    #[error("the header `{0}` cannot have this value")]
    FieldValue(Box<str>),
    /// Field names without a name.
    #[error("no header is named")]
    NoFields,
    /// A template has a placeholder that its message has no value for.
    #[error("`{{{0}}}` is not a placeholder of this message")]
    Placeholder(Box<str>),
    /// A template has a brace that is neither doubled nor part of a placeholder.
    #[error("a single brace at character {at}: write it twice to mean a brace")]
    Brace {
        /// Its place in the text, in characters from 1.
        at: usize,
    },
    /// The text is no language tag.
    #[error("`{0}` is not a language tag")]
    Language(Box<str>),
    /// There are no messages in the language that is to be the default.
    #[error("there are no messages in `{0}`")]
    NoMessages(Box<str>),
    /// The status of a refusal is no error.
    #[error("the status {0} is not an error from 400 to 599")]
    Status(u16),
    /// The jitter is not whole seconds, or more than an hour.
    #[error("a jitter is whole seconds, at most an hour")]
    Jitter,
    /// The text is neither `*` nor an origin.
    #[error("`{0}` is not an origin")]
    Origin(Box<str>),
    /// Any origin may not be answered with credentials.
    #[error("any origin (`*`) cannot be allowed credentials")]
    AnyOriginWithCredentials,
}
