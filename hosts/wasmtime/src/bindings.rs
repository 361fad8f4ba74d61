//! The contract in `wit/` as Rust, generated: the component's exports as
//! functions to call, its imports as traits, which [`State`](crate::State)
//! implements.

#![expect(missing_docs, reason = "generated; what is documented is documented in wit/")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "shared-context",
    imports: { default: trappable },
    with: { "shared-context:core/kv.bucket": crate::host::OpenBucket },
});
