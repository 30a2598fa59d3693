//! The `cupo` command.

#![forbid(unsafe_code)]

mod admin;
mod args;
mod check;
mod diff;
mod docs;
mod explain;
mod failure;
mod hash_key;
mod jwt;
mod output;
mod page;
mod presentation;
mod replay;
mod schema;
mod serve;
mod store;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, Command};

/// The allocator decides a good part of what a proxied request costs; see docs/decisions/0003-gateway-runtime.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[allow(clippy::print_stderr, reason = "errors go to stderr")]
fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Serve(args) => serve::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Diff(args) => return diff::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::HashKey(args) => hash_key::run(&args),
        Command::Admin(args) => admin::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Docs(args) => docs::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}
