//! What is read of strangers, fed with whatever libFuzzer thinks of: one module a
//! target, each with a function `run` from bytes to nothing that panics when
//! something is not as it should be, and a function `seeds` of inputs to begin with.
//!
//! An input is text where that is possible: a script of requests, so that what was
//! found can be read, and edited, and becomes a test by copying. [`place`] is what
//! the requests are made to, [`script`] how they are written down.
//!
//! # Invariants
//!
//! - The same input does the same, wherever and whenever it is run: the place is new
//!   for each, its clock stands until the input moves it, and nothing is random.
//! - A target claims what is promised (in the documents, in `openapi.json`), not
//!   what the code happens to do.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a claim that does not hold ends the process: so a fuzzer is told"
)]

pub mod credential;
pub mod import;
pub mod json_tool;
pub mod mcp;
pub mod place;
pub mod records;
pub mod rest;
pub mod script;
pub mod seeds;

mod cases;
mod documented;
/// As the conformance suite has it.
#[path = "../../conformance/src/seal.rs"]
pub mod seal;
