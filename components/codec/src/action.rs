//! The list of actions: their names, who may ask for them, what they are for.

mod rounds;

use std::borrow::Cow;

use serde::Deserialize;
use shared_context_core::Role;

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
        self.required.iter().chain(self.optional).any(|it| *it == name)
    }
}

const ANYONE: &[Role] = &[Role::Agent, Role::Orchestrator, Role::Admin];
const PARTICIPANTS: &[Role] = &[Role::Agent, Role::Orchestrator];
const ORCHESTRATOR: &[Role] = &[Role::Orchestrator];
const REDACTORS: &[Role] = &[Role::Orchestrator, Role::Admin];
const ADMIN: &[Role] = &[Role::Admin];

/// Every action, those of 000 §3 first.
pub const ACTIONS: &[ActionInfo] = &[
    ActionInfo {
        name: "list_keys",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "List every key with its metadata and the store's totals; never a value. Call \
                      it first, then read only what the task needs.",
        required: &[],
        optional: &["prefix", "if_changed_since"],
    },
    ActionInfo {
        name: "read",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "Read the value of one key.",
        required: &["key"],
        optional: &["if_changed_since"],
    },
    ActionInfo {
        name: "write",
        system: System::Store,
        roles: PARTICIPANTS,
        is_change: true,
        description: "Create or overwrite one key. Store conclusions, not raw data.",
        required: &["key", "value"],
        optional: &[
            "if_version",
            "if_revision",
            "request_id",
            "ttl_seconds",
            "expires_at",
            "readable_by",
            "writable_by",
            "history",
        ],
    },
    ActionInfo {
        name: "delete",
        system: System::Store,
        roles: PARTICIPANTS,
        is_change: true,
        description: "Remove one key that is no longer relevant.",
        required: &["key"],
        optional: &["if_version", "if_revision", "request_id"],
    },
    ActionInfo {
        name: "read_batch",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "Read several keys as they are at one moment; tells which are missing.",
        required: &["keys"],
        optional: &["if_changed_since"],
    },
    ActionInfo {
        name: "write_batch",
        system: System::Store,
        roles: PARTICIPANTS,
        is_change: true,
        description: "Write and delete several keys at once: all or nothing.",
        required: &[],
        optional: &["writes", "deletes", "request_id"],
    },
    ActionInfo {
        name: "read_history",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "Read the versions of a key that are kept, oldest first.",
        required: &["key"],
        optional: &["versions"],
    },
    ActionInfo {
        name: "set_access",
        system: System::Store,
        roles: PARTICIPANTS,
        is_change: true,
        description: "Change who may read and write a key. For the orchestrator and who wrote the \
                      key last.",
        required: &["key"],
        optional: &["readable_by", "writable_by"],
    },
    ActionInfo {
        name: "snapshot",
        system: System::Store,
        roles: ORCHESTRATOR,
        is_change: true,
        description: "Freeze the whole store under a label, to compare with or go back to.",
        required: &["label"],
        optional: &["note"],
    },
    ActionInfo {
        name: "list_snapshots",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "List the snapshots, oldest first.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "read_snapshot",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "Read what a snapshot holds, or one key of it.",
        required: &["label"],
        optional: &["key"],
    },
    ActionInfo {
        name: "diff_snapshots",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "Tell what was added, removed and changed between two snapshots, or since one.",
        required: &["from"],
        optional: &["to"],
    },
    ActionInfo {
        name: "restore_snapshot",
        system: System::Store,
        roles: ORCHESTRATOR,
        is_change: true,
        description: "Make the store what a snapshot holds, as new versions, in one step.",
        required: &["label"],
        optional: &[],
    },
    ActionInfo {
        name: "delete_snapshot",
        system: System::Store,
        roles: ORCHESTRATOR,
        is_change: true,
        description: "Remove a snapshot.",
        required: &["label"],
        optional: &[],
    },
    ActionInfo {
        name: "changes",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "Read what changed since a revision, oldest first; never a value.",
        required: &[],
        optional: &["since", "limit", "keys"],
    },
    rounds::OPEN_ROUND,
    rounds::PROPOSE_DELTAS,
    rounds::CLOSE_ROUND,
    rounds::READ_STATE,
    rounds::READ_DELTAS,
    rounds::CONVERGENCE,
    rounds::REDACT_ROUNDS,
    ActionInfo {
        name: "redact",
        system: System::Store,
        roles: REDACTORS,
        is_change: true,
        description: "Replace the values of a key by their digests everywhere they are kept. For a \
                      secret that slipped in.",
        required: &["key", "reason"],
        optional: &["revision"],
    },
    ActionInfo {
        name: "prompt",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "Render the key conventions, write discipline and read pattern as text for a \
                      participant's system prompt.",
        required: &[],
        optional: &["participant", "max_tokens"],
    },
    ActionInfo {
        name: "show_session",
        system: System::Store,
        roles: ANYONE,
        is_change: false,
        description: "Show the session's status, totals and configuration.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "create_session",
        system: System::Store,
        roles: ADMIN,
        is_change: true,
        description: "Create the session, empty and active.",
        required: &[],
        optional: &["config"],
    },
    ActionInfo {
        name: "archive_session",
        system: System::Store,
        roles: ADMIN,
        is_change: true,
        description: "Make the session read-only, for good.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "delete_session",
        system: System::Store,
        roles: ADMIN,
        is_change: true,
        description: "Remove the session and all it holds.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "revoke_credentials",
        system: System::Store,
        roles: ADMIN,
        is_change: true,
        description: "Make every credential issued so far for the session void.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "inspect",
        system: System::Store,
        roles: ADMIN,
        is_change: false,
        description: "Show everything about the session, values included.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "export_session",
        system: System::Store,
        roles: ADMIN,
        is_change: false,
        description: "Take the whole session out as one document with digests.",
        required: &[],
        optional: &[],
    },
    ActionInfo {
        name: "import_session",
        system: System::Store,
        roles: ADMIN,
        is_change: true,
        description: "Create the session from an exported document.",
        required: &["document"],
        optional: &[],
    },
    ActionInfo {
        name: "audit",
        system: System::Store,
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
