//! The conformance suite: cases as data, and a runner for every target. README.md explains how to
//! write a case.
//!
//! Invariant: a case does not know its target. If the same cases pass on all targets, all targets
//! behave the same.

pub mod case;
pub mod coverage;
pub mod expect;
pub mod fault;
pub mod run;
pub mod seal;
pub mod target;
pub mod template;
