//! What was found wrong so far.

use std::cell::RefCell;

use crate::problem::Problem;
use crate::tree::Mark;

/// One thing that is wrong, and where.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) mark: Mark,
    pub(crate) path: String,
    pub(crate) problem: Problem,
}

/// Collects faults, so that the search goes on after the first.
#[derive(Debug, Default)]
pub(crate) struct Faults(RefCell<Vec<Fault>>);

impl Faults {
    pub(crate) fn add(&self, mark: Mark, path: String, problem: Problem) {
        self.0.borrow_mut().push(Fault { mark, path, problem });
    }

    pub(crate) fn into_inner(self) -> Vec<Fault> {
        self.0.into_inner()
    }
}
