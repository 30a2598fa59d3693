//! A million keys, asked at random.

use crate::sides::{AsCheck, AsKey, Governor, KEYS, Ours, SLOW, Side, algorithms, bucket};
use crate::time::{contender, medians, per_decision};

const DECISIONS: u64 = 100_000;
const ROUNDS: usize = 61;

pub(crate) fn run() {
    let limit = bucket(1_000, SLOW);
    let ours = Ours::new(limit);
    let (parts, check) = (AsKey(Ours::new(limit)), AsCheck(Ours::new(limit)));
    let governor = Governor::monotonic(1_000, SLOW);
    let quanta = Governor::quanta(1_000, SLOW);
    let sides: [(&str, &dyn Side); 5] = [
        ("governor, OS clock", &governor),
        ("governor, quanta", &quanta),
        ("cupo, bytes", &ours),
        ("cupo, key of parts", &parts),
        ("cupo, check", &check),
    ];
    for (_, side) in &sides {
        side.fill(KEYS);
    }
    for threads in [1, 2] {
        println!("\n{KEYS} keys of 40 bytes, random, token bucket, {threads} thread(s)");
        table(&sides, threads);
    }
    drop((ours, parts, check, quanta));

    println!("\n{KEYS} keys of 40 bytes, random, 1 thread, by algorithm");
    let ours = algorithms(1_000, 1_000 * SLOW).map(Ours::with_room_for_logs);
    let mut sides: Vec<(&str, &dyn Side)> = vec![("governor, OS clock", &governor)];
    for side in &ours {
        side.fill(KEYS);
        sides.push((side.limit.algorithm().name(), side));
    }
    table(&sides, 1);
    // Printed so that nobody takes a store that forgot its keys for a fast one.
    for side in &ours {
        let stats = side.store.stats();
        println!(
            "  {:<24} {:>6.1} bytes per key, {} keys",
            side.limit.algorithm().name(),
            stats.bytes as f64 / stats.keys as f64,
            stats.keys
        );
    }
}

fn table(sides: &[(&str, &dyn Side)], threads: usize) {
    let mut contenders: Vec<_> = sides
        .iter()
        .map(|(_, side)| contender(move || per_decision(threads, DECISIONS, |t, n| side.decide(t, n, false))))
        .collect();
    print(sides, &medians(ROUNDS, &mut contenders));
}

pub(crate) fn print(sides: &[(&str, &dyn Side)], medians: &[f64]) {
    for ((name, _), ns) in sides.iter().zip(medians) {
        println!(
            "  {name:<24} {ns:>7.1} ns  {:>6.2} M/s  {:>5.2} x the first's rate",
            1_000.0 / ns,
            medians[0] / ns
        );
    }
}
