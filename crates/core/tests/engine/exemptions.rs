//! Who passes and who does not, whatever the rules say.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use cupo_core::{
    Action, Engine, Entry, ExemptionSource, ExemptionsSource, HeaderSecret, ManualClock, MatchSource,
    Observer, OnMissing, Outcome, Policy, PolicyErrors, PolicySource, Problem, RuleSource, Settled,
    StoreError, Timestamp, Verdict,
};
use cupo_testkit::conformance::ReferenceStore;

use crate::support::{Ask, TestEngine, ready, rule, shaped};

const SECRET: &str = "an-open-secret-of-32-characters.";

fn path(name: &str, path: &str) -> ExemptionSource {
    let matches = MatchSource { path: Some(path.to_owned()), ..MatchSource::default() };
    ExemptionSource { name: name.to_owned(), matches, ..ExemptionSource::default() }
}

fn compile(allow: Vec<ExemptionSource>, block: Vec<ExemptionSource>) -> Result<Arc<Policy>, PolicyErrors> {
    let rules = vec![rule("one", &["global"], 1)];
    let exemptions = ExemptionsSource { allow, block };
    Policy::compile(PolicySource { rules, exemptions, ..PolicySource::default() })
}

fn engine(allow: Vec<ExemptionSource>, block: Vec<ExemptionSource>) -> TestEngine {
    let policy = compile(allow, block).unwrap();
    Engine::new(policy, ReferenceStore::default()).with_clock(ManualClock::at(Timestamp::from_micros(0)))
}

fn decide(engine: &TestEngine, ask: &Ask) -> Outcome {
    ready(engine.decide(ask)).unwrap()
}

fn listed(outcome: &Outcome) -> Option<&str> {
    match outcome.settled() {
        Some(Settled::Allowed(Entry::Listed(name)) | Settled::Blocked(Entry::Listed(name))) => Some(name),
        _ => None,
    }
}

#[test]
fn what_is_allowed_passes_uncounted() {
    let engine = engine(vec![path("health", "/healthz")], vec![]);
    for _ in 0..5 {
        let outcome = decide(&engine, &Ask::get("/healthz"));
        assert!(outcome.is_admitted());
        assert!(matches!(outcome.settled(), Some(Settled::Allowed(_))));
        assert_eq!(listed(&outcome), Some("health"));
        assert!(outcome.binding().is_none() && outcome.decisions().next().is_none());
    }
    assert_eq!(engine.store().keys(), 0, "nothing was counted");
    assert!(decide(&engine, &Ask::get("/")).is_admitted());
    let denied = decide(&engine, &Ask::get("/"));
    assert!(!denied.is_admitted());
    assert_eq!(denied.settled(), None, "a limit refuses it, no list");
}

#[test]
fn what_is_blocked_does_not_pass_and_is_not_counted() {
    let engine = engine(vec![], vec![path("old", "/v1/**")]);
    for _ in 0..5 {
        let outcome = decide(&engine, &Ask::get("/v1/users"));
        assert_eq!((outcome.verdict(), outcome.retry_after()), (Verdict::Impossible, None));
        assert!(matches!(outcome.settled(), Some(Settled::Blocked(_))));
        assert_eq!(listed(&outcome), Some("old"));
        assert!(outcome.binding().is_none() && outcome.lacks().is_none());
    }
    assert_eq!(engine.store().keys(), 0);
    assert!(decide(&engine, &Ask::get("/v2/users")).is_admitted());
}

#[test]
fn whoever_is_in_both_lists_is_blocked() {
    let engine = engine(vec![path("all", "/a/**")], vec![path("some", "/a/b/**")]);
    assert_eq!(listed(&decide(&engine, &Ask::get("/a/b"))), Some("some"));
    assert_eq!(listed(&decide(&engine, &Ask::get("/a/c"))), Some("all"));
    // Another spelling of the path is the same path.
    assert_eq!(listed(&decide(&engine, &Ask::get("/a/c/../b/"))), Some("some"));
}

#[test]
fn all_conditions_of_an_entry_hold() {
    let matches = MatchSource { methods: vec!["GET".into()], ..path("", "/a").matches };
    let entry = ExemptionSource { name: "e".into(), matches, ..ExemptionSource::default() };
    let engine = engine(vec![entry], vec![]);
    assert!(decide(&engine, &Ask::get("/a")).settled().is_some());
    assert!(decide(&engine, &Ask { method: Some("POST"), ..Ask::get("/a") }).settled().is_none());
    assert!(decide(&engine, &Ask::get("/b")).settled().is_none());
}

#[test]
fn a_listed_api_key_is_known_by_its_hash() {
    // printf %s key-of-ada | sha256sum
    let hash = [
        0x55, 0x32, 0xe4, 0x41, 0x83, 0xf4, 0x7e, 0xd1, 0xfc, 0x14, 0x68, 0x51, 0xb9, 0x6d, 0x58, 0x5c, 0x24,
        0xda, 0x5b, 0xd5, 0xfe, 0x31, 0xa8, 0x85, 0xce, 0xbc, 0x35, 0x72, 0x61, 0xed, 0x8f, 0x7f,
    ];
    let entry = ExemptionSource { name: "ada".into(), api_keys: vec![[7; 32], hash], ..Default::default() };
    let engine = engine(vec![entry], vec![]);
    let keyed = |api_key| Ask { api_key: Some(api_key), ..Ask::default() };
    for spelling in ["key-of-ada", " key-of-ada "] {
        assert_eq!(listed(&decide(&engine, &keyed(spelling))), Some("ada"));
    }
    for other in [keyed("key-of-bob"), keyed("KEY-OF-ADA"), keyed(""), Ask::default()] {
        assert!(decide(&engine, &other).settled().is_none(), "{other:?}");
    }
}

#[test]
fn a_secret_header_is_compared_whole() {
    let secret = HeaderSecret::new("x-probe", SECRET.as_bytes()).unwrap();
    let entry = ExemptionSource { name: "probe".into(), secret: Some(secret), ..Default::default() };
    let engine = engine(vec![entry], vec![]);
    let shown = |value| Ask { named: vec![("header:x-probe", value)], ..Ask::default() };
    assert_eq!(listed(&decide(&engine, &shown(SECRET))), Some("probe"));
    for other in [shown(&SECRET[..31]), shown("an-open-secret-of-32-characters!"), shown(""), Ask::default()]
    {
        assert!(decide(&engine, &other).settled().is_none(), "{other:?}");
    }
}

#[test]
fn a_secret_is_long_and_its_header_is_one() {
    assert!(matches!(
        HeaderSecret::new("x-probe", b"  fifteen-bytes-x "),
        Err(Problem::ShortSecret { length: 15, least: 16 })
    ));
    assert!(HeaderSecret::new("x-probe", b"sixteen-bytes-xx").is_ok());
    for name in ["", "X-Probe", "x probe"] {
        assert!(matches!(HeaderSecret::new(name, SECRET.as_bytes()), Err(Problem::HeaderName(_))), "{name}");
    }
    let shown = format!("{:?}", HeaderSecret::new("x-probe", SECRET.as_bytes()).unwrap());
    assert_eq!(shown, "HeaderSecret { header: \"x-probe\", .. }");
}

#[test]
fn an_entry_is_for_somebody_and_has_a_name_of_its_own() {
    let problems = |allow, block| -> Vec<(String, Problem)> {
        compile(allow, block).unwrap_err().0.into_iter().map(|e| (e.path, e.problem)).collect()
    };
    let nameless = ExemptionSource { name: "a b".into(), ..path("", "/a") };
    let for_all = ExemptionSource { name: "all".into(), ..ExemptionSource::default() };
    assert_eq!(
        problems(vec![nameless, for_all], vec![]),
        [
            ("allow[0].name".to_owned(), Problem::EntryName("a b".into())),
            ("allow[1]".to_owned(), Problem::EntryForAll),
        ]
    );
    assert_eq!(
        problems(vec![path("a", "/a")], vec![path("b", "/b"), path("a", "/c")]),
        [("block[1].name".to_owned(), Problem::DuplicateEntry("a".into()))]
    );
    let wrong = problems(vec![], vec![path("a", "no-slash")]);
    assert_eq!(wrong[0].0, "block[0].path");
}

#[test]
fn bad_credentials_are_counted_and_refused() {
    let bad = Ask { bad_credentials: true, ..Ask::get("/") };
    let (engine, _) = crate::support::engine([
        rule("two", &["user | ip"], 2),
        RuleSource { on_missing: OnMissing::Deny, ..rule("known", &["user"], 1) },
        RuleSource { action: Action::Shadow, ..rule("seen", &["global"], 9) },
    ]);
    let bad = Ask { client: Some([192, 0, 2, 1].into()), ..bad };
    for left in [1, 0] {
        let outcome = decide(&engine, &bad);
        assert_eq!(outcome.settled(), Some(&Settled::BadCredentials));
        assert_eq!((outcome.verdict(), outcome.retry_after()), (Verdict::Impossible, None));
        assert_eq!(outcome.binding().unwrap().decision.remaining, left, "counted like a request without");
        assert_eq!(outcome.decisions().count(), 1, "the rule that it lacks a part for does not apply");
        assert_eq!(outcome.shadow_decisions().count(), 0);
    }
    let outcome = decide(&engine, &bad);
    assert_eq!(outcome.settled(), None, "the flood meets the limit");
    assert!(outcome.retry_after().is_some());
    let other = Ask { client: Some([192, 0, 2, 2].into()), ..bad };
    assert_eq!(
        decide(&engine, &other).settled(),
        Some(&Settled::BadCredentials),
        "others have their own limit"
    );
}

#[test]
fn lists_come_before_credentials_and_before_what_is_lacking() {
    let rules = vec![RuleSource { on_missing: OnMissing::Deny, ..rule("known", &["user"], 1) }];
    let exemptions = ExemptionsSource { allow: vec![path("a", "/a")], block: vec![path("b", "/b")] };
    let policy = Policy::compile(PolicySource { rules, exemptions, ..PolicySource::default() }).unwrap();
    let engine =
        Engine::new(policy, ReferenceStore::default()).with_clock(ManualClock::at(Timestamp::from_micros(0)));
    for bad_credentials in [false, true] {
        let ask = |path| Ask { bad_credentials, ..Ask::get(path) };
        assert_eq!(listed(&decide(&engine, &ask("/a"))), Some("a"));
        assert_eq!(listed(&decide(&engine, &ask("/b"))), Some("b"));
    }
    assert_eq!(decide(&engine, &Ask::get("/c")).settled(), Some(&Settled::Lacks { rule: 0 }));
}

#[test]
fn a_request_with_bad_credentials_is_not_held() {
    let (engine, _) = crate::support::engine([shaped("queue", 5)]);
    let bad = Ask { bad_credentials: true, ..Ask::default() };
    for _ in 0..3 {
        let outcome = decide(&engine, &bad);
        assert!(!outcome.is_admitted() && outcome.delay().is_zero());
    }
}

struct Names(Sender<String>);

impl Observer for Names {
    fn decided(&self, outcome: &Outcome) {
        listed(outcome).into_iter().for_each(|name| self.0.send(name.to_owned()).unwrap());
    }

    fn store_failed(&self, _: &StoreError) {}
}

#[test]
fn the_observer_is_told() {
    let policy = compile(vec![path("a", "/a")], vec![path("b", "/b")]).unwrap();
    let (names, told) = channel();
    let engine = Engine::new(policy, ReferenceStore::default()).with_observer(Names(names));
    for path in ["/a", "/b", "/c"] {
        ready(engine.decide(&Ask::get(path))).unwrap();
    }
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["a", "b"]);
}
