//! Fuzz targets for all code that parses untrusted input, one module per target. Each has
//! a function `run`, which takes bytes and panics if a property does not hold, and a
//! function `seeds`, which returns initial inputs.
//!
//! Where possible, an input is text: a script of requests. So a finding can be read and
//! edited, and becomes a test by copying. [`host`] executes the requests, and [`script`]
//! defines their format.
//!
//! # Invariants
//!
//! - A run is deterministic: each input gets a new host, whose clock moves only when the
//!   input says so, and nothing is random.
//! - A target checks documented promises (in the documents, in `openapi.json`), not
//!   incidental behaviour.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a violated property ends the process, which is how a fuzzer detects it"
)]

pub mod compaction;
pub mod credential;
pub mod host;
pub mod import;
pub mod json_tool;
pub mod mcp;
pub mod records;
pub mod rest;
pub mod script;
pub mod seeds;

mod cases;
mod documented;
/// Shared with the conformance suite.
#[path = "../../conformance/src/seal.rs"]
pub mod seal;
