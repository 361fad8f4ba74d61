//! The typed interfaces that the component exports.
//!
//! Invariant: the functions of an interface are looked up when an instance is first asked for one
//! of them. To look up those of all interfaces takes longer than most calls.

use wasmtime::{
    Store,
    component::{Instance, InstancePre},
};

use self::sealed::Sealed;
use crate::{State, bindings::exports::shared_context::core};

/// A typed interface: the `Guest` of a module in `bindings::exports::shared_context::core`.
pub trait Interface: Sealed {}

impl<T: Sealed> Interface for T {}

mod sealed {
    use super::{Functions, Indices, Instance, State, Store};

    pub trait Sealed: Sized {
        /// Returns the functions of the interface, which are looked up in `instance` at first.
        fn find<'f>(
            functions: &'f mut Functions,
            indices: &Indices,
            instance: &Instance,
            store: &mut Store<State>,
        ) -> wasmtime::Result<&'f Self>;
    }
}

/// Declares where the functions of each interface are, and those that an instance was asked for.
macro_rules! interfaces {
    ($($interface:ident)*) => {
        /// The places of all functions in the component.
        #[expect(missing_debug_implementations, reason = "generated parts have none")]
        pub struct Indices {
            $($interface: core::$interface::GuestIndices,)*
        }

        impl Indices {
            /// Finds all functions.
            ///
            /// # Errors
            ///
            /// The component lacks one of them.
            pub(super) fn new(pre: &InstancePre<State>) -> wasmtime::Result<Self> {
                Ok(Self { $($interface: core::$interface::GuestIndices::new(pre)?,)* })
            }
        }

        /// The functions of an instance, of the interfaces that it was asked for.
        #[derive(Default)]
        #[expect(missing_debug_implementations, reason = "generated parts have none")]
        pub struct Functions {
            $($interface: Option<core::$interface::Guest>,)*
        }

        $(impl Sealed for core::$interface::Guest {
            fn find<'f>(
                functions: &'f mut Functions,
                indices: &Indices,
                instance: &Instance,
                store: &mut Store<State>,
            ) -> wasmtime::Result<&'f Self> {
                let found = &mut functions.$interface;
                Ok(match found {
                    Some(it) => it,
                    None => found.insert(indices.$interface.load(store, instance)?),
                })
            }
        })*
    };
}

interfaces! {
    sessions store history snapshots changes rounds context compaction packets projects memories
    outline handoffs prompt tool
}
