//! Who passes and who does not, whatever the rules say: the allow-list and the block-list.

use core::fmt;
use std::collections::HashSet;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::compile::{Errors, is_name};
use super::conditions::Conditions;
use super::error::Problem;
use super::match_source::MatchSource;
use super::plans::PlansSource;
use super::request::{Needs, Request};
use crate::attributes::Attributes;
use crate::key::{ApiKeyHash, Hasher};
use crate::settled::{Entry, Settled};

/// Bytes of a SHA-256.
type Hash = [u8; 32];

/// The least bytes of a secret that a header carries.
const MIN_SECRET: usize = 16;

/// Who passes and who does not, whatever the rules say. Whoever is in both lists does not pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExemptionsSource {
    /// Requests that pass, uncounted.
    pub allow: Vec<ExemptionSource>,
    /// Requests that are refused, uncounted.
    pub block: Vec<ExemptionSource>,
}

/// An entry of a list: the requests that pass every condition. There must be one, or the entry would be for everybody.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExemptionSource {
    /// The name, unique in both lists: logs know the entry by it.
    pub name: String,
    /// What the requests are like.
    pub matches: MatchSource,
    /// Hashes of API keys as the policy hashes them, one of which the request has to carry; empty for all.
    pub api_keys: Vec<Hash>,
    /// A secret that the request has to carry; `None` for all.
    pub secret: Option<HeaderSecret>,
}

/// A secret that a header carries. Only its hash is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderSecret {
    header: Box<str>,
    hash: Hash,
}

impl HeaderSecret {
    /// The secret in the header of this name, which is in lower case.
    ///
    /// # Errors
    /// [`Problem::ShortSecret`] for one of fewer than 16 bytes, blanks around it not counted, and
    /// [`Problem::HeaderName`] for a name that no header has.
    pub fn new(header: &str, secret: &[u8]) -> Result<Self, Problem> {
        if !super::compile::is_header_name(header) {
            return Err(Problem::HeaderName(header.to_owned()));
        }
        let secret = secret.trim_ascii();
        if secret.len() < MIN_SECRET {
            return Err(Problem::ShortSecret { length: secret.len(), least: MIN_SECRET });
        }
        Ok(Self { header: header.into(), hash: Sha256::digest(secret).into() })
    }

    /// Whether the request carries the secret. The time that it takes depends on the length of what the request carries and on
    /// nothing else: both are hashed, and the comparison of the hashes looks at every byte.
    fn is_carried<A: Attributes + ?Sized>(&self, attributes: &A, lines: Lines) -> bool {
        let (mut any, mut all) = (false, true);
        attributes.header_lines(&self.header, &mut |shown| {
            let shown: Hash = Sha256::digest(shown.trim_ascii()).into();
            let is_equal = bool::from(shown.ct_eq(&self.hash));
            all &= is_equal;
            any |= is_equal;
        });
        any && (all || lines == Lines::Any)
    }
}

impl fmt::Debug for HeaderSecret {
    /// Without the hash, by which guesses could be tried.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderSecret").field("header", &self.header).finish_non_exhaustive()
    }
}

/// Which lines of a repeated header have to be as an entry says: nobody knows which of them counts elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// Any, so that no other line is a way around a block.
    Any,
    /// All, so that nobody is allowed who might be somebody else.
    All,
}

/// Both lists, compiled.
#[derive(Debug, Default)]
pub(super) struct Exemptions {
    allow: Vec<Exemption>,
    block: Vec<Exemption>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Exemption {
    name: Arc<str>,
    conditions: Conditions,
    api_keys: HashSet<Hash>,
    secret: Option<HeaderSecret>,
}

impl Exemptions {
    pub(super) fn compile(source: ExemptionsSource, plans: &PlansSource, errors: &mut Errors) -> Self {
        let mut names = HashSet::new();
        let mut list = |called: &str, entries: Vec<ExemptionSource>| {
            let compiled = entries.into_iter().enumerate();
            compiled
                .map(|(i, entry)| {
                    let at = format!("{called}[{i}]");
                    if !is_name(&entry.name) {
                        errors.add(&format!("{at}.name"), Problem::EntryName(entry.name.clone()));
                    } else if !names.insert(entry.name.clone()) {
                        errors.add(&format!("{at}.name"), Problem::DuplicateEntry(entry.name.clone()));
                    }
                    if entry.is_unconditional() {
                        errors.add(&at, Problem::EntryForAll);
                    } else if called == "allow" && entry.is_all_but() {
                        errors.add(&at, Problem::AllowAllBut);
                    }
                    Exemption {
                        name: entry.name.into(),
                        conditions: Conditions::compile(entry.matches, &at, plans, errors),
                        api_keys: entry.api_keys.into_iter().collect(),
                        secret: entry.secret,
                    }
                })
                .collect()
        };
        let (allow, block) = (list("allow", source.allow), list("block", source.block));
        Self { allow, block }
    }

    pub(super) fn allowed(&self) -> Vec<Said<'_>> {
        self.allow.iter().map(Said).collect()
    }

    pub(super) fn blocked(&self) -> Vec<Said<'_>> {
        self.block.iter().map(Said).collect()
    }

    /// The allow-list and the block-list: names, and the requests in words.
    pub(super) fn describe(&self) -> [impl Iterator<Item = (&str, String)>; 2] {
        [&self.allow, &self.block].map(|list| list.iter().map(|entry| (&*entry.name, entry.to_string())))
    }

    /// Whether an entry asks for a secret in the header of this name.
    pub(super) fn has_secret_in(&self, header: &str) -> bool {
        let mut entries = self.allow.iter().chain(&self.block);
        entries.any(|entry| entry.secret.as_ref().is_some_and(|secret| &*secret.header == header))
    }

    /// What the entries ask of requests.
    pub(super) fn needs(&self) -> Needs {
        let entries = self.allow.iter().chain(&self.block);
        entries.map(|entry| entry.conditions.needs()).fold(Needs::default(), Needs::and)
    }

    /// What the lists say of a request, if anything. Where the lines of a header disagree, it is blocked and is not allowed.
    /// `api_key` is the hash of the request's only API key, where it is known already.
    pub(super) fn settle<A: Attributes + ?Sized>(
        &self,
        request: &Request<'_, A>,
        hasher: &Hasher,
        api_key: Option<ApiKeyHash>,
    ) -> Option<Settled> {
        self.settle_where(Conditions::matches, Conditions::surely_match, request, hasher, api_key)
    }

    /// What the lists say of every request of the caller who sent this one, whatever its method, path and headers, if anything.
    pub(super) fn settle_always<A: Attributes + ?Sized>(
        &self,
        request: &Request<'_, A>,
        hasher: &Hasher,
        api_key: Option<ApiKeyHash>,
    ) -> Option<Settled> {
        let certain =
            |conditions: &Conditions, request: &Request<'_, A>| conditions.could_match(request) == Some(true);
        self.settle_where(certain, certain, request, hasher, api_key)
    }

    fn settle_where<A: Attributes + ?Sized>(
        &self,
        blocks: impl Fn(&Conditions, &Request<'_, A>) -> bool,
        allows: impl Fn(&Conditions, &Request<'_, A>) -> bool,
        request: &Request<'_, A>,
        hasher: &Hasher,
        api_key: Option<ApiKeyHash>,
    ) -> Option<Settled> {
        let carries = |entry: &Exemption, lines| entry.is_carried(request.attributes, hasher, api_key, lines);
        let name = |entry: &Exemption| Entry::Listed(Arc::clone(&entry.name));
        let blocked =
            self.block.iter().find(|entry| blocks(&entry.conditions, request) && carries(entry, Lines::Any));
        let allowed = || {
            self.allow.iter().find(|entry| allows(&entry.conditions, request) && carries(entry, Lines::All))
        };
        blocked
            .map(|entry| Settled::Blocked(name(entry)))
            .or_else(|| allowed().map(|entry| Settled::Allowed(name(entry))))
    }
}

impl ExemptionSource {
    /// Whether all conditions say what is left out.
    fn is_all_but(&self) -> bool {
        let all = MatchSource { not: self.matches.not.clone(), ..MatchSource::default() };
        self.matches == all && self.api_keys.is_empty() && self.secret.is_none()
    }

    fn is_unconditional(&self) -> bool {
        self.matches == MatchSource::default() && self.api_keys.is_empty() && self.secret.is_none()
    }
}

impl Exemption {
    /// Whether the request carries what the entry asks for beside its conditions.
    fn is_carried<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        hasher: &Hasher,
        api_key: Option<ApiKeyHash>,
        lines: Lines,
    ) -> bool {
        (self.api_keys.is_empty() || self.lists_key(attributes, hasher, api_key, lines))
            && self.secret.as_ref().is_none_or(|secret| secret.is_carried(attributes, lines))
    }

    fn lists_key<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        hasher: &Hasher,
        api_key: Option<ApiKeyHash>,
        lines: Lines,
    ) -> bool {
        // The table's hashing is keyed at random, so how long a miss takes tells nothing of the hashes that are listed.
        let is_listed = |ApiKeyHash(hash)| self.api_keys.contains(&hash);
        if let Some(only) = api_key {
            return is_listed(only);
        }
        let (mut any, mut count) = (false, 0_usize);
        attributes.api_key_lines(&mut |key| {
            count = count.saturating_add(1);
            any |= hasher.hash(key).is_some_and(is_listed);
        });
        // Several keys are no key, be they the same: what they are counted as has no place in a list.
        any && (count == 1 || lines == Lines::Any)
    }
}

/// An entry as it is told: without secrets and hashes.
#[derive(PartialEq)]
pub(super) struct Said<'a>(&'a Exemption);

impl Said<'_> {
    pub(super) fn name(&self) -> &str {
        &self.0.name
    }
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exemption { conditions, api_keys, secret, .. } = self.0;
        write!(f, "{conditions}")?;
        if !api_keys.is_empty() {
            write!(f, " with one of {} API keys", api_keys.len())?;
        }
        if let Some(secret) = secret {
            write!(f, " with the secret in {}", secret.header)?;
        }
        Ok(())
    }
}

impl fmt::Display for Exemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.conditions)?;
        match self.api_keys.len() {
            0 => {}
            1 => f.write_str(" with one API key")?,
            many => write!(f, " with one of {many} API keys")?,
        }
        self.secret.as_ref().map_or(Ok(()), |secret| write!(f, " with the secret in {}", secret.header))
    }
}
