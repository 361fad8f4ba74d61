//! The feed that is watched, and its reader: of a session, or of a project.

use crate::cli::{
    caller::{CallerArgs, ProjectCallerArgs},
    client::{Bearer, Call, parse},
    problem::Problem,
    reply::{Project, Session},
    server::Server,
};

/// A feed of changes.
#[derive(Debug, Clone)]
pub(crate) enum Feed {
    /// Of a session.
    Session {
        /// Its id.
        id: String,
        /// Only keys like this.
        keys: Option<String>,
        /// The reader.
        caller: CallerArgs,
    },
    /// Of a project.
    Project {
        /// Its id.
        id: String,
        /// The reader.
        caller: ProjectCallerArgs,
    },
}

impl Feed {
    /// Returns the id of the session or project.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Session { id, .. } | Self::Project { id, .. } => id,
        }
    }

    /// Returns the call that reads the changes.
    pub(super) fn call(&self, server: &Server) -> Call {
        let client = &server.client;
        match self {
            Self::Session { id, keys, .. } => {
                let query: Vec<_> = keys.iter().map(|it| ("keys", it.clone())).collect();
                client.get(&["v1", "sessions", id, "changes"], &query)
            }
            Self::Project { id, .. } => client.get(&["v1", "projects", id, "changes"], &[]),
        }
    }

    /// Returns the credential for reading live.
    ///
    /// # Errors
    ///
    /// There is no admin key, nothing says in which session a participant is, or minting failed.
    pub(super) fn bearer(&self, server: &Server) -> Result<Bearer, Problem> {
        match self {
            Self::Session { id, caller, .. } => caller.lasting_bearer(server, id),
            Self::Project { caller, .. } => caller.lasting_bearer(server),
        }
    }

    /// Returns true if the credential was minted, so that it can be replaced.
    pub(super) fn is_renewable(&self) -> bool {
        match self {
            Self::Session { caller, .. } => caller.is_named(),
            Self::Project { caller, .. } => caller.is_named(),
        }
    }

    /// Returns the present revision.
    ///
    /// # Errors
    ///
    /// No server answers, or it rejects the request.
    pub(super) fn revision(&self, server: &Server) -> Result<u64, Problem> {
        let (kind, bearer) = match self {
            Self::Session { id, caller, .. } => ("sessions", caller.bearer(server, id)?),
            Self::Project { caller, .. } => ("projects", caller.bearer(server)?),
        };
        let reply =
            server.send(&server.client.get(&["v1", kind, self.id()], &[]), Some(&bearer))?;
        match self {
            Self::Session { .. } => parse::<Session>(&reply, &server.client).map(|it| it.revision),
            Self::Project { .. } => parse::<Project>(&reply, &server.client).map(|it| it.revision),
        }
    }
}
