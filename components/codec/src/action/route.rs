//! HTTP routes of an action, and the errors it can return.
//!
//! Pure data: the crate `wire` turns these rows into HTTP.

use shared_context_core::Code;

use super::{ANYONE, ActionInfo};

/// Published properties of an action besides its description.
#[derive(Debug, PartialEq, Eq)]
pub struct Published {
    /// HTTP routes that are served from a row. Empty if its routes have code of their own, or if it
    /// has none.
    pub routes: &'static [Route],
    /// Error codes from the action's own rules.
    pub(crate) rejects: &'static [Code],
    /// Members of its request.
    pub members: &'static [Member],
}

/// An HTTP route of an action. Members come from the path; the others come from the query of a
/// `GET` or from the body of a `POST`, `PUT` or `PATCH`.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// HTTP method.
    pub method: Method,
    /// Path, with the names of members in braces, and `{session}`.
    pub path: &'static str,
    /// Name of this operation, if the action's name belongs to another route.
    pub name: Option<&'static str>,
    /// Member of the action that this route does not accept.
    pub without: Option<&'static str>,
    /// Valid example body, if the request needs one.
    pub example: Option<&'static str>,
    /// Status of success.
    pub status: u16,
    /// Path of the created resource, with the names of members in braces.
    pub location: Option<&'static str>,
    /// Member of the reply that is served alone to clients that accept plain text.
    pub text: Option<&'static str>,
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`, and with it `HEAD`.
    Get,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`, whose body is a merge patch (RFC 7396).
    Patch,
    /// `DELETE`.
    Delete,
}

/// A member of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Name of the member.
    pub name: &'static str,
    /// Notation in a path or a query.
    pub kind: Kind,
    /// True if it is required.
    pub is_needed: bool,
}

/// Notation of a member in a path or a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text as it is.
    Text,
    /// Decimal digits.
    Number,
    /// Decimal digits, with commas between the numbers.
    Numbers,
    /// JSON structure that a path or a query cannot hold.
    Structure,
}

impl Published {
    /// Returns the error codes of `action`, besides those that every request can get.
    pub fn rejects(&self, action: &ActionInfo) -> impl Iterator<Item = Code> {
        let forbidden = (action.roles != ANYONE).then_some(Code::Forbidden);
        let reused = action.takes("request_id").then_some(Code::RequestIdReused);
        self.rejects.iter().copied().chain(forbidden).chain(reused)
    }
}

impl Route {
    /// Returns true if the path contains the member `name`.
    pub fn has_in_path(&self, name: &str) -> bool {
        let named =
            |it: &str| it.strip_prefix('{').and_then(|it| it.strip_suffix('}')) == Some(name);
        self.path.split('/').any(named)
    }

    /// Returns the members that are sent in the query or in the body.
    pub fn rest<'m>(&self, members: &'m [Member]) -> impl Iterator<Item = &'m Member> {
        members.iter().filter(|it| !self.has_in_path(it.name) && self.without != Some(it.name))
    }
}

impl Kind {
    /// Returns the notation of a member with the Rust type `name`.
    pub(crate) const fn of(name: &str) -> Self {
        match name.as_bytes() {
            b"String" => Self::Text,
            b"u64" | b"u32" => Self::Number,
            b"Vec<u64>" => Self::Numbers,
            _ => Self::Structure,
        }
    }
}
