//! `cupo schema`.

use std::path::PathBuf;

/// Print the JSON Schema of the policy file, for editors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The schema is JSON Schema, draft 2020-12. An editor that knows it completes fields, shows what they mean, and marks what is
wrong while one types. Where the editor speaks yaml-language-server, such as VS Code, a comment in the policy is enough:

  # yaml-language-server: $schema=cupo.schema.json

What a schema cannot know, such as names that come twice, `cupo check` finds.

Exit codes:
  0  the schema was written
  3  stdout or the file failed

Examples:
  cupo schema --output cupo.schema.json
  cupo schema --callers --output callers.schema.json")]
pub(crate) struct SchemaArgs {
    /// The schema of the file of callers instead.
    #[arg(long)]
    pub(crate) callers: bool,
    /// Where to write it [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
