//! What a server writes, a client reads back; and obeying it is enough.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::time::Duration;

use cupo_core::{Clock, Limit, Rate, Timestamp};
use cupo_http::{Advice, Dialect, Dialects, MAX_SECONDS, MAX_UNITS, Presentation};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use support::{Request, decide, engine, rule};

const ALL: Dialects = Dialects::NONE.with(Dialect::XRateLimit).with(Dialect::Ietf11).with(Dialect::Ietf06);

fn ceil(span: Duration) -> Duration {
    Duration::from_secs(u64::try_from(span.as_nanos().div_ceil(1_000_000_000)).unwrap().min(MAX_SECONDS))
}

fn limits() -> impl Strategy<Value = Limit> {
    let span = prop_oneof![1_u64..5_000, Just(60_000), Just(86_400_000)].prop_map(Duration::from_millis);
    (0_u64..20, 1_u64..20, span, 0_u8..5).prop_map(|(count, rate, span, algorithm)| {
        match algorithm {
            0 => Limit::fixed_window(count, span),
            1 => Limit::sliding_window_log(count, span),
            2 => Limit::sliding_window_counter(count, span),
            3 => Limit::token_bucket(count, Rate::new(rate, span)),
            _ => Limit::leaky_bucket(Rate::new(rate, span), count),
        }
        .unwrap()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        limits in prop::collection::vec(limits(), 1..5),
        steps in prop::collection::vec((0_u64..3_000, 0_u64..4), 1..30),
    ) {
        let names = ["a", "B-2", "c.d:e", "f_g"];
        let all = Presentation::from(ALL);
        let engine = engine(limits.iter().zip(names).map(|(limit, name)| rule(name, "ip", *limit)).collect());
        for (pause, cost) in steps {
            engine.clock().advance(Duration::from_millis(pause));
            let now = engine.clock().now();
            let outcome = decide(&engine, &Request(cost));
            let headers = if outcome.is_admitted() {
                let mut headers = HeaderMap::new();
                all.write(&outcome, &mut headers);
                headers
            } else {
                all.refusal(&outcome, &HeaderMap::new(), 0).into_parts().0.headers
            };
            let advice = Advice::read(&headers, now);

            let wait = outcome.retry_after().map(ceil);
            prop_assert_eq!(advice.retry_after, wait);
            prop_assert!(wait.is_none_or(|wait| wait >= Duration::from_secs(1)));

            for name in ["ratelimit", "ratelimit-policy"] {
                let text = headers[name].to_str().unwrap();
                let list: sfv::List = sfv::Parser::new(text).parse().unwrap();
                let mut serializer = sfv::ListSerializer::new();
                serializer.members(&list);
                let canonical = serializer.finish();
                prop_assert_eq!(canonical.as_deref(), Some(text));
            }

            let named: Vec<_> = advice.quotas.iter().filter(|q| q.dialect == Dialect::Ietf11).collect();
            prop_assert_eq!(named.len(), outcome.decisions().count());
            for (quota, ruling) in named.iter().zip(outcome.decisions()) {
                let decision = ruling.decision;
                prop_assert_eq!(quota.policy.as_deref(), Some(ruling.rule.name()));
                prop_assert_eq!(quota.limit, Some(decision.limit));
                prop_assert_eq!(quota.remaining, Some(decision.remaining));
                let window = ceil(ruling.limit.window());
                prop_assert_eq!(quota.window, Some(window).filter(|w| !w.is_zero()));
                let more = decision.retry_after().unwrap_or(decision.reset_after);
                let contradicts = wait.is_some_and(|wait| ceil(more) > wait);
                prop_assert_eq!(quota.reset_after, (!contradicts).then(|| ceil(more)));
            }

            let binding = outcome.binding().unwrap();
            for dialect in [Dialect::XRateLimit, Dialect::Ietf06] {
                let quota = advice.quotas.iter().find(|quota| quota.dialect == dialect).unwrap();
                prop_assert_eq!(quota.limit, Some(binding.decision.limit));
                prop_assert_eq!(quota.remaining, Some(binding.decision.remaining));
                let reset = quota.reset_after.unwrap();
                prop_assert!(reset >= binding.decision.retry_after().unwrap_or_default());
                if dialect == Dialect::XRateLimit || outcome.is_admitted() {
                    let exact = binding.decision.reset_after;
                    prop_assert!(reset >= exact && reset < exact + Duration::from_secs(1));
                }
            }
        }
    }

    #[test]
    fn obeying_is_enough(
        limits in prop::collection::vec(limits(), 1..4),
        costs in prop::collection::vec(1_u64..4, 1..40),
        dialect in prop_oneof![Just(None), Just(Some(Dialect::XRateLimit)), Just(Some(Dialect::Ietf06)), Just(Some(Dialect::Ietf11))],
    ) {
        let names = ["a", "b", "c"];
        let all = Presentation::from(ALL);
        let engine = engine(limits.iter().zip(names).map(|(limit, name)| rule(name, "ip", *limit)).collect());
        for cost in costs {
            let outcome = decide(&engine, &Request(cost));
            if outcome.retry_after().is_none() {
                continue;
            }
            let mut headers = all.refusal(&outcome, &HeaderMap::new(), 0).into_parts().0.headers;
            // Whatever a client looks at: `Retry-After`, or the reset in any of the dialects.
            let wait = if let Some(dialect) = dialect {
                headers.remove("retry-after");
                let advice = Advice::read(&headers, engine.clock().now());
                let resets = advice.quotas.iter().filter(|quota| quota.dialect == dialect);
                resets.filter_map(|quota| quota.reset_after).max()
            } else {
                Advice::read(&headers, engine.clock().now()).wait()
            };
            engine.clock().advance(wait.unwrap());
            prop_assert!(decide(&engine, &Request(cost)).is_admitted());
        }
    }

    #[test]
    fn no_bytes_break_the_reader(
        fields in prop::collection::vec((0_usize..9, prop_oneof![
            prop::collection::vec(prop_oneof![32_u8..127, 128_u8..=255, Just(9_u8)], 0..60),
            "(\"a\"|;|q=|r=|t=|w=|,| |-|[0-9]{1,22}|\\(|\\)|:|\\.|[0-9]{1,3}){0,12}".prop_map(Vec::from),
        ]), 0..12),
        now in any::<u64>(),
    ) {
        const NAMES: [&str; 9] = [
            "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-policy",
            "ratelimit", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset",
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::from_static(NAMES[name]), HeaderValue::from_bytes(&value).unwrap());
        }
        let advice = Advice::read(&headers, Timestamp::from_micros(now));
        let most = Duration::from_secs(MAX_SECONDS);
        prop_assert!(advice.wait().unwrap_or_default() <= most);
        for quota in advice.quotas {
            prop_assert!(quota.limit.unwrap_or_default() <= MAX_UNITS);
            prop_assert!(quota.remaining.unwrap_or_default() <= MAX_UNITS);
            prop_assert!(quota.reset_after.unwrap_or_default() <= most && quota.window.unwrap_or_default() <= most);
        }
    }
}

fn read(fields: &[(&'static str, &str)]) -> Advice {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(HeaderName::from_static(name), value.parse().unwrap());
    }
    Advice::read(&headers, Timestamp::from_micros(784_111_777_500_000))
}

#[test]
fn retry_after_has_two_forms() {
    let wait = |text| read(&[("retry-after", text)]).retry_after;
    assert_eq!(wait("120"), Some(Duration::from_secs(120)));
    assert_eq!(wait(" 0 "), Some(Duration::ZERO));
    assert_eq!(wait("Sun, 06 Nov 1994 08:49:38 GMT"), Some(Duration::from_millis(500)));
    assert_eq!(wait("Sunday, 06-Nov-94 08:49:47 GMT"), Some(Duration::from_millis(9_500)));
    assert_eq!(wait("Sun Nov  6 08:49:37 1994"), Some(Duration::ZERO), "half a second ago");
    assert_eq!(wait("99999999999999999999999999"), Some(Duration::from_secs(MAX_SECONDS)));
    for bad in ["", "-1", "1.5", "soon", "Sun, 99 Nov 1994 08:49:38 GMT"] {
        assert_eq!(wait(bad), None, "{bad}");
    }
}

#[test]
fn lists_may_be_split_and_are_whole_or_nothing() {
    let advice = read(&[
        ("ratelimit", "\"a\";r=1;t=2"),
        ("ratelimit-policy", "\"a\";q=10;w=60;qu=\"requests\""),
        ("ratelimit", "\"b\";r=0;t=9"),
        ("ratelimit-policy", "\"b\";q=20"),
    ]);
    assert_eq!(advice.quotas.len(), 2);
    assert_eq!((advice.quotas[1].limit, advice.quotas[1].window), (Some(20), None));
    assert_eq!(advice.wait(), Some(Duration::from_secs(9)));
    for bad in [
        "\"a\";r=1, ",
        "\"a;r=1",
        "\"a\";r=1;;",
        "a;r=1",
        "\"a\";r=-1",
        "\"a\";r=1.5",
        "\"a\"",
        "(\"a\");r=1",
        "1;r=1",
    ] {
        assert_eq!(read(&[("ratelimit", bad)]).quotas, [], "{bad}");
    }
}

#[test]
fn older_drafts_are_read_too() {
    let advice = read(&[
        ("ratelimit-limit", "100, 100;w=60"),
        ("ratelimit-remaining", "0"),
        ("ratelimit-reset", "7"),
        ("ratelimit-policy", "100;w=60"),
    ]);
    assert_eq!(advice.quotas.len(), 1);
    assert_eq!(advice.quotas[0].limit, Some(100));
    assert_eq!(advice.wait(), Some(Duration::from_secs(7)));
}
