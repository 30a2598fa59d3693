use std::collections::HashMap;

use cupo_core::algorithm::token_bucket;
use cupo_core::{Resolution, State, Timestamp};
use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::{Just, Strategy};

use super::{SLOT_BYTES, Slot, Table, most_keys, places_for, table_bytes};
use crate::fingerprint::Fingerprint;
use crate::slot::Held;

fn slot(key: &Fingerprint, value: u64) -> Slot {
    let mut slot = Slot::of(key);
    let state = State::TokenBucket(token_bucket::State { missing: value, at: 1 });
    assert!(slot.hold(&state, Resolution::Micros));
    slot.rest_at(Timestamp::from_micros(value * 1_000_000));
    slot
}

fn value(slot: Slot) -> u64 {
    match slot.held(Resolution::Micros) {
        Some(Held::Inline(State::TokenBucket(state))) => state.missing,
        other => panic!("{other:?}"),
    }
}

/// What must hold whatever has happened: the slots are in order, none lies before the place it asked for, and there is no
/// gap between that place and where it lies.
fn check_order(table: &Table) {
    let (mut last, mut run, mut len) = (u64::MAX, 0, 0);
    for (index, slot) in table.slots().iter().enumerate() {
        if slot.is_empty() {
            run = index + 1;
            continue;
        }
        assert!(slot.order() <= last, "out of order at {index}");
        let home = table.home(slot.order());
        assert!(run <= home && home <= index, "place {home}, run from {run}, lies at {index}");
        last = slot.order();
        len += 1;
    }
    assert_eq!(len, table.len());
}

#[derive(Debug, Clone)]
enum Op {
    Insert(u64, u64),
    Remove(u64),
    Rebuild(usize),
}

/// Keys that crowd: few orders, several identities to each.
fn key(n: u64) -> Fingerprint {
    let order = match n % 4 {
        0 => 1 + n / 8,
        1 => u64::MAX - n / 8,
        2 => (n / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1),
        _ => 1 << 63,
    };
    Fingerprint { order, ident: u32::try_from(n & 0xff_ffff).unwrap(), spare: 0 }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0_u64..200, 0_u64..1_000).prop_map(|(k, v)| Op::Insert(k, v)),
        2 => (0_u64..200).prop_map(Op::Remove),
        1 => prop_oneof![Just(0_usize), 0_usize..200].prop_map(Op::Rebuild),
    ]
}

proptest! {
    #[test]
    fn the_table_is_a_map(ops in proptest::collection::vec(op(), 1..400), bound in any::<u16>()) {
        let mut table = Table::default();
        let mut model: HashMap<u64, u64> = HashMap::new();
        for op in ops {
            match op {
                Op::Insert(k, v) => {
                    if let Ok(index) = table.find(&key(k)) {
                        *table.get_mut(index).unwrap() = slot(&key(k), v);
                    } else {
                        if table.len() >= most_keys(table.places()) {
                            table.rebuild((table.places() * 5 / 4).max(8), |_| true);
                        }
                        let index = table.insert(slot(&key(k), v));
                        prop_assert!(table.get(index).is_of(&key(k)));
                    }
                    model.insert(k, v);
                }
                Op::Remove(k) => {
                    prop_assert_eq!(table.find(&key(k)).is_ok(), model.remove(&k).is_some());
                    if let Ok(index) = table.find(&key(k)) {
                        table.remove(index);
                    }
                }
                Op::Rebuild(extra) => {
                    let keep = |slot: &Slot| !slot.is_at_rest(u64::from(bound) % 1_000);
                    model.retain(|k, v| keep(&slot(&key(*k), *v)));
                    table.rebuild(places_for(model.len()) + extra, |slot| keep(slot));
                }
            }
            check_order(&table);
            prop_assert_eq!(table.len(), model.len());
            for k in 0..200 {
                let found = table.find(&key(k)).ok().map(|index| value(table.get(index)));
                prop_assert_eq!(found, model.get(&k).copied());
            }
        }
    }
}

#[test]
fn sizes_agree() {
    for keys in 0..5_000 {
        assert!(most_keys(places_for(keys)) >= keys);
    }
    for places in [0, 1, 8, 1_000, 100_000] {
        let mut table = Table::default();
        table.rebuild(places, |_| true);
        assert_eq!(table.bytes(), table_bytes(places));
        assert_eq!(table.slots().len() * SLOT_BYTES, table.bytes());
    }
}
