//! The libFuzzer entry point of [`shared_context_fuzz::compaction`].

#![no_main]

use shared_context_fuzz::{compaction, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_requested(compaction::seeds), |data: &[u8]| {
    compaction::run(data);
});
