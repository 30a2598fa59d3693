//! What can be wrong with a policy file.

use std::fmt;
use std::io;
use std::path::PathBuf;

use granit_parser::ErrorKind;
use thiserror::Error;

use crate::hint;

/// What is wrong, in one line. What to do about it is in [`ConfigError::hint`](crate::ConfigError::hint).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Read(#[source] io::Error),
    /// The file is too long.
    #[error("the file is longer than {limit} bytes")]
    FileTooLarge {
        /// The most bytes that are read.
        limit: usize,
    },
    /// The file is not UTF-8 from this place on.
    #[error("the file is not UTF-8 text from here on")]
    NotUtf8,
    /// The file says nothing.
    #[error("the file says nothing")]
    Empty,
    /// A second document begins here.
    #[error("a second document begins here, and a policy file is one")]
    SeveralDocuments,
    /// The text is not YAML.
    #[error("this is not YAML: {reason}")]
    Syntax {
        /// Why, in the parser's words.
        reason: Box<str>,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Maps and lists are nested too deep.
    #[error("maps and lists are more than {limit} levels deep")]
    TooDeep {
        /// The most levels.
        limit: usize,
    },
    /// An anchor (`&name`) or an alias (`*name`).
    #[error("anchors and aliases are not part of a policy file")]
    Anchor,
    /// A tag (`!name`).
    #[error("tags are not part of a policy file")]
    Tag,
    /// The name of a field is a list, a map or nothing.
    #[error("the name of a field is a word, not a list, a map or nothing")]
    FieldNotText,
    /// The field is there already.
    #[error("`{name}` comes twice; the first is in line {first_line}")]
    DuplicateField {
        /// The field.
        name: Box<str>,
        /// Where the first is.
        first_line: usize,
    },
    /// There is no such field.
    #[error("there is no field `{name}` here")]
    UnknownField {
        /// The field.
        name: Box<str>,
        /// The fields there are.
        allowed: &'static [&'static str],
    },
    /// A field that has to be there is not.
    #[error("`{name}` is missing")]
    MissingField {
        /// The field.
        name: &'static str,
        /// The field as it could be written.
        example: &'static str,
    },
    /// Two fields that say the same.
    #[error("`{one}` and `{other}` cannot both be said")]
    Conflict {
        /// One of the fields.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// Neither a response nor a request is said to name the cost.
    #[error(
        "a cost in a header is the response's, with `reserve`, or the request's, with `max`; one of the two is missing"
    )]
    CostUnbounded,
    /// Not the name of a header that says a cost.
    #[error("`{0}` is not a header name")]
    CostHeader(Box<str>),
    /// Not a status, nor a class of them.
    #[error("`{0}` is not a status of a response")]
    Status(Box<str>),
    /// A field that says nothing without another.
    #[error("`{field}` says nothing without `{without}`")]
    Idle {
        /// The field.
        field: &'static str,
        /// The field, or the field with the value, that it belongs to.
        without: &'static str,
    },
    /// There is no such time zone.
    #[error("`{name}` is not a time zone")]
    TimeZone {
        /// What is there.
        name: Box<str>,
        /// The names there are.
        all: Vec<String>,
    },
    /// The list has no item.
    #[error("the list is empty")]
    EmptyList,
    /// There is no field where at least one belongs.
    #[error("there are no fields here")]
    NoFields,
    /// The value is of another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What belongs here.
        expected: Expected,
        /// What is there.
        found: Found,
    },
    /// The text is not one of a few words.
    #[error("`{text}` is not {what}")]
    UnknownWord {
        /// What belongs here, with its article.
        what: &'static str,
        /// What is there.
        text: Box<str>,
        /// The words there are.
        allowed: Vec<&'static str>,
    },
    /// The text is no whole number in decimal digits.
    #[error("`{0}` is not a whole number")]
    NotWhole(Box<str>),
    /// The number is out of range.
    #[error("{text} is out of range")]
    OutOfRange {
        /// The number.
        text: Box<str>,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// What is counted, such as `bytes`; may be empty.
        unit: &'static str,
    },
    /// The text is no size.
    #[error("`{0}` is not a size")]
    NotASize(Box<str>),
    /// The text is no address with a port.
    #[error("`{0}` is not an address and port to listen on")]
    Listen(Box<str>),
    /// The text is no path of a Unix socket.
    #[error("`{0}` is not a path to listen on")]
    SocketPath(Box<str>),
    /// The text is no file mode.
    #[error("`{0}` is not a file mode")]
    SocketMode(Box<str>),
    /// Connections begin with a PROXY header, and nobody may send one.
    #[error("the PROXY protocol is on, and {}", if *unix { "no trusted proxy connects by a Unix socket" } else { "no proxy is trusted" })]
    RelayUntrusted {
        /// Whether the gateway listens on a Unix socket.
        unix: bool,
    },
    /// The text is no upstream.
    #[error("`{0}` is not an upstream")]
    Upstream(Box<str>),
    /// The upstream has a user or a password. It is not shown.
    #[error("an upstream has no user and no password")]
    UpstreamLogin,
    /// The upstream asks for TLS.
    #[error("`{0}`: upstreams over https are not supported yet")]
    HttpsUpstream(Box<str>),
    /// The text is no network.
    #[error("`{0}` is not a network or an address")]
    Network(Box<str>),
    /// The network has bits set that its prefix does not cover.
    #[error("`{text}` names a host inside a network")]
    HostBits {
        /// What is there.
        text: Box<str>,
        /// The network.
        network: ipnet::IpNet,
    },
    /// The text does not say where a plan is said.
    #[error("`{0}` is not where a caller's plan is said")]
    PlanFrom(Box<str>),
    /// The environment has no such secret.
    #[error("the environment has no secret in the variable `{0}`")]
    NoSecret(Box<str>),
    /// The secret is too short.
    #[error("the secret in the variable `{0}` of the environment is too short")]
    ShortSecret(Box<str>),
    /// The admin API would answer whoever reaches it.
    #[error("others reach the admin API at {0}, and it asks for no token")]
    AdminWithoutToken(std::net::SocketAddr),
    /// The text is no name of whoever bears a token.
    #[error("`{0}` is not a name for logs")]
    AdminName(Box<str>),
    /// A token of the admin API has characters that no header carries.
    #[error("the token in the variable `{0}` of the environment has blanks, accents or control characters")]
    AdminTokenText(Box<str>),
    /// Two tokens of the admin API have one name, or are one.
    #[error("the token of `{0}` is not told from another one")]
    AdminTokenTwice(Box<str>),
    /// The file of callers cannot be read.
    #[error("cannot read the file of callers `{}`: {source}", path.display())]
    Callers {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of callers says nothing.
    #[error("the file of callers says nothing")]
    EmptyCallers,
    /// An entry does not say whom it is about.
    #[error("this entry does not say whom it is about")]
    CallerWithoutWho,
    /// An entry says nothing of its caller.
    #[error("this entry says nothing of its caller")]
    CallerSaysNothing,
    /// The text is no hash of an API key. It is not shown: it may be the key.
    #[error("this is not the hash of an API key")]
    ApiKeyHash,
    /// The text is no path of an endpoint of the gateway's own.
    #[error("`{0}` is not a path")]
    OwnPath(Box<str>),
    /// Two endpoints of the gateway's own have one path.
    #[error("`{0}` is the path of both the health and the status endpoint")]
    OwnPathTwice(Box<str>),
    /// The host has other spellings than the header's.
    #[error("anybody may write the header `host`, and in many spellings")]
    HostIsNoKey,
    /// The text is no name of a header.
    #[error("`{0}` is not a header name")]
    HeaderName(Box<str>),
    /// The header frames the message, belongs to one hop, or is not a policy's to set.
    #[error("the header `{0}` is not for a policy to set here")]
    HeaderReserved(Box<str>),
    /// Two headers of one name.
    #[error("the header `{0}` is named twice")]
    HeaderTwice(Box<str>),
    /// The text is no value of a header.
    #[error("`{0}` is not a header's value")]
    HeaderValue(Box<str>),
    /// The text is no content type.
    #[error("`{0}` is not a content type")]
    ContentType(Box<str>),
    /// The jitter is not whole seconds, or too long.
    #[error("`{0}` is not a jitter")]
    Jitter(Box<str>),
    /// The text is no language tag.
    #[error("`{0}` is not a language tag")]
    Language(Box<str>),
    /// A language comes twice, in different letter case.
    #[error("the language `{0}` comes twice")]
    LanguageTwice(Box<str>),
    /// There are no messages in the language.
    #[error("there are no messages in `{0}`")]
    NoMessages(Box<str>),
    /// A placeholder that the message has no value for.
    #[error("`{{{name}}}` is not a placeholder of this message")]
    Placeholder {
        /// The name between the braces.
        name: Box<str>,
        /// The names there are.
        allowed: &'static [&'static str],
    },
    /// A brace that is neither doubled nor part of a placeholder.
    #[error("a single brace in `{0}`")]
    Brace(Box<str>),
    /// The text is no origin.
    #[error("`{0}` is not an origin")]
    Origin(Box<str>),
    /// Any origin with credentials.
    #[error("`*` and credentials cannot both be allowed")]
    AnyOrigin,
    /// A URL stands where the store's fields belong.
    #[error("a store in Redis has fields, of which the URL is one")]
    StoreIsUrl,
    /// The URL of the store has no scheme that is known. It is not shown: it may hold a password.
    #[error("this is not a URL of Redis or Valkey servers")]
    StoreUrl,
    /// A secret verifies by one algorithm only.
    #[error("a secret verifies tokens by HS256 and by nothing else")]
    SecretAlgorithm,
    /// Clocks so far apart are broken.
    #[error("a leeway above 5 minutes lets expired tokens pass for long")]
    Leeway,
    /// The key asks for a claim, and no token is ever verified.
    #[error("this counts by a claim, and nothing says how tokens are verified")]
    ClaimWithoutTokens,
    /// Plans are said in a claim, and no token is ever verified.
    #[error("this plan would be said in a claim, and nothing says how tokens are verified")]
    PlanWithoutTokens,
    /// Plans are said in the file of callers, and there is none.
    #[error("this plan would be said in a file of callers, and there is none")]
    PlanWithoutCallers,
    /// Plans are said in a header, and nobody is believed.
    #[error("this plan would be said by a trusted proxy, and there is none")]
    PlanWithoutProxies,
    /// What the field names cannot be used, as whoever takes it found out.
    #[error("{0}")]
    Unusable(Box<str>),
    /// The text is no rate or duration.
    #[error(transparent)]
    Rate(cupo_core::RateError),
    /// The numbers make no limit.
    #[error(transparent)]
    Limit(cupo_core::LimitError),
    /// The text is no key.
    #[error(transparent)]
    Key(cupo_core::KeySpecError),
    /// The values do not go together.
    #[error(transparent)]
    Policy(cupo_core::Problem),
}

impl Problem {
    /// Whether what is there may be a secret.
    pub(crate) const fn is_secret(&self) -> bool {
        matches!(self, Self::ApiKeyHash | Self::UpstreamLogin)
    }

    pub(crate) fn syntax(kind: &ErrorKind) -> Self {
        match kind {
            ErrorKind::RecursionLimitExceeded => Self::TooDeep { limit: 64 },
            kind => Self::Syntax { reason: kind.to_string().into(), remedy: hint::syntax(kind) },
        }
    }
}

/// A type of value that a field may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// Fields with values.
    Map,
    /// Items.
    List,
    /// A text.
    Text,
    /// A text, or several.
    TextOrList,
    /// A whole number.
    Number,
    /// A whole number of bytes, or a text such as `64KiB`.
    Size,
    /// `true` or `false`.
    Bool,
    /// A rate, or the fields of a limit.
    Limit,
    /// `memory`, or the fields of a store.
    Store,
    /// `present`, a text, or the fields of a condition.
    HeaderTest,
    /// A dialect, or names of headers.
    Headers,
    /// Networks, or a number of hops.
    Proxies,
    /// Units, or the fields that say where they are said.
    Cost,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Map => "fields with values",
            Self::List => "a list",
            Self::Text => "text",
            Self::TextOrList => "text or a list of texts",
            Self::Number => "a whole number",
            Self::Size => "a size",
            Self::Bool => "true or false",
            Self::Limit => "a rate or the fields of a limit",
            Self::HeaderTest => "text or a condition",
            Self::Store => "the name of a store or its fields",
            Self::Headers => "a dialect or names of headers",
            Self::Proxies => "a list of networks or a number of hops",
            Self::Cost => "a whole number or where the cost is said",
        })
    }
}

/// A type of value that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// Nothing, `null` or `~`.
    Nothing,
    /// A text without quotes.
    Plain(Box<str>),
    /// A text in quotes.
    Quoted(Box<str>),
    /// A list.
    List,
    /// Fields with values.
    Map,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Plain(text) => write!(f, "`{text}`"),
            Self::Quoted(text) => write!(f, "the text \"{text}\""),
            Self::List => f.write_str("a list"),
            Self::Map => f.write_str("fields with values"),
        }
    }
}
