//! Performs a request of the JSON tool in this process, in a session that lasts for the request.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shared_context_codec::{Caller, invoke};
use shared_context_core::{
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Log, Ports},
};
use shared_context_wasmtime::SystemClock;

use super::super::problem::Problem;

/// The options for members that messages name.
pub(super) const OPTIONS: [(&str, &str); 5] = [
    ("config.estimator", "--encoding"),
    ("window_tokens", "--window"),
    ("target_tokens", "--target"),
    ("reduction_percent", "--reduce"),
    ("max_tokens", "--max-tokens"),
];

/// The session of the request.
const SCOPE: &str = "session/transcript";

/// A log that keeps nothing.
struct Silent;

impl Log for Silent {
    fn record(&self, _: &AuditRecord) {}
}

/// Performs a request, and returns its reply. `encoding` counts tokens; an estimate when `None`.
///
/// # Errors
///
/// Those of the request; an encoding that this build does not have.
pub(super) fn call(request: &Value, encoding: Option<&str>) -> Result<Vec<u8>, Problem> {
    let kv = MemoryKv::default();
    #[cfg(feature = "tokenizer")]
    let tokenizer = shared_context_wasmtime::BpeTokenizer;
    #[cfg(not(feature = "tokenizer"))]
    let tokenizer = shared_context_core::port::NoTokenizer;
    let ports = Ports { kv: &kv, clock: &SystemClock, log: &Silent, tokenizer: &tokenizer };
    let perform = |request: &Value| {
        let request = request.to_string();
        invoke(&ports, SCOPE, &Caller::trusted("admin"), request.as_bytes())
            .map_err(|it| Problem::rejected(it).with_options(&OPTIONS))
    };
    perform(&json!({"action": "create_session", "config": {"estimator": encoding}}))?;
    Ok(perform(request)?.body)
}

/// Reads a reply of this process.
///
/// # Errors
///
/// None that a user can see: the reply comes from the same build.
pub(super) fn parse<T: DeserializeOwned>(reply: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(reply)
        .map_err(|error| Problem::usage(format!("the reply cannot be read: {error}")))
}
