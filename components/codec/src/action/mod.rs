//! What an action is: its name, who may ask for it, what it is for, what its requests have
//! and which command they make. Each is declared in the list of its system.

pub(crate) mod declare;
pub(crate) mod route;

use shared_context_core::{Command, Error, Role, ScopeKind};

use crate::json::ParseError;

/// What is known of an action without performing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionInfo {
    /// Its name in a request.
    pub name: &'static str,
    /// The system it belongs to.
    pub system: System,
    /// What its requests are about: a session or a project.
    pub scope: ScopeKind,
    /// Who may ask for it.
    pub roles: &'static [Role],
    /// Whether it can change anything.
    pub is_change: bool,
    /// What it does, for agents and people.
    pub description: &'static str,
    /// The members its request must have, besides `action`.
    pub required: &'static [&'static str],
    /// The members its request may have.
    pub optional: &'static [&'static str],
}

/// The form of an action's request, apart from what is known of the action: who only names
/// actions carries no code that reads them.
pub(crate) struct Form {
    /// Reads a request, and makes the command of it.
    pub(crate) command: ToCommand,
    /// The schema of the request.
    #[cfg(feature = "schema")]
    pub(crate) request_schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
    /// The schemas of the replies.
    #[cfg(feature = "schema")]
    pub(crate) reply_schemas: fn(&mut schemars::SchemaGenerator) -> Vec<schemars::Schema>,
}

/// Reads a request, in which members that the function knows may be null, and makes the
/// command of it.
type ToCommand = fn(&[u8], fn(&str) -> bool) -> Result<Result<Command, Error>, ParseError>;

/// What an action is about: agents may be offered each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The entries of a session, and the session around them.
    Store,
    /// The rounds of a session, and the state they agree on (spec 11).
    Rounds,
    /// The life of projects.
    Projects,
}

impl System {
    /// Returns what the requests of its actions are about.
    pub(crate) const fn scope(self) -> ScopeKind {
        match self {
            Self::Store | Self::Rounds => ScopeKind::Session,
            Self::Projects => ScopeKind::Project,
        }
    }
}

impl ActionInfo {
    /// Returns whether its request may have the member `name`.
    pub fn takes(&self, name: &str) -> bool {
        self.members().any(|it| it == name)
    }

    /// The members its request may have, those first that it must have.
    pub fn members(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().chain(self.optional).copied()
    }
}

pub(crate) const ANYONE: &[Role] = &[Role::Agent, Role::Orchestrator, Role::Admin];
pub(crate) const PARTICIPANTS: &[Role] = &[Role::Agent, Role::Orchestrator];
pub(crate) const ORCHESTRATOR: &[Role] = &[Role::Orchestrator];
pub(crate) const REDACTORS: &[Role] = &[Role::Orchestrator, Role::Admin];
pub(crate) const ADMIN: &[Role] = &[Role::Admin];
