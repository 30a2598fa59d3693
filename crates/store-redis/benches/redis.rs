//! Figures of the Redis store, on a server of its own: `cargo bench -p cupo-store-redis --bench redis`.
//!
//! Everything goes through the same client library, over one connection, with the same number of checks in flight. What it is compared
//! with is the usual token bucket: a hash with two fields, read, refilled and written by a script of a few lines.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::float_arithmetic)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    clippy::disallowed_methods
)]

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use cupo_core::{Check, Key, Limit, Rate, Store, Timestamp};
use cupo_store_redis::{RedisSettings, RedisStore};
use cupo_testkit::redis::RedisServer;
use redis::aio::MultiplexedConnection;

const IN_FLIGHT: u64 = 256;
const KEYS: u64 = 10_000;
const SPAN: Duration = Duration::from_secs(3);

/// The usual token bucket on a hash: KEYS 1; ARGV capacity, refill per second, cost.
const USUAL: &str = "
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local capacity, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(bucket[1]) or capacity, tonumber(bucket[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * rate)
local allowed = tokens >= cost
if allowed then
  tokens = tokens - cost
end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / rate * 1000))
return { allowed and 1 or 0, math.floor(tokens) }
";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = RedisServer::standalone().start();
        rates(&server).await;
        memory(&server).await;
        latency(&server).await;
    });
}

fn limit() -> Limit {
    Limit::token_bucket(1_000_000, Rate::new(1_000_000, Duration::from_secs(1))).unwrap()
}

fn key(rule: &str, n: u64) -> Key {
    Key::builder(rule).part(1, "", &(n as u32).to_be_bytes()).build()
}

/// Microseconds of processor time that this process and the server have used.
fn processor(server: &RedisServer) -> f64 {
    let of = |id: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        // After the name in parentheses: user and system time are the 12th and 13th field, in ticks of 10 ms.
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()
    };
    (of(std::process::id()) + of(server.id())) * 10_000.0
}

/// What a run gave.
#[derive(Clone, Copy)]
struct Figure {
    /// Per second.
    rate: f64,
    /// Microseconds of processor time of client and server, each: what a busy neighbour changes least.
    cost: f64,
}

impl Figure {
    fn print(self, what: &str, usual: Option<Self>) {
        print!("{what:<48}{:>10.0} /s {:>7.2} us", self.rate, self.cost);
        match usual {
            Some(usual) => println!(
                "   {:.2} times the rate, {:.2} of the time",
                self.rate / usual.rate,
                self.cost / usual.cost
            ),
            None => println!(),
        }
    }
}

/// Runs `task` with this many in flight for a while.
async fn rate<F: Future<Output = ()> + Send + 'static>(
    server: &RedisServer,
    task: impl Fn(u64) -> F + Send + Sync + 'static,
) -> Figure {
    let task = Arc::new(task);
    let before = processor(server);
    let start = Instant::now();
    let tasks: Vec<_> = (0..IN_FLIGHT)
        .map(|n| {
            let task = Arc::clone(&task);
            tokio::spawn(async move {
                let mut calls = 0_u64;
                while start.elapsed() < SPAN {
                    task(n.wrapping_mul(7_919).wrapping_add(calls.wrapping_mul(104_729)) % KEYS).await;
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let mut calls = 0;
    for task in tasks {
        calls += task.await.unwrap();
    }
    let rate = calls as f64 / start.elapsed().as_secs_f64();
    Figure { rate, cost: (processor(server) - before) / calls as f64 }
}

async fn connection(server: &RedisServer) -> MultiplexedConnection {
    let client = redis::Client::open(server.url()).unwrap();
    let config =
        redis::AsyncConnectionConfig::new().set_pipeline_buffer_size(1_024).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

fn store(server: &RedisServer, change: impl FnOnce(&mut RedisSettings)) -> RedisStore {
    let mut settings = RedisSettings::from_url(&server.url()).unwrap();
    settings.deadline = Duration::from_secs(5);
    settings.denial_cache = false;
    change(&mut settings);
    RedisStore::new(settings).unwrap()
}

async fn ask(store: &RedisStore, check: &Check) -> bool {
    store.check(check, Timestamp::EPOCH).await.unwrap().is_admitted()
}

async fn usual_rate(server: &RedisServer, per_request: u64) -> Figure {
    let connection = connection(server).await;
    let script = Arc::new(redis::Script::new(USUAL));
    let hash = script.get_hash().to_owned();
    let _: String =
        redis::cmd("SCRIPT").arg("LOAD").arg(USUAL).query_async(&mut connection.clone()).await.unwrap();
    rate(server, move |n| {
        let (mut connection, hash) = (connection.clone(), hash.clone());
        async move {
            for rule in 0..per_request {
                let mut command = redis::cmd("EVALSHA");
                command.arg(&hash).arg(1).arg(format!("rate:per-client-{rule}:10.0.{}.{}", n / 256, n % 256));
                command.arg(1_000_000).arg(1_000_000).arg(1);
                let _: (i64, i64) = command.query_async(&mut connection).await.unwrap();
            }
        }
    })
    .await
}

async fn rates(server: &RedisServer) {
    let usual = usual_rate(server, 1).await;
    usual.print("the usual token bucket, one by one", None);
    for (calls, batch) in [(1, 64), (2, 64), (1, 128), (2, 128), (4, 64), (1, 16), (1, 1)] {
        let store = store(server, |s| (s.calls_in_flight, s.batch_max) = (calls, batch));
        ask(&store, &Check::one(key("warm", 0), limit(), 1)).await;
        let asked = store.clone();
        let ours = rate(server, move |n| {
            let store = asked.clone();
            async move {
                ask(&store, &Check::one(key("per-client", n), limit(), 1)).await;
            }
        })
        .await;
        let stats = store.stats();
        let checks = stats.called_checks as f64 / stats.calls as f64;
        ours.print(&format!("one rule, {calls} call(s) of <= {batch} ({checks:.0}) checks"), Some(usual));
    }
    let usual = usual_rate(server, 3).await;
    usual.print("three usual buckets, one after the other", None);
    let three = store(server, |_| {});
    ask(&three, &Check::one(key("warm", 0), limit(), 1)).await;
    let ours = rate(server, move |n| {
        let store = three.clone();
        async move {
            let mut check = Check::one(key("global", 0), limit(), 1);
            check.push(key("per-client", n), limit(), 1).unwrap();
            check.push(key("per-route", n % 50), limit(), 1).unwrap();
            ask(&store, &check).await;
        }
    })
    .await;
    ours.print("three rules in one check", Some(usual));

    denials(server).await;
}

/// Denied traffic: one key again and again without a pause, and many keys in turn, as attacks come.
async fn denials(server: &RedisServer) {
    let denied = Limit::token_bucket(1, Rate::new(1, Duration::from_secs(3_600))).unwrap();
    for keys in [1, KEYS] {
        let checks: Arc<Vec<Check>> =
            Arc::new((0..keys).map(|n| Check::one(key("denied", n), denied, 1)).collect());
        let mut without = None;
        for cache in [false, true] {
            let store = store(server, |s| s.denial_cache = cache);
            for check in checks.iter() {
                ask(&store, check).await;
            }
            let times = if cache { 100 } else { 1 };
            let checks = Arc::clone(&checks);
            let figure = rate(server, move |n| {
                let (store, checks) = (store.clone(), Arc::clone(&checks));
                async move {
                    for i in 0..times {
                        ask(&store, &checks[((n + i) % keys) as usize]).await;
                    }
                }
            })
            .await;
            let figure = Figure { rate: figure.rate * times as f64, cost: figure.cost / times as f64 };
            let how = if cache { "with the cache of denials" } else { "every time by the server" };
            figure.print(&format!("denied, {keys} key(s), {how}"), without);
            without = Some(figure);
        }
    }
}

/// Bytes per key with as many keys as asked for, by `MEMORY USAGE` and by what the server uses in all.
async fn memory(server: &RedisServer) {
    let many: u64 = std::env::var("CUPO_BENCH_KEYS").ok().and_then(|n| n.parse().ok()).unwrap_or(200_000);
    let used = || server.info("memory", "used_memory").parse::<u64>().unwrap();
    let usage = || {
        let mut session = server.session();
        let reply = session.command(&["SCAN", "0", "COUNT", "2000"]);
        let keys = reply.array()[1].array();
        let sum: i64 =
            keys.iter().map(|k| session.command(&[b"MEMORY", &b"USAGE"[..], k.bytes()]).int()).sum();
        sum as f64 / keys.len() as f64
    };
    // A hundred an hour: no key is whole again before it is measured. The second needs numbers above 2^32.
    let (hourly, slow) = (Rate::new(100, Duration::from_secs(3_600)), Rate::new(1, Duration::from_secs(997)));
    for (what, is_user) in [("address", false), ("user", true)] {
        server.flush();
        let before = used();
        let connection = connection(server).await;
        let mut pipe = redis::pipe();
        let hash = redis::Script::new(USUAL).get_hash().to_owned();
        for n in 0..many {
            let name = if is_user { user(n) } else { format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255) };
            for _ in 0..2 {
                let key = format!("ratelimit:per-client:{name}");
                pipe.cmd("EVALSHA").arg(&hash).arg(1).arg(key).arg(100).arg("0.0277778").arg(1).ignore();
            }
            if n % 1_000 == 999 {
                pipe.query_async::<()>(&mut connection.clone()).await.unwrap();
                pipe.clear();
            }
        }
        let usual = (usage(), (used() - before) / many);
        println!(
            "{what:<8} key, usual bucket on a hash   {:>6.0} bytes by MEMORY USAGE, {:>4} in all",
            usual.0, usual.1
        );
        for limit in [
            Limit::token_bucket(100, hourly).unwrap(),
            Limit::token_bucket(100, slow).unwrap(),
            Limit::sliding_window_counter(100, Duration::from_secs(100_000)).unwrap(),
        ] {
            server.flush();
            let before = used();
            let store = store(server, |_| {});
            let tasks: Vec<_> = (0..64)
                .map(|task| {
                    let store = store.clone();
                    tokio::spawn(async move {
                        for n in (task..many).step_by(64) {
                            let builder = Key::builder("per-client");
                            let key = match is_user {
                                true => builder.part(3, "", user(n).as_bytes()).build(),
                                false => builder.part(1, "", &(n as u32).to_be_bytes()).build(),
                            };
                            ask(&store, &Check::one(key.clone(), limit, 1)).await;
                            ask(&store, &Check::one(key, limit, 1)).await;
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            let ours = (usage(), (used() - before) / many);
            println!(
                "{what:<8} key, {:<27}{:>6.0} bytes by MEMORY USAGE, {:>4} in all   {:.2} and {:.2} of the usual",
                limit.algorithm().name(),
                ours.0,
                ours.1,
                ours.0 / usual.0,
                ours.1 as f64 / usual.1 as f64
            );
        }
    }
    server.flush();
}

/// A user as most systems name them: a UUID.
fn user(n: u64) -> String {
    format!("{:08x}-e29b-41d4-a716-{:012x}", n.wrapping_mul(0x9e37_79b9) & 0xffff_ffff, n)
}

/// Decisions at half of the greatest rate that this client reaches, beside PING at the same rate through the same client.
async fn latency(server: &RedisServer) {
    let store = store(server, |s| s.deadline = Duration::from_millis(50));
    ask(&store, &Check::one(key("warm", 0), limit(), 1)).await;
    let asked = store.clone();
    let top = rate(server, move |n| {
        let store = asked.clone();
        async move {
            ask(&store, &Check::one(key("per-client", n), limit(), 1)).await;
        }
    })
    .await;
    for share in [0.1, 0.25, 0.5] {
        let at = top.rate * share;
        let connection = connection(server).await;
        let ping = paced(at, move |_| {
            let mut connection = connection.clone();
            async move { redis::cmd("PING").query_async::<String>(&mut connection).await.is_ok() }
        })
        .await;
        let before = store.stats();
        let asked = store.clone();
        let ours = paced(at, move |n| {
            let store = asked.clone();
            async move {
                let check = Check::one(key("per-client", n % KEYS), limit(), 1);
                store.check(&check, Timestamp::EPOCH).await.is_ok()
            }
        })
        .await;
        let stats = store.stats();
        let size = (stats.called_checks - before.called_checks) as f64 / (stats.calls - before.calls) as f64;
        ping.print(&format!("PING at {share} of the greatest rate"), at);
        ours.print(&format!("one rule at {share}, {size:.1} checks a call"), at);
    }
}

/// What came of calls that were started at a rate.
struct Paced {
    /// How long each took.
    times: Vec<Duration>,
    failures: usize,
    /// Calls that were started more than a millisecond late: this program did not keep up, and its times say little.
    late: usize,
}

impl Paced {
    fn print(mut self, what: &str, rate: f64) {
        self.times.sort_unstable();
        let count = self.times.len();
        let at = |share: usize| self.times[(count - 1) * share / 1_000];
        println!(
            "{what:<48}{rate:>10.0} /s: p50 {:?}, p99 {:?}, p99.9 {:?}; {count} calls, {} failed, {} late",
            at(500),
            at(990),
            at(999),
            self.failures,
            self.late
        );
    }
}

/// Starts `task` at a rate, from a thread of its own that does nothing else, and takes the time of each.
async fn paced<F: Future<Output = bool> + Send + 'static>(
    rate: f64,
    task: impl Fn(u64) -> F + Send + 'static,
) -> Paced {
    let runtime = tokio::runtime::Handle::current();
    let generator = std::thread::spawn(move || {
        let (start, mut tasks, mut late) = (Instant::now(), Vec::new(), 0);
        while start.elapsed() < SPAN {
            // As fine as the kernel's timers.
            std::thread::sleep(Duration::from_micros(100));
            let due = (start.elapsed().as_secs_f64() * rate) as usize;
            while tasks.len() < due {
                let should = Duration::from_secs_f64(tasks.len() as f64 / rate);
                late += usize::from(start.elapsed() > should + Duration::from_millis(1));
                let work = task(tasks.len() as u64);
                let begun = Instant::now();
                tasks.push(runtime.spawn(async move {
                    let is_done = work.await;
                    (begun.elapsed(), is_done)
                }));
            }
        }
        (tasks, late)
    });
    let (tasks, late) = tokio::task::spawn_blocking(|| generator.join().unwrap()).await.unwrap();
    let mut paced = Paced { times: Vec::with_capacity(tasks.len()), failures: 0, late };
    for task in tasks {
        let (took, is_done) = task.await.unwrap();
        paced.times.push(took);
        paced.failures += usize::from(!is_done);
    }
    paced
}
