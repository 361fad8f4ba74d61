//! The WIT contract as generated Rust. The only unsafe code of the component besides the allocator.

#![expect(unsafe_code, clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    path: "../../wit/context",
    world: "context",
});

export!(Component with_types_in self);

use super::Component;
