//! Charges that are given back in the server, compared with core: what is kept after each step, bit by bit.

#![allow(clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "lua/scripts.rs"]
mod scripts;
#[allow(dead_code)]
#[path = "lua/server.rs"]
mod server;

use core::time::Duration;

use cupo_core::{Algorithm, Change, Charge, Limit, Rate, State, Timestamp};
use server::{START, Server, small as limits, tag};

/// Whether a refund gives something. What it does to a log is seen only in the log.
fn applied(limit: &Limit, state: &mut Option<State>, change: Change) -> bool {
    let (before, keeps) = (state.clone(), change == Change::Keep);
    limit.apply(state, change);
    if limit.algorithm() == Algorithm::SlidingWindowLog { *state != before } else { !keeps }
}

#[test]
fn what_is_given_back_is_what_core_gives_back() {
    let server = Server::start();
    for (seed, limit) in limits().into_iter().enumerate() {
        let mut random = fastrand::Rng::with_seed(u64::try_from(seed).unwrap());
        let resolution = limit.resolution();
        let scale = u64::try_from(limit.window_at(START).as_micros()).unwrap().div_ceil(12).max(1);
        for round in 0..12 {
            server.redis.flush();
            let mut now = 1_760_000_000_000_000 + random.u64(0..1_000_000);
            let (mut state, mut charges): (Option<State>, Vec<Charge<u64>>) = (None, Vec::new());
            for step in 0..60 {
                now += random.u64(0..3) * scale * u64::from(random.bool());
                // Sometimes long enough for everything to be whole again.
                now += 40 * scale * u64::from(random.u8(0..12) == 0);
                let tick = resolution.tick(Timestamp::from_micros(now));
                let context = format!("{limit}, round {round}, step {step}");
                if random.u8(0..3) > 0 || charges.is_empty() {
                    // Sometimes all that there is.
                    let all = random.u8(0..6) == 0;
                    let cost = if all { limit.quota() } else { random.u64(1..4) };
                    let answer = server.ask("key", &limit, cost, Some(now));
                    let (decision, change) = limit.params().decide(state.as_ref(), tick, cost);
                    limit.apply(&mut state, change);
                    assert_eq!(answer.decisions[0], decision, "{context}");
                    if decision.is_admitted() {
                        charges.push(Charge { at: tick, end: tick + decision.reset_after, cost });
                    }
                } else {
                    let which = random.usize(..charges.len());
                    // Sometimes again and again, as if the server had forgotten in between.
                    let mut charge = charges[which];
                    if random.u8(0..3) > 0 {
                        charges.swap_remove(which);
                    }
                    // Sometimes the clock has stepped back meanwhile.
                    let now = now - 5 * scale * u64::from(random.u8(0..4) == 0);
                    let tick = resolution.tick(Timestamp::from_micros(now));
                    // Sometimes a part, sometimes what was never charged then.
                    charge.cost = random.u64(1..=charge.cost);
                    charge.at -= u64::from(random.u8(0..8) == 0);
                    let change = limit.params().refund(state.as_ref(), tick, charge);
                    let given = applied(&limit, &mut state, change);
                    assert_eq!(server.refund("key", &limit, charge, now), given, "{context}");
                }
                let expected = state.clone().map(|state| (tag(&limit), state));
                assert_eq!(server.kept(b"key"), expected, "{context}");
                server.redis.assert_every_key_has_a_ttl();
            }
        }
    }
}

/// Logs of up to sixty entries, any of which is given back: the newest, the oldest, and the ones at the ends of what is read at once.
#[test]
fn any_entry_of_a_long_log_is_found() {
    let server = Server::start();
    let limit = Limit::sliding_window_log(1_000, Duration::from_secs(1)).unwrap();
    let start = 1_760_000_000_000_000;
    for length in [1, 2, 7, 8, 9, 10, 15, 16, 17, 18, 25, 60] {
        server.redis.flush();
        let (mut state, mut charges): (Option<State>, Vec<Charge<u64>>) = (None, Vec::new());
        for n in 0..length {
            let at = start + n * 10;
            server.ask("log", &limit, 2, Some(at));
            let (_, change) = limit.params().decide(state.as_ref(), at, 2);
            limit.apply(&mut state, change);
            charges.push(Charge { at, end: at + 1_000_000, cost: 1 });
            // Between two entries, before and after all of them, there is none.
            charges.push(Charge { at: at - 5, end: at, cost: 1 });
        }
        charges.push(Charge { at: start + length * 10, end: start, cost: 1 });
        // Each entry twice, so that it is used up, and a third time, when nothing is left of it.
        for charge in charges.into_iter().flat_map(|charge| [charge; 3]) {
            let now = start + length * 10;
            let change = limit.params().refund(state.as_ref(), now, charge);
            let given = applied(&limit, &mut state, change);
            let context = format!("{length} entries, {} after the first", charge.at.wrapping_sub(start));
            assert_eq!(server.refund("log", &limit, charge, now), given, "{context}");
            let expected = state.clone().map(|state| (tag(&limit), state));
            assert_eq!(server.kept(b"log"), expected, "{context}");
        }
        assert_eq!(server.kept(b"log"), None, "{length} entries: nothing is left");
    }
}

#[test]
fn charges_of_several_keys_are_given_back_in_one_call() {
    let server = Server::start();
    let now = 1_760_000_000_000_001;
    let limits = &limits()[..6];
    let names: Vec<String> = (0..limits.len()).map(|n| format!("key-{n}")).collect();
    let mut charges = Vec::new();
    for (name, limit) in names.iter().zip(limits) {
        let decision = server.ask(name, limit, 3, Some(now)).decisions[0];
        assert!(decision.is_admitted(), "{limit}");
        charges.push((name.as_str(), *limit, Charge { at: now, end: now + decision.reset_after, cost: 3 }));
        charges.push(("absent", *limit, Charge { at: now, end: now, cost: 1 }));
    }
    assert_eq!(server.refund_all(&charges, now), 6);
    for (name, limit) in names.iter().zip(limits) {
        let decision = server.ask(name, limit, 0, Some(now)).decisions[0];
        assert_eq!(decision.remaining, limit.quota(), "{limit}");
    }
}

#[test]
fn a_key_lives_as_long_as_what_is_left_counts() {
    let server = Server::start();
    let hour = Duration::from_hours(1);
    let limits = [
        Limit::fixed_window(100, hour),
        Limit::fixed_window_from_first(100, hour),
        Limit::sliding_window_counter(100, hour),
        Limit::token_bucket(100, Rate::new(100, hour)),
        Limit::leaky_bucket(Rate::new(100, hour), 99),
    ];
    let now = 1_760_000_000_000_000;
    for limit in limits.map(Result::unwrap) {
        server.redis.flush();
        let decisions = [40, 30].map(|cost| server.ask("key", &limit, cost, Some(now)).decisions[0]);
        let charge = Charge { at: now, end: now + decisions[1].reset_after, cost: 30 };
        assert!(server.refund("key", &limit, charge, now), "{limit}");
        let (_, state) = server.kept(b"key").unwrap();
        // By virtual time every key lives a day longer; a busy machine may take a minute for this.
        let left = (limit.params().expires_at(&state) - now) / 1_000 + 86_400_000;
        let told = u64::try_from(server.redis.command(&["PTTL", "key"]).int()).unwrap();
        assert!((left - 60_000..=left + 1).contains(&told), "{limit}: {told} of {left} ms");
        assert!(left > 86_400_000 + 120_000, "{limit}: long enough to tell");
    }
}

#[test]
fn what_is_no_state_gets_nothing_back_and_does_no_harm() {
    let server = Server::start();
    let charge = Charge { at: 1_760_000_000_000_000, end: 1_760_000_000_000_009, cost: 1 };
    for limit in limits() {
        for command in [
            &["SET", "key", "x"][..],
            &["RPUSH", "key", "x", "y", "z"],
            &["HSET", "key", "a", "b"],
            &["DEL", "key"],
        ] {
            server.redis.flush();
            server.redis.command(command);
            let before = server.redis.command(&["DUMP", "key"]);
            assert!(!server.refund("key", &limit, charge, charge.at), "{limit} {command:?}");
            assert_eq!(server.redis.command(&["DUMP", "key"]), before, "{limit} {command:?}");
        }
    }
    // A log whose head can be read and whose entries cannot.
    let limit = Limit::sliding_window_log(9, Duration::from_secs(1)).unwrap();
    let head = |newest_cost: u64| -> Vec<u8> {
        let numbers = [3, charge.at, newest_cost].into_iter().flat_map(server::seven);
        [tag(&limit)].into_iter().chain(numbers).collect()
    };
    let (same, older) = (charge.at.to_string(), (charge.at - 1).to_string());
    for entries in [["x", "1"], ["x", "y"], [same.as_str(), "y"], [older.as_str(), "y"]] {
        for at in [charge.at, charge.at - 1] {
            server.redis.flush();
            let words = [b"RPUSH", &b"key"[..], &head(1), entries[0].as_bytes(), entries[1].as_bytes()];
            server.redis.command(&words);
            server.redis.command(&["PEXPIRE", "key", "100000"]);
            let given = server.refund("key", &limit, Charge { at, ..charge }, charge.at);
            // Where all that can be read is given back, what cannot goes with it.
            assert_eq!(given, at == charge.at, "{entries:?}");
            let is_there = server.redis.command(&["EXISTS", "key"]).int() == 1;
            assert_eq!(is_there, at != charge.at, "{entries:?}");
            // Whatever was found, the next check counts from what can be read, and heals it.
            assert!(server.ask("key", &limit, 1, Some(charge.at)).decisions[0].is_admitted());
            server.redis.assert_every_key_has_a_ttl();
        }
    }
}
