//! Charges that grow in the server, compared with core: what is kept after each step, bit by bit. What is given back is tried in
//! `lua_refund.rs`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "lua/scripts.rs"]
mod scripts;
#[allow(dead_code)]
#[path = "lua/server.rs"]
mod server;

use core::time::Duration;

use cupo_core::number::DOMAIN;
use cupo_core::{Algorithm, Charge, Limit, Rate, State, Timestamp};
use server::{START, Server, small, tag};

/// What core makes of `extra` more units: how many are charged.
fn grown(limit: &Limit, state: &mut Option<State>, tick: u64, extra: u64) -> u64 {
    let none = Charge { at: tick, end: tick, cost: 0 };
    let (change, uncovered) = limit.params().settle(state.as_ref(), tick, none, extra);
    limit.apply(state, change);
    extra - uncovered
}

#[test]
fn what_is_charged_beyond_is_what_core_charges() {
    let server = Server::start();
    for (seed, limit) in small().into_iter().enumerate() {
        let mut random = fastrand::Rng::with_seed(u64::try_from(seed).unwrap());
        let resolution = limit.resolution();
        let scale = u64::try_from(limit.window_at(START).as_micros()).unwrap().div_ceil(12).max(1);
        for round in 0..12 {
            server.redis.flush();
            let mut now = START.as_micros() + random.u64(0..1_000_000);
            let (mut state, mut charges): (Option<State>, Vec<Charge<u64>>) = (None, Vec::new());
            for step in 0..50 {
                now += random.u64(0..3) * scale * u64::from(random.bool());
                now += 40 * scale * u64::from(random.u8(0..12) == 0);
                // Sometimes the clock has stepped back meanwhile.
                let now = now - 5 * scale * u64::from(random.u8(0..8) == 0);
                let tick = resolution.tick(Timestamp::from_micros(now));
                let context = format!("{limit}, round {round}, step {step}");
                match random.u8(0..5) {
                    0 | 1 => {
                        let cost = random.u64(1..4);
                        let answer = server.ask("key", &limit, cost, Some(now));
                        let (decision, change) = limit.params().decide(state.as_ref(), tick, cost);
                        limit.apply(&mut state, change);
                        assert_eq!(answer.decisions[0], decision, "{context}");
                        if decision.is_admitted() {
                            charges.push(Charge { at: tick, end: tick + decision.reset_after, cost });
                        }
                    }
                    2 if !charges.is_empty() => {
                        let charge = charges.swap_remove(random.usize(..charges.len()));
                        let change = limit.params().refund(state.as_ref(), tick, charge);
                        limit.apply(&mut state, change);
                        server.refund("key", &limit, charge, now);
                    }
                    _ => {
                        // Sometimes more than ever fits.
                        let extra = [random.u64(1..4), random.u64(1..4), DOMAIN - 1][random.usize(..3)];
                        let charged = grown(&limit, &mut state, tick, extra);
                        assert_eq!(server.top_up("key", &limit, extra, now), charged, "{context}");
                    }
                }
                let expected = state.clone().map(|state| (tag(&limit), state));
                assert_eq!(server.kept(b"key"), expected, "{context}");
                server.redis.assert_every_key_has_a_ttl();
            }
        }
    }
}

#[test]
fn several_charges_are_settled_in_one_call() {
    let server = Server::start();
    let now = START.as_micros();
    let limits = small();
    let names: Vec<String> = (0..limits.len()).map(|n| format!("key-{n}")).collect();
    let mut changes = Vec::new();
    for (n, (name, limit)) in names.iter().zip(&limits).enumerate() {
        let decision = server.ask(name, limit, 3, Some(now)).decisions[0];
        assert!(decision.is_admitted(), "{limit}");
        let end = limit.resolution().tick(START) + decision.reset_after;
        let at = limit.resolution().tick(START);
        let grows = n % 2 == 1;
        let cost = if grows { 0 } else { 3 };
        changes.push((name.as_str(), *limit, Charge { at, end, cost }, if grows { 2 } else { 0 }));
    }
    let (unreadable, answers) = server.settle_all(&changes, now);
    assert_eq!(unreadable, 0);
    for ((name, limit, _, extra), answer) in changes.iter().zip(answers) {
        let left = server.ask(name, limit, 0, Some(now)).decisions[0].remaining;
        if *extra > 0 {
            assert_eq!((answer, left), (2, limit.quota() - 5), "{limit}");
        } else {
            // A leaky bucket's first slot has come at once.
            let back = if limit.algorithm() == Algorithm::LeakyBucket {
                left == limit.quota() || answer == 0
            } else {
                left == limit.quota()
            };
            assert!(back, "{limit}: {left}");
        }
    }
}

#[test]
fn a_window_that_was_not_sent_is_asked_for() {
    let server = Server::start();
    let limit = *small()
        .iter()
        .find(|limit| limit.resolution().micros_per_tick() == 1 && server::is_by_calendar(limit))
        .unwrap();
    let now = START.as_micros() + 1_000;
    let far = now + 500_000;
    // Edges around one instant, the server's clock at another.
    assert_eq!(server.top_up_around("key", &limit, 2, now, far), DOMAIN, "not placed");
    assert_eq!(server.kept(b"key"), None, "nothing was charged");
    assert_eq!(server.top_up_around("key", &limit, 2, far, far), 2);
    // The edges themselves: the first is inside, the fourth is not.
    let (start, end) = server::window(&limit, now);
    let (before, after) = (server::window(&limit, start - 1).0, server::window(&limit, end).1);
    for (at, finish) in
        [(before, start), (start - 1, start), (start, end), (end - 1, end), (end, after), (after - 1, after)]
    {
        server.redis.flush();
        assert_eq!(server.top_up_around("key", &limit, 2, now, at), 2);
        let State::EndingWindow(state) = server.kept(b"key").unwrap().1 else { panic!("no window") };
        assert_eq!((state.end, state.count), (finish, 2), "{at}");
    }
    // What ends at the fourth edge is over there, and the next is not known.
    assert_eq!(server.top_up_around("key", &limit, 2, now, after), DOMAIN);
    server.redis.flush();
    assert_eq!(server.top_up_around("key", &limit, 2, now, before - 1), DOMAIN);
    assert_eq!(server.top_up_around("key", &limit, 2, far, far), 2);
    // A window that is open already needs no edges.
    assert_eq!(server.top_up_around("key", &limit, 1, now, far), 1);
}

#[test]
fn units_grow_out_of_four_bytes() {
    let server = Server::start();
    let limit = Limit::fixed_window(1 << 33, Duration::from_secs(1)).unwrap();
    let (mut state, now) = (None, START.as_micros());
    for extra in [(1 << 32) - 1, 1, 1] {
        let charged = grown(&limit, &mut state, now, extra);
        assert_eq!(server.top_up("key", &limit, extra, now), charged);
        assert_eq!(server.kept(b"key"), state.clone().map(|state| (tag(&limit), state)), "{extra} more");
    }
}

#[test]
fn what_is_no_state_is_counted_and_overwritten() {
    let server = Server::start();
    for limit in small() {
        for (command, unreadable) in [
            (&["SET", "key", "x"][..], 1),
            (&["RPUSH", "key", "x", "y", "z"], u64::from(limit.algorithm() == Algorithm::SlidingWindowLog)),
            (&["HSET", "key", "a", "b"], u64::from(limit.algorithm() == Algorithm::SlidingWindowLog)),
        ] {
            server.redis.flush();
            server.redis.command(command);
            let none = Charge { at: 0, end: 0, cost: 0 };
            let answer = server.settle_all(&[("key", limit, none, 2)], START.as_micros());
            assert_eq!(answer, (unreadable, vec![2]), "{limit} {command:?}");
            let left = server.ask("key", &limit, 0, Some(START.as_micros())).decisions[0].remaining;
            assert_eq!(left, limit.quota() - 2, "{limit} {command:?}");
            server.redis.assert_every_key_has_a_ttl();
        }
    }
}

#[test]
fn a_key_that_grows_lives_as_long_as_it_counts() {
    let server = Server::start();
    let hour = Duration::from_hours(1);
    let limits = [
        Limit::fixed_window(100, hour),
        Limit::fixed_window_from_first(100, hour),
        Limit::sliding_window_log(100, hour),
        Limit::sliding_window_counter(100, hour),
        Limit::token_bucket(100, Rate::new(100, hour)),
        Limit::leaky_bucket(Rate::new(100, hour), 99),
        // In milliseconds.
        Limit::sliding_window_log(100, Duration::from_millis(1 << 42)),
        Limit::sliding_window_counter(2_000_000, Duration::from_secs(8_640)),
    ];
    for limit in limits.map(Result::unwrap) {
        let now = START.as_micros();
        let millis = limit.resolution().micros_per_tick() / 1_000;
        server.redis.flush();
        assert_eq!(server.top_up("key", &limit, 30, now), 30, "{limit}");
        let (_, state) = server.kept(b"key").unwrap();
        // By virtual time every key lives a day longer; a busy machine may take a minute for this.
        let ticks = limit.params().expires_at(&state) - limit.resolution().tick(START);
        let left = if millis == 1 { ticks } else { ticks / 1_000 } + 86_400_000;
        let told = u64::try_from(server.redis.command(&["PTTL", "key"]).int()).unwrap();
        assert!((left - 60_000..=left + 1).contains(&told), "{limit}: {told} of {left} ms");
        assert!(left > 86_400_000 + 120_000, "{limit}: long enough to tell");
    }
}
