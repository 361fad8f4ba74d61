//! Forms: JSON objects with known members, parsed strictly, with errors that name the location.
//!
//! Derived code would do the same, but in a copy for every form and every type of member: a tenth
//! of the component. Here a form only provides the slots of its members, and one function parses
//! all forms. Error messages are those of serde.
//!
//! Invariant: each member is read at most once, an unknown member is rejected by name, and a
//! missing required member is reported by name.

mod read;

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::json::Time;
pub(crate) use read::{parse, parse_or_null, text};

/// A JSON object with known members. The macro `form` implements it.
pub(crate) trait Form {
    /// Returns the names of the members.
    fn names(&self) -> &'static [&'static str];

    /// Returns the slots of the members, in the order of the names.
    fn slots(&mut self) -> Vec<Option<Slot<'_>>>;

    /// Builds the form's value after all members were read. Returns a message if they are invalid.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Implements [`Form`] for a type with the listed members. `name = or_absent` marks a member that
/// may be absent though its type is not `Option`.
macro_rules! form {
    ($form:ident: $($member:ident $(= $how:ident)?),*) => {
        impl $crate::form::Form for $form {
            fn names(&self) -> &'static [&'static str] {
                &[$(stringify!($member)),*]
            }

            fn slots(&mut self) -> Vec<Option<$crate::form::Slot<'_>>> {
                use $crate::form::Member as _;
                // Does not compile if a member is left out.
                let Self { $($member),* } = self;
                vec![$(Some($member.slot()$(.$how())?)),*]
            }
        }
    };
}

pub(crate) use form;

/// A type that a member of a form can have.
pub(crate) trait Member {
    /// True for a type that has a value for null.
    const HAS_NULL: bool = false;

    /// Returns the slot that a value is parsed into.
    fn slot(&mut self) -> Slot<'_>;
}

/// Destination of a member, and whether the member is required.
pub(crate) struct Slot<'a> {
    to: Target<'a>,
    is_needed: bool,
}

/// Destination of a value, by its type.
enum Target<'a> {
    Text(&'a mut String),
    Number(&'a mut u64),
    Small(&'a mut u32),
    Real(&'a mut f64),
    Flag(&'a mut bool),
    Instant(&'a mut Time),
    Raw(&'a mut Box<RawValue>),
    RawOrAbsent(&'a mut Option<Box<RawValue>>),
    TextMap(&'a mut BTreeMap<String, String>),
    Form(&'a mut dyn Form),
    List(&'a mut dyn List),
    Optional(&'a mut dyn Optional),
}

/// Any JSON, as it was sent. It distinguishes null from absent.
#[derive(Debug, Default)]
pub(crate) struct RawMember(pub(crate) Option<Box<RawValue>>);

/// A list that is being parsed.
trait List {
    /// Adds an item, and returns its destination.
    fn grow(&mut self) -> Option<Target<'_>>;

    /// Removes the last item, because the input had no more.
    fn shrink(&mut self);
}

/// A value that may be null.
trait Optional {
    /// Sets a value, and returns its destination.
    fn insert(&mut self) -> Target<'_>;

    /// Sets null, if that differs from an absent member.
    fn insert_null(&mut self);
}

impl Slot<'_> {
    /// Returns the same slot, but optional.
    pub(crate) fn or_absent(self) -> Self {
        Self { is_needed: false, ..self }
    }
}

impl<'a> From<Target<'a>> for Slot<'a> {
    fn from(to: Target<'a>) -> Self {
        let is_needed = !matches!(to, Target::Optional(_) | Target::RawOrAbsent(_));
        Self { to, is_needed }
    }
}

macro_rules! members {
    ($($kind:ident($member:ty)),* $(,)?) => {
        $(impl Member for $member {
            fn slot(&mut self) -> Slot<'_> {
                Target::$kind(self).into()
            }
        })*
    };
}

members! {
    Text(String), Number(u64), Small(u32), Real(f64), Flag(bool), Instant(Time),
    Raw(Box<RawValue>), TextMap(BTreeMap<String, String>),
}

impl Member for RawMember {
    fn slot(&mut self) -> Slot<'_> {
        Target::RawOrAbsent(&mut self.0).into()
    }
}

impl<F: Form> Member for F {
    fn slot(&mut self) -> Slot<'_> {
        Target::Form(self).into()
    }
}

impl<T: Member + Default> Member for Vec<T> {
    fn slot(&mut self) -> Slot<'_> {
        Target::List(self).into()
    }
}

/// In an `Option<Option<T>>`, null is `Some(None)`, and an absent member is `None`.
impl<T: Member + Default> Member for Option<T> {
    const HAS_NULL: bool = true;

    fn slot(&mut self) -> Slot<'_> {
        Target::Optional(self).into()
    }
}

impl<T: Member + Default> List for Vec<T> {
    fn grow(&mut self) -> Option<Target<'_>> {
        self.push(T::default());
        self.last_mut().map(|it| it.slot().to)
    }

    fn shrink(&mut self) {
        self.pop();
    }
}

impl<T: Member + Default> Optional for Option<T> {
    fn insert(&mut self) -> Target<'_> {
        self.insert(T::default()).slot().to
    }

    fn insert_null(&mut self) {
        *self = T::HAS_NULL.then(T::default);
    }
}
