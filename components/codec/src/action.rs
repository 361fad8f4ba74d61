//! The list of actions: their names, who may ask for them, what they are for.

use std::borrow::Cow;

use serde::Deserialize;
use shared_context_core::Role;

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
    /// The members its request must have, besides `action`.
    pub required: &'static [&'static str],
    /// The members its request may have.
    pub optional: &'static [&'static str],
}

impl ActionInfo {
    /// Whether its request may have the member `name`.
    pub fn takes(&self, name: &str) -> bool {
        self.required.iter().chain(self.optional).any(|it| *it == name)
    }
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
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "read",
        roles: ANYONE,
        is_change: false,
        description: "Read the value of one key.",
        required: &["key"],
        optional: &[],
    },
    ActionInfo {
        name: "write",
        roles: PARTICIPANTS,
        is_change: true,
        description: "Create or overwrite one key. Store conclusions, not raw data.",
        required: &["key", "value"],
        optional: &["if_version", "if_revision", "request_id"],
    },
    ActionInfo {
        name: "delete",
        roles: PARTICIPANTS,
        is_change: true,
        description: "Remove one key that is no longer relevant.",
        required: &["key"],
        optional: &["if_version", "if_revision", "request_id"],
    },
    ActionInfo {
        name: "prompt",
        roles: ANYONE,
        is_change: false,
        description: "Render the key conventions, write discipline and read pattern as text for \
                      a participant's system prompt.",
        required: &[],
        optional: &["participant", "max_tokens"],
    },
    ActionInfo {
        name: "show_session",
        roles: ANYONE,
        is_change: false,
        description: "Show the session's status, totals and configuration.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "create_session",
        roles: ADMIN,
        is_change: true,
        description: "Create the session, empty and active.",
        required: &[],
        optional: &["config"],
    },
    ActionInfo {
        name: "archive_session",
        roles: ADMIN,
        is_change: true,
        description: "Make the session read-only, for good.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "delete_session",
        roles: ADMIN,
        is_change: true,
        description: "Remove the session and all it holds.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "revoke_credentials",
        roles: ADMIN,
        is_change: true,
        description: "Make every credential issued so far for the session void.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "audit",
        roles: ADMIN,
        is_change: false,
        description: "Read who changed what and when, oldest first; never a value.",
        required: &[],
        optional: &["since", "limit"],
    },
];

/// Whether `request` may change anything: a hint for hosts that let changes of
/// one bucket queue. It looks at the action only; what is not understood may
/// change everything.
pub fn may_change(request: &[u8]) -> bool {
    /// The one member every request has; others are not looked at.
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        action: Cow<'a, str>,
    }
    let Ok(Named { action }) = serde_json::from_slice(request) else { return true };
    find(&action).is_none_or(|it| it.is_change)
}

/// The action called `name`.
pub(crate) fn find(name: &str) -> Option<&'static ActionInfo> {
    ACTIONS.iter().find(|it| it.name == name)
}
