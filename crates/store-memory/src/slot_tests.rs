use core::time::Duration;

use cupo_core::algorithm::{ending_window, fixed_window, leaky_bucket, sliding_window_counter, token_bucket};
use cupo_core::number::{DOMAIN, MAX_INSTANT};
use cupo_core::{Decision, Resolution, State, Timestamp, Verdict};
use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::{Just, Strategy};

use super::{Held, MAX_COUNT, Pressure, Slot};
use crate::fingerprint::Fingerprint;

fn edgy(max: u64) -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(max), Just(max - 1), Just(MAX_COUNT), Just(MAX_COUNT + 1), 0..=max]
        .prop_map(move |n| n.min(max))
}

fn state() -> impl Strategy<Value = State> {
    let (at, units) = (edgy(MAX_INSTANT), edgy(DOMAIN - 1));
    (0..5, at, units, edgy(DOMAIN - 1)).prop_map(|(kind, at, a, b)| match kind {
        0 => State::FixedWindow(fixed_window::State { start: at, count: a }),
        1 => State::TokenBucket(token_bucket::State { missing: a, at }),
        4 => State::EndingWindow(ending_window::State { end: at, count: a }),
        2 => State::LeakyBucket(leaky_bucket::State { backlog: a, at }),
        _ => {
            State::SlidingWindowCounter(sliding_window_counter::State { start: at, previous: a, current: b })
        }
    })
}

proptest! {
    #[test]
    fn what_a_slot_takes_in_it_gives_back(
        state in state(), order in 1_u64.., ident in 0_u32..1 << 24, millis in any::<bool>(),
        pressed in 0_u8..8, expires in edgy(MAX_INSTANT),
    ) {
        let key = Fingerprint { order, ident, spare: 0 };
        let (resolution, other) = if millis {
            (Resolution::Millis, Resolution::Micros)
        } else {
            (Resolution::Micros, Resolution::Millis)
        };
        let mut slot = Slot::of(&key);
        slot.press(Pressure(pressed));
        slot.rest_at(Timestamp::from_micros(expires));
        let fits = slot.hold(&state, resolution);
        let large = matches!(state, State::SlidingWindowCounter(s) if s.previous.max(s.current) > MAX_COUNT);
        prop_assert_eq!(fits, !large);
        if fits {
            prop_assert_eq!(slot.held(resolution), Some(Held::Inline(state)));
            prop_assert_eq!(slot.heap_number(), None);
        } else {
            slot.hold_on_heap(usize::MAX, resolution);
            prop_assert_eq!(slot.held(resolution), Some(Held::OnHeap(usize::MAX)));
            prop_assert_eq!(slot.heap_number(), Some(usize::MAX));
        }
        prop_assert_eq!(slot.held(other), None, "other ticks are another clock");
        prop_assert_eq!(slot.key(), key);
        prop_assert!(slot.is_of(&key) && !slot.is_empty());
        let neighbour = Fingerprint { ident: ident ^ 1, ..key };
        prop_assert!(!slot.is_of(&neighbour));
        prop_assert_eq!(slot.pressure(), Pressure(pressed));
        let second = expires.div_ceil(1_000_000) + 1;
        prop_assert!(!slot.is_at_rest(second - 1) && slot.is_at_rest(second));
    }
}

#[test]
fn pressure_rises_with_each_halving_of_what_remains() {
    let pressure = |remaining, limit| {
        let (reset_after, delay) = (Duration::ZERO, Duration::ZERO);
        Pressure::of(&Decision { verdict: Verdict::Admit, limit, remaining, reset_after, delay }).0
    };
    assert_eq!([8, 4, 2, 1, 0].map(|remaining| pressure(remaining, 8)), [0, 1, 2, 3, 7]);
    assert_eq!(pressure(1, DOMAIN - 1), 6);
    assert_eq!(pressure(0, 0), 7);
    assert_eq!(pressure(1, 1), 0);
}
