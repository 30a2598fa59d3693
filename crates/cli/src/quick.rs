//! A policy from options, for those who have no file yet.
