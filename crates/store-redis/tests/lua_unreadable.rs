//! Values that are no state of ours: taken for absent, counted, overwritten by the next charge, and never an error.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

#[path = "lua/scripts.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod scripts;
#[path = "lua/server.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod server;

use cupo_core::number::DOMAIN;
use cupo_core::{Limit, Timestamp};
use server::{Item, Server, ordinary, seven, tag};

const NOW: u64 = 1_760_000_000_000_000;

/// Commands that put something at `key`, without the name of the key.
type Garbage = (&'static str, Vec<Vec<Vec<u8>>>);

fn state(tag: u8, numbers: &[u64]) -> Vec<u8> {
    [tag].into_iter().chain(numbers.iter().flat_map(|&n| seven(n))).collect()
}

fn string(bytes: impl Into<Vec<u8>>) -> Vec<Vec<Vec<u8>>> {
    vec![vec![b"SET".to_vec(), bytes.into()]]
}

fn list(elements: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    vec![[&[b"RPUSH".to_vec()], elements].concat()]
}

/// Strings that are no state, whatever the limit.
fn strings(tag: u8) -> Vec<Garbage> {
    let has_three = [2, 3].contains(&(tag % 8));
    let (right, wrong): (&[u64], &[u64]) = if has_three { (&[1; 3], &[1; 2]) } else { (&[1; 2], &[1; 3]) };
    let mut longer = state(tag, right);
    longer.push(0);
    let short = |tag: u8| [&[tag, 0, 0, 0, 1], &seven(1)[..]].concat();
    let mut all = vec![
        ("nothing", string("")),
        ("a tag alone", string([tag])),
        ("a text", string("PING")),
        ("twelve letters", string("abcdefghijkl")),
        ("fifteen letters", string("abcdefghijklmno")),
        ("a truncated state", string(&longer[..longer.len() - 2])),
        ("a state and a byte", string(longer)),
        ("a state with the wrong number of numbers", string(state(tag, wrong))),
        ("layout 0", string(state(tag % 8, right))),
        ("the next layout", string(state(tag + 16, right))),
        ("the layout after all", string(state(tag + 208, right))),
        ("algorithm 0", string(state(tag / 8 * 8, &[1; 2]))),
        ("algorithm 6 with three numbers", string(state(tag / 8 * 8 + 6, &[1; 3]))),
        ("algorithm 7 with three numbers", string(state(tag / 8 * 8 + 7, &[1; 3]))),
        ("algorithm 4, a bucket kept by its level", string(state(tag / 8 * 8 + 4, &[1; 2]))),
        ("algorithm 5 with three numbers", string(state(21, &[1; 3]))),
        ("algorithm 3 with two numbers", string(state(19, &[1; 2]))),
        ("algorithm 3 with two short numbers", string(short(19))),
        ("the next layout with two short numbers", string(short(36))),
    ];
    for slot in 0..right.len() {
        let mut numbers = right.to_vec();
        numbers[slot] = DOMAIN;
        all.push(("the first number outside the domain", string(state(tag, &numbers))));
        numbers[slot] = (1 << 56) - 1;
        all.push(("the last number of seven bytes", string(state(tag, &numbers))));
    }
    all
}

/// Values of other types. A string's place holds a log's list only where another limit left it.
fn others(tag: u8) -> Vec<Garbage> {
    let words = |words: &[&str]| vec![words.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>()];
    let log_tag = tag / 8 * 8 + 2;
    let tick = if tag >= 24 { NOW / 1_000 } else { NOW };
    let head = state(log_tag, &[2, tick, 1]);
    let mut all = vec![
        ("a hash", words(&["HSET", "a", "1"])),
        ("a set", words(&["SADD", "a"])),
        ("a sorted set", words(&["ZADD", "1", "a"])),
        ("a stream", words(&["XADD", "*", "a", "1"])),
        ("a list of text", list(&[b"a".to_vec(), b"b".to_vec(), b"c".to_vec()])),
        ("a list of numbers", list(&[b"1".to_vec(), b"1760000000000000".to_vec(), b"1".to_vec()])),
        ("a list with a bucket's state", list(&[state(23, &[1, 1])])),
        ("a head outside the domain", list(&[state(log_tag, &[DOMAIN, tick, 1])])),
        ("a head of the next layout", list(&[state(log_tag + 16, &[2, tick, 1])])),
    ];
    if tag == log_tag {
        all.extend([
            ("a log with a text for a tick", list(&[head.clone(), b"a".to_vec(), b"1".to_vec()])),
            ("a log with a text for a cost", list(&[head.clone(), b"1".to_vec(), b"a".to_vec()])),
            ("a log with a tick and no cost", list(&[head, tick.to_string().into_bytes()])),
        ]);
    }
    all
}

fn put(server: &Server, commands: &[Vec<Vec<u8>>]) {
    server.redis.flush();
    for words in commands {
        let words: Vec<_> = [&words[..1], &[b"key".to_vec()], &words[1..]].concat();
        server.redis.command(&words);
    }
}

fn heals(server: &Server, limit: &Limit, name: &str, commands: &[Vec<Vec<u8>>], is_seen: bool) {
    let tick = limit.resolution().tick(Timestamp::from_micros(NOW));
    let (absent, _) = limit.params().decide(None, tick, 0);
    let (first, change) = limit.params().decide(None, tick, 1);
    let mut expected = None;
    limit.apply(&mut expected, change);
    put(server, commands);
    let before = server.redis.command(&["DUMP", "key"]);
    // A peek tells nothing apart that it does not have to, and changes nothing.
    let peek = server.ask("key", limit, 0, Some(NOW));
    assert_eq!((peek.unreadable, peek.decisions[0]), (u64::from(is_seen), absent), "{limit}: {name}");
    assert_eq!(server.redis.command(&["DUMP", "key"]), before, "{limit}: {name}");
    let charge = server.ask("key", limit, 1, Some(NOW));
    assert_eq!((charge.unreadable, charge.decisions[0]), (1, first), "{limit}: {name}");
    assert_eq!(server.kept(b"key"), Some((tag(limit), expected.unwrap())), "{limit}: {name}");
    server.redis.assert_every_key_has_a_ttl();
    assert_eq!(server.ask("key", limit, 1, Some(NOW)).unreadable, 0, "{limit}: {name}");
    // However many checks of a batch meet it, it is one.
    put(server, commands);
    let item = |cost| vec![Item { key: b"key".to_vec(), limit: *limit, cost }];
    let answer = server.call(&[item(0), item(1), item(1)], Some(NOW));
    assert_eq!((answer.unreadable, answer.decisions[1]), (1, first), "{limit}: {name}");
}

#[test]
fn what_is_no_state_is_counted_and_healed() {
    let server = Server::start();
    for limit in ordinary() {
        for (name, commands) in strings(tag(&limit)) {
            heals(&server, &limit, name, &commands, true);
        }
        for (name, commands) in others(tag(&limit)) {
            heals(&server, &limit, name, &commands, tag(&limit) % 8 == 2);
        }
    }
}

/// A state of another algorithm, or in other ticks, is no garbage: the rule's limit has changed.
#[test]
fn a_state_of_another_limit_is_absent_and_not_counted() {
    let server = Server::start();
    for old in ordinary() {
        for new in ordinary().iter().filter(|new| tag(new) != tag(&old)) {
            server.redis.flush();
            for ago in [2, 1] {
                server.ask("key", &old, 1, Some(NOW - ago * 1_000_000));
            }
            let kept = server.kept(b"key");
            let tick = new.resolution().tick(Timestamp::from_micros(NOW));
            let peek = server.ask("key", new, 0, Some(NOW));
            assert_eq!((peek.unreadable, peek.decisions[0]), (0, new.params().decide(None, tick, 0).0));
            assert_eq!(server.kept(b"key"), kept, "{old} to {new}");
            let (first, change) = new.params().decide(None, tick, 1);
            let mut expected = None;
            new.apply(&mut expected, change);
            let charge = server.ask("key", new, 1, Some(NOW));
            assert_eq!((charge.unreadable, charge.decisions[0]), (0, first), "{old} to {new}");
            assert_eq!(server.kept(b"key"), Some((tag(new), expected.unwrap())), "{old} to {new}");
            server.redis.assert_every_key_has_a_ttl();
        }
    }
}

#[test]
fn the_largest_numbers_are_readable() {
    let server = Server::start();
    for limit in ordinary().iter().filter(|limit| tag(limit) % 8 != 2) {
        let count = if tag(limit) % 8 == 3 { 3 } else { 2 };
        put(&server, &string(state(tag(limit), &[DOMAIN - 1; 3][..count])));
        assert_eq!(server.ask("key", limit, 0, Some(NOW)).unreadable, 0, "{limit}");
    }
}
