//! The conformance suite: cases that are data, and what runs them on every
//! target. README.md tells how to write one.
//!
//! Invariant: a case does not know which target it runs on, so that the same
//! cases passing on all of them mean the same behaviour.

pub mod case;
pub mod coverage;
pub mod expect;
pub mod fault;
pub mod run;
pub mod seal;
pub mod target;
pub mod template;
