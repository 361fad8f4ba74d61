//! The component without imports: the functions of the codec's `pure` behind the exports of
//! `wit/context`.
//!
//! It contains no rules. *Invariant:* it imports nothing; `cargo xtask build` rejects any import.

#[cfg(target_family = "wasm")]
#[path = "../../shared-context/src/allocator.rs"]
mod allocator;
mod bindings;

use bindings::exports::shared_context::context::pure::{Failure, Guest};
use shared_context_codec::pure;
use shared_context_core::Error;

/// Implementation of the exports.
struct Component;

impl Guest for Component {
    fn plan_window(request: String) -> Result<String, Failure> {
        result(pure::plan_window(&request))
    }

    fn assemble(request: String, now_ms: u64) -> Result<String, Failure> {
        result(pure::assemble(&request, now_ms))
    }

    fn extract(request: String) -> Result<String, Failure> {
        result(pure::extract(&request))
    }

    fn compact(request: String) -> Result<String, Failure> {
        result(pure::compact(&request))
    }

    fn check_summary(request: String) -> Result<String, Failure> {
        result(pure::check_summary(&request))
    }

    fn relevance(request: String) -> Result<String, Failure> {
        result(pure::relevance(&request))
    }
}

/// Converts the result of a function. A reply is JSON, and so always UTF-8.
fn result(it: Result<Vec<u8>, Error>) -> Result<String, Failure> {
    match it {
        Ok(reply) => Ok(String::from_utf8(reply).unwrap_or_default()),
        Err(error) => {
            Err(Failure { code: error.code().as_str().to_owned(), message: error.to_string() })
        }
    }
}
