//! `cupo hash-key`: hashes of API keys, for the file of callers.

use std::io::{self, Read, Write};

use cupo_http::{canonical_credentials, carries_credentials};

use crate::args::HashKeyArgs;
use crate::failure::Failure;

/// More than this is no list of keys.
const MAX_BYTES: u64 = 64 << 20;

pub(crate) fn run(args: &HashKeyArgs) -> Result<(), Failure> {
    let policy = cupo_config::load_without_callers(&args.config)?.policy;
    let broken = |source| Failure::Broken { input: "stdin".into(), source };
    let mut input = Vec::new();
    io::stdin().lock().take(MAX_BYTES).read_to_end(&mut input).map_err(broken)?;
    let canonical = carries_credentials(&policy.trust().api_key_header);
    let hashes: Vec<String> = input
        .split(|byte| *byte == b'\n')
        .filter_map(|key| {
            if canonical {
                policy.hash_api_key(&canonical_credentials(key))
            } else {
                policy.hash_api_key(key)
            }
        })
        .map(|hash| format!("{hash}\n"))
        .collect();
    if hashes.is_empty() {
        return Err(Failure::NoKey);
    }
    io::stdout().lock().write_all(hashes.concat().as_bytes()).map_err(Failure::Write)
}
