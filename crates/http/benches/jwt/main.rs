//! What a token costs a request: verified for the first time, and remembered. Algorithms take turns in interleaved rounds, medians
//! printed. `cargo bench -p cupo-http --features jwt --bench jwt`.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "a program for people who measure"
)]

#[path = "../../tests/jwt/support.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod support;

use std::hint::black_box;

use cupo_http::{Identify as _, Identity, JwtSettings, JwtVerifier};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use support::{NOW, at, claims, token, verifier};

const ALGORITHMS: [&str; 4] = ["HS256", "ES256", "EdDSA", "RS256"];
/// Fewer than are remembered.
const TOKENS: usize = 512;
const ROUNDS: usize = 41;

struct Case {
    verifier: JwtVerifier,
    requests: Vec<HeaderMap>,
    /// Of which the signature is another token's.
    forged: Vec<HeaderMap>,
}

fn request(token: &str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}")).unwrap())])
}

impl Case {
    fn new(algorithm: &str) -> Self {
        let more = |n| json!({ "sub": format!("user-{n}"), "iss": "https://id.example", "org": { "tenant": "acme" } });
        let tokens: Vec<String> = (0..=TOKENS).map(|n| token(algorithm, &claims(&more(n)))).collect();
        let forged = tokens.iter().zip(tokens.iter().skip(1)).map(|(token, other)| {
            let (input, signature) = (token.rsplit_once('.').unwrap().0, other.rsplit_once('.').unwrap().1);
            request(&format!("{input}.{signature}"))
        });
        let case = Self {
            verifier: verifier(&[algorithm], JwtSettings::default()),
            requests: tokens.iter().take(TOKENS).map(|token| request(token)).collect(),
            forged: forged.collect(),
        };
        assert!(case.requests.iter().all(|request| case.identified(request)));
        assert!(!case.forged.iter().any(|request| case.identified(request)));
        case
    }

    fn identified(&self, request: &HeaderMap) -> bool {
        matches!(self.verifier.identify(request, at(NOW)), Identity::Known(_))
    }

    /// Nanoseconds of CPU per request: verified, remembered, and forged.
    fn round(&self) -> [f64; 3] {
        self.verifier.replace_keys(self.verifier.keys());
        let each = |requests: &[HeaderMap]| {
            let start = cpu_time();
            for request in requests {
                black_box(self.identified(black_box(request)));
            }
            (cpu_time() - start) / requests.len() as f64
        };
        [each(&self.requests), each(&self.requests), each(&self.forged)]
    }
}

/// Nanoseconds for which this thread has been running: what else the machine does does not count.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn main() {
    let cases = ALGORITHMS.map(Case::new);
    let mut rounds: Vec<[[f64; 3]; 4]> = Vec::new();
    for _ in 0..=ROUNDS {
        rounds.push([0, 1, 2, 3].map(|case: usize| cases[case].round()));
    }
    println!("us of CPU per request, medians of {ROUNDS} rounds of {TOKENS} tokens");
    println!("{:<10}{:>12}{:>12}{:>12}", "", "first time", "remembered", "forged");
    for (case, name) in ALGORITHMS.iter().enumerate() {
        // The first round warms up.
        let figure =
            |column: usize| median(rounds.iter().skip(1).map(|round| round[case][column]).collect()) / 1e3;
        println!("{name:<10}{:>12.2}{:>12.2}{:>12.2}", figure(0), figure(1), figure(2));
    }
}
