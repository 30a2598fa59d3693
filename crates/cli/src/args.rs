//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

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
  3  the machine did not do its part: a port is taken, a file cannot be read";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(CheckArgs),
    Replay(ReplayArgs),
}

/// Validate a policy file and say what it means, rule by rule.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints to stdout what each rule matches, counts and allows. Errors go to stderr, each with file, line, column and a hint.

Exit codes:
  0  the policy is valid
  1  it is not, or cannot be read

Example:
  cupo check cupo.yaml")]
pub(crate) struct CheckArgs {
    /// The policy file (YAML).
    pub(crate) file: PathBuf,
}

/// Try a policy on recorded traffic, in virtual time.
#[derive(Debug, clap::Args)]
#[command(after_help = REPLAY_HELP)]
pub(crate) struct ReplayArgs {
    /// The policy file (YAML).
    pub(crate) file: PathBuf,
}

const REPLAY_HELP: &str = r#"Reads events as JSON lines on stdin, decides each at its own time through the same engine that serves requests, and
writes one JSON line each to stdout, in order. No clock is read and nothing is waited for.

Event (all but t_us optional; an unknown field is an error):
  {"t_us":0,"peer":"203.0.113.9","method":"GET","path":"/","headers":{"x-key":"k1"},"descriptors":{},"cost":1}

  t_us         microseconds since the Unix epoch; time that steps back grants nothing extra
  peer         the address that the connection came from; proxies are trusted as the policy says
  method       GET if not said
  path         with the query if there is one; / if not said
  headers      name to value, or to a list of values for several lines
  descriptors  what other programs say of the request
  cost         multiples of a rule's cost; 0 is a peek; 1 if not said

Answer:
  {"t_us":0,"allowed":true,"binding":"rule-name","decisions":[{"rule":"rule-name","key":"rule-name ip=203.0.113.9",
   "verdict":"admit","limit":5,"remaining":4,"retry_after_us":null,"reset_after_us":1000000,"delay_us":0}]}

  binding      the rule that decides: the one that denies longest, or the one with the least left
  verdict      admit, deny (wait retry_after_us) or impossible (the cost can never fit)
  shadow       true on decisions of rules that only watch
  lacks        the rule that refused the request because it lacks what the rule counts by (on_missing: deny)

Exit codes:
  0  every event was decided
  1  the policy or an event is wrong; what came before it has been answered
  3  stdin or stdout failed

Example:
  printf '%s\n' '{"t_us":0}' '{"t_us":1}' | cupo replay cupo.yaml"#;
