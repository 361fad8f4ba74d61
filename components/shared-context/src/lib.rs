//! The component: core and codec behind the exports of `wit/`, with its imports as ports.
//!
//! It contains no rules: an export converts its arguments into a command and the outcome into its
//! result.

#[cfg(target_family = "wasm")]
mod allocator;
mod bindings;
mod ports;
mod typed;

use bindings::exports::shared_context::core::tool;
use ports::PORTS;
use shared_context_codec as codec;

/// Compressed text of [`codec::describe`].
const DESCRIPTION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/describe.json.lz4"));

/// Implementation of the exports.
struct Component;

impl tool::Guest for Component {
    fn invoke(
        scope: String,
        caller: tool::Caller,
        request: Vec<u8>,
    ) -> Result<tool::Reply, tool::Error> {
        let caller = ports::caller(caller);
        let reply = codec::invoke(&PORTS, &scope, &caller, &request).map_err(ports::error)?;
        let codec::Reply { revision, body, effect, next_expiry_ms } = reply;
        let effect = match effect {
            codec::Effect::Done => tool::Effect::Done,
            codec::Effect::Created => tool::Effect::Created,
            codec::Effect::Unchanged => tool::Effect::Unchanged,
        };
        Ok(tool::Reply { revision, body, effect, next_expiry_ms })
    }

    fn wake(scope: String) -> Result<Option<u64>, tool::Error> {
        codec::wake(&PORTS, &scope).map_err(ports::error)
    }

    fn describe() -> String {
        // Compressed by the build script, from text.
        let text = lz4_flex::decompress_size_prepended(DESCRIPTION).unwrap_or_default();
        String::from_utf8(text).unwrap_or_default()
    }
}
