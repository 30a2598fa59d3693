//! A request made of plain values, and short ways to write rules.

use std::borrow::Cow;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cupo_core::{
    Attributes, Engine, KeySpec, Limit, ManualClock, Policy, PolicySource, Rate, RuleSource, Timestamp,
};
use cupo_testkit::conformance::ReferenceStore;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// A request; `named` are headers, query parameters, cookies, descriptors and claims alike.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask {
    pub(crate) client: Option<IpAddr>,
    pub(crate) api_key: Option<&'static str>,
    pub(crate) user: Option<&'static str>,
    /// Further lines of the API key, and of the user.
    pub(crate) more_keys: Vec<&'static str>,
    pub(crate) more_users: Vec<&'static str>,
    pub(crate) method: Option<&'static str>,
    pub(crate) host: Option<&'static str>,
    pub(crate) path: Option<&'static str>,
    pub(crate) named: Vec<(&'static str, &'static str)>,
    pub(crate) cost: Option<u64>,
    pub(crate) bad_credentials: bool,
    pub(crate) body_bytes: Option<u64>,
}

impl Ask {
    pub(crate) fn from(address: &str) -> Self {
        Self { client: Some(address.parse().unwrap()), ..Self::default() }
    }

    pub(crate) fn get(path: &'static str) -> Self {
        Self { method: Some("GET"), path: Some(path), ..Self::default() }
    }

    fn named(&self, kind: &str, name: &str) -> Option<Cow<'_, [u8]>> {
        let wanted = format!("{kind}:{name}");
        self.named.iter().find(|(own, _)| *own == wanted).map(|(_, value)| Cow::Borrowed(value.as_bytes()))
    }
}

impl Attributes for Ask {
    fn client(&self) -> Option<IpAddr> {
        self.client
    }
    fn api_key(&self) -> Option<Cow<'_, [u8]>> {
        self.api_key
            .map(|v| if self.more_keys.is_empty() { v } else { "several" })
            .map(|v| Cow::Borrowed(v.as_bytes()))
    }
    fn api_key_lines(&self, line: &mut dyn FnMut(&[u8])) {
        self.api_key.iter().chain(&self.more_keys).for_each(|v| line(v.as_bytes()));
    }
    fn user(&self) -> Option<Cow<'_, [u8]>> {
        self.user
            .map(|v| if self.more_users.is_empty() { v } else { "several" })
            .map(|v| Cow::Borrowed(v.as_bytes()))
    }
    fn user_lines(&self, line: &mut dyn FnMut(&[u8])) {
        self.user.iter().chain(&self.more_users).for_each(|v| line(v.as_bytes()));
    }
    fn method(&self) -> Option<&str> {
        self.method
    }
    fn host(&self) -> Option<&str> {
        self.host
    }
    fn path(&self) -> Option<&str> {
        self.path
    }
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.named("header", name)
    }
    fn header_lines(&self, name: &str, line: &mut dyn FnMut(&[u8])) {
        let wanted = format!("header:{name}");
        self.named.iter().filter(|(own, _)| *own == wanted).for_each(|(_, value)| line(value.as_bytes()));
    }
    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.named("query", name)
    }
    fn cookie(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.named("cookie", name)
    }
    fn descriptor(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.named("descriptor", name)
    }
    fn has_bad_credentials(&self) -> bool {
        self.bad_credentials
    }
    fn claim(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.named("claim", name)
    }
    fn vouched_header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.named("vouched", name)
    }
    fn body_bytes(&self) -> Option<u64> {
        self.body_bytes
    }
    fn cost(&self) -> u64 {
        self.cost.unwrap_or(1)
    }
}

pub(crate) fn key(parts: &[&str]) -> KeySpec {
    KeySpec::parse(parts).unwrap()
}

/// A rule that lets `count` requests per minute pass for each key, exactly.
pub(crate) fn rule(name: &str, parts: &[&str], count: u64) -> RuleSource {
    RuleSource::new(name, key(parts), Limit::sliding_window_log(count, MINUTE).unwrap())
}

pub(crate) fn shaped(name: &str, queue: u64) -> RuleSource {
    let limit = Limit::leaky_bucket(Rate::new(1, Duration::from_secs(1)), queue).unwrap();
    RuleSource { action: cupo_core::Action::Delay, ..RuleSource::new(name, key(&["global"]), limit) }
}

pub(crate) fn policy(rules: impl Into<Vec<RuleSource>>) -> Arc<Policy> {
    Policy::compile(PolicySource { rules: rules.into(), ..PolicySource::default() }).unwrap()
}

pub(crate) type TestEngine = Engine<ReferenceStore, ManualClock>;

pub(crate) fn engine(rules: impl Into<Vec<RuleSource>>) -> (TestEngine, ManualClock) {
    engine_of(PolicySource { rules: rules.into(), ..PolicySource::default() })
}

pub(crate) fn engine_of(source: PolicySource) -> (TestEngine, ManualClock) {
    let clock = ManualClock::at(Timestamp::from_micros(1_760_000_000_000_000));
    let policy = Policy::compile(source).unwrap();
    (Engine::new(policy, ReferenceStore::default()).with_clock(clock.clone()), clock)
}

/// The output of a future that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the store of these tests never waits"),
    }
}

pub(crate) fn passes(engine: &TestEngine, ask: &Ask) -> bool {
    ready(engine.decide(ask)).unwrap().is_admitted()
}
