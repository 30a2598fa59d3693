//! What a policy file says about tokens, as plain values. `None` stands for what it does not say.

use std::path::PathBuf;
use std::time::Duration;

/// How callers are known by JSON Web Tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JwtSource {
    /// Where the keys are.
    pub keys: JwtKeySource,
    /// The algorithms that are allowed, by their names in tokens; at least one.
    pub algorithms: Vec<&'static str>,
    /// What `iss` has to be.
    pub issuer: Option<String>,
    /// One of these has to be in `aud`, where there are any.
    pub audiences: Vec<String>,
    /// How far clocks may be apart, up to 5 minutes.
    pub leeway: Option<Duration>,
    /// The header that carries the token, in lower case.
    pub header: Option<String>,
    /// The claim that names the user.
    pub user_claim: Option<String>,
    /// What becomes of a request with a token that does not hold.
    pub invalid: InvalidToken,
}

/// Where keys of tokens are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JwtKeySource {
    /// In this file, a JSON Web Key Set. A relative path counts from the folder of the policy file.
    File(PathBuf),
    /// The secret in this variable of the environment.
    Environment(String),
}

/// What becomes of a request with a token that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum InvalidToken {
    /// It is anonymous.
    #[default]
    Anonymous,
    /// It is refused.
    Refuse,
}

impl InvalidToken {
    pub(crate) const ALL: [Self; 2] = [Self::Anonymous, Self::Refuse];

    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Refuse => "refuse",
        }
    }
}
