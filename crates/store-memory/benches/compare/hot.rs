//! One key.

use cupo_core::{ManualClock, Timestamp};
use cupo_store_memory::MemoryStore;

use crate::keys::print;
use crate::sides::{AsCheck, AsKey, Governor, Ours, Side, algorithms, bucket, roomy};
use crate::time::{contender, medians, per_decision};

const DECISIONS: u64 = 2_000_000;
const ROUNDS: usize = 11;

pub(crate) fn run() {
    let many = 1_000_000_000;
    for threads in [1, 2] {
        println!("\none hot key, every decision admitted, {threads} thread(s)");
        let (governor, quanta) = (Governor::monotonic(many, many), Governor::quanta(many, many));
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
        let (governor, ours) = (Governor::monotonic(10, 10), Ours::new(bucket(10, 10)));
        table(&[("governor, OS clock", &governor), ("cupo, bytes", &ours)], threads);
    }
    for (count, what) in [(100_000_000, "admitted (the log denies)"), (10, "denied")] {
        println!("\none hot key, 1 thread, by algorithm, {what}");
        let governor = Governor::monotonic(u32::try_from(count).unwrap(), u32::try_from(count).unwrap());
        let ours = algorithms(count).map(Ours::new);
        let mut sides: Vec<(&str, &dyn Side)> = vec![("governor, OS clock", &governor)];
        for side in &ours {
            sides.push((side.limit.algorithm().name(), side));
        }
        table(&sides, 1);
    }
}

fn table(sides: &[(&str, &dyn Side)], threads: usize) {
    let mut contenders: Vec<_> = sides
        .iter()
        .map(|(_, side)| contender(move || per_decision(threads, DECISIONS, |t, n| side.decide(t, n, true))))
        .collect();
    print(sides, &medians(ROUNDS, &mut contenders));
}
