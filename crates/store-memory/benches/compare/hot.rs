//! One key.

use core::time::Duration;

use cupo_core::{ManualClock, Timestamp};
use cupo_store_memory::MemoryStore;

use crate::keys::print;
use crate::sides::{AsCheck, AsKey, Governor, MANY, NANOSECOND, Ours, Side, algorithms, bucket, roomy};
use crate::time::{contender, medians, per_decision};

const DECISIONS: u64 = 200_000;
const ROUNDS: usize = 101;

pub(crate) fn run() {
    for threads in [1, 2] {
        println!("\none hot key, every decision admitted, {threads} thread(s)");
        let (governor, quanta) = (Governor::monotonic(MANY, NANOSECOND), Governor::quanta(MANY, NANOSECOND));
        let (ours, parts, check) =
            (Ours::new(roomy()), AsKey(Ours::new(roomy())), AsCheck(Ours::new(roomy())));
        let still = Ours {
            store: MemoryStore::new(),
            limit: roomy(),
            clock: ManualClock::at(Timestamp::from_micros(1_700_000_000_000_000)),
        };
        table(
            &[
                ("governor, OS clock", &governor),
                ("governor, quanta", &quanta),
                ("cupo, bytes", &ours),
                ("cupo, bytes, still clock", &still),
                ("cupo, key of parts", &parts),
                ("cupo, check", &check),
            ],
            threads,
        );
        println!("\none hot key, nearly every decision denied, {threads} thread(s)");
        let (governor, ours) = (Governor::monotonic(10, TENTH), Ours::new(bucket(10, TENTH)));
        table(&[("governor, OS clock", &governor), ("cupo, bytes", &ours)], threads);
    }
    println!("\none hot key, 1 thread, by algorithm, admitted (but for the log: denied)");
    by_algorithm(&Governor::monotonic(MANY, NANOSECOND), 100_000_000);
    println!("\none hot key, 1 thread, by algorithm, denied");
    by_algorithm(&Governor::monotonic(10, TENTH), 10);
}

const TENTH: Duration = Duration::from_millis(100);

fn by_algorithm(governor: &dyn Side, count: u64) {
    let ours = algorithms(count, Duration::from_secs(1)).map(Ours::new);
    let mut sides: Vec<(&str, &dyn Side)> = vec![("governor, OS clock", governor)];
    for side in &ours {
        sides.push((side.limit.algorithm().name(), side));
    }
    table(&sides, 1);
}

fn table(sides: &[(&str, &dyn Side)], threads: usize) {
    let mut contenders: Vec<_> = sides
        .iter()
        .map(|(_, side)| contender(move || per_decision(threads, DECISIONS, |t, n| side.decide(t, n, true))))
        .collect();
    print(sides, &medians(ROUNDS, &mut contenders));
}
