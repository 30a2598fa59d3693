//! `cupo admin`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use cupo_core::parse_duration;

/// Look into a running gateway, and put things right: by its admin API.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The gateway's policy has to open the API: `admin: { listen: 127.0.0.1:9090 }`. docs/admin.md says more.

A key is said by its rule and its parts, as they are shown: `cupo admin state login 203.0.113.7`. Where a rule has
alternatives (`api_key | ip`), a part says which: `ip=203.0.113.7`. A part `-` is read from stdin, a line for each: API keys are no
arguments, which everybody on the machine can read. sha256: and what `cupo hash-key` prints will do as well.

Exit codes:
  0  done
  1  the gateway refused; the message says why
  2  the options are wrong
  3  the gateway cannot be reached, or could not do it

Examples:
  cupo admin nearest
  cupo admin state login 203.0.113.7
  cupo admin grant per-client ip=203.0.113.7 --units 100
  cupo admin block by-key - --for 10m < key.txt
  cupo admin --url https://gate.example:9090 --token-env CUPO_ADMIN_TOKEN reload")]
pub(crate) struct AdminArgs {
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
    /// Print the answer as it comes: JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: AdminCommand,
}

/// Where an admin API is, and who asks.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReachArgs {
    /// Where the admin API listens: http://HOST:PORT, https://HOST:PORT or unix:/PATH.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9090", global = true)]
    pub(crate) url: String,
    /// The variable of the environment that holds the token.
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) token_env: Option<String>,
    /// With https: who signs the gateway's certificate (PEM).
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) ca_file: Option<PathBuf>,
    /// With https: the certificate to show (PEM), where the gateway asks for one.
    #[arg(long, value_name = "FILE", requires = "key_file", global = true)]
    pub(crate) cert_file: Option<PathBuf>,
    /// With https: its key (PEM).
    #[arg(long, value_name = "FILE", requires = "cert_file", global = true)]
    pub(crate) key_file: Option<PathBuf>,
}

/// A key of a rule.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// The name of the rule.
    pub(crate) rule: String,
    /// The parts of the key, in the order of the rule's `key`; `-` is read from stdin.
    pub(crate) parts: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// What a key has used, and what is left.
    State {
        #[command(flatten)]
        key: KeyArgs,
        /// Only the limit of this plan.
        #[arg(long, value_name = "PLAN")]
        tier: Option<String>,
    },
    /// Forget what a key has used.
    Reset {
        #[command(flatten)]
        key: KeyArgs,
        /// Only by the limit of this plan.
        #[arg(long, value_name = "PLAN")]
        tier: Option<String>,
    },
    /// Give units back to a key.
    Grant {
        #[command(flatten)]
        key: KeyArgs,
        /// How many; no more than were used are given.
        #[arg(long, value_name = "N")]
        units: u64,
        /// By the limit of this plan.
        #[arg(long, value_name = "PLAN")]
        tier: Option<String>,
        /// By the limit that is multiplied by this.
        #[arg(long, value_name = "N")]
        times: Option<u64>,
    },
    /// Refuse every request of a key, for a time.
    Block {
        #[command(flatten)]
        key: KeyArgs,
        /// For how long, such as 10m or 1h: at most 30 days.
        #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
        span: Duration,
    },
    /// Lift the block of a key.
    Unblock {
        #[command(flatten)]
        key: KeyArgs,
    },
    /// Every key that is blocked.
    Blocks,
    /// The keys that the gateway has seen nearest to their limits.
    Nearest {
        /// How many at most.
        #[arg(short, value_name = "N", default_value_t = 20)]
        n: u32,
        /// Only those of this rule.
        #[arg(long, value_name = "RULE")]
        rule: Option<String>,
    },
    /// What would become of a request, and why.
    Explain {
        /// The path, with the query if there is one.
        path: String,
        /// The method.
        #[arg(short = 'X', long, value_name = "METHOD", default_value = "GET")]
        method: String,
        /// The host.
        #[arg(long, value_name = "HOST")]
        host: Option<String>,
        /// A header, such as 'x-team: blue'; as often as need be.
        #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
        headers: Vec<String>,
        /// Who connects: an address, or unix [default: 127.0.0.1].
        #[arg(long, value_name = "ADDRESS")]
        peer: Option<String>,
    },
    /// The policy in force.
    Policy,
    /// Read the policy again, and put it in force if it is right.
    Reload,
    /// Put a policy in force again that was before.
    Rollback {
        /// The revision, as `history` shows it [default: the one before].
        to: Option<String>,
    },
    /// The policies that are kept.
    History,
    /// The last changes that administrators made at this gateway.
    Audit {
        /// How many at most.
        #[arg(short, value_name = "N", default_value_t = 50)]
        n: u32,
    },
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}
