//! What the script costs: commands per call whatever the length of a log, and memory per entry and per key.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "this is a test")]

#[path = "lua/scripts.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod scripts;
#[path = "lua/server.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod server;

use core::time::Duration;
use std::collections::BTreeMap;

use cupo_core::{Limit, Rate};
use server::{Server, seven};

const NOW: u64 = 1_760_000_000_000_000;
/// Microseconds between the entries of a log.
const GAP: u64 = 1_000;

/// A log with `count` entries, the newest at `NOW`, the oldest of which leaves at `NOW + GAP`, and its limit, which
/// has room for two more.
fn log(server: &Server, count: u64) -> Limit {
    server.redis.flush();
    let oldest = NOW - GAP * (count - 1);
    let head: Vec<u8> = [18].into_iter().chain([count, NOW, 1].into_iter().flat_map(seven)).collect();
    server.redis.command(&[b"RPUSH", &b"log"[..], &head]);
    let entries: Vec<String> =
        (0..count - 1).flat_map(|i| [(oldest + GAP * i).to_string(), "1".to_owned()]).collect();
    for chunk in entries.chunks(10_000) {
        let words: Vec<&str> = ["RPUSH", "log"].into_iter().chain(chunk.iter().map(String::as_str)).collect();
        server.redis.command(&words);
    }
    server.redis.command(&["PEXPIRE", "log", "1000000"]);
    Limit::sliding_window_log(count + 2, Duration::from_micros(GAP * count)).unwrap()
}

/// The commands that the script runs for a request of `cost`, `later` than now.
fn commands(server: &Server, count: u64, cost: u64, later: u64) -> BTreeMap<String, u64> {
    let limit = log(server, count);
    server.redis.reset_stats();
    server.ask("log", &limit, cost, Some(NOW + later));
    let stats = server.redis.command_stats().into_iter().map(|(name, stat)| (name, stat.calls));
    let ours = ["lrange", "lindex", "llen", "lset", "lpop", "lpush", "rpush", "del", "pexpireat", "mget"];
    stats.filter(|(name, _)| ours.contains(&name.as_str())).collect()
}

#[test]
fn a_log_costs_the_same_whatever_its_length() {
    let server = Server::start();
    let map = |counts: &[(&str, u64)]| counts.iter().map(|&(name, n)| (name.to_owned(), n)).collect();
    for count in [10, 100, 10_000, 100_000] {
        // Nothing has expired: the head and the oldest entry are read, the head is rewritten, an entry is added.
        let expected: BTreeMap<_, _> =
            map(&[("mget", 1), ("lrange", 1), ("lset", 1), ("rpush", 1), ("pexpireat", 1)]);
        assert_eq!(commands(&server, count, 1, 1), expected, "{count} entries");
        // The oldest has expired.
        let expected: BTreeMap<_, _> =
            map(&[("mget", 1), ("lrange", 2), ("lpop", 1), ("lpush", 1), ("rpush", 1), ("pexpireat", 1)]);
        assert_eq!(commands(&server, count, 1, GAP), expected, "{count} entries");
        // A peek, and a denial that waits for one entry.
        let expected: BTreeMap<_, _> = map(&[("mget", 1), ("lrange", 1)]);
        assert_eq!(commands(&server, count, 0, 1), expected, "{count} entries");
        assert_eq!(commands(&server, count, 3, 1), expected, "{count} entries");
        // All have expired, however many.
        let expected: BTreeMap<_, _> =
            map(&[("mget", 1), ("lrange", 1), ("del", 1), ("rpush", 1), ("pexpireat", 1)]);
        assert_eq!(commands(&server, count, 1, GAP * count), expected, "{count} entries");
    }
}

#[test]
fn the_first_entry_of_a_log_takes_two_writes() {
    let server = Server::start();
    let limit = Limit::sliding_window_log(5, Duration::from_secs(1)).unwrap();
    server.redis.reset_stats();
    server.ask("log", &limit, 1, Some(NOW));
    let stats = server.redis.command_stats();
    let calls = ["mget", "lrange", "rpush", "pexpireat", "del", "lpush", "lset"]
        .map(|name| stats.get(name).map(|s| s.calls));
    assert_eq!(calls, [Some(1), Some(1), Some(1), Some(1), None, None, None]);
}

#[test]
fn many_expired_entries_take_few_commands() {
    let server = Server::start();
    for (expired, reads) in [(4, 2), (5, 3), (100, 5), (8_000, 8)] {
        assert_eq!(commands(&server, 10_000, 1, GAP * expired)["lrange"], reads, "{expired} expired");
    }
    // A denial reads on to the entry that it waits for.
    assert_eq!(commands(&server, 10_000, 102, 1)["lrange"], 5);
}

fn memory(server: &Server, key: &str) -> i64 {
    server.redis.command(&["MEMORY", "USAGE", key, "SAMPLES", "0"]).int()
}

/// Entries of a real history, at a microsecond each that nobody shares.
#[test]
fn a_log_entry_takes_at_most_a_third_of_a_sorted_sets() {
    let server = Server::start();
    let limit = Limit::sliding_window_log(100_000, Duration::from_hours(1)).unwrap();
    let key = "cupo:{0123456789abcdef}:api_key:rule";
    let mut sizes = Vec::new();
    for n in 0..10_000_u64 {
        let at = NOW + n * 137;
        assert!(server.ask(key, &limit, 1, Some(at)).decisions[0].is_admitted());
        server.redis.command(&["ZADD", "zset", &at.to_string(), &format!("{at}:{n:08x}")]);
        if [999, 9_999].contains(&n) {
            sizes.push((memory(&server, key), memory(&server, "zset")));
        }
    }
    let (log, zset) = ((sizes[1].0 - sizes[0].0) / 9_000, (sizes[1].1 - sizes[0].1) / 9_000);
    println!("bytes per entry: {log} in the log, {zset} in a sorted set with unique members");
    assert!(log * 3 <= zset, "{log} beside {zset}");
}

/// A usual token bucket: a hash of tokens and time. A key, its entry in the dictionary and an object take 88 bytes of each.
#[test]
fn a_state_takes_less_than_a_hash() {
    let server = Server::start();
    let limits = [
        (104, Limit::fixed_window(100, Duration::from_mins(1))),
        (104, Limit::token_bucket(100, Rate::new(10, Duration::from_secs(1)))),
        (104, Limit::leaky_bucket(Rate::new(10, Duration::from_secs(1)), 100)),
        (120, Limit::sliding_window_counter(100, Duration::from_mins(1))),
    ];
    let hash = "usual:{01234567}:api_key:0123456789abcde";
    let ours = "cupo!:{01234567}:api_key:0123456789abcde";
    assert_eq!((hash.len(), ours.len()), (40, 40));
    server.redis.command(&["HSET", hash, "tokens", "97.41650000000001", "last_refill", "1760000000.123456"]);
    server.redis.command(&["PEXPIRE", hash, "60000"]);
    let hash = memory(&server, hash);
    for (most, limit) in limits {
        let limit = limit.unwrap();
        server.ask(ours, &limit, 3, None);
        let ours = memory(&server, ours);
        println!("bytes per key of 40 bytes: {ours} of {}, {hash} of a hash", limit.algorithm());
        assert!(ours <= most && ours < hash, "{limit}: {ours} beside {hash}");
    }
}

/// The keys that are most frequent: an address, and a user whose long name is hashed.
#[test]
fn a_bucket_takes_at_most_two_thirds_of_a_hash() {
    let server = Server::start();
    let limit = Limit::token_bucket(100, Rate::new(100, Duration::from_hours(1))).unwrap();
    for (ours, usual) in [
        ("cupo:\u{d}per-client\u{4}~\u{4}\u{1}\u{0}\u{4}abcd", "ratelimit:per-client:10.0.17.203"),
        ("cupo:0123456789abcdef012345", "ratelimit:per-client:550e8400-e29b-41d4-a716-446655440000"),
    ] {
        server.redis.command(&["HSET", usual, "tokens", "97.41650000000001", "at", "1760000000.123456"]);
        server.redis.command(&["PEXPIRE", usual, "60000"]);
        server.ask(ours, &limit, 3, None);
        let (ours, usual) = (memory(&server, ours), memory(&server, usual));
        println!("bytes per key: {ours}, {usual} of a hash");
        assert!(ours * 3 <= usual * 2, "{ours} beside {usual}");
    }
}
