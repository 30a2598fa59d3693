//! `cupo diff`: what would change, and what carries over.

mod json;
mod settings;
mod text;

use std::process::ExitCode;

use cupo_config::Config;
use cupo_core::Changes;

use crate::args::DiffArgs;
use crate::failure::Failure;
use crate::output;
use settings::Setting;

/// Everything that two policy files say otherwise.
pub(crate) struct Difference {
    pub(crate) changes: Changes,
    pub(crate) settings: Vec<Setting>,
}

impl Difference {
    pub(crate) fn between(old: &Config, new: &Config) -> Self {
        Self { changes: old.policy.changes(&new.policy), settings: settings::changed(old, new) }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.settings.is_empty()
    }
}

/// As programs that compare do: 0 where both are the same, 1 where they differ, more where that cannot be told.
#[allow(clippy::print_stderr, reason = "errors go to stderr")]
pub(crate) fn run(args: &DiffArgs) -> ExitCode {
    match compare(args) {
        Ok(difference) if difference.is_empty() => ExitCode::SUCCESS,
        Ok(_) => 1.into(),
        // Whoever reads it has seen that there is something.
        Err(failure) if failure.is_closed_pipe() => 1.into(),
        Err(failure) => {
            eprintln!("{failure}");
            match failure {
                Failure::Write(_) => 3.into(),
                _ => 2.into(),
            }
        }
    }
}

fn compare(args: &DiffArgs) -> Result<Difference, Failure> {
    let (old, new) = (cupo_config::load(&args.old)?, cupo_config::load(&args.new)?);
    let difference = Difference::between(&old, &new);
    let shown = if args.json { json::show(&difference) } else { text::show(&difference) };
    output::write(None, &shown)?;
    Ok(difference)
}
