//! Closed lists: enums whose values have a name on the wire and a description.

use crate::Error;

/// Declares a closed list: an enum whose values have a name on the wire and a description.
macro_rules! closed_list {
    (
        $(#[$about:meta])+
        $list:ident $what:literal { $($value:ident $name:literal: $description:literal;)+ }
    ) => {
        $(#[$about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $list {
            $(#[doc = $description] $value,)+
        }

        impl $list {
            /// Every value, in order.
            pub const ALL: [Self; Self::NAMES.len()] = [$(Self::$value),+];
            /// The name of every value, in order.
            pub const NAMES: [&str; [$($name),+].len()] = [$($name),+];

            /// Returns the name on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }

            /// Returns the meaning, as one sentence.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$value => $description,)+
                }
            }

            /// Parses a name.
            ///
            /// # Errors
            ///
            /// [`Error::Malformed`](crate::Error::Malformed), which lists the names.
            pub fn parse(name: &str) -> Result<Self, crate::Error> {
                let found = Self::ALL.into_iter().find(|it| it.as_str() == name);
                found.ok_or_else(|| $crate::closed_list::unlisted($what, name, &Self::NAMES))
            }
        }
    };
}
pub(crate) use closed_list;

/// Creates the error for a name that a closed list does not have.
pub(crate) fn unlisted(what: &str, name: &str, names: &[&str]) -> Error {
    let shown: String = name.chars().take(80).collect();
    Error::malformed(format!(
        "there is no {what} {shown:?}; it must be one of {}",
        names.join(", ")
    ))
}
