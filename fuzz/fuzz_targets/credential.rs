//! The libFuzzer entry point of [`shared_context_fuzz::credential`].

#![no_main]

use shared_context_fuzz::{credential, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_requested(credential::seeds), |data: &[u8]| {
    credential::run(data);
});
