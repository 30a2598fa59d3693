//! Charges that are given back in the server, compared with core: what is kept after each step, bit by bit.

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
const START: Timestamp = Timestamp::from_micros(1_760_000_000_000_100);

/// Small limits, in both ticks, where windows pass and buckets fill within a few steps.
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
    // Too large for microseconds.
    limits.push(Limit::sliding_window_counter(2_000_000, Duration::from_secs(8_640)));
    limits.push(Limit::token_bucket(2_000_000, Rate::new(1_999_993, Duration::from_secs(8_640))));
    limits.into_iter().map(Result::unwrap).collect()
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
                let tick = resolution.tick(Timestamp::from_micros(now));
                let context = format!("{limit}, round {round}, step {step}");
                if random.u8(0..3) > 0 || charges.is_empty() {
                    let cost = random.u64(1..4);
                    let answer = server.ask("key", &limit, cost, Some(now));
                    let (decision, change) = limit.params().decide(state.as_ref(), tick, cost);
                    limit.apply(&mut state, change);
                    assert_eq!(answer.decisions[0], decision, "{context}");
                    if decision.is_admitted() {
                        charges.push(Charge { at: tick, end: tick + decision.reset_after, cost });
                    }
                } else {
                    let mut charge = charges.swap_remove(random.usize(..charges.len()));
                    // Sometimes a part, sometimes what was never charged then.
                    charge.cost = random.u64(1..=charge.cost);
                    charge.at -= u64::from(random.u8(0..8) == 0);
                    let change = limit.params().refund(state.as_ref(), tick, charge);
                    limit.apply(&mut state, change);
                    server.refund("key", &limit, charge, now);
                }
                let expected = state.clone().map(|state| (tag(&limit), state));
                assert_eq!(server.kept(b"key"), expected, "{context}");
                server.redis.assert_every_key_has_a_ttl();
            }
        }
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
}
