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

mod decode;
mod error;
mod excerpt;
mod fault;
mod hint;
mod problem;
mod reader;
mod source;
mod store_source;
mod tree;

pub use error::{ConfigError, ConfigErrors};
pub use problem::{Expected, Found, Problem};
pub use source::{
    Config, GatewaySource, LimitsSource, OwnPath, Source, TimeoutsSource, UpstreamProtocol, UpstreamSource,
};
pub use store_source::{MemoryBound, PasswordSource, RedisSource, StoreSource};

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use cupo_core::Policy;

use fault::Faults;
use tree::{Mark, Node};

/// The longest file that is read, in bytes: 1 MiB.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Reads and compiles the file at `path`. Blocks on file I/O.
///
/// # Errors
/// [`ConfigErrors`]: everything that is wrong with the file, or why it cannot be read.
pub fn load(path: impl AsRef<Path>) -> Result<Config, ConfigErrors> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    match (read, String::from_utf8(bytes)) {
        (Err(error), _) => Err(ConfigErrors::one(&Source::new(&name, ""), Mark::START, Problem::Read(error))),
        (Ok(_), Ok(text)) => parse(&name, &text),
        (Ok(_), Err(error)) => {
            let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let mark = Mark::after(Source::new(&name, &String::from_utf8_lossy(before)).text());
            let source = Source::new(&name, &String::from_utf8_lossy(error.as_bytes()));
            Err(ConfigErrors::one(&source, mark, Problem::NotUtf8))
        }
    }
}

/// Compiles `text`; `file_name` is what errors call it. O(length).
///
/// # Errors
/// [`ConfigErrors`]: everything that is wrong with the text.
pub fn parse(file_name: &str, text: &str) -> Result<Config, ConfigErrors> {
    let source = Source::new(file_name, text);
    if text.len() > MAX_FILE_BYTES {
        return Err(ConfigErrors::one(&source, Mark::START, Problem::FileTooLarge { limit: MAX_FILE_BYTES }));
    }
    let faults = Faults::default();
    let decoded = reader::read(source.text(), &faults).and_then(|root| {
        let draft = decode::draft(&root, &faults)?;
        let policy = compile(draft.policy, &draft.rule_indices, &root, &faults)?;
        Some(Config { gateway: draft.gateway, store: draft.store, policy, source: source.clone() })
    });
    match (decoded, faults.into_inner()) {
        (Some(config), faults) if faults.is_empty() => Ok(config),
        (_, faults) => Err(ConfigErrors::new(&source, faults)),
    }
}

/// Compiles what could be decoded, and brings core's errors back to where they were written.
fn compile(
    policy: cupo_core::PolicySource,
    rule_indices: &[usize],
    root: &Node,
    faults: &Faults,
) -> Option<Arc<Policy>> {
    let errors = match Policy::compile(policy) {
        Ok(policy) => return Some(policy),
        Err(errors) => errors,
    };
    for error in errors.0 {
        let in_file = |index: usize| rule_indices.get(index).copied().unwrap_or(index);
        let problem = match error.problem {
            cupo_core::Problem::DuplicateName { name, first } => {
                cupo_core::Problem::DuplicateName { name, first: in_file(first) }
            }
            // Rules that were written with errors of their own are no lack of rules.
            cupo_core::Problem::NoRules if !root.field("rules").is_some_and(Node::is_empty_list) => continue,
            other => other,
        };
        let path = tree::renumber(&error.path, in_file);
        let (mut node, path) = root.locate(&path);
        if let cupo_core::Problem::Method(method) = &problem {
            node = node.item_with_text(method).unwrap_or(node);
        }
        faults.add(node.mark, path, Problem::Policy(problem));
    }
    None
}
