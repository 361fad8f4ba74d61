//! The component: core and codec behind the exports of `wit/`, the imports of
//! `wit/` as their ports. No rules: an export turns its arguments into a
//! command and the outcome into its result.

#[cfg(target_family = "wasm")]
mod allocator;
mod bindings;
mod ports;
mod typed;

use bindings::exports::shared_context::core::tool;
use ports::{HostClock, HostKv, HostLog};
use shared_context_codec as codec;

/// What the exports are implemented on.
struct Component;

impl tool::Guest for Component {
    fn invoke(
        scope: String,
        caller: tool::Caller,
        request: Vec<u8>,
    ) -> Result<tool::Reply, tool::Error> {
        let caller = ports::caller(caller);
        codec::invoke(&HostKv, &HostClock, &HostLog, &scope, &caller, &request)
            .map(|it| tool::Reply { revision: it.revision, body: it.body })
            .map_err(ports::error)
    }

    fn describe() -> String {
        codec::describe().to_owned()
    }
}
