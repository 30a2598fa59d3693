//! What is carried from one key to another in the server, compared with core: what is kept after each step, bit by bit.

#![allow(clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "lua/scripts.rs"]
mod scripts;
#[allow(dead_code)]
#[path = "lua/server.rs"]
mod server;

use core::time::Duration;

use cupo_core::{Algorithm, Calendar, Limit, Rate, State, Timestamp};
use server::{Item, Server, ordinary, small, tag};

const NOW: u64 = 1_760_000_000_000_000;

/// A key, and what core keeps for it.
struct Kept {
    item: Item,
    state: Option<State>,
}

impl Kept {
    fn new(key: &str, limit: Limit) -> Self {
        Self { item: Item { key: key.into(), limit, cost: 0 }, state: None }
    }

    fn ask(&mut self, server: &Server, cost: u64, now: u64, context: &str) {
        let Self { item, state } = self;
        let tick = item.limit.resolution().tick(Timestamp::from_micros(now));
        let answer = server.call(&[vec![Item { cost, ..item.clone() }]], Some(now));
        let (decision, change) = item.limit.params().decide(state.as_ref(), tick, cost);
        item.limit.apply(state, change);
        assert_eq!(answer.decisions[0], decision, "{context}");
    }

    fn is_kept(&self, server: &Server, context: &str) {
        let expected = self.state.clone().map(|state| (tag(&self.item.limit), state));
        assert_eq!(server.kept(&self.item.key), expected, "{context}");
    }
}

fn carry(server: &Server, from: &mut Kept, to: &mut Kept, now: u64, context: &str) {
    let reply = server.carry(&from.item, &to.item, now, now);
    assert_eq!(reply, (now, 0, true), "{context}");
    let at = Timestamp::from_micros(now);
    if from.item.limit.used(from.state.as_ref(), at) == 0 {
        return;
    }
    let old = from.state.take().unwrap();
    let change = to.item.limit.carry(to.state.as_ref(), &from.item.limit, &old, at);
    to.item.limit.apply(&mut to.state, change);
}

/// Every two limits of one algorithm.
fn pairs() -> Vec<(Limit, Limit)> {
    let limits: Vec<Limit> = small().into_iter().chain(ordinary()).collect();
    let both = limits.iter().flat_map(|one| limits.iter().map(move |other| (*one, *other)));
    both.filter(|(one, other)| one != other && one.algorithm() == other.algorithm()).collect()
}

#[test]
fn what_is_carried_is_what_core_carries() {
    let server = Server::start();
    for (seed, (one, other)) in pairs().into_iter().enumerate() {
        let mut random = fastrand::Rng::with_seed(u64::try_from(seed).unwrap());
        let scale = |limit: &Limit| u64::try_from(limit.window().as_micros()).unwrap().div_ceil(12).max(1);
        let scales = [scale(&one).min(1 << 40), scale(&other).min(1 << 40)];
        for round in 0..3 {
            server.redis.flush();
            let (mut from, mut to) = (Kept::new("one", one), Kept::new("other", other));
            let mut now = NOW + random.u64(0..1_000_000);
            for step in 0..14 {
                let context = format!("{one}, then {other}, round {round}, step {step}");
                now += random.u64(0..3) * scales[random.usize(..2)] * u64::from(random.bool());
                let kept = if random.u8(0..3) > 0 { &mut from } else { &mut to };
                let all = random.u8(0..4) == 0;
                let cost = if all { kept.item.limit.quota() } else { random.u64(1..4) };
                match random.u8(0..3) {
                    0 => carry(&server, &mut from, &mut to, now, &context),
                    1 if random.bool() => carry(&server, &mut to, &mut from, now, &context),
                    _ => kept.ask(&server, cost, now, &context),
                }
                from.is_kept(&server, &context);
                to.is_kept(&server, &context);
                server.redis.assert_every_key_has_a_ttl();
            }
        }
    }
}

#[test]
fn a_carried_key_lives_as_long_as_it_counts_under_the_new_limit() {
    let server = Server::start();
    let (hour, day) = (Duration::from_hours(1), Duration::from_hours(24));
    for (one, other) in [
        (Limit::fixed_window(100, hour), Limit::fixed_window(100, day)),
        (Limit::sliding_window_log(100, hour), Limit::sliding_window_log(100, day)),
        (Limit::sliding_window_counter(100, day), Limit::sliding_window_counter(10, hour)),
        (Limit::token_bucket(100, Rate::new(1, hour)), Limit::token_bucket(100, Rate::new(100, hour))),
        (Limit::leaky_bucket(Rate::new(100, hour), 99), Limit::leaky_bucket(Rate::new(7, hour), 99)),
    ] {
        server.redis.flush();
        let (mut from, mut to) = (Kept::new("one", one.unwrap()), Kept::new("other", other.unwrap()));
        from.ask(&server, 40, NOW, "before");
        carry(&server, &mut from, &mut to, NOW, "then");
        assert_eq!(server.redis.command(&["DBSIZE"]).int(), 1);
        let limit = to.item.limit;
        let ticks = limit.params().expires_at(&to.state.unwrap());
        let left = (limit.resolution().instant(ticks).as_micros() - NOW) / 1_000 + 86_400_000;
        let told = u64::try_from(server.redis.command(&["PTTL", "other"]).int()).unwrap();
        assert!((left - 60_000..=left + 1).contains(&told), "{limit}: {told} of {left} ms");
    }
}

/// Windows of a calendar that neither caller nor server has in mind: nothing is done until they agree.
#[test]
fn a_calendar_whose_window_was_not_sent_changes_nothing() {
    let server = Server::start();
    let edges = |length: u64| (0..200_000).map(move |n| NOW + length * n);
    let calendar = |name: &str, length| -> &'static Calendar {
        Box::leak(Box::new(Calendar::from_edges(name, edges(length)).unwrap()))
    };
    let of = |calendar| Limit::fixed_window_of(9, calendar).unwrap();
    let (short, long) = (of(calendar("short", 10)), of(calendar("long", 1_000)));
    let plain = Limit::fixed_window(9, Duration::from_micros(100)).unwrap();
    // From the one to the other: the windows of either may be what is missing. Where one is open, it is not asked for.
    for (one, other, open, done) in [
        (short, plain, false, false),
        (plain, short, false, false),
        (short, long, false, false),
        (plain, short, true, true),
        (plain, long, false, true),
    ] {
        server.redis.flush();
        let (mut from, mut to) = (Kept::new("one", one), Kept::new("other", other));
        from.ask(&server, 5, NOW + 41, "before");
        if open {
            to.ask(&server, 1, NOW + 41, "before");
        }
        let now = if one == short { NOW + 57 } else { NOW + 45 };
        let reply = server.carry(&from.item, &to.item, now, NOW + 95);
        assert_eq!(reply, (now, 0, done), "{one}, then {other}");
        if !done {
            from.is_kept(&server, "nothing has changed");
            to.is_kept(&server, "nothing has changed");
            carry(&server, &mut from, &mut to, now, "around the right instant");
        } else {
            let left = server.ask("other", &other, 0, Some(now)).decisions[0].remaining;
            assert_eq!(left, 4 - u64::from(open));
        }
    }
}

#[test]
fn what_is_no_state_is_not_carried_and_what_is_in_the_way_is_overwritten() {
    let server = Server::start();
    for (one, other) in pairs().into_iter().filter(|(one, _)| one.quota() >= 6).step_by(3) {
        let (mut from, mut to) = (Kept::new("one", one), Kept::new("other", other));
        for command in
            [&["SET", "one", "x"][..], &["RPUSH", "one", "x", "y", "z"], &["HSET", "one", "a", "b"]]
        {
            server.redis.flush();
            server.redis.command(command);
            let before = server.redis.command(&["DUMP", "one"]);
            let (_, _, done) = server.carry(&from.item, &to.item, NOW, NOW);
            assert!(done, "{one} {command:?}");
            assert_eq!(server.redis.command(&["DUMP", "one"]), before, "{one} {command:?}");
            assert_eq!(server.kept(b"other"), None);
        }
        for command in
            [&["SET", "other", "x"][..], &["RPUSH", "other", "x", "y", "z"], &["HSET", "other", "a", "b"]]
        {
            server.redis.flush();
            (from.state, to.state) = (None, None);
            from.ask(&server, 5, NOW, "before");
            server.redis.command(command);
            let (_, unreadable, done) = server.carry(&from.item, &to.item, NOW, NOW);
            assert!(done, "{one}, then {other}, {command:?}");
            assert_eq!(unreadable, 1, "{one}, then {other}, {command:?}");
            let old = from.state.take().unwrap();
            let change = other.carry(None, &one, &old, Timestamp::from_micros(NOW));
            other.apply(&mut to.state, change);
            from.is_kept(&server, "it is gone");
            to.is_kept(&server, "it is here");
            server.redis.assert_every_key_has_a_ttl();
        }
    }
    assert!(Algorithm::ALL.iter().all(|all| pairs().iter().any(|(one, _)| one.algorithm() == *all)));
}
