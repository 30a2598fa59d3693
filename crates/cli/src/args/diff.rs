//! `cupo diff`.

use std::path::PathBuf;

/// Say what would change from one policy to another, and what becomes of what is counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Compares what the files mean, not how they are written. Of every rule that changes it says whether its counters go on, are
taken over when a key is first seen, or start fresh, and why; of settings, whether a running gateway takes them by itself or
waits for a restart.

Exit codes:
  0  both say the same
  1  they differ
  2  one of them is wrong or cannot be read; or the options are wrong
  3  stdout failed

Examples:
  cupo diff cupo.yaml cupo.new.yaml
  git show HEAD:cupo.yaml > before.yaml && cupo diff before.yaml cupo.yaml")]
pub(crate) struct DiffArgs {
    /// The policy file (YAML) that is in force.
    pub(crate) old: PathBuf,
    /// The policy file that would replace it.
    pub(crate) new: PathBuf,
    /// Print JSON instead.
    #[arg(long)]
    pub(crate) json: bool,
}
