//! Where an action is found over HTTP, and what it may be refused for.
//!
//! Only rows: what HTTP makes of them is `wire`'s to know.

use shared_context_core::Code;

use super::{ANYONE, ActionInfo};

/// What is published of an action besides its description.
#[derive(Debug, PartialEq, Eq)]
pub struct Published {
    /// Where it is asked for over HTTP by a row. Empty: its routes do more than pass it on,
    /// or it has none.
    pub routes: &'static [Route],
    /// What it may be refused for by its own rules.
    pub(crate) rejects: &'static [Code],
    /// The members of its request.
    pub members: &'static [Member],
}

/// A place where an action is asked for over HTTP. What its request has is taken from the
/// path, and else from the query of a `GET` or the body of a `POST` or `PUT`.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with the names of members in braces, and `{session}`.
    pub path: &'static str,
    /// The name of this operation, where that of the action stands for another one.
    pub name: Option<&'static str>,
    /// A member of the action that cannot be sent here.
    pub without: Option<&'static str>,
    /// A body that would be right, where the request needs one.
    pub example: Option<&'static str>,
    /// The status of success.
    pub status: u16,
    /// Where that is found which was created, with the names of members in braces.
    pub location: Option<&'static str>,
    /// The member of the reply that is answered alone to who asks for plain text.
    pub text: Option<&'static str>,
}

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`, and with it `HEAD`.
    Get,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `DELETE`.
    Delete,
}

/// A member of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// How it is written in a path or a query.
    pub kind: Kind,
    /// Whether a request must have it.
    pub is_needed: bool,
}

/// How a member is written in a path or a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As it is.
    Text,
    /// In decimal digits.
    Number,
    /// In decimal digits, with commas between the numbers.
    Numbers,
    /// It cannot be written there.
    Structure,
}

impl Published {
    /// Returns what `action` may be refused for, besides what every request may be.
    pub fn rejects(&self, action: &ActionInfo) -> impl Iterator<Item = Code> {
        let forbidden = (action.roles != ANYONE).then_some(Code::Forbidden);
        let reused = action.takes("request_id").then_some(Code::RequestIdReused);
        self.rejects.iter().copied().chain(forbidden).chain(reused)
    }
}

impl Route {
    /// Returns whether the member `name` stands in the path.
    pub fn has_in_path(&self, name: &str) -> bool {
        let named =
            |it: &str| it.strip_prefix('{').and_then(|it| it.strip_suffix('}')) == Some(name);
        self.path.split('/').any(named)
    }

    /// Returns those of `members` that are sent in the query, or else in the body.
    pub fn rest<'m>(&self, members: &'m [Member]) -> impl Iterator<Item = &'m Member> {
        members.iter().filter(|it| !self.has_in_path(it.name) && self.without != Some(it.name))
    }
}

impl Kind {
    /// Returns how a member of the type `name` is written.
    pub(crate) const fn of(name: &str) -> Self {
        match name.as_bytes() {
            b"String" => Self::Text,
            b"u64" | b"u32" => Self::Number,
            b"Vec<u64>" => Self::Numbers,
            _ => Self::Structure,
        }
    }
}
