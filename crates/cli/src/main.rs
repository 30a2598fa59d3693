//! The `cupo` command.

fn main() {}
