//! Actions: name, roles, description, request members and command. Each is declared in the list of
//! its system.

pub(crate) mod declare;
pub(crate) mod route;

use shared_context_core::{Command, Error, Role, ScopeKind};

use crate::json::ParseError;

/// Static description of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionInfo {
    /// Name in a request.
    pub name: &'static str,
    /// System it belongs to.
    pub system: System,
    /// Kind of scope that its requests are about: a session or a project.
    pub scope: ScopeKind,
    /// Roles that may request it.
    pub roles: &'static [Role],
    /// True if it can change anything.
    pub is_change: bool,
    /// Description for agents and people.
    pub description: &'static str,
    /// Required members of its request, besides `action`.
    pub required: &'static [&'static str],
    /// Optional members of its request.
    pub optional: &'static [&'static str],
}

/// Request form of an action. It is separate from [`ActionInfo`], so that code that only names
/// actions does not link the parsers.
pub(crate) struct Form {
    /// Parses a request and builds the command from it.
    pub(crate) command: ToCommand,
    /// Schema of the request.
    #[cfg(feature = "schema")]
    pub(crate) request_schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
    /// Schemas of the replies.
    #[cfg(feature = "schema")]
    pub(crate) reply_schemas: fn(&mut schemars::SchemaGenerator) -> Vec<schemars::Schema>,
}

/// Parses a request and builds its command. The second argument returns true for names of members
/// that may be null.
pub(crate) type ToCommand =
    fn(&[u8], fn(&str) -> bool) -> Result<Result<Command, Error>, ParseError>;

/// Group of actions. Hosts can offer each group to agents as a tool of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Entries of a session, and the session around them.
    Store,
    /// Rounds of a session, and the state they agree on (spec 11).
    Rounds,
    /// The context pipeline of a session (spec 16).
    Context,
    /// Packets of a session (spec 18).
    Packets,
    /// Lifecycle of projects.
    Projects,
    /// Memories of a project (spec 19).
    Memories,
    /// The outline of a project and its owners (spec 20).
    Outline,
    /// Handoffs of a project (spec 21).
    Handoffs,
}

impl System {
    /// Returns the kind of scope that the requests of this system are about.
    pub(crate) const fn scope(self) -> ScopeKind {
        match self {
            Self::Store | Self::Rounds | Self::Context | Self::Packets => ScopeKind::Session,
            Self::Projects | Self::Memories | Self::Outline | Self::Handoffs => ScopeKind::Project,
        }
    }
}

impl ActionInfo {
    /// Returns true if a request for this action may have the member `name`.
    pub fn takes(&self, name: &str) -> bool {
        self.members().any(|it| it == name)
    }

    /// Returns the members that a request for this action may have, required ones first.
    pub fn members(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().chain(self.optional).copied()
    }
}

pub(crate) const ANYONE: &[Role] = &[Role::Agent, Role::Orchestrator, Role::Admin];
pub(crate) const PARTICIPANTS: &[Role] = &[Role::Agent, Role::Orchestrator];
pub(crate) const ORCHESTRATOR: &[Role] = &[Role::Orchestrator];
pub(crate) const REDACTORS: &[Role] = &[Role::Orchestrator, Role::Admin];
pub(crate) const ADMIN: &[Role] = &[Role::Admin];
