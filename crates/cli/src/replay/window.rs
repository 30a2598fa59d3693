//! Requests in the order of their times. A log is written when requests end, so its lines are out of order by some seconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use cupo_core::Timestamp;

use super::request::Request;

/// How much later than others of its time a line may come.
pub(super) const SPAN: Duration = Duration::from_secs(10);

/// The most requests that wait for earlier ones.
const MOST: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Window {
    /// The earliest first, and of those of one instant the first that came.
    waiting: BinaryHeap<Reverse<Waiting>>,
    count: u64,
    newest: Timestamp,
    /// The last one that was given out.
    passed: Timestamp,
    late: u64,
}

struct Waiting {
    at: Timestamp,
    number: u64,
    request: Box<Request<'static>>,
}

impl Waiting {
    const fn order(&self) -> (Timestamp, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl Window {
    pub(super) fn push(&mut self, request: Request<'static>) {
        let at = request.at;
        self.newest = self.newest.max(at);
        self.late = self.late.saturating_add(u64::from(at < self.passed));
        self.count = self.count.saturating_add(1);
        self.waiting.push(Reverse(Waiting { at, number: self.count, request: Box::new(request) }));
    }

    /// The next one, once no earlier one is expected.
    pub(super) fn pop(&mut self) -> Option<Box<Request<'static>>> {
        let Reverse(first) = self.waiting.peek()?;
        if self.newest.since(first.at) <= SPAN && self.waiting.len() <= MOST {
            return None;
        }
        self.pop_rest()
    }

    /// The next one, where nothing comes any more.
    pub(super) fn pop_rest(&mut self) -> Option<Box<Request<'static>>> {
        let Reverse(first) = self.waiting.pop()?;
        self.passed = self.passed.max(first.at);
        Some(first.request)
    }

    /// How many came after a later one had been given out.
    pub(super) const fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method, Uri};

    use super::{MOST, Request, SPAN, Timestamp, Window};
    use crate::replay::pairs::Pairs;

    fn request(seconds: u64, cost: u64) -> Request<'static> {
        Request {
            at: Timestamp::from_micros(seconds * 1_000_000),
            peer: None,
            method: Method::GET,
            uri: Uri::default(),
            headers: HeaderMap::new(),
            descriptors: Pairs::default(),
            cost,
            status: None,
        }
    }

    fn sorted(seconds: &[u64]) -> (Vec<(u64, u64)>, u64) {
        let mut window = Window::default();
        let mut out = Vec::new();
        for (&second, number) in seconds.iter().zip(0..) {
            window.push(request(second, number));
            while let Some(request) = window.pop() {
                out.push((request.at.as_micros() / 1_000_000, request.cost));
            }
        }
        while let Some(request) = window.pop_rest() {
            out.push((request.at.as_micros() / 1_000_000, request.cost));
        }
        (out, window.late())
    }

    #[test]
    fn what_is_late_by_less_than_the_span_is_in_order() {
        let span = SPAN.as_secs();
        assert_eq!(sorted(&[span, 0, 5, 5, 1]), (vec![(0, 1), (1, 4), (5, 2), (5, 3), (span, 0)], 0));
        assert_eq!(sorted(&[0, 100, 95, 89, 90]), (vec![(0, 0), (89, 3), (90, 4), (95, 2), (100, 1)], 0));
    }

    #[test]
    fn what_is_later_comes_as_it_came_and_is_counted() {
        assert_eq!(sorted(&[0, 50, 100, 40]), (vec![(0, 0), (50, 1), (40, 3), (100, 2)], 1));
    }

    #[test]
    fn it_is_bounded() {
        let mut window = Window::default();
        for _ in 0..3 * MOST {
            window.push(request(7, 1));
            let _ = window.pop();
            assert!(window.waiting.len() <= MOST);
        }
    }
}
