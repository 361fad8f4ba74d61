//! The libFuzzer entry point of [`shared_context_fuzz::mcp`].

#![no_main]

use shared_context_fuzz::{mcp, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_requested(mcp::seeds), |data: &[u8]| {
    mcp::run(data);
});
