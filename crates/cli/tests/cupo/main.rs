//! The command as its users see it: the real binary, real sockets, real pipes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod agreement;
mod answers;
mod check;
mod client;
mod curl;
mod delay;
mod doubtful;
mod exemptions;
mod fuzzing;
mod help;
mod hostile;
mod identity;
mod limits;
mod matching;
mod operation;
mod options;
mod passing;
mod policies;
mod process;
mod proxies;
mod proxy_protocol;
mod readme;
mod replay;
mod replay_errors;
mod replay_inputs;
mod replay_logs;
mod replay_page;
mod replay_summary;
mod status;
mod tokens;
mod trust;
mod unix_socket;
mod unusable;
mod upstream;
mod waiting;
