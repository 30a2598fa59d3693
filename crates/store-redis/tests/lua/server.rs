//! The deployed script in a real server, by virtual or by real time, and what it keeps there.

use core::time::Duration;

use cupo_core::algorithm::ending_window::Edges;
use cupo_core::algorithm::{
    Params, State, ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log,
    token_bucket,
};
use cupo_core::number::DOMAIN;
use cupo_core::{Calendar, Charge, Decision, Limit, Rate, Resolution, Timestamp, Verdict};
use cupo_testkit::calendars;
use cupo_testkit::redis::{RedisServer, Reply};

use crate::scripts;

/// One line of a check.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) key: Vec<u8>,
    pub(crate) limit: Limit,
    pub(crate) cost: u64,
}

/// What a call replied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The instant of the decision in microseconds.
    pub(crate) at: u64,
    pub(crate) unreadable: u64,
    /// One per item, check after check, in ticks.
    pub(crate) decisions: Vec<Decision<u64>>,
}

/// A server that knows the scripts.
pub(crate) struct Server {
    pub(crate) redis: RedisServer,
    virtual_check: Vec<u8>,
    real_check: Vec<u8>,
    virtual_settle: Vec<u8>,
    virtual_carry: Vec<u8>,
    virtual_grant: Vec<u8>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::on(RedisServer::standalone().start())
    }

    pub(crate) fn on(redis: RedisServer) -> Self {
        let load = |clock, shell| {
            redis.command(&["SCRIPT", "LOAD", &scripts::deployed(clock, shell)]).bytes().to_owned()
        };
        let [virtual_check, real_check] = ["clock_virtual", "clock"].map(|clock| load(clock, "shell"));
        let virtual_settle = load("clock_virtual", "settle");
        let virtual_carry =
            redis.command(&["SCRIPT", "LOAD", &scripts::carrying("clock_virtual")]).bytes().to_owned();
        let virtual_grant = load("clock_virtual", "grant");
        Self { redis, virtual_check, real_check, virtual_settle, virtual_carry, virtual_grant }
    }

    /// Executes checks at a virtual instant, or at the server's own.
    pub(crate) fn call(&self, checks: &[Vec<Item>], now: Option<u64>) -> Answer {
        let (keys, packed, edges) = pack(checks, || now.unwrap_or_else(|| self.time()));
        let now = now.map(|now| now.to_string());
        let sha = if now.is_some() { &self.virtual_check } else { &self.real_check };
        let count = keys.len().to_string();
        let mut words = vec![b"EVALSHA", sha.as_slice(), count.as_bytes()];
        words.extend(keys.iter().map(Vec::as_slice));
        words.push(&packed);
        words.extend((!edges.is_empty()).then_some(edges.as_slice()));
        words.extend(now.as_ref().map(String::as_bytes));
        let reply = self.redis.command(&words);
        unpack(checks, reply.bytes())
    }

    /// One item at a virtual instant, where the caller thinks that it is `around`; `None` where no window that was sent, and none
    /// that is open, has the instant.
    pub(crate) fn ask_around(&self, item: &Item, now: u64, around: u64) -> Option<Answer> {
        let checks = [vec![item.clone()]];
        let (keys, packed, edges) = pack(&checks, || around);
        let now = now.to_string();
        let words = [
            b"EVALSHA",
            self.virtual_check.as_slice(),
            b"1",
            keys[0].as_slice(),
            &packed,
            &edges,
            now.as_bytes(),
        ];
        let reply = self.redis.command(&words);
        let unplaced = [&[3][..], &[0; 28]].concat();
        (reply.bytes()[11..] != unplaced).then(|| unpack(&checks, reply.bytes()))
    }

    /// The server's clock in microseconds.
    fn time(&self) -> u64 {
        let reply = self.redis.command(&["TIME"]);
        let [seconds, micros] = [0, 1].map(|i| reply.array()[i].text().parse::<u64>().unwrap());
        seconds * 1_000_000 + micros
    }

    /// One item in a check of its own.
    pub(crate) fn ask(&self, key: &str, limit: &Limit, cost: u64, now: Option<u64>) -> Answer {
        self.call(&[vec![Item { key: key.into(), limit: *limit, cost }]], now)
    }

    /// The slot of a leaky bucket's request.
    pub(crate) fn cancel(&self, key: &str, limit: &Limit, cost: u64, end: u64, now: u64) -> bool {
        self.refund(key, limit, Charge { at: now, end, cost }, now)
    }

    /// Gives a charge back at a virtual instant, in ticks of the limit but for `now`.
    pub(crate) fn refund(&self, key: &str, limit: &Limit, charge: Charge<u64>, now: u64) -> bool {
        let reply = self.refund_all(&[(key, *limit, charge)], now);
        assert!([0, 1].contains(&reply), "{reply}");
        reply == 1
    }

    /// Gives charges back, each under a key of its own; of how many something was given.
    pub(crate) fn refund_all(&self, charges: &[(&str, Limit, Charge<u64>)], now: u64) -> u64 {
        let charges: Vec<_> = charges.iter().map(|&(key, limit, charge)| (key, limit, charge, 0)).collect();
        self.settle_all(&charges, now).1.into_iter().sum()
    }

    /// Charges so many more units, as far as there is room: so many.
    pub(crate) fn top_up(&self, key: &str, limit: &Limit, extra: u64, now: u64) -> u64 {
        let none = Charge { at: now, end: now, cost: 0 };
        self.settle_all(&[(key, *limit, none, extra)], now).1[0]
    }

    /// The same with edges around another instant than the server's.
    pub(crate) fn top_up_around(&self, key: &str, limit: &Limit, extra: u64, around: u64, now: u64) -> u64 {
        let none = Charge { at: now, end: now, cost: 0 };
        self.settle_around(&[(key, *limit, none, extra)], around, now).1[0]
    }

    /// Gives charges back, or charges so many more units, each under a key of its own. The number of unreadable states, and what
    /// is told of each.
    pub(crate) fn settle_all(
        &self,
        charges: &[(&str, Limit, Charge<u64>, u64)],
        now: u64,
    ) -> (u64, Vec<u64>) {
        self.settle_around(charges, now, now)
    }

    fn settle_around(
        &self,
        charges: &[(&str, Limit, Charge<u64>, u64)],
        around: u64,
        now: u64,
    ) -> (u64, Vec<u64>) {
        let mut keys: Vec<&str> = charges.iter().map(|(key, ..)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        let (count, instant) = (keys.len().to_string(), now.to_string());
        let (mut packed, mut edges) = (Vec::new(), Vec::new());
        for (key, limit, charge, extra) in charges {
            let index = keys.iter().position(|other| other == key).unwrap() + 1;
            packed.extend(u16::try_from(index).unwrap().to_be_bytes());
            packed.push(tag(limit));
            let mut numbers = numbers(limit.params());
            if *extra > 0 {
                place_edges(limit, &|| around, &mut numbers, &mut edges);
            }
            for number in numbers.into_iter().chain([charge.cost, charge.at, charge.end, *extra]) {
                packed.extend(seven(number));
            }
        }
        let mut words = vec![&b"EVALSHA"[..], &self.virtual_settle, count.as_bytes()];
        words.extend(keys.iter().map(|key| key.as_bytes()));
        words.extend([packed.as_slice(), edges.as_slice(), instant.as_bytes()]);
        let reply = self.redis.command(&words);
        let (head, rest) = reply.bytes().split_at(11);
        assert_eq!((wide(&head[..7]), rest.len()), (now, charges.len() * 7));
        (wide(&head[7..]), rest.chunks(7).map(wide).collect())
    }

    /// Carries from one item to the other at a virtual instant, where the caller thinks that it is `around`; the instant, the number
    /// of unreadable states, and whether it was done.
    pub(crate) fn carry(&self, from: &Item, to: &Item, now: u64, around: u64) -> (u64, u64, bool) {
        let checks = [from, to].map(|item| vec![Item { cost: 0, ..item.clone() }]);
        let (_, packed, edges) = pack(&checks, || around);
        let quota = seven(from.limit.quota());
        let now = now.to_string();
        let words = [
            b"EVALSHA",
            self.virtual_carry.as_slice(),
            b"2",
            &from.key,
            &to.key,
            &packed,
            &edges,
            &quota,
            now.as_bytes(),
        ];
        let reply = self.redis.command(&words);
        let bytes = reply.bytes();
        assert_eq!(bytes.len(), 12);
        assert!(bytes[11] <= 1, "{bytes:?}");
        (wide(&bytes[..7]), wide(&bytes[7..11]), bytes[11] == 1)
    }

    /// Gives units back at a virtual instant: that instant, what remained before, and what remains now.
    pub(crate) fn grant(&self, key: &str, limit: &Limit, units: u64, now: u64) -> [u64; 3] {
        let mut packed = vec![tag(limit)];
        packed.extend(numbers(limit.params()).into_iter().chain([units]).flat_map(seven));
        let now = now.to_string();
        let words =
            [b"EVALSHA", self.virtual_grant.as_slice(), b"1", key.as_bytes(), &packed, now.as_bytes()];
        let reply = self.redis.command(&words);
        let bytes = reply.bytes();
        assert_eq!(bytes.len(), 21, "{bytes:?}");
        let mut numbers = bytes.chunks(7).map(|n| n.iter().fold(0, |n, &byte| n << 8 | u64::from(byte)));
        core::array::from_fn(|_| numbers.next().unwrap())
    }

    /// What is kept for a key: its tag and its state. `None` where there is nothing.
    pub(crate) fn kept(&self, key: &[u8]) -> Option<(u8, State)> {
        match self.redis.command(&[b"TYPE", key]).text() {
            "none" => None,
            "string" => Some(string_state(self.redis.command(&[b"GET", key]).bytes())),
            "list" => {
                let reply = self.redis.command(&[&b"LRANGE"[..], key, b"0", b"-1"]);
                Some(log_state(reply.array()))
            }
            other => panic!("a {other}"),
        }
    }
}

/// The tag of a limit's states.
pub(crate) fn tag(limit: &Limit) -> u8 {
    let algorithm = match limit.params() {
        Params::FixedWindow(_) => 1,
        Params::SlidingWindowLog(_) => 2,
        Params::SlidingWindowCounter(_) => 3,
        Params::TokenBucket(_) => 7,
        Params::LeakyBucket(_) => 5,
        Params::EndingWindow(_) => 6,
    };
    16 + algorithm + if limit.resolution() == Resolution::Millis { 8 } else { 0 }
}

fn numbers(params: &Params) -> [u64; 3] {
    match params {
        Params::FixedWindow(p) => [p.count, p.window, 0],
        Params::EndingWindow(p) => [p.count, p.longest(), 0],
        Params::SlidingWindowLog(p) => [p.count, p.window, 0],
        Params::SlidingWindowCounter(p) => [p.count, p.window, 0],
        Params::TokenBucket(p) => [p.capacity, p.refill, p.period],
        Params::LeakyBucket(p) => [p.rate, p.period, p.queue],
    }
}

/// One limit of each algorithm in microseconds, then one in milliseconds, then the variants.
pub(crate) fn ordinary() -> Vec<Limit> {
    let second = Duration::from_secs(1);
    let day = Duration::from_hours(24);
    let much = 1_000_000;
    vec![
        Limit::fixed_window(10, 3 * second).unwrap(),
        Limit::sliding_window_log(10, 3 * second).unwrap(),
        Limit::sliding_window_counter(10, 3 * second).unwrap(),
        Limit::token_bucket(10, Rate::new(3, second)).unwrap(),
        Limit::leaky_bucket(Rate::new(3, second), 9).unwrap(),
        Limit::fixed_window(10, Duration::from_millis(1 << 42)).unwrap(),
        Limit::sliding_window_log(10, Duration::from_millis(1 << 42)).unwrap(),
        Limit::sliding_window_counter(much, day).unwrap(),
        Limit::token_bucket(much, Rate::new(7, day)).unwrap(),
        Limit::leaky_bucket(Rate::new(7, day), much).unwrap(),
        Limit::fixed_window_from_first(10, 3 * second).unwrap(),
        Limit::fixed_window_of(10, calendars::number(3)).unwrap(),
        Limit::fixed_window_from_first(10, Duration::from_millis(1 << 42)).unwrap(),
    ]
}

/// Where the histories begin, give or take a second.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_760_000_000_000_100);

/// Small limits, in both ticks, where windows pass and buckets fill within a few steps.
pub(crate) fn small() -> Vec<Limit> {
    let tick = Duration::from_micros(1);
    let mut limits = Vec::new();
    for tick in [tick, tick * 1_000] {
        limits.extend([
            Limit::fixed_window(6, tick * 10),
            Limit::fixed_window_from_first(6, tick * 10),
            Limit::sliding_window_log(9, tick * 12),
            Limit::sliding_window_counter(6, tick * 10),
            Limit::token_bucket(7, Rate::new(2, tick * 5)),
            Limit::leaky_bucket(Rate::new(2, tick * 5), 6),
        ]);
    }
    // Windows of 5 to 13 ticks.
    let edges: Vec<u64> = (0..1_000_000).map(|n| 1_760_000_000_000_000 + 9 * n + n % 5).collect();
    limits.push(Limit::fixed_window_of(6, Box::leak(Box::new(Calendar::from_edges("test", edges).unwrap()))));
    // Too large for microseconds.
    limits.push(Limit::sliding_window_counter(2_000_000, Duration::from_secs(8_640)));
    limits.push(Limit::token_bucket(2_000_000, Rate::new(1_999_993, Duration::from_secs(8_640))));
    limits.into_iter().map(Result::unwrap).collect()
}

/// 7 bytes of a number.
pub(crate) fn seven(n: u64) -> [u8; 7] {
    n.to_be_bytes()[1..].try_into().unwrap()
}

/// The window of a limit's calendar that an instant lies in.
pub(crate) fn window(limit: &Limit, at: u64) -> (u64, u64) {
    match limit.params() {
        Params::EndingWindow(ending_window::Params { edges: Edges::Calendar(calendar), .. }) => {
            calendar.window(at)
        }
        other => panic!("no calendar: {other:?}"),
    }
}

/// Whether a limit goes by a calendar.
pub(crate) fn is_by_calendar(limit: &Limit) -> bool {
    matches!(limit.params(), Params::EndingWindow(ending_window::Params { edges: Edges::Calendar(_), .. }))
}

/// The edges around an instant, for a limit with a calendar, and where they begin.
fn place_edges(limit: &Limit, around: &impl Fn() -> u64, numbers: &mut [u64; 3], edges: &mut Vec<u8>) {
    if let Params::EndingWindow(ending_window::Params { edges: Edges::Calendar(calendar), .. }) =
        limit.params()
    {
        numbers[2] = edges.len() as u64 + 1;
        let (start, end) = calendar.window(around());
        let (before, after) = (calendar.window(start.saturating_sub(1)).0, calendar.window(end).1);
        edges.extend([before, start, end, after].into_iter().flat_map(seven));
    }
}

/// Keys, items, and the edges of calendars: the window of `around` and its neighbours, for each item by itself.
fn pack(checks: &[Vec<Item>], around: impl Fn() -> u64) -> (Vec<Vec<u8>>, Vec<u8>, Vec<u8>) {
    let (mut keys, mut packed, mut edges) = (Vec::new(), Vec::new(), Vec::new());
    for items in checks {
        packed.extend(u16::try_from(items.len()).unwrap().to_be_bytes());
        for item in items {
            let index = keys.iter().position(|key| *key == item.key).unwrap_or_else(|| {
                keys.push(item.key.clone());
                keys.len() - 1
            });
            packed.extend(u16::try_from(index + 1).unwrap().to_be_bytes());
            packed.push(tag(&item.limit));
            let mut numbers = numbers(item.limit.params());
            place_edges(&item.limit, &around, &mut numbers, &mut edges);
            packed.extend(numbers.into_iter().flat_map(seven));
            packed.extend(seven(item.cost.min(DOMAIN)));
        }
    }
    (keys, packed, edges)
}

fn wide(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte))
}

fn unpack(checks: &[Vec<Item>], reply: &[u8]) -> Answer {
    let (head, rest) = reply.split_at(11);
    let decide = |(item, bytes): (&Item, &[u8])| {
        let [retry_after, remaining, reset_after, delay] = [1, 8, 15, 22].map(|i| wide(&bytes[i..i + 7]));
        let verdict = match (bytes[0], retry_after) {
            (0, 0) => Verdict::Admit,
            (1, 1..) => Verdict::Deny { retry_after },
            (2, 0) => Verdict::Impossible,
            other => panic!("no verdict: {other:?}"),
        };
        Decision { verdict, limit: item.limit.quota(), remaining, reset_after, delay }
    };
    let items: Vec<_> = checks.iter().flatten().collect();
    assert_eq!(rest.len(), items.len() * 29);
    let decisions = items.into_iter().zip(rest.chunks(29)).map(decide).collect();
    Answer { at: wide(&head[..7]), unreadable: wide(&head[7..]), decisions }
}

fn string_state(bytes: &[u8]) -> (u8, State) {
    // Units below 2^32 before an instant take 4 bytes.
    let numbers: Vec<_> = match bytes.len() {
        12 => vec![wide(&bytes[1..5]), wide(&bytes[5..])],
        15 => {
            assert!(wide(&bytes[1..8]) >= 1 << 32);
            bytes[1..].chunks(7).map(wide).collect()
        }
        _ => bytes[1..].chunks(7).map(wide).collect(),
    };
    let state = match (bytes[0] % 8, &numbers[..]) {
        (1, &[count, start]) => State::FixedWindow(fixed_window::State { start, count }),
        (6, &[count, end]) => State::EndingWindow(ending_window::State { end, count }),
        (3, &[start, previous, current]) => {
            State::SlidingWindowCounter(sliding_window_counter::State { start, previous, current })
        }
        (7, &[missing, at]) => State::TokenBucket(token_bucket::State { missing, at }),
        (5, &[backlog, at]) => State::LeakyBucket(leaky_bucket::State { backlog, at }),
        other => panic!("no state: {other:?}"),
    };
    (bytes[0], state)
}

/// A log's list: the head with the newest entry, then the older ones.
fn log_state(list: &[Reply]) -> (u8, State) {
    let (head, older) = list.split_first().unwrap();
    let head = head.bytes();
    assert_eq!(head.len(), 22);
    let [total, at, cost] = [1, 8, 15].map(|i| wide(&head[i..i + 7]));
    let number = |reply: &Reply| reply.text().parse().unwrap();
    let entry = |pair: &[Reply]| sliding_window_log::Entry { at: number(&pair[0]), cost: number(&pair[1]) };
    let newest = sliding_window_log::Entry { at, cost };
    let entries: Vec<_> = older.chunks(2).map(entry).chain([newest]).collect();
    assert_eq!(total, entries.iter().map(|e| e.cost).sum::<u64>(), "the head knows the sum");
    (head[0], State::SlidingWindowLog(sliding_window_log::State::from_entries(entries)))
}
