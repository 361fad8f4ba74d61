//! Generated Rust bindings of the WIT contract. The only unsafe code of the front.

#![expect(unsafe_code, clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    path: ["../../../wit", "../wit"],
    world: "shared-context:spin/front",
    generate_all,
});

export!(Front with_types_in self);

use super::Front;
