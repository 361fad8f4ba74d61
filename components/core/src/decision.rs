//! The decision on a command, and the first checks of every scope.

use crate::{
    Error,
    audit::AuditRecord,
    kv::Change,
    participant::{Caller, Role},
    reply::Outcome,
    scope::ScopeKind,
};

/// The result of deciding a command.
pub(crate) enum Decision {
    /// A read: return this outcome.
    Answer(Outcome),
    /// A change: commit `changes`, then return `outcome` and log `records`.
    Change { changes: Vec<Change>, outcome: Outcome, records: Vec<AuditRecord> },
    /// A rejection that is recorded: commit `changes`, then return `error` and log `records`.
    Reject { changes: Vec<Change>, error: Error, records: Vec<AuditRecord> },
}

/// Rejects every caller except the admin.
pub(crate) fn require_admin(caller: &Caller) -> Result<(), Error> {
    match caller.participant.role() {
        Role::Admin => Ok(()),
        Role::Agent | Role::Orchestrator => Err(Error::Forbidden {
            message: "only the operator may do this; report what you need and go on without it",
        }),
    }
}

/// Rejects a credential that was issued for another incarnation or epoch of the scope.
pub(crate) fn check_credential(
    caller: &Caller,
    kind: ScopeKind,
    incarnation: u64,
    epoch: u64,
) -> Result<(), Error> {
    let reason = match (&caller.credential, kind) {
        (Some(it), ScopeKind::Session) if it.incarnation != incarnation => {
            "this credential was issued for an earlier session of this name; \
             ask the operator for a new one"
        }
        (Some(it), ScopeKind::Session) if it.epoch != epoch => {
            "this credential was revoked, or is of a session of this name elsewhere; \
             ask the operator for a new one"
        }
        (Some(it), ScopeKind::Project) if it.incarnation != incarnation || it.epoch != epoch => {
            "this credential was issued for an earlier project of this name, or one of this \
             name elsewhere; ask the operator for a new one"
        }
        _ => return Ok(()),
    };
    Err(Error::Unauthenticated { reason })
}
