//! The example does what it says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

#[allow(dead_code, reason = "its main is not for tests")]
#[path = "../examples/axum.rs"]
mod example;

use http::StatusCode;
use support::{ask, get, serve};

#[tokio::test]
async fn five_at_once_and_no_more() {
    let server = serve(example::app().unwrap()).await;
    let mut statuses = Vec::new();
    for path in ["/", "/search/cupo", "/", "/", "/", "/search/again"] {
        let response = ask(server, get(path)).await;
        let rules = response.headers()["ratelimit"].to_str().unwrap().split(", ").count();
        assert_eq!(rules, if path == "/" { 1 } else { 2 }, "{path}");
        statuses.push(response.status());
    }
    assert_eq!(statuses[..5], [StatusCode::OK; 5]);
    // A slow machine takes two seconds for five requests only if something else is wrong.
    assert_eq!(statuses[5], StatusCode::TOO_MANY_REQUESTS);
}
