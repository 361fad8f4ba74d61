//! The actions: their names, who may ask for them, what they are for, what their requests
//! have and which commands they make. Each is declared in the list of its system.

mod declare;
mod entries;
mod rounds;
mod route;
mod session;
mod snapshots;

use shared_context_core::{Command, Error, Role};

use crate::{form, json::ParseError};

pub use route::{Kind, Member, Method, Published, Route, published};

/// What is known of an action without performing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionInfo {
    /// Its name in a request.
    pub name: &'static str,
    /// What it is about.
    pub system: System,
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

/// Reads a request, and makes the command of it.
type ToCommand = fn(&[u8]) -> Result<Result<Command, Error>, ParseError>;

/// What an action is about: agents may be offered each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The entries of a session, and the session around them.
    Store,
    /// The rounds of a session, and the state they agree on (003).
    Rounds,
}

impl ActionInfo {
    /// Whether its request may have the member `name`.
    pub fn takes(&self, name: &str) -> bool {
        self.members().any(|it| it == name)
    }

    /// The members its request may have, those first that it must have.
    pub fn members(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().chain(self.optional).copied()
    }
}

const ANYONE: &[Role] = &[Role::Agent, Role::Orchestrator, Role::Admin];
const PARTICIPANTS: &[Role] = &[Role::Agent, Role::Orchestrator];
const ORCHESTRATOR: &[Role] = &[Role::Orchestrator];
const REDACTORS: &[Role] = &[Role::Orchestrator, Role::Admin];
const ADMIN: &[Role] = &[Role::Admin];

/// Every action, those of 000 §3 first.
pub fn actions() -> impl Iterator<Item = &'static ActionInfo> {
    [entries::ACTIONS, snapshots::ACTIONS, rounds::ACTIONS, session::ACTIONS].into_iter().flatten()
}

/// Every action with its form.
pub(crate) fn forms() -> impl Iterator<Item = (&'static ActionInfo, &'static Form)> {
    let forms = [entries::FORMS, snapshots::FORMS, rounds::FORMS, session::FORMS];
    actions().zip(forms.into_iter().flatten())
}

/// Whether `request` may change anything: a hint for hosts that let changes of
/// one bucket queue. It looks at the action only; what is not understood may
/// change everything.
pub fn may_change(request: &[u8]) -> bool {
    let Ok(name) = named_in(request) else { return true };
    actions().find(|it| it.name == name).is_none_or(|it| it.is_change)
}

/// The name of the action that `request` asks for.
///
/// # Errors
///
/// Why there is none.
pub(crate) fn named_in(request: &[u8]) -> Result<String, ParseError> {
    form::text(request, "action")
}

/// Whether an action takes a member `name`: where another is asked for it may be null,
/// which callers in strict mode send for all that they leave out.
pub(crate) fn is_member(name: &str) -> bool {
    actions().any(|it| it.takes(name))
}
