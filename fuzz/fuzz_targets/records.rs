//! libFuzzer's way to [`shared_context_fuzz::records`].

#![no_main]

use shared_context_fuzz::{records, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_asked(records::seeds), |data: &[u8]| {
    records::run(data);
});
