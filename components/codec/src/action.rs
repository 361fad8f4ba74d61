//! The list of actions: their names, who may ask for them, what they are for.

use serde::Deserialize;
use shared_context_core::Role;

use crate::json;

/// What is known of an action without performing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionInfo {
    /// Its name in a request.
    pub name: &'static str,
    /// Who may ask for it.
    pub roles: &'static [Role],
    /// Whether it can change anything.
    pub is_change: bool,
    /// What it does, for agents and people.
    pub description: &'static str,
}

const ANYONE: &[Role] = &[Role::Agent, Role::Orchestrator, Role::Admin];
const PARTICIPANTS: &[Role] = &[Role::Agent, Role::Orchestrator];
const ADMIN: &[Role] = &[Role::Admin];

/// Every action, the four of 000 §3 first.
pub const ACTIONS: &[ActionInfo] = &[
    ActionInfo {
        name: "list_keys",
        roles: ANYONE,
        is_change: false,
        description: "List every key with its metadata and the store's totals; never a value. \
                      Call it first, then read only what the task needs.",
    },
    ActionInfo {
        name: "read",
        roles: ANYONE,
        is_change: false,
        description: "Read the value of one key.",
    },
    ActionInfo {
        name: "write",
        roles: PARTICIPANTS,
        is_change: true,
        description: "Create or overwrite one key. Store conclusions, not raw data.",
    },
    ActionInfo {
        name: "delete",
        roles: PARTICIPANTS,
        is_change: true,
        description: "Remove one key that is no longer relevant.",
    },
    ActionInfo {
        name: "prompt",
        roles: ANYONE,
        is_change: false,
        description: "Render the key conventions, write discipline and read pattern as text for \
                      a participant's system prompt.",
    },
    ActionInfo {
        name: "show_session",
        roles: ANYONE,
        is_change: false,
        description: "Show the session's status, totals and configuration.",
    },
    ActionInfo {
        name: "create_session",
        roles: ADMIN,
        is_change: true,
        description: "Create the session, empty and active.",
    },
    ActionInfo {
        name: "archive_session",
        roles: ADMIN,
        is_change: true,
        description: "Make the session read-only, for good.",
    },
    ActionInfo {
        name: "delete_session",
        roles: ADMIN,
        is_change: true,
        description: "Remove the session and all it holds.",
    },
    ActionInfo {
        name: "revoke_credentials",
        roles: ADMIN,
        is_change: true,
        description: "Make every credential issued so far for the session void.",
    },
    ActionInfo {
        name: "audit",
        roles: ADMIN,
        is_change: false,
        description: "Read who changed what and when, oldest first; never a value.",
    },
];

/// Whether `request` may change anything: a hint for hosts that let changes of
/// one bucket queue. It looks at the action only; what is not understood may
/// change everything.
pub fn may_change(request: &[u8]) -> bool {
    let Ok(name) = name(request) else { return true };
    ACTIONS.iter().find(|it| it.name == name).is_none_or(|it| it.is_change)
}

/// The one member every request has.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    action: json::Text<'a>,
}

/// The name of the action that `request` asks for. Other members are not looked
/// at.
pub(crate) fn name(request: &[u8]) -> Result<json::Text<'_>, json::ParseError> {
    json::parse::<Named<'_>>(request).map(|it| it.action)
}
