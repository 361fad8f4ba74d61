//! Scopes: the session or project of a request, and the bucket that stores it.
//!
//! Every request has one scope. It reads and changes only the bucket of that scope.

use std::fmt;

use crate::{Error, key::is_name};

/// The longest id of a session or project, in bytes.
pub const ID_BYTES_MAX: usize = 128;

/// Defines an id type: 1 to 128 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`, starting with a
/// letter or digit. An id can be used unescaped in a URL path and in a bucket name.
macro_rules! id {
    ($(#[$doc:meta])+ $name:ident) => {
        $(#[$doc])+
        ///
        /// # Invariant
        ///
        /// Every value is valid: only `new` creates one.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Creates an id, or returns `None` if `text` is invalid.
            pub fn new(text: &str) -> Option<Self> {
                is_name(text, ID_BYTES_MAX).then(|| Self(text.to_owned()))
            }

            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The id of a session.
    SessionId
}

id! {
    /// The id of a project.
    ProjectId
}

/// A session or a project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The session with this id.
    Session(SessionId),
    /// The project with this id.
    Project(ProjectId),
}

/// The kinds of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeKind {
    /// A session: the working memory of a team of agents.
    Session,
    /// A project: it outlives its sessions.
    Project,
}

impl ScopeKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Session, Self::Project];

    /// Returns the kind's name, as in `session`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
        }
    }

    /// Returns the prefix of the buckets of this kind, as in `session/`.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Session => "session/",
            Self::Project => "project/",
        }
    }

    /// Returns the bucket name for `id`, which need not be valid.
    pub fn bucket_name(self, id: &str) -> String {
        [self.prefix(), id].concat()
    }

    /// Splits a bucket name into kind and id, which need not be valid.
    pub fn split(bucket: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|it| Some((it, bucket.strip_prefix(it.prefix())?)))
    }
}

impl Scope {
    /// Creates a scope, or returns `None` if `id` is invalid.
    pub fn new(kind: ScopeKind, id: &str) -> Option<Self> {
        match kind {
            ScopeKind::Session => SessionId::new(id).map(Self::Session),
            ScopeKind::Project => ProjectId::new(id).map(Self::Project),
        }
    }

    /// Creates the scope of a request. An invalid id is reported as a missing scope.
    ///
    /// # Errors
    ///
    /// [`Error::SessionNotFound`] or [`Error::ProjectNotFound`] if `id` is invalid.
    pub fn parse(kind: ScopeKind, id: &str) -> Result<Self, Error> {
        Self::new(kind, id).ok_or_else(|| match kind {
            ScopeKind::Session => Error::SessionNotFound { session: id.to_owned() },
            ScopeKind::Project => Error::ProjectNotFound { project: id.to_owned() },
        })
    }

    /// Returns the scope stored in the bucket `name`, or `None` if it is not a scope's
    /// bucket.
    pub fn of_bucket(name: &str) -> Option<Self> {
        let (kind, id) = ScopeKind::split(name)?;
        Self::new(kind, id)
    }

    /// Returns the scope's kind.
    pub fn kind(&self) -> ScopeKind {
        match self {
            Self::Session(_) => ScopeKind::Session,
            Self::Project(_) => ScopeKind::Project,
        }
    }

    /// Returns the scope's id.
    pub fn id(&self) -> &str {
        match self {
            Self::Session(id) => id.as_str(),
            Self::Project(id) => id.as_str(),
        }
    }

    /// Returns the name of the scope's bucket, which is also its name in the JSON tool.
    pub fn bucket_name(&self) -> String {
        self.kind().bucket_name(self.id())
    }
}

impl fmt::Display for Scope {
    /// Writes the kind and id, as in `session ticket-7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind().as_str(), self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_fits_a_path_segment() {
        for good in ["a", "CAPA-2026.7", "0_x", &"a".repeat(128)] {
            assert!(SessionId::new(good).is_some(), "{good}");
            assert!(ProjectId::new(good).is_some(), "{good}");
        }
        for bad in ["", ".", "..", "-a", "a/b", "a b", "ä", "a%20", &"a".repeat(129)] {
            assert!(SessionId::new(bad).is_none(), "{bad}");
            assert!(ProjectId::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_scope_can_be_parsed_from_its_bucket_name() {
        for kind in ScopeKind::ALL {
            let scope = Scope::new(kind, "shop").unwrap();
            assert_eq!(scope.bucket_name(), format!("{}/shop", kind.as_str()));
            assert_eq!(Scope::of_bucket(&scope.bucket_name()), Some(scope));
        }
        for other in ["", "shop", "session/", "project/a/b", "memory/shop", "sessions/shop"] {
            assert_eq!(Scope::of_bucket(other), None, "{other}");
        }
    }
}
