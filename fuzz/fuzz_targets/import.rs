//! The libFuzzer entry point of [`shared_context_fuzz::import`].

#![no_main]

use shared_context_fuzz::{import, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_requested(import::seeds), |data: &[u8]| {
    import::run(data);
});
