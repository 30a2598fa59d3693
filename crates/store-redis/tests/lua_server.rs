//! The script that runs in a server, in a real one: batches against checks carried out one after the other in Rust, the
//! bytes that are kept, and when they go.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

#[path = "lua/oracle.rs"]
mod oracle;
#[path = "lua/scripts.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod scripts;
#[path = "lua/server.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod server;

use core::time::Duration;

use cupo_core::number::MAX_INSTANT;
use cupo_core::{Algorithm, Change, Limit, Rate, State, Timestamp};
use cupo_testkit::redis::{RedisServer, valkey_server};
use cupo_testkit::{calendars, strategy};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy};
use proptest::test_runner::{TestCaseError, TestRunner};
use proptest::{prop_oneof, sample};

use oracle::Oracle;
use server::{Item, Server, ordinary, tag};

/// A line of a random check: key, limit, and how much of its quota.
type Line = (usize, usize, u64);

/// Limits, and batches of checks with the step of the clock before each.
type Batches = (Vec<Limit>, Vec<(i64, Vec<Vec<Line>>)>);

fn batches() -> impl Strategy<Value = Batches> {
    let limit = sample::select(&Algorithm::ALL[..]).prop_flat_map(strategy::limit);
    let costs = prop_oneof![3 => Just(1_u64), 2 => Just(0), 2 => 2..4_u64, 1 => Just(100), 1 => Just(101), 1 => Just(200)];
    let check = vec((0..6_usize, 0..5_usize, costs), 1..4);
    let gap = prop_oneof![
        4 => Just(0_i64), 2 => 1..4_i64, 2 => 1..2_000_i64, 2 => 1_000..5_000_000_i64,
        1 => 1_000_000_000..100_000_000_000_i64, 1 => -5_000..0_i64
    ];
    (vec(limit, 5), vec((gap, vec(check, 1..6)), 1..20))
}

/// 0 to 3 are units; 100 is the whole quota, 101 one more, 200 the largest number there is.
fn cost(limit: &Limit, how: u64) -> u64 {
    match how {
        100 => limit.quota(),
        101 => limit.quota().saturating_add(1),
        200 => u64::MAX,
        units => units,
    }
}

/// The lines as items; a key that is in the check already is left out.
fn items(limits: &[Limit], lines: &[Line]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for &(key, limit, how) in lines {
        let key = format!("key {key}").into_bytes();
        if items.iter().all(|other| other.key != key) {
            items.push(Item { key, limit: limits[limit], cost: cost(&limits[limit], how) });
        }
    }
    items
}

/// Logs of a few entries on two keys, looked at through several windows in one batch.
fn log_batches() -> impl Strategy<Value = Batches> {
    let limit = (1..12_u64, 1..25_u64)
        .prop_map(|(count, window)| Limit::sliding_window_log(count, Duration::from_micros(window)).unwrap());
    let line = (0..2_usize, 0..3_usize, prop_oneof![3 => Just(1_u64), 1 => Just(0), 2 => 2..6_u64]);
    let gap = prop_oneof![1 => Just(0_i64), 6 => 1..4_i64, 1 => 5..30_i64];
    (vec(limit, 3), vec((gap, vec(vec(line, 1..3), 1..5)), 5..30))
}

fn random_batches(server: &Server, of: impl Strategy<Value = Batches>, start: u64, cases: u32) {
    let test = |(limits, batches): Batches| {
        server.redis.flush();
        let mut oracle = Oracle::default();
        let mut now = start;
        for (gap, checks) in batches {
            now = now.saturating_add_signed(gap).min(MAX_INSTANT);
            let checks: Vec<_> = checks.iter().map(|lines| items(&limits, lines)).collect();
            let answer = server.call(&checks, Some(now));
            let expected: Vec<_> = checks.iter().flat_map(|items| oracle.check(items, now)).collect();
            let fail = |what: String| Err(TestCaseError::fail(format!("{what}\nat {now} after {checks:?}")));
            if answer.decisions != expected {
                return fail(format!("decided {:?}\nexpected {expected:?}", answer.decisions));
            }
            if (answer.at, answer.unreadable) != (now, 0) {
                return fail(format!("{} at {}", answer.unreadable, answer.at));
            }
            for item in checks.iter().flatten() {
                let kept = server.kept(&item.key);
                let expected = oracle.kept.get(&item.key).map(|(tag, _, state)| (*tag, state.clone()));
                if kept != expected {
                    return fail(format!(
                        "{} keeps {kept:?}\nexpected {expected:?}",
                        item.key.escape_ascii()
                    ));
                }
            }
        }
        server.redis.assert_every_key_has_a_ttl();
        Ok(())
    };
    TestRunner::new(strategy::config(cases)).run(&of, test).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn random_batches_are_decided_as_in_rust() {
    let server = Server::start();
    random_batches(&server, batches(), 1_760_000_000_000_000, 150);
    random_batches(&server, batches(), 3, 50);
    random_batches(&server, batches(), MAX_INSTANT - 10_000_000, 50);
}

#[test]
fn random_batches_are_decided_as_in_rust_by_valkey() {
    if let Some(binary) = valkey_server() {
        let server = Server::on(RedisServer::standalone().binary(binary).start());
        random_batches(&server, batches(), 1_760_000_000_000_000, 50);
        real_time(&server);
    }
}

/// Every key goes exactly when `expires_at` says, in the server's own time.
fn real_time(server: &Server) {
    server.redis.flush();
    for (i, limit) in ordinary().iter().enumerate() {
        let key = format!("key {i}");
        for cost in [1, 3, 0, 5, 1] {
            let before = server_micros(server);
            let answer = server.ask(&key, limit, cost, None);
            assert!((before..=server_micros(server)).contains(&answer.at), "{}", answer.at);
            assert!(answer.decisions[0].is_admitted(), "{limit}");
            let (_, state) = server.kept(key.as_bytes()).unwrap();
            let expires_at = limit.params().expires_at(&state) * limit.resolution().micros_per_tick();
            let expected = i64::try_from(expires_at.div_ceil(1_000)).unwrap();
            let ttl = server.redis.command(&["PEXPIRETIME", &key]).int();
            assert_eq!(ttl, expected, "{limit} {state:?}");
        }
    }
}

#[test]
fn every_key_goes_when_its_state_is_at_rest() {
    let limits = ordinary();
    assert_eq!(limits.iter().filter(|limit| tag(limit) >= 24).count(), 6);
    real_time(&Server::start());
}

#[test]
fn by_virtual_time_a_key_lives_a_day_longer() {
    let server = Server::start();
    let now = 5_000_700;
    for (i, limit) in ordinary().iter().enumerate() {
        let (key, before) = (format!("key {i}"), server_millis(&server));
        server.ask(&key, limit, 1, Some(now));
        let (_, state) = server.kept(key.as_bytes()).unwrap();
        let at = limit.params().expires_at(&state) * limit.resolution().micros_per_tick();
        let lasts = i64::try_from(at.div_ceil(1_000) - now / 1_000).unwrap();
        let ttl = server.redis.command(&["PEXPIRETIME", &key]).int();
        assert!((before + lasts..=server_millis(&server) + lasts).contains(&ttl), "{limit}: {ttl}");
    }
}

#[test]
fn random_logs_are_kept_as_in_rust() {
    random_batches(&Server::start(), log_batches(), 1_760_000_000_000_000, 150);
}

/// Units take four bytes as long as they fit, and seven from 2^32 on.
#[test]
fn units_grow_out_of_four_bytes() {
    let server = Server::start();
    let limit = Limit::fixed_window(1 << 40, Duration::from_secs(60)).unwrap();
    let now = 1_760_000_000_000_000;
    for (cost, bytes) in [((1 << 32) - 1, 12), (1, 15), (1, 15)] {
        let before = server.ask("key", &limit, 0, Some(now)).decisions[0].remaining;
        assert_eq!(server.ask("key", &limit, cost, Some(now)).decisions[0].remaining, before - cost);
        assert_eq!(server.redis.command(&["STRLEN", "key"]).int(), bytes);
        assert!(server.kept(b"key").is_some());
    }
}

/// Counts of commands that write.
fn writes(server: &Server) -> u64 {
    let writing = ["set", "rpush", "lpush", "lpop", "lset", "del", "pexpireat"];
    let stats = server.redis.command_stats();
    writing.iter().filter_map(|name| stats.get(*name)).map(|stat| stat.calls).sum()
}

#[test]
fn peeks_and_denials_write_nothing() {
    let server = Server::start();
    let at = 1_760_000_000_000_000;
    for (i, limit) in ordinary().iter().enumerate() {
        let key = format!("key {i}");
        let absent = format!("absent {i}");
        server.ask(&key, limit, limit.quota() - 1, Some(at));
        let changes = server.redis.info("persistence", "rdb_changes_since_last_save");
        let dump = server.redis.command(&["DUMP", &key]);
        let ttl = server.redis.command(&["PEXPIRETIME", &key]);
        server.redis.reset_stats();
        for (cost, is_admitted) in [(0, true), (2, false), (limit.quota() + 1, false), (u64::MAX, false)] {
            let answer = server.ask(&key, limit, cost, Some(at + 1));
            assert_eq!(answer.decisions[0].is_admitted(), is_admitted, "{limit}: {cost}");
        }
        // One denies: the other is not charged, in either order, and is told its balance without the request.
        for turned in [false, true] {
            let mut items: Vec<_> = [(&key, 2), (&absent, 1)]
                .map(|(key, cost)| Item { key: key.clone().into_bytes(), limit: *limit, cost })
                .into();
            if turned {
                items.reverse();
            }
            let answer = server.call(&[items], Some(at + 1));
            let other = answer.decisions[usize::from(!turned)];
            assert!(other.is_admitted());
            assert_eq!((other.remaining, other.reset_after, other.delay), (limit.quota(), 0, 0), "{limit}");
        }
        assert_eq!(writes(&server), 0, "{limit}");
        assert_eq!(server.redis.info("persistence", "rdb_changes_since_last_save"), changes, "{limit}");
        assert_eq!(server.redis.command(&["DUMP", &key]), dump, "{limit}");
        assert_eq!(server.redis.command(&["PEXPIRETIME", &key]), ttl, "{limit}");
        assert_eq!(server.redis.command(&["EXISTS", &absent]).int(), 0, "{limit}");
    }
}

#[test]
fn each_key_is_read_and_written_once_a_call() {
    let server = Server::start();
    let limit = ordinary()[3];
    let item = |key: &str| Item { key: key.into(), limit, cost: 1 };
    let checks = vec![vec![item("a"), item("b")], vec![item("a")], vec![item("b"), item("a")]];
    server.call(&checks, None);
    server.redis.reset_stats();
    server.call(&checks, None);
    let stats = server.redis.command_stats();
    let calls = |name: &str| stats.get(name).map_or(0, |stat| stat.calls);
    assert_eq!([calls("evalsha"), calls("mget"), calls("set"), calls("time")], [1, 1, 2, 1]);
    assert_eq!(server.ask("a", &limit, 0, None).decisions[0].remaining, 4);
}

#[test]
fn a_slot_is_taken_back() {
    let server = Server::start();
    for limit in [ordinary()[4], ordinary()[9]] {
        server.redis.flush();
        let now = 1_760_000_000_000_000;
        let tick = limit.resolution().tick(Timestamp::from_micros(now));
        let mut ends = Vec::new();
        for _ in 0..3 {
            let decision = server.ask("key", &limit, 1, Some(now)).decisions[0];
            ends.push(tick + decision.reset_after);
        }
        let before = server.kept(b"key");
        assert!(!server.cancel("key", &limit, 1, ends[1], now), "somebody has queued behind it");
        assert!(!server.cancel("absent", &limit, 1, ends[2], now));
        assert_eq!(server.kept(b"key"), before);
        assert!(server.cancel("key", &limit, 1, ends[2], now));
        assert!(!server.cancel("key", &limit, 1, ends[2], now), "it was taken back already");
        assert!(server.cancel("key", &limit, 1, ends[1], now));
        let (_, state) = server.kept(b"key").unwrap();
        assert_eq!(limit.params().expires_at(&state), ends[0]);
        server.redis.assert_every_key_has_a_ttl();
        // What is no leaky bucket's state has no slots.
        server.redis.command(&["SET", "key", "garbage", "PX", "1000"]);
        assert!(!server.cancel("key", &limit, 1, ends[0], now));
    }
}

/// At every instant around a slot, in both resolutions: what is kept and for how long.
#[test]
fn a_slot_is_taken_back_as_in_rust() {
    let server = Server::start();
    let start = 1_760_000_000_000_900;
    // Every unit is one part, so that the rest can be 2^32 parts.
    let fine = Limit::leaky_bucket(Rate::new(1, Duration::from_micros(1)), 1 << 33).unwrap();
    let requests =
        [(ordinary()[4], 3, 2), (ordinary()[9], 60, 1), (fine, 1 << 32, 1), (fine, (1 << 32) - 1, 1)];
    for (limit, first, second) in requests {
        let mut state = None;
        let mut end = Timestamp::EPOCH;
        for cost in [first, second] {
            let now = Timestamp::from_micros(start);
            let (decision, change) = limit.decide(state.as_ref(), now, cost);
            limit.apply(&mut state, change);
            end = limit.resolution().instant(limit.resolution().tick(now)).after(decision.reset_after);
        }
        let end_tick = limit.resolution().tick(end);
        for later in [0, 99, 100, 101, 1_099, 1_100, 100_000, 900_000, 1_000_000, 1_100_000, 3_000_000] {
            server.redis.flush();
            for cost in [first, second] {
                server.ask("key", &limit, cost, Some(start));
            }
            let now = start + later;
            let mut expected = state.clone();
            let change = limit.cancel(expected.as_ref(), Timestamp::from_micros(now), second, end);
            limit.apply(&mut expected, change);
            let before = server_millis(&server);
            let taken_back = server.cancel("key", &limit, second, end_tick, now);
            assert_eq!(taken_back, expected != state, "{limit} {later}");
            assert_eq!(
                server.kept(b"key"),
                expected.clone().map(|state| (tag(&limit), state)),
                "{limit} {later}"
            );
            if taken_back {
                let at = limit
                    .expires_at(&expected.unwrap())
                    .as_micros()
                    .div_ceil(1_000)
                    .saturating_sub(now / 1_000);
                let (at, ttl) =
                    (i64::try_from(at).unwrap(), server.redis.command(&["PEXPIRETIME", "key"]).int());
                assert!((before + at..=server_millis(&server) + at).contains(&ttl), "{limit} {later}: {ttl}");
            }
        }
    }
}

fn server_micros(server: &Server) -> u64 {
    let time = server.redis.command(&["TIME"]);
    let part = |i: usize| time.array()[i].text().parse::<u64>().unwrap();
    part(0) * 1_000_000 + part(1)
}

/// A day from now, by the server's clock, in whole seconds.
fn server_millis(server: &Server) -> i64 {
    i64::try_from(server_micros(server) / 1_000_000 * 1_000).unwrap() + 86_400_000
}

#[test]
fn the_present_window_of_a_calendar_is_found_among_those_that_were_sent_or_not_at_all() {
    let server = Server::start();
    let named = |name: &str| matches!(name, "hours" | "days");
    for (n, (calendar, edges)) in calendars::all().iter().enumerate().filter(|(_, (c, _))| named(c.name())) {
        let limit = Limit::fixed_window_of(10, calendars::number(n)).unwrap();
        let [before, start, end, after] = edges[edges.len() / 2 - 1..][..4].try_into().unwrap();
        assert_eq!((calendar.window(start), calendar.window(end)), ((start, end), (end, after)));
        for now in [before - 1, before, start - 1, start, end - 1, end, after - 1, after, after + 1] {
            let item = Item { key: format!("{n} {now}").into_bytes(), limit, cost: 3 };
            let (at, key) = (Timestamp::from_micros(now), &item.key);
            let (decision, change) = limit.decide(None, at, 3);
            let answer = server.ask_around(&item, now, start);
            if !(before..after).contains(&now) {
                assert_eq!((answer, server.kept(key)), (None, None), "calendar {n} at {now}");
                continue;
            }
            let told = answer.unwrap().decisions[0];
            assert_eq!(told.remaining, decision.remaining);
            assert_eq!(
                Duration::from_micros(told.reset_after),
                decision.reset_after,
                "calendar {n} at {now}"
            );
            let Change::EndingWindow(next) = change else { panic!("{change:?}") };
            assert_eq!(server.kept(key).unwrap().1, State::EndingWindow(next));
            // What is open needs no edges, up to its end.
            let window = calendar.window(now);
            let far = edges[edges.len() - 2];
            let again = server.ask_around(&item, window.1 - 1, far).unwrap().decisions[0];
            assert_eq!((again.remaining, again.reset_after), (4, 1), "calendar {n} at {now}");
            let kept = server.kept(key);
            assert_eq!(server.ask_around(&item, window.1, far), None, "calendar {n} at {now}");
            assert_eq!(server.kept(key), kept, "calendar {n} at {now}");
        }
    }
}
