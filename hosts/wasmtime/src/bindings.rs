//! Rust bindings generated from the contract in `wit/`. The component's exports are
//! functions; its imports are traits, which [`State`](crate::State) implements.

#![expect(missing_docs, reason = "generated; what is documented is documented in wit/")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "shared-context",
    imports: { default: trappable },
    with: { "shared-context:core/kv.bucket": crate::state::OpenBucket },
});
