//! curl, as people call it.

use std::process::Command;

use crate::client::Response;
use crate::process::run_to_end;

/// The response to a `curl -i` with these arguments.
pub(crate) fn curl(arguments: &[&str]) -> Response {
    let mut command = Command::new("curl");
    // No proxy that the machine may be set to.
    command.args(["-s", "-i", "--noproxy", "*", "--max-time", "30"]).args(arguments);
    let ran = run_to_end(command, "");
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    let (head, body) = ran.out.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Response { status, headers, body: body.to_owned() }
}
