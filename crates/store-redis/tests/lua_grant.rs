//! Units that are given back by hand in the server, compared with core: what is told, and what is kept after each step, bit by bit.

#![allow(clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "lua/scripts.rs"]
mod scripts;
#[allow(dead_code)]
#[path = "lua/server.rs"]
mod server;

use core::time::Duration;

use cupo_core::{Calendar, Charge, Limit, Rate, State, Timestamp};
use server::{Server, tag};

/// Where the histories begin, give or take a second.
const START: u64 = 1_760_000_000_000_100;

/// Small limits, in both ticks, where windows pass and buckets fill within a few steps; then large ones.
fn limits() -> Vec<Limit> {
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
    // At the end of the number domain, in microseconds and in milliseconds.
    limits.push(Limit::sliding_window_counter(9_007, Duration::from_secs(999)));
    limits.push(Limit::sliding_window_counter(2_000_000, Duration::from_secs(8_640)));
    limits.push(Limit::token_bucket(2_000_000, Rate::new(1_999_993, Duration::from_secs(8_640))));
    limits.push(Limit::leaky_bucket(Rate::new(1_999_993, Duration::from_secs(8_640)), 1_999_999));
    limits.into_iter().map(Result::unwrap).collect()
}

#[test]
fn what_is_granted_is_what_core_grants() {
    let server = Server::start();
    for (seed, limit) in limits().into_iter().enumerate() {
        let mut random = fastrand::Rng::with_seed(u64::try_from(seed).unwrap());
        let scale = u64::try_from(limit.window_at(Timestamp::from_micros(START)).as_micros()).unwrap();
        let scale = scale.div_ceil(12).max(1);
        for round in 0..12 {
            server.redis.flush();
            let mut now = START + random.u64(0..1_000_000);
            let mut state: Option<State> = None;
            for step in 0..60 {
                now += random.u64(0..3) * scale * u64::from(random.bool());
                // Sometimes long enough for everything to be whole again.
                now += 40 * scale * u64::from(random.u8(0..12) == 0);
                // Sometimes the clock has stepped back meanwhile.
                let now = now - 5 * scale * u64::from(random.u8(0..9) == 0);
                let tick = limit.resolution().tick(Timestamp::from_micros(now));
                let context = format!("{limit}, round {round}, step {step}");
                if random.u8(0..3) > 0 {
                    // Sometimes all that there is.
                    let cost = if random.u8(0..6) == 0 { limit.quota() } else { random.u64(1..4) };
                    let answer = server.ask("key", &limit, cost, Some(now));
                    let (decision, change) = limit.params().decide(state.as_ref(), tick, cost);
                    limit.apply(&mut state, change);
                    assert_eq!(answer.decisions[0], decision, "{context}");
                } else {
                    // Sometimes more than there is, sometimes nothing.
                    let units =
                        if random.bool() { random.u64(0..4) } else { random.u64(0..=limit.quota() + 1) };
                    let left =
                        |state: &Option<State>| limit.params().decide(state.as_ref(), tick, 0).0.remaining;
                    let before = left(&state);
                    let change = limit.params().grant(state.as_ref(), tick, units);
                    limit.apply(&mut state, change);
                    let told = server.grant("key", &limit, units, now);
                    assert_eq!(told, [now, before, left(&state)], "{context}: {units} units");
                }
                let expected = state.clone().map(|state| (tag(&limit), state));
                assert_eq!(server.kept(b"key"), expected, "{context}");
                server.redis.assert_every_key_has_a_ttl();
            }
        }
    }
}

#[test]
fn what_is_no_state_gets_nothing_and_does_no_harm() {
    let server = Server::start();
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
            assert_eq!(
                server.grant("key", &limit, 3, START),
                [START, limit.quota(), limit.quota()],
                "{limit} {command:?}"
            );
            assert_eq!(server.redis.command(&["DUMP", "key"]), before, "{limit} {command:?}");
        }
    }
}

/// A limit of every algorithm, of 100 an hour, and then of 40, which counts what the larger one has counted.
fn lowered(tick: Duration) -> Vec<(Limit, Limit)> {
    let hour = tick * 3_600_000;
    let edges: Vec<u64> = (0..9_000).map(|n| 1_759_000_000_000_000 + 3_600_000_000 * n).collect();
    let calendar: &Calendar = Box::leak(Box::new(Calendar::from_edges("test", edges).unwrap()));
    let of = |units: u64| {
        vec![
            Limit::fixed_window(units, hour),
            Limit::fixed_window_from_first(units, hour),
            Limit::fixed_window_of(units, calendar),
            Limit::sliding_window_log(units, hour),
            Limit::sliding_window_counter(units, hour),
            Limit::token_bucket(units, Rate::new(10, hour)),
            Limit::leaky_bucket(Rate::new(10, hour), units - 1),
        ]
    };
    of(100).into_iter().zip(of(40)).map(|(large, small)| (large.unwrap(), small.unwrap())).collect()
}

#[test]
fn a_key_lives_as_long_as_what_is_left_counts() {
    let server = Server::start();
    for tick in [Duration::from_micros(1_000), Duration::from_secs(30)] {
        for (limit, _) in lowered(tick) {
            server.redis.flush();
            let asked = [40, 30].map(|cost| server.ask("key", &limit, cost, Some(START)).decisions[0]);
            assert!(asked.iter().all(|decision| decision.is_admitted()), "{limit}");
            server.redis.command(&["PERSIST", "key"]);
            assert_eq!(server.grant("key", &limit, 30, START), [START, 30, 60], "{limit}");
            let (_, state) = server.kept(b"key").unwrap();
            let expires = limit.expires_at(&state).as_micros();
            // By virtual time every key lives a day longer; a busy machine may take a minute for this.
            let left = (expires - START) / 1_000 + 86_400_000;
            let told = u64::try_from(server.redis.command(&["PTTL", "key"]).int()).unwrap();
            assert!((left - 60_000..=left + 2).contains(&told), "{limit}: {told} of {left} ms");
        }
    }
}

#[test]
fn what_a_larger_limit_has_counted_is_as_much_as_the_smaller_one_holds() {
    let server = Server::start();
    for (large, small) in lowered(Duration::from_micros(1_000)) {
        for units in [0, 1, 39, 40, 41] {
            server.redis.flush();
            let mut state = None;
            let tick = large.resolution().tick(Timestamp::from_micros(START));
            assert!(server.ask("key", &large, 90, Some(START)).decisions[0].is_admitted(), "{large}");
            let (_, change) = large.params().decide(None, tick, 90);
            large.apply(&mut state, change);
            assert_eq!(server.grant("key", &small, units, START), [START, 0, units.min(40)], "{small}");
            let change = small.params().grant(state.as_ref(), tick, units);
            small.apply(&mut state, change);
            assert_eq!(server.kept(b"key"), state.map(|state| (tag(&small), state)), "{small}: {units}");
        }
    }
}

#[test]
fn what_is_left_fits_where_it_is_kept() {
    let server = Server::start();
    let limit = Limit::fixed_window(5_000_000_000, Duration::from_secs(1_000)).unwrap();
    for left in [4_294_967_295_u64, 4_294_967_296, 4_294_967_297] {
        server.redis.flush();
        assert!(server.ask("key", &limit, left + 7, Some(START)).decisions[0].is_admitted());
        assert_eq!(server.grant("key", &limit, 7, START)[2], 5_000_000_000 - left);
        assert_eq!(server.ask("key", &limit, 0, Some(START)).decisions[0].remaining, 5_000_000_000 - left);
    }
}

#[test]
fn a_log_of_which_a_part_cannot_be_read_gives_what_can() {
    let server = Server::start();
    let limit = Limit::sliding_window_log(9, Duration::from_secs(1)).unwrap();
    let head = |total: u64| -> Vec<u8> {
        let numbers = [total, START, 1].into_iter().flat_map(server::seven);
        [tag(&limit)].into_iter().chain(numbers).collect()
    };
    let older = (START - 1).to_string();
    for entry in [["x", "1"], ["x", "y"], [older.as_str(), "y"]] {
        server.redis.flush();
        server.redis.command(&[b"RPUSH", &b"key"[..], &head(3), entry[0].as_bytes(), entry[1].as_bytes()]);
        server.redis.command(&["PEXPIRE", "key", "100000"]);
        let [_, before, after] = server.grant("key", &limit, 3, START);
        assert!(before <= after && after <= 9, "{entry:?}: {before} {after}");
        // Whatever was found, the next check counts from what can be read, and heals it.
        assert!(server.ask("key", &limit, 1, Some(START)).decisions[0].is_admitted());
        server.redis.assert_every_key_has_a_ttl();
    }
}

#[test]
fn entries_that_were_given_back_before_go_with_the_newest() {
    let server = Server::start();
    // In microseconds; and so long that it is counted in milliseconds.
    for window in [Duration::from_secs(1_000), Duration::from_secs(2_300_000_000)] {
        let limit = Limit::sliding_window_log(9, window).unwrap();
        let resolution = limit.resolution();
        server.redis.flush();
        let mut state = None;
        for n in 0..3 {
            let now = START + n * 5_000;
            assert!(server.ask("key", &limit, 2, Some(now)).decisions[0].is_admitted());
            let (_, change) =
                limit.params().decide(state.as_ref(), resolution.tick(Timestamp::from_micros(now)), 2);
            limit.apply(&mut state, change);
        }
        let (at, now) = (resolution.tick(Timestamp::from_micros(START + 5_000)), START + 20_000);
        let (charge, tick) = (Charge { at, end: at, cost: 2 }, resolution.tick(Timestamp::from_micros(now)));
        assert!(server.refund("key", &limit, charge, now));
        let change = limit.params().refund(state.as_ref(), tick, charge);
        limit.apply(&mut state, change);
        for _ in 0..2 {
            server.redis.command(&["PERSIST", "key"]);
            server.grant("key", &limit, 2, now);
            let change = limit.params().grant(state.as_ref(), tick, 2);
            limit.apply(&mut state, change);
            assert_eq!(server.kept(b"key"), state.clone().map(|state| (tag(&limit), state)), "{limit}");
            let Some(state) = &state else { continue };
            let left = (limit.expires_at(state).as_micros() - now) / 1_000 + 86_400_000;
            let told = u64::try_from(server.redis.command(&["PTTL", "key"]).int()).unwrap();
            assert!((left - 60_000..=left + 2).contains(&told), "{limit}: {told} of {left} ms");
        }
        assert_eq!(state, None, "all of it was given back");
    }
}
