//! Units that are given back by hand in the server, compared with core: what is told, and what is kept after each step, bit by bit.

#![allow(clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "lua/scripts.rs"]
mod scripts;
#[allow(dead_code)]
#[path = "lua/server.rs"]
mod server;

use core::time::Duration;

use cupo_core::{Calendar, Limit, Rate, State, Timestamp};
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
