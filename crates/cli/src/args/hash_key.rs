//! `cupo hash-key`.

use std::path::PathBuf;

/// Print the hashes of API keys, as a file of callers names them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads API keys from stdin, one a line, and prints the hash of each as the policy counts it: under the secret that
`api_key_secret_env` names, if it does. Keys are never arguments, which everybody on the machine can read. Where the key comes in
`authorization`, write what stands in the header: `Bearer KEY`.

Exit codes:
  0  every key was hashed
  1  the policy is wrong or cannot be read, or stdin had no key
  3  stdin or stdout failed

Example:
  cupo hash-key -c cupo.yaml < key.txt")]
pub(crate) struct HashKeyArgs {
    /// The policy file (YAML). Its file of callers is not looked at.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}
