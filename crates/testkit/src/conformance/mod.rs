//! What every store has to pass. One line in a test of the store's crate makes one test of each part:
//!
//! ```
//! # use cupo_testkit::conformance::ReferenceStore;
//! cupo_testkit::conformance!(ReferenceStore::default);
//! ```
//!
//! The suite decides by the instant in the store's answer, so that a store may hold its clock still where the caller's
//! steps back; but it has to go by the caller's clock otherwise. A store that has a clock of its own needs one that can
//! be set from `now` to be tried.

mod cancel;
mod carry;
mod checks;
mod concurrency;
mod decisions;
mod preview;
mod reference;
mod reloads;
mod settle;
mod upkeep;

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;
use std::thread::{self, Thread};

use cupo_core::{Check, Executed, Key, Limit, Store, Timestamp};

pub use cancel::cancelled_slots_are_given_back;
pub use carry::{concurrent_carries_count_each_unit_once, what_is_counted_is_carried_to_another_limit};
pub use checks::{
    a_broken_clock_does_not_open_the_gate, a_denial_charges_no_item, a_peek_creates_no_key,
    an_empty_check_is_admitted, lookalike_keys_are_distinct, many_keys_follow_their_models,
    the_order_of_items_changes_nothing,
};
pub use concurrency::{
    concurrent_admissions_on_one_key, concurrent_admissions_on_overlapping_keys,
    concurrent_admissions_over_time,
};
pub use decisions::{random_histories_follow_the_model, the_frozen_traces_are_followed, the_laws_hold};
pub use preview::a_preview_is_what_a_check_answers;
pub use reference::ReferenceStore;
pub use reloads::reloads_keep_what_was_consumed;
pub use settle::charges_are_settled;
pub use upkeep::{blocks_are_kept_until_they_end, resets_forget_and_grants_give_back};

/// How to make the stores that are tried. Every closure that makes one serves where its futures need no runtime.
pub trait Setup: Sync {
    /// The store that is tried.
    type Store: Store;

    /// A store that nothing was ever asked of. Called thousands of times: where a server is involved, a fresh prefix of
    /// the keys will do.
    fn store(&self) -> Self::Store;

    /// Waits for an answer of the store; from several threads at once.
    fn wait<F: Future>(&self, future: F) -> F::Output {
        block_on(future)
    }

    /// How many keys `store` keeps a state for; `None` where that cannot be seen.
    fn keys(&self, store: &Self::Store) -> Option<usize> {
        let _ = store;
        None
    }
}

impl<S: Store, F: Fn() -> S + Sync> Setup for F {
    type Store = S;

    fn store(&self) -> S {
        self()
    }
}

/// A part of the suite, which panics where `S` fails it.
pub type Part<S> = fn(&S);

/// Every part of the suite by its name.
#[must_use]
pub fn parts<S: Setup>() -> [(&'static str, Part<S>); 19] {
    [
        ("the_frozen_traces_are_followed", the_frozen_traces_are_followed),
        ("random_histories_follow_the_model", random_histories_follow_the_model),
        ("the_laws_hold", the_laws_hold),
        ("an_empty_check_is_admitted", an_empty_check_is_admitted),
        ("a_denial_charges_no_item", a_denial_charges_no_item),
        ("the_order_of_items_changes_nothing", the_order_of_items_changes_nothing),
        ("many_keys_follow_their_models", many_keys_follow_their_models),
        ("a_peek_creates_no_key", a_peek_creates_no_key),
        ("a_preview_is_what_a_check_answers", a_preview_is_what_a_check_answers),
        ("a_broken_clock_does_not_open_the_gate", a_broken_clock_does_not_open_the_gate),
        ("lookalike_keys_are_distinct", lookalike_keys_are_distinct),
        ("cancelled_slots_are_given_back", cancelled_slots_are_given_back),
        ("what_is_counted_is_carried_to_another_limit", what_is_counted_is_carried_to_another_limit),
        ("concurrent_carries_count_each_unit_once", concurrent_carries_count_each_unit_once),
        ("charges_are_settled", charges_are_settled),
        ("reloads_keep_what_was_consumed", reloads_keep_what_was_consumed),
        ("concurrent_admissions_on_one_key", concurrent_admissions_on_one_key),
        ("concurrent_admissions_on_overlapping_keys", concurrent_admissions_on_overlapping_keys),
        ("concurrent_admissions_over_time", concurrent_admissions_over_time),
    ]
}

/// Makes a module `conformance` with one test for each part of the suite, from a [`Setup`]: a closure or function that
/// makes a store, or a value of a type that implements the trait.
#[macro_export]
macro_rules! conformance {
    ($setup:expr) => {
        $crate::conformance!(
            $setup;
            the_frozen_traces_are_followed
            random_histories_follow_the_model
            the_laws_hold
            an_empty_check_is_admitted
            a_denial_charges_no_item
            the_order_of_items_changes_nothing
            many_keys_follow_their_models
            a_peek_creates_no_key
            a_preview_is_what_a_check_answers
            a_broken_clock_does_not_open_the_gate
            lookalike_keys_are_distinct
            cancelled_slots_are_given_back
            charges_are_settled
            what_is_counted_is_carried_to_another_limit
            concurrent_carries_count_each_unit_once
            reloads_keep_what_was_consumed
            concurrent_admissions_on_one_key
            concurrent_admissions_on_overlapping_keys
            concurrent_admissions_over_time
        );
    };
    ($setup:expr; $($part:ident)+) => {
        mod conformance {
            #[allow(unused_imports, clippy::wildcard_imports, reason = "the setup is written outside")]
            use super::*;

            $(#[test]
            fn $part() {
                $crate::conformance::$part(&$setup);
            })+
        }
    };
}

/// The same for a store that administrators may put right: a module `upkeep`.
#[macro_export]
macro_rules! upkeep_conformance {
    ($setup:expr) => {
        mod upkeep {
            #[allow(unused_imports, clippy::wildcard_imports, reason = "the setup is written outside")]
            use super::*;

            #[test]
            fn resets_forget_and_grants_give_back() {
                $crate::conformance::resets_forget_and_grants_give_back(&$setup);
            }

            #[test]
            fn blocks_are_kept_until_they_end() {
                $crate::conformance::blocks_are_kept_until_they_end(&$setup);
            }
        }
    };
}

/// Waits for a future that needs no runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// The key number `n`.
fn key(n: u64) -> Key {
    Key::builder("conformance").part(1, "", &n.to_be_bytes()).build()
}

fn execute<S: Setup>(setup: &S, store: &S::Store, check: &Check, now: Timestamp) -> Executed {
    let executed = setup.wait(store.check(check, now)).expect("the store answers");
    assert_eq!(executed.decisions.len(), check.items().len(), "one decision for each item");
    assert!(executed.at >= now, "decided at {:?}, asked at {now:?}", executed.at);
    executed
}

/// A check of these limits, which count under keys number 0 and so on.
fn check_of(items: impl IntoIterator<Item = (u64, Limit, u64)>) -> Check {
    let mut check = Check::new();
    for (n, limit, cost) in items {
        check.push(key(n), limit, cost).expect("keys that differ");
    }
    check
}
