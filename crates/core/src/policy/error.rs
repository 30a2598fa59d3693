//! What is wrong with a policy.

use core::fmt;

use thiserror::Error;

use crate::limit::LimitError;
use crate::path::TemplateError;

/// Everything that is wrong with a policy; never empty.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct PolicyErrors(pub Vec<PolicyError>);

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// One thing that is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct PolicyError {
    /// Where, such as `rules[2].match.path`.
    pub path: String,
    /// What, with what to do about it.
    pub problem: Problem,
}

/// What can be wrong with a policy whose values are each well-formed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is no rule.
    #[error("a policy without rules protects nothing; write at least one rule")]
    NoRules,
    /// The name is empty, too long, or has characters that headers cannot carry.
    #[error("`{0}` is not a rule name; write 1 to 64 characters from a to z, A to Z, 0 to 9 and - _ . :")]
    Name(String),
    /// Two rules have one name.
    #[error(
        "the name `{name}` is taken by rules[{first}]; counters are kept by name, so give each rule its own"
    )]
    DuplicateName {
        /// The name.
        name: String,
        /// The rule that has it already.
        first: usize,
    },
    /// The name is that of the rule which guards the status endpoint.
    #[error("the name `{0}` is taken by the status endpoint's own limit; choose another")]
    ReservedName(String),
    /// The name of an entry is empty, too long, or has characters that logs cannot carry.
    #[error(
        "`{0}` is not the name of an entry; write 1 to 64 characters from a to z, A to Z, 0 to 9 and - _ . :"
    )]
    EntryName(String),
    /// Two entries of the lists have one name.
    #[error(
        "the name `{0}` is taken by another entry; the access log tells entries apart by name, so give each its own"
    )]
    DuplicateEntry(String),
    /// An entry has no condition.
    #[error(
        "an entry without a condition would be for every request; write at least one, such as `path` or `client`"
    )]
    EntryForAll,
    /// An entry allows all requests but some.
    #[error(
        "`not` alone would allow every request but a few, and those too of which too little is known; write what is allowed"
    )]
    AllowAllBut,
    /// A secret that a header carries is short enough to be guessed.
    #[error("a secret of {length} bytes can be guessed; give it at least {least}")]
    ShortSecret {
        /// Its length in bytes.
        length: usize,
        /// The least length.
        least: usize,
    },
    /// The cost is zero.
    #[error(
        "a cost of 0 never counts; write a cost of at least 1, or `action: shadow` to watch without denying"
    )]
    ZeroCost,
    /// The cost can never fit the limit.
    #[error(
        "a cost of {cost} never fits a limit that holds {quota}; lower the cost, raise the limit, or write a limit of 0 to block everything"
    )]
    CostAboveQuota {
        /// The cost.
        cost: u64,
        /// What the limit holds.
        quota: u64,
    },
    /// The cost never fits this node's share of the limit.
    #[error(
        "a cost of {cost} never fits this node's share of the limit, which is {share} with `on_store_error: local`; lower the cost, raise the limit, or choose `allow` or `deny`"
    )]
    CostAboveShare {
        /// The cost.
        cost: u64,
        /// What the share holds.
        share: u64,
    },
    /// Nothing is reserved.
    #[error("a reservation of 0 lets everybody pass until the first response is there; reserve at least 1")]
    ZeroReserve,
    /// The cost of requests that do not say theirs is above the highest there is.
    #[error("a `default` of {default} is above `max`, which is {max}; lower it, or leave it out for {max}")]
    DefaultAboveMax {
        /// The default.
        default: u64,
        /// The highest.
        max: u64,
    },
    /// A body is measured in units of nothing.
    #[error("a body cannot be measured in units of 0 bytes; write at least 1")]
    ZeroUnit,
    /// Costs that are known with the response, of a limit that has slots.
    #[error(
        "a leaky bucket gives nothing back once a request's slot has come, which is before its response; use `token_bucket`, whose capacity is the queue and one more, or another algorithm"
    )]
    SettleInSlots,
    /// No response would be charged.
    #[error("without a status nothing would ever be charged; write at least one")]
    NoStatuses,
    /// A status that no response has.
    #[error("no response has a status from {from} to {to}; write numbers from 100 to 599")]
    Status {
        /// The first.
        from: u16,
        /// The last.
        to: u16,
    },
    /// `delay` with an algorithm that has no slots.
    #[error(
        "`action: delay` needs slots to hold requests for, and only `leaky_bucket` has them; use that algorithm or `action: deny`"
    )]
    DelayWithoutSlots,
    /// There are no replicas.
    #[error("at least one replica enforces a policy; write their number, or leave it out for 1")]
    NoReplicas,
    /// A replica's share of the limit leaves the number domain.
    #[error("a share of this limit, divided by the replicas, cannot be counted: {0}")]
    Share(LimitError),
    /// The method is no token in upper case.
    #[error("`{0}` is not a method; write it in upper case, as in `GET`")]
    Method(String),
    /// The text names no host.
    #[error(
        "`{0}` is not a host; write a name such as `api.example.com`, without scheme, port or path, or `*.example.com` for every host below it"
    )]
    Host(Box<str>),
    /// A header condition on the host.
    #[error("the host has spellings that a header condition misses; write `host` beside `header` instead")]
    HostHeader,
    /// The header's value could never be so.
    #[error("no header is `{0}`, since blanks around a value do not count; write it without them")]
    HeaderBlanks(Box<str>),
    /// The regular expression is malformed or too large.
    #[error("`{pattern}` is not a regular expression that can be used: {reason}")]
    Regex {
        /// The expression.
        pattern: Box<str>,
        /// Why not.
        reason: Box<str>,
    },
    /// `not` leaves out every request.
    #[error("`not` without a condition leaves out every request; write what to leave out")]
    NotEverything,
    /// `not` leaves out what the conditions beside it ask for.
    #[error("no request passes: `not` leaves out all that the conditions beside it ask for")]
    NeverMatches,
    /// Every request stops here.
    #[error(
        "every request stops at this rule, so that those after it would never be looked at; give it a `match`, or put it last"
    )]
    StopsAll,
    /// The path template is malformed.
    #[error(transparent)]
    Path(#[from] TemplateError),
    /// The name of a tier or of a number is empty, too long, or has other characters.
    #[error(
        "`{0}` is not the name of a plan or a number; write 1 to 64 characters from a to z, A to Z, 0 to 9 and - _"
    )]
    PlanName(String),
    /// The name of a tier, or of a number in its tier, comes twice.
    #[error("`{0}` comes twice; give each its own name")]
    PlanTwice(String),
    /// Plans are chosen among, and there are none.
    #[error("there are no plans to choose from; write `plans`")]
    NoPlans,
    /// There is no such tier.
    #[error("there is no plan `{name}`; there are: {known}")]
    UnknownPlan {
        /// The name.
        name: String,
        /// The tiers there are.
        known: String,
    },
    /// No tier has such a number.
    #[error("no plan has a number `{number}`; there are: {known}")]
    UnknownNumber {
        /// The name.
        number: String,
        /// The numbers there are.
        known: String,
    },
    /// A tier lacks a number that a rule takes.
    #[error(
        "the plan `{tier}` has no number `{number}`, which the rule `{rule}` takes; write it, or `{number}: unlimited`"
    )]
    TierLacks {
        /// The tier.
        tier: String,
        /// The number.
        number: String,
        /// The rule.
        rule: String,
    },
    /// A claim without a name.
    #[error("a claim has a name")]
    EmptyClaim,
    /// What is said of a caller's tier is never looked at.
    #[error("this plan is never looked at: `plan.from` does not name `callers`")]
    CallersNotAsked,
    /// A caller is in the list twice.
    #[error("callers[{first}] is about this caller already; say all in one entry")]
    CallerTwice {
        /// The entry that is there already.
        first: usize,
    },
    /// A user without a name.
    #[error("a user has a name")]
    EmptyUser,
    /// Blocked and unlimited at once.
    #[error("a caller is blocked or unlimited, not both; keep one of the two")]
    BlockedAndUnlimited,
    /// No times as much as others.
    #[error("0 times as much is nothing; write `blocked: true` to refuse the caller")]
    ZeroTimes,
    /// More multipliers than there may be.
    #[error("callers have more than {most} different `times`; use plans for so many")]
    ManyTimes {
        /// The most.
        most: usize,
    },
    /// So many times a limit leave the number domain.
    #[error("{times} times what the rule `{rule}` allows cannot be counted: {error}")]
    Times {
        /// The multiplier.
        times: u64,
        /// The rule.
        rule: String,
        /// Why.
        error: LimitError,
    },
    /// The prefix length is out of range.
    #[error("an IPv6 prefix has 1 to 128 bits, not {0}; 64 is one customer of most providers")]
    Ipv6Prefix(u8),
    /// The header's name is malformed.
    #[error("`{0}` is not a header name")]
    HeaderName(String),
}
