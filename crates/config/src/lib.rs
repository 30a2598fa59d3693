//! The policy file of the Cupo rate limiter: YAML in, gateway settings and a compiled [`Policy`] out.
//!
//! Every error carries the file, the line, the column, the path (`rules[2].limit.window`) and a hint, and all that can be
//! found are reported at once, in the order of the file. Nothing is guessed: a field that is unknown, said twice or of
//! another type is an error.
//!
//! ```
//! let config = cupo_config::parse("cupo.yaml", "rules: [{ name: all, key: ip, limit: 100/minute }]")?;
//! assert_eq!(config.policy.rules().len(), 1);
//!
//! let errors = cupo_config::parse("cupo.yaml", "rules:\n  - { name: all, key: ip, limt: 100/minute }").unwrap_err();
//! let error = errors.iter().find(|error| error.hint().contains("did you mean `limit`?")).unwrap();
//! assert_eq!((error.line(), error.column(), error.path()), (2, 27, "rules[0].limt"));
//! # Ok::<(), cupo_config::ConfigErrors>(())
//! ```

#![forbid(unsafe_code)]

mod admin_source;
mod calendar;
mod callers;
mod decode;
mod error;
mod excerpt;
mod fault;
mod file;
mod hint;
mod jwt_source;
mod problem;
mod reader;
mod responses_source;
mod schema;
mod shown;
mod source;
mod standing_on;
mod store_source;
mod tree;

pub use admin_source::{AdminSource, AdminTlsSource, AdminToken, AdminTokenSource};
pub use callers::{CallersFile, MAX_CALLERS_BYTES};
pub use decode::{MEANT_HEADERS, RESERVED_HEADERS};
pub use error::{ConfigError, ConfigErrors};
pub use file::read_file;
pub use jwt_source::{InvalidToken, JwtKeySource, JwtSource};
pub use problem::{Expected, Found, Problem};
pub use responses_source::{
    CorsSource, HeaderDialect, HeadersSource, MessageSource, Preflight, ResetAs, ResponsesSource,
    RuleResponseSource, UpstreamHeaders,
};
pub use schema::{CALLERS_SCHEMA, POLICY_SCHEMA};
pub use source::{
    Config, GatewaySource, LimitsSource, ListenSource, OwnPath, ProxyProtocol, Source, TimeoutsSource,
    UpstreamProtocol, UpstreamSource,
};
pub use store_source::{MemoryBound, PasswordSource, RedisSource, StoreSource};

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cupo_core::Policy;

use callers::Callers;
use fault::Faults;
use tree::{Mark, Node};

/// The longest file that is read, in bytes: 1 MiB.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Reads and compiles the file at `path`. Blocks on file I/O.
///
/// # Errors
/// [`ConfigErrors`]: everything that is wrong with the file, or why it cannot be read.
pub fn load(path: impl AsRef<Path>) -> Result<Config, ConfigErrors> {
    match file::read(path.as_ref(), MAX_FILE_BYTES) {
        Ok(source) => parse_source(source, true),
        Err(unread) => Err(ConfigErrors::one(&unread.source, unread.mark, unread.problem)),
    }
}

/// The same without the file of callers that the policy names, which is not looked at.
///
/// # Errors
/// [`ConfigErrors`]: everything that is wrong with the policy file, or why it cannot be read.
pub fn load_without_callers(path: impl AsRef<Path>) -> Result<Config, ConfigErrors> {
    match file::read(path.as_ref(), MAX_FILE_BYTES) {
        Ok(source) => parse_source(source, false),
        Err(unread) => Err(ConfigErrors::one(&unread.source, unread.mark, unread.problem)),
    }
}

impl Config {
    /// The error that what the field at `path` names (such as `store.redis.url`) cannot be used, and `why`.
    #[must_use]
    pub fn unusable(&self, path: &str, why: impl std::fmt::Display) -> ConfigErrors {
        let faults = Faults::default();
        let (mark, path) = match reader::read(self.source.text(), &faults) {
            Some(root) => {
                let (node, path) = root.locate(path);
                (node.mark, path)
            }
            None => (Mark::START, path.to_owned()),
        };
        let problem = Problem::Unusable(why.to_string().into());
        let errors = ConfigErrors::new(&self.source, vec![fault::Fault { mark, path, problem }]);
        errors.standing_on(self.files())
    }
}

/// Compiles `text`; `file_name` is what errors call it, and where the paths of other files count from. Reads those
/// files and the variables of the environment that `text` names. O(length).
///
/// # Errors
/// [`ConfigErrors`]: everything that is wrong with the text.
pub fn parse(file_name: &str, text: &str) -> Result<Config, ConfigErrors> {
    let source = Source::new(file_name, text);
    if text.len() > MAX_FILE_BYTES {
        return Err(ConfigErrors::one(&source, Mark::START, Problem::FileTooLarge { limit: MAX_FILE_BYTES }));
    }
    parse_source(source, true)
}

fn parse_source(source: Source, with_callers: bool) -> Result<Config, ConfigErrors> {
    let faults = Faults::default();
    let mut callers = None;
    let mut files = vec![PathBuf::from(source.name())];
    let decoded = reader::read(source.text(), &faults).and_then(|root| {
        let mut draft = decode::draft(&root, &faults)?;
        let said = draft.callers.as_ref().map(|(said, _)| callers::path(source.name(), said));
        files = standing_on::named(source.name(), said, draft.jwt.as_ref());
        let of_the_start = standing_on::of_the_start(source.name(), &draft.store, draft.admin.as_ref());
        files.extend(of_the_start.into_iter().map(|(_, path)| path));
        if let Some((said, mark)) = draft.callers.as_ref().filter(|_| with_callers) {
            match Callers::load(source.name(), said) {
                Ok(loaded) => callers = Some(loaded),
                Err((path, error)) => {
                    let problem = Problem::Callers { path, source: error };
                    faults.add(*mark, "callers".to_owned(), problem);
                }
            }
        }
        if let Some(callers) = &mut callers {
            draft.policy.callers = mem::take(&mut callers.entries);
            if !draft.has_plans {
                draft.policy.callers.iter_mut().for_each(|caller| caller.plan = None);
            }
        }
        let policy = compile(draft.policy, &draft.rule_indices, &root, &faults, callers.as_ref())?;
        let callers = callers.as_ref().map(Callers::file);
        Some((draft.gateway, draft.store, draft.admin, draft.jwt, draft.responses, policy, callers))
    });
    let mut errors = ConfigErrors::new(&source, faults.into_inner());
    if let Some((source, faults)) = callers.map(Callers::into_faults) {
        errors.add(&source, faults);
    }
    match decoded {
        Some((gateway, store, admin, jwt, responses, policy, callers)) if errors.is_empty() => {
            Ok(Config { gateway, store, admin, jwt, responses, policy, callers, source })
        }
        _ => Err(errors.standing_on(files)),
    }
}

/// Compiles what could be decoded, and brings core's errors back to where they were written.
fn compile(
    policy: cupo_core::PolicySource,
    rule_indices: &[usize],
    root: &Node,
    faults: &Faults,
    callers: Option<&Callers>,
) -> Option<Arc<Policy>> {
    let errors = match Policy::compile(policy) {
        Ok(policy) => return Some(policy),
        Err(errors) => errors,
    };
    for error in errors.0 {
        if let Some(callers) = callers.filter(|_| error.path.starts_with("callers[")) {
            tell_of_callers(error, callers);
            continue;
        }
        let in_file = |index: usize| rule_indices.get(index).copied().unwrap_or(index);
        let problem = match error.problem {
            cupo_core::Problem::DuplicateName { name, first } => {
                cupo_core::Problem::DuplicateName { name, first: in_file(first) }
            }
            // Rules that were written with errors of their own are no lack of rules.
            cupo_core::Problem::NoRules if !root.field("rules").is_some_and(Node::is_empty_list) => continue,
            other => other,
        };
        let path = tree::renumber(&error.path, "rules", in_file);
        let (mut node, path) = root.locate(&path);
        if let cupo_core::Problem::Method(method) = &problem {
            node = node.item_with_text(method).unwrap_or(node);
        }
        faults.add(node.mark, path, Problem::Policy(problem));
    }
    None
}

/// Brings an error about a caller back to where he was written.
fn tell_of_callers(error: cupo_core::PolicyError, callers: &Callers) {
    let in_file = |index: usize| callers.indices.get(index).copied().unwrap_or(index);
    let problem = match error.problem {
        cupo_core::Problem::CallerTwice { first } => {
            cupo_core::Problem::CallerTwice { first: in_file(first) }
        }
        other => other,
    };
    let path = tree::renumber(&error.path, "callers", in_file);
    if let Some(root) = &callers.root {
        let (node, path) = root.locate(&path);
        callers.faults.add(node.mark, path, Problem::Policy(problem));
    }
}
