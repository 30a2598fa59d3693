//! The command line of `cupo explain`.

use std::path::PathBuf;

/// Say what would become of a request, and why: which rules apply, what is left, what the caller would be answered.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ExplainArgs {
    /// The policy file (YAML).
    #[arg(short, long, value_name = "FILE", required_unless_present = "admin")]
    pub(crate) config: Option<PathBuf>,
    /// The path from the root, with the query if there is one.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: String,
    /// The method.
    #[arg(short = 'X', long, value_name = "METHOD", default_value = "GET")]
    pub(crate) method: String,
    /// The host that is asked for.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// A header, once for each line; @FILE reads lines from a file, and @- from stdin: everybody on the machine can read
    /// arguments.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Where the connection comes from: an address, or `unix`. With `proxy_protocol`, what the PROXY header says.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) peer: String,
    /// How long the body is.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) body_bytes: u64,
    /// Look at the counters in the store that the policy names, instead of at none.
    #[arg(long, conflicts_with = "store")]
    pub(crate) connect: bool,
    /// Look at the counters in this store: memory (which is empty), or the URL of Redis or Valkey servers.
    #[arg(long, value_name = "STORE", default_value = "memory")]
    pub(crate) store: String,
    /// Ask the gateway that runs, by its admin API: http://HOST:PORT, https://HOST:PORT or unix:/PATH. It goes by its own
    /// policy and counters.
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "connect", "store"])]
    pub(crate) admin: Option<String>,
    /// The variable of the environment that has the token for it.
    #[arg(long, value_name = "NAME", requires = "admin")]
    pub(crate) token_env: Option<String>,
    /// With https: who signs the gateway's certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "admin")]
    pub(crate) ca_file: Option<PathBuf>,
    /// With https: the certificate to show (PEM), where the gateway asks for one.
    #[arg(long, value_name = "FILE", requires_all = ["admin", "key_file"])]
    pub(crate) cert_file: Option<PathBuf>,
    /// With https: its key (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["admin", "cert_file"])]
    pub(crate) key_file: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Nothing is sent to an upstream, nothing is charged, and no key is created or changed in any store. Tokens are verified as the
gateway does. In the output secrets are hashes, and the query is left out. docs/explain.md says what everything means.

Exit codes:
  0  the request was explained, whatever would become of it
  1  the policy is wrong or cannot be read, or the gateway refuses
  2  the options make no request
  3  the store or the gateway cannot be reached, or stdin or stdout failed

Examples:
  cupo explain -c cupo.yaml --path /orders/7
  cupo explain -c cupo.yaml -X POST --path /login --peer 203.0.113.9 -H 'x-api-key: k1' --connect
  cupo explain -c cupo.yaml --path / -H @headers.txt --json
  cupo explain --admin http://127.0.0.1:9090 --token-env CUPO_ADMIN_TOKEN --path /orders/7 --peer 203.0.113.9";
