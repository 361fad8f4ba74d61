//! The libFuzzer entry point of [`shared_context_fuzz::rest`].

#![no_main]

use shared_context_fuzz::{rest, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_requested(rest::seeds), |data: &[u8]| {
    rest::run(data);
});
