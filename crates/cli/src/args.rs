//! The command line.

mod admin;
mod diff;
mod docs;
mod explain;
mod hash_key;
mod replay;
mod schema;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use cupo_config::ListenSource;
use cupo_core::Algorithm;
use tracing::Level;

pub(crate) use admin::{AdminArgs, AdminCommand, KeyArgs, ReachArgs};
pub(crate) use diff::DiffArgs;
pub(crate) use docs::{DocsArgs, PageFormat, PageLanguage};
pub(crate) use explain::ExplainArgs;
pub(crate) use hash_key::HashKeyArgs;
pub(crate) use replay::ReplayArgs;
pub(crate) use schema::SchemaArgs;

/// Cupo: an exact rate limiter.
#[derive(Debug, Parser)]
#[command(name = "cupo", version, about, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the policy or the input is wrong; the message says where and what to do
  2  the options are wrong
  3  the machine did not do its part: a port is taken, stdin or stdout failed";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(ServeArgs),
    Check(CheckArgs),
    Diff(DiffArgs),
    Explain(ExplainArgs),
    Replay(ReplayArgs),
    HashKey(HashKeyArgs),
    Admin(AdminArgs),
    Schema(SchemaArgs),
    Docs(DocsArgs),
}

/// Put a policy before an upstream: a reverse proxy that enforces it.
#[derive(Debug, clap::Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct ServeArgs {
    /// The policy file (YAML); without one, --upstream and --limit say enough.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where requests go: http://HOST:PORT, or `demo` for a tiny built-in upstream. Overrules the file.
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Where to listen: an address and a port, or unix:/PATH [default: 127.0.0.1:8080]. Overrules the file.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<ListenSource>,
    /// Where counters are kept: memory, or the URL of Redis or Valkey servers. Overrules the file.
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
    #[command(flatten)]
    pub(crate) quick: QuickArgs,
    /// What the log on stderr tells, besides what is worse.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub(crate) log: LogLevel,
}

fn address(text: &str) -> Result<ListenSource, &'static str> {
    text.parse().map_err(|_| {
        "write an IP address and a port, such as 127.0.0.1:8080, 0.0.0.0:80 or [::]:8080, or unix: and a path from the root"
    })
}

/// A policy of one rule, without a file.
#[derive(Debug, clap::Args)]
#[group(multiple = true, conflicts_with = "config")]
pub(crate) struct QuickArgs {
    /// How much each key may ask, such as 100/minute, 5/10s or 20/500ms.
    #[arg(long, value_name = "RATE")]
    pub(crate) limit: Option<String>,
    /// How it is counted.
    #[arg(long, value_name = "NAME", default_value = "sliding_window_counter")]
    pub(crate) algorithm: AlgorithmName,
    /// The capacity of a token bucket, the queue of a leaky bucket [default: the count of the rate].
    #[arg(long, value_name = "N")]
    pub(crate) burst: Option<u64>,
    /// What is counted: ip, api_key, user, route, method, host, global, header(NAME)… Alternatives as in 'api_key | ip'; once
    /// for each part of a composite [default: ip].
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum AlgorithmName {
    FixedWindow,
    SlidingWindowLog,
    SlidingWindowCounter,
    TokenBucket,
    LeakyBucket,
}

impl From<AlgorithmName> for Algorithm {
    fn from(name: AlgorithmName) -> Self {
        match name {
            AlgorithmName::FixedWindow => Self::FixedWindow,
            AlgorithmName::SlidingWindowLog => Self::SlidingWindowLog,
            AlgorithmName::SlidingWindowCounter => Self::SlidingWindowCounter,
            AlgorithmName::TokenBucket => Self::TokenBucket,
            AlgorithmName::LeakyBucket => Self::LeakyBucket,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

impl LogLevel {
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::Error => Level::ERROR,
            Self::Warn => Level::WARN,
            Self::Info => Level::INFO,
            Self::Debug => Level::DEBUG,
        }
    }
}

const SERVE_HELP: &str = "\
Every response of a limited request carries X-RateLimit-Limit, -Remaining, -Reset and the IETF fields RateLimit and
RateLimit-Policy; a refused one is 429 with Retry-After. /.cupo/health answers probes. SIGTERM or SIGINT stops accepting and
finishes what is in flight; a second one does not wait.

Exit codes:
  0  stopped by a signal, everything in flight finished
  1  the policy is wrong or cannot be read; the message says where and what to do
  2  the options are wrong
  3  the port cannot be had

Examples:
  cupo serve -c cupo.yaml
  cupo serve --upstream demo --limit 10/minute --algorithm token_bucket
  cupo serve --upstream http://127.0.0.1:9000 --limit 100/minute --key 'api_key | ip' --listen 0.0.0.0:8080";

/// Validate a policy file and say what it means, rule by rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints to stdout what each rule matches, counts and allows. Errors go to stderr, each with file, line, column and a hint.

Exit codes:
  0  the policy is valid
  1  it is not, or cannot be read
  3  with --connect: the store cannot be reached; the message says why

Example:
  cupo check cupo.yaml")]
pub(crate) struct CheckArgs {
    /// The policy file (YAML).
    pub(crate) file: PathBuf,
    /// Also try to reach the store that the policy names.
    #[arg(long)]
    pub(crate) connect: bool,
}
