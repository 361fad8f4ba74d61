//! The libFuzzer entry point of [`shared_context_fuzz::json_tool`].

#![no_main]

use shared_context_fuzz::{json_tool, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_requested(json_tool::seeds), |data: &[u8]| {
    json_tool::run(data);
});
