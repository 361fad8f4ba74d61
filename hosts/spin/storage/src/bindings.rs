//! Generated Rust bindings of the worlds of `hosts/spin/wit`. The only unsafe code of the
//! storage.

#![expect(unsafe_code, clippy::pedantic, reason = "generated")]

#[cfg(feature = "sqlite")]
wit_bindgen::generate!({
    path: ["../../../wit", "../wit"],
    world: "shared-context:spin/sqlite-storage",
    generate_all,
});

#[cfg(not(feature = "sqlite"))]
wit_bindgen::generate!({
    path: ["../../../wit", "../wit"],
    world: "shared-context:spin/key-value-storage",
    generate_all,
});

export!(Storage with_types_in self);

use crate::component::Storage;
