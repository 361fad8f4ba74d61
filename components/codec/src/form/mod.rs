//! Forms: JSON objects whose members are known, read strictly, with errors that name
//! the place.
//!
//! Derived code would do the same, in a copy for every form and every type of member:
//! a tenth of the component. Here a form tells only where its members go, and one
//! function reads them all. The words of errors are serde's.
//!
//! Invariant: a member is read once, an unknown one is refused by name, and one that
//! is needed is missed by name.

mod read;

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::json::Time;
pub(crate) use read::{parse, parse_or_null, text};

/// A JSON object whose members are known. The macro `form` implements it.
pub(crate) trait Form {
    /// Returns the names of its members.
    fn names(&self) -> &'static [&'static str];

    /// Returns where its members go, in the same order.
    fn slots(&mut self) -> Vec<Option<Slot<'_>>>;

    /// Makes of its members what it is for, when they are all there; says what is
    /// wrong with them.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Implements [`Form`] for a type, of the members that it names. `name = or_absent`
/// stands for one that may be absent though its type is not optional.
macro_rules! form {
    ($form:ident: $($member:ident $(= $how:ident)?),*) => {
        impl $crate::form::Form for $form {
            fn names(&self) -> &'static [&'static str] {
                &[$(stringify!($member)),*]
            }

            fn slots(&mut self) -> Vec<Option<$crate::form::Slot<'_>>> {
                use $crate::form::Member as _;
                // Does not compile where a member is left out.
                let Self { $($member),* } = self;
                vec![$(Some($member.slot()$(.$how())?)),*]
            }
        }
    };
}

pub(crate) use form;

/// What a member of a form can be.
pub(crate) trait Member {
    /// Returns where it goes.
    fn slot(&mut self) -> Slot<'_>;
}

/// Where a member goes.
pub(crate) struct Slot<'a> {
    to: To<'a>,
    is_needed: bool,
}

/// Where a value goes, by what it must be.
enum To<'a> {
    Text(&'a mut String),
    Number(&'a mut u64),
    Small(&'a mut u32),
    Real(&'a mut f64),
    Flag(&'a mut bool),
    Instant(&'a mut Time),
    Raw(&'a mut Box<RawValue>),
    Sent(&'a mut Option<Box<RawValue>>),
    Named(&'a mut BTreeMap<String, String>),
    Form(&'a mut dyn Form),
    List(&'a mut dyn List),
    Optional(&'a mut dyn Optional),
}

/// Any JSON as it was sent. What was sent as null is not absent.
#[derive(Debug, Default)]
pub(crate) struct AsSent(pub(crate) Option<Box<RawValue>>);

/// A list that is being read.
trait List {
    /// Returns where its next item goes.
    fn grow(&mut self) -> Option<To<'_>>;

    /// Takes the last item back: there was none.
    fn shrink(&mut self);
}

/// What may be null.
trait Optional {
    /// Returns where it goes when it is not.
    fn insert(&mut self) -> To<'_>;
}

impl Slot<'_> {
    /// Creates the same, where a form without it is one.
    pub(crate) fn or_absent(self) -> Self {
        Self { is_needed: false, ..self }
    }
}

impl<'a> From<To<'a>> for Slot<'a> {
    fn from(to: To<'a>) -> Self {
        let is_needed = !matches!(to, To::Optional(_) | To::Sent(_));
        Self { to, is_needed }
    }
}

macro_rules! members {
    ($($kind:ident($member:ty)),* $(,)?) => {
        $(impl Member for $member {
            fn slot(&mut self) -> Slot<'_> {
                To::$kind(self).into()
            }
        })*
    };
}

members! {
    Text(String), Number(u64), Small(u32), Real(f64), Flag(bool), Instant(Time),
    Raw(Box<RawValue>), Named(BTreeMap<String, String>),
}

impl Member for AsSent {
    fn slot(&mut self) -> Slot<'_> {
        To::Sent(&mut self.0).into()
    }
}

impl<F: Form> Member for F {
    fn slot(&mut self) -> Slot<'_> {
        To::Form(self).into()
    }
}

impl<T: Member + Default> Member for Vec<T> {
    fn slot(&mut self) -> Slot<'_> {
        To::List(self).into()
    }
}

impl<T: Member + Default> Member for Option<T> {
    fn slot(&mut self) -> Slot<'_> {
        To::Optional(self).into()
    }
}

impl<T: Member + Default> List for Vec<T> {
    fn grow(&mut self) -> Option<To<'_>> {
        self.push(T::default());
        self.last_mut().map(|it| it.slot().to)
    }

    fn shrink(&mut self) {
        self.pop();
    }
}

impl<T: Member + Default> Optional for Option<T> {
    fn insert(&mut self) -> To<'_> {
        self.insert(T::default()).slot().to
    }
}
