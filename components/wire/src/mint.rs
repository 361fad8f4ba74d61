//! Letting participants take part: who may hand out which credential.
//!
//! Signing is [`credential`](crate::credential)'s. Not here: in what form a
//! credential is asked for, over HTTP or by an orchestrator's tool.
//!
//! # Invariants
//!
//! - A credential is minted only after the session itself answered the one who
//!   asks for it, so that a void credential cannot beget a new one.
//! - A credential does not outlive the one by which it was asked for.

use serde::{Deserialize, Serialize};
use shared_context_codec::{Caller, Credential, Failure, Reply};
use shared_context_core::{Participant, Role, Scope, ScopeKind, pattern::KeyPatterns};

use crate::{
    Engine,
    credential::{AGENT_TTL_SECONDS, Grant, Keys, Minted, ORCHESTRATOR_TTL_SECONDS, TTL_SECONDS},
    http::scope,
};

/// Who is to take part in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Invitation {
    /// The participant.
    pub(crate) participant: String,
    /// How long its credential is good, in seconds, within [`TTL_SECONDS`];
    /// `None`: [`AGENT_TTL_SECONDS`], the orchestrator's [`ORCHESTRATOR_TTL_SECONDS`].
    pub(crate) ttl_seconds: Option<u64>,
    /// The only keys a subagent may see and write: 1 to 16 patterns. `None`: all
    /// keys.
    pub(crate) keys: Option<Vec<String>>,
}

/// A credential, as it is handed out.
#[derive(Serialize)]
pub(crate) struct Issued {
    /// Whose it is.
    pub(crate) participant: String,
    /// What goes behind `Authorization: Bearer`.
    pub(crate) credential: String,
    /// The first instant at which it is no longer good, as RFC 3339.
    pub(crate) expires_at: String,
    /// The only keys it is for, as they were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<Vec<String>>,
}

/// What a credential needs to know of its session.
#[derive(Deserialize)]
struct Epoch {
    incarnation: u64,
    credential_epoch: u64,
}

/// Mints what `invitation` asks for, on behalf of `caller`, whose own credential came
/// as the header `authorization`. It ends with that one, if not before.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, naming the member of the invitation; what the session
/// answers to `caller`, such as `UNAUTHENTICATED` and `SESSION_NOT_FOUND`;
/// `FORBIDDEN`: the admin lets everyone take part, the orchestrator subagents.
pub(crate) async fn invite<E: Engine>(
    engine: &E,
    keys: &Keys,
    session: &str,
    caller: &Caller,
    authorization: &str,
    invitation: Invitation,
) -> Result<Issued, Failure> {
    let Invitation { participant, ttl_seconds, keys: granted } = invitation;
    let invited = Participant::parse(&participant).map_err(|error| malformed(error.to_string()))?;
    let role = invited.role();
    check_name(&invited)?;
    let ttl_seconds = match ttl_seconds {
        Some(seconds) if TTL_SECONDS.contains(&seconds) => seconds,
        Some(_) => {
            let (from, to) = TTL_SECONDS.into_inner();
            return Err(malformed(format!("ttl_seconds must be from {from} to {to} (30 days)")));
        }
        None if role == Role::Orchestrator => ORCHESTRATOR_TTL_SECONDS,
        None => AGENT_TTL_SECONDS,
    };
    if let Some(granted) = &granted {
        check_keys(role, granted)?;
    }
    let shown = engine.invoke(&scope(session), caller, br#"{"action":"show_session"}"#).await?;
    may_mint(&caller.participant, role)?;
    let grant = grant(session, participant, granted.clone().unwrap_or_default(), &shown)?;
    let at_most = keys.good_until(authorization);
    let minted = keys.mint_until(&grant, engine.now(), ttl_seconds, at_most)?;
    let Minted { credential, expires_at } = minted;
    Ok(Issued { participant: grant.participant, credential, expires_at, keys: granted })
}

/// Mints the credential of the orchestrator of `session`, which was just created
/// as `reply` says.
///
/// # Errors
///
/// `INTERNAL`.
pub(crate) fn orchestrators<E: Engine>(
    engine: &E,
    keys: &Keys,
    session: &str,
    reply: &Reply,
) -> Result<Minted, Failure> {
    let grant = grant(session, "orchestrator".to_owned(), Vec::new(), reply)?;
    keys.mint(&grant, engine.now(), ORCHESTRATOR_TTL_SECONDS)
}

/// Rejects a subagent that reads like somebody with another role.
fn check_name(participant: &Participant) -> Result<(), Failure> {
    let Some(role) = participant.role_in_name() else { return Ok(()) };
    Err(malformed(format!(
        "{participant} could be taken for the {}; give the subagent a task and an id that name no \
         role, for example subagent:review:3",
        role.as_str()
    )))
}

/// Refuses keys that no credential of a participant of this `role` is limited to.
fn check_keys(role: Role, keys: &[String]) -> Result<(), Failure> {
    if role != Role::Agent {
        return Err(malformed(
            "only a subagent's credential can be limited to keys; leave keys out",
        ));
    }
    if keys.is_empty() {
        return Err(malformed(
            "keys names no key at all; name some, for example [\"inv_*\",\"scope\"], or leave it \
             out for all keys",
        ));
    }
    KeyPatterns::parse(keys).map(drop).map_err(|error| malformed(format!("keys: {error}")))
}

/// Rejects a caller that may not mint credentials of this role.
fn may_mint(caller: &str, role: Role) -> Result<(), Failure> {
    let message = match (caller, role) {
        (_, Role::Admin) => "the admin has no credential: use the server's admin key",
        ("admin", _) | ("orchestrator", Role::Agent) => return Ok(()),
        ("orchestrator", Role::Orchestrator) => {
            "an orchestrator mints credentials of subagents only; ask the operator for one of \
             the orchestrator"
        }
        _ => "a subagent mints no credentials; ask the orchestrator for one",
    };
    Err(Failure::new("FORBIDDEN", message))
}

/// Returns what a credential of `session` says, of which `reply` tells.
fn grant(
    session: &str,
    participant: String,
    keys: Vec<String>,
    reply: &Reply,
) -> Result<Grant, Failure> {
    let unwritten = || {
        Failure::new(
            "INTERNAL",
            "the credential could not be written down; ask for one again, and tell the operator",
        )
    };
    let Epoch { incarnation, credential_epoch: epoch } =
        serde_json::from_slice(&reply.body).map_err(|_| unwritten())?;
    let credential = Credential { incarnation, epoch };
    let scope = Scope::new(ScopeKind::Session, session).ok_or_else(unwritten)?;
    Ok(Grant { scope, participant, credential, keys })
}

fn malformed(message: impl Into<String>) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}
