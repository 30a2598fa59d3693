//! What the real clock gives back. Nothing here depends on a fast machine: what is claimed is claimed only where the time that
//! passed implies it.

use std::thread;
use std::time::Duration;

use crate::client::{Client, Response};
use crate::process::{Gateway, PolicyFile, now, wait};
use crate::upstream;

#[test]
fn whoever_waits_as_told_is_admitted() {
    let limits = [
        "{ algorithm: fixed_window, count: 5, window: 2s }",
        "{ algorithm: sliding_window_log, count: 5, window: 2s }",
        "{ algorithm: sliding_window_counter, count: 5, window: 2s }",
        "{ algorithm: token_bucket, capacity: 10, refill: 10/10s }",
        "{ algorithm: leaky_bucket, rate: 10/10s, queue: 9 }",
    ];
    let tests = limits.map(|limit| {
        thread::spawn(move || {
            let policy = PolicyFile::new(&format!("rules:\n  - {{ name: r, key: ip, limit: {limit} }}\n"));
            let gateway = Gateway::with_policy(&policy, upstream::ok());
            let mut client = Client::new(gateway.address);
            for _ in 0..2 {
                let denied = (0..1_000).map(|_| client.get("/")).find(|response| response.status == 429);
                let seconds = denied.expect("the limit must be reached").number("retry-after").unwrap();
                assert!((1..=2).contains(&seconds), "{limit}: {seconds}");
                wait(Duration::from_secs(seconds));
                assert_eq!(client.get("/").status, 200, "{limit}");
            }
        })
    });
    for test in tests {
        test.join().unwrap();
    }
}

/// Capacity 5, two tokens in `scale` seconds: the walk that everybody knows, if this machine is fast enough to walk it.
fn walk(scale: u32) -> bool {
    let limit = format!("{{ algorithm: token_bucket, capacity: 5, refill: 2/{scale}s }}");
    let policy = PolicyFile::new(&format!("rules:\n  - {{ name: r, key: ip, limit: {limit} }}\n"));
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    let token = Duration::from_millis(500) * scale;

    let start = now();
    let burst: Vec<Response> = (0..8).map(|_| client.get("/")).collect();
    let burst_took = start.elapsed();
    wait(token * 3);
    let later: Vec<Response> = (0..3).map(|_| client.get("/")).collect();
    // Had it taken longer, more tokens would have come, and rightly so.
    if burst_took >= token || start.elapsed() >= token * 4 {
        return false;
    }
    let told = |responses: &[Response]| -> Vec<(u16, u64)> {
        responses.iter().map(|response| (response.status, response.remaining())).collect()
    };
    let refused = [(429, 0); 3];
    assert_eq!(
        told(&burst),
        [[(200, 4), (200, 3), (200, 2), (200, 1), (200, 0)].as_slice(), &refused].concat()
    );
    let told_to_wait = burst[5..].iter().map(|response| response.number("retry-after").unwrap());
    let longest = u64::from((500 * scale).div_ceil(1_000));
    told_to_wait.for_each(|seconds| assert!((1..=longest).contains(&seconds), "{seconds}"));
    assert_eq!(told(&later), [(200, 2), (200, 1), (200, 0)]);
    true
}

#[test]
fn the_well_known_walk() {
    assert!([1, 2, 4, 8].into_iter().any(walk), "this machine is too slow to tell");
}
