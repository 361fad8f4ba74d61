//! The WIT contract as generated Rust. The only unsafe code of the component besides the allocator.
//!
//! Records that only pass arguments to the codec are its own types, which have the same members.

#![expect(unsafe_code, clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    path: "../../wit",
    world: "shared-context",
    with: {
        "shared-context:core/rounds@0.1.0/plan": shared_context_codec::parts::rounds::PlanInput,
        "shared-context:core/rounds@0.1.0/weight-rule": shared_context_codec::parts::rounds::WeightInput,
        "shared-context:core/rounds@0.1.0/strategy-rule": shared_context_codec::parts::rounds::StrategyInput,
        "shared-context:core/rounds@0.1.0/delta": shared_context_codec::parts::rounds::DeltaInput,
        "shared-context:core/rounds@0.1.0/delta-filter": shared_context_codec::parts::rounds::DeltaFilter,
    },
});

export!(Component with_types_in self);

use super::Component;
