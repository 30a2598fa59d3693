//! `cupo schema`.

use cupo_config::{CALLERS_SCHEMA, POLICY_SCHEMA};

use crate::args::SchemaArgs;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let schema = if args.callers { CALLERS_SCHEMA } else { POLICY_SCHEMA };
    output::write(args.output.as_deref(), schema)
}
