//! The libFuzzer entry point of [`shared_context_fuzz::records`].

#![no_main]

use shared_context_fuzz::{records, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_requested(records::seeds), |data: &[u8]| {
    records::run(data);
});
