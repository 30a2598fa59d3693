//! What the server's end costs per response: `cargo run --release -p cupo-http --example field_cost`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measurement for people")]
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::net::IpAddr;
use std::time::Instant;

use cupo_core::{Attributes, Trust};
use cupo_http::{Dialect, Dialects, Presentation, RequestAttributes};
use http::HeaderMap;
use support::{Request, bucket, decide, engine, fixed, rule};

/// Few enough to finish within one turn on a busy core; the best of many turns counts.
const ROUNDS: u32 = 1_000;

fn measure<T>(name: &str, mut work: impl FnMut() -> T) {
    let best = (0..300)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..ROUNDS {
                black_box(work());
            }
            start.elapsed() / ROUNDS
        })
        .min()
        .unwrap();
    println!("{name:<44} {best:?}");
}

fn main() {
    let one = engine(vec![rule("burst", "ip", fixed(1_000, 60))]);
    let two =
        engine(vec![rule("burst", "ip", bucket(100, 100, 60)), rule("daily", "ip", fixed(1_000, 86_400))]);
    for (name, engine) in [("1 rule", &one), ("2 rules", &two)] {
        let outcome = decide(engine, &Request(1));
        for (dialect, dialects) in [
            ("default", Dialects::default()),
            ("x-ratelimit", Dialects::NONE.with(Dialect::XRateLimit)),
            ("ietf-11", Dialects::NONE.with(Dialect::Ietf11)),
        ] {
            let presentation = Presentation::from(dialects);
            measure(&format!("fields of {name}, {dialect}, empty head"), || {
                let mut headers = HeaderMap::new();
                presentation.write(&outcome, &mut headers);
                headers
            });
        }
    }
    assert!(decide(&two, &Request(99)).is_admitted());
    let denied = decide(&two, &Request(50));
    let accepts = HeaderMap::from_iter([
        (http::header::ACCEPT, "application/json, text/plain, */*".parse().unwrap()),
        (http::header::ACCEPT_LANGUAGE, "es-MX,es;q=0.9,en;q=0.8".parse().unwrap()),
    ]);
    let usual = Presentation::default();
    measure("429, problem", || usual.refusal(&denied, &HeaderMap::new(), 0));
    measure("429, negotiated", || usual.refusal(&denied, &accepts, 0));

    let head =
        http::Request::get("/v1/items?page=2").header("x-forwarded-for", "6.6.6.6, 203.0.113.9, 10.0.0.2");
    let (parts, ()) = head.body(()).unwrap().into_parts();
    let trust = Trust { proxies: vec!["10.0.0.0/8".parse().unwrap()].into(), ..Trust::default() };
    measure("attributes, no proxy", || {
        RequestAttributes::new(&parts, IpAddr::from([192, 0, 2, 1]), &trust).client()
    });
    measure("attributes, two trusted hops", || {
        RequestAttributes::new(&parts, IpAddr::from([10, 0, 0, 1]), &trust).client()
    });
}
