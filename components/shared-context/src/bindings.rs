//! The WIT contract as Rust, generated. The only unsafe code of the component.

#![expect(unsafe_code, clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({ path: "../../wit", world: "shared-context" });

export!(Component with_types_in self);

use super::Component;
