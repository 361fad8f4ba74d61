//! libFuzzer's way to [`shared_context_fuzz::credential`].

#![no_main]

use shared_context_fuzz::{credential, seeds};

libfuzzer_sys::fuzz_target!(init: seeds::write_if_asked(credential::seeds), |data: &[u8]| {
    credential::run(data);
});
