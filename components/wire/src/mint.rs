//! Issues credentials, and decides which caller may issue which.
//!
//! [`credential`](crate::credential) signs them. The format of the request, over HTTP or by an
//! orchestrator's tool, is defined elsewhere.
//!
//! # Invariants
//!
//! - A credential is minted only after the session accepted the caller, so that a void credential
//!   cannot produce a new one.
//! - A credential does not outlive the caller's own.
//! - A credential has no tools that the caller's own does not have.

use serde::{Deserialize, Serialize};
use shared_context_codec::{Caller, Credential, Failure, Reply};
use shared_context_core::{
    Participant, Role, Scope, ScopeKind, packets::PacketConfig, pattern::KeyPatterns,
};

use crate::{
    Engine,
    credential::{
        AGENT_TTL_SECONDS, Grant, Identity, Keys, Minted, ORCHESTRATOR_TTL_SECONDS, ProjectGrant,
        TTL_SECONDS,
    },
    http::{ToolRequest, invalid_reply, repeated, scope},
    tools::Toolset,
};

/// Request for a credential of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Invitation {
    /// Participant to invite.
    pub(crate) participant: String,
    /// Lifetime of the credential in seconds, within [`TTL_SECONDS`]. `None`:
    /// [`AGENT_TTL_SECONDS`], or [`ORCHESTRATOR_TTL_SECONDS`] for the orchestrator.
    pub(crate) ttl_seconds: Option<u64>,
    /// The only keys a subagent may read and write: 1 to 16 patterns. `None`: all keys.
    pub(crate) keys: Option<Vec<String>>,
    /// The only sets of tools besides the working memory that it is for in MCP. `None`: those that
    /// the session uses.
    pub(crate) tools: Option<Vec<String>>,
    /// The task of a subagent. With it, the credential comes with a packet, unless the session's
    /// configuration turns that off.
    pub(crate) packet_task: Option<String>,
}

/// Reply with an issued credential.
#[derive(Serialize)]
pub(crate) struct IssuedCredential {
    /// Holder of the credential.
    pub(crate) participant: String,
    /// Token for the header `Authorization: Bearer`.
    pub(crate) credential: String,
    /// First instant at which it is no longer valid, in RFC 3339.
    pub(crate) expires_at: String,
    /// The only keys it is valid for, as they were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<Vec<String>>,
    /// The only sets of tools besides the working memory that it is for, as they were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
    /// The packet that was written for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) packet: Option<IssuedPacket>,
    /// The project of the session, if it is valid there as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<String>,
}

/// Packet that was written for the holder of a credential.
#[derive(Serialize, Deserialize)]
pub(crate) struct IssuedPacket {
    /// Its id.
    id: String,
    /// Its version.
    version: u32,
    /// Its tokens.
    tokens: u32,
}

/// Members of a session reply that a credential needs.
#[derive(Deserialize)]
struct CredentialEpoch {
    incarnation: u64,
    credential_epoch: u64,
}

/// Members of a session reply that say whether credentials come with packets, and the project of the
/// session.
#[derive(Deserialize)]
struct MintConfigReply {
    config: ConfigReply,
}

#[derive(Deserialize)]
struct ConfigReply {
    /// Absent where all of it is the default.
    packet: Option<PacketSettings>,
    project: Option<String>,
}

#[derive(Deserialize)]
struct PacketSettings {
    auto_generate: bool,
}

/// Mints the credential for `invitation` on behalf of `caller`, whose own credential is in the
/// header `authorization`. It expires no later than that one, and has no other tools.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, with the member of the invitation; errors of the session for `caller`, such
/// as `UNAUTHENTICATED` and `SESSION_NOT_FOUND`; `FORBIDDEN`: the admin may invite everyone, the
/// orchestrator only subagents. With a task those of `context_generate`; nothing is minted then.
pub(crate) async fn invite<E: Engine>(
    engine: &E,
    keys: &Keys,
    session: &str,
    caller: &Caller,
    authorization: &str,
    invitation: Invitation,
) -> Result<IssuedCredential, Failure> {
    let Invitation { participant, ttl_seconds, keys: granted, tools, packet_task } = invitation;
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
    if let Some(tools) = &tools {
        check_tools(tools)?;
    }
    let shown = engine.invoke(&scope(session), caller, br#"{"action":"show_session"}"#).await?;
    may_mint(&caller.participant, role)?;
    let own = match keys.identify(Some(authorization), engine.now())? {
        Identity::Participant(own) => own.tools,
        Identity::Admin => None,
    };
    let tools = passed_on(own, tools)?;
    let packet = match packet_task {
        Some(task) => {
            check_packet(&caller.participant, role)?;
            packet(engine, session, caller, &participant, &task, &shown).await?
        }
        None => None,
    };
    let mut grant = grant(session, participant, granted.clone().unwrap_or_default(), &shown)?;
    if granted.is_none() {
        grant.project = project(engine, &shown).await?;
    }
    let project = grant.project.as_ref().map(|it| it.id.clone());
    grant.tools.clone_from(&tools);
    let at_most = keys.expiry_of(authorization);
    let minted = keys.mint_until(&grant, engine.now(), ttl_seconds, at_most)?;
    let Minted { credential, expires_at } = minted;
    let participant = grant.participant;
    let keys = granted;
    Ok(IssuedCredential { participant, credential, expires_at, keys, tools, packet, project })
}

/// Rejects a list of tools in which a set is unknown or named twice.
fn check_tools(tools: &[String]) -> Result<(), Failure> {
    Toolset::parse(tools.iter().map(String::as_str))?;
    if repeated(tools.iter().map(String::as_str)).is_some() {
        return Err(malformed("tools has the same set twice; name each once"));
    }
    Ok(())
}

/// Rejects a task with a credential that comes with no packet.
fn check_packet(caller: &str, role: Role) -> Result<(), Failure> {
    if role != Role::Agent {
        return Err(malformed("packet_task is for a subagent's credential; leave it out"));
    }
    if caller == "orchestrator" {
        return Ok(());
    }
    Err(Failure::new(
        "FORBIDDEN",
        "only the orchestrator writes packets; leave packet_task out, and let it call \
         context_generate",
    ))
}

/// Writes the packet of `participant` for `task`, if credentials of the session come with one.
async fn packet<E: Engine>(
    engine: &E,
    session: &str,
    caller: &Caller,
    participant: &str,
    task: &str,
    shown: &Reply,
) -> Result<Option<IssuedPacket>, Failure> {
    let shown: MintConfigReply =
        serde_json::from_slice(&shown.body).map_err(|_| invalid_reply())?;
    let is_on =
        shown.config.packet.map_or(PacketConfig::default().auto_generate, |it| it.auto_generate);
    if !is_on {
        return Ok(None);
    }
    let request = ToolRequest::new("context_generate");
    let request = request.with("task", Some(task)).with("address", Some(participant));
    let reply = engine.invoke(&scope(session), caller, &request.into_bytes()).await?;
    serde_json::from_slice(&reply.body).map(Some).map_err(|_| invalid_reply())
}

/// Mints the orchestrator's credential for `session`, which `reply` reports as just created. Returns
/// it with the id of the project that it is valid for as well.
///
/// # Errors
///
/// `INTERNAL`.
pub(crate) async fn mint_orchestrator<E: Engine>(
    engine: &E,
    keys: &Keys,
    session: &str,
    reply: &Reply,
) -> Result<(Minted, Option<String>), Failure> {
    let mut grant = grant(session, "orchestrator".to_owned(), Vec::new(), reply)?;
    grant.project = project(engine, reply).await?;
    let minted = keys.mint(&grant, engine.now(), ORCHESTRATOR_TTL_SECONDS)?;
    Ok((minted, grant.project.map(|it| it.id)))
}

/// Returns the project that the session names in its `reply`; `None` if it names none, or if that
/// project does not exist. The session's configuration is the operator's, so the operator asks.
async fn project<E: Engine>(engine: &E, reply: &Reply) -> Result<Option<ProjectGrant>, Failure> {
    let shown: MintConfigReply =
        serde_json::from_slice(&reply.body).map_err(|_| invalid_reply())?;
    let Some(id) = shown.config.project else { return Ok(None) };
    let scope = ScopeKind::Project.bucket_name(&id);
    let admin = Caller::trusted("admin");
    let shown = match engine.invoke(&scope, &admin, br#"{"action":"show_project"}"#).await {
        Ok(shown) => shown,
        Err(failure) if failure.code == "PROJECT_NOT_FOUND" => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let it: CredentialEpoch = serde_json::from_slice(&shown.body).map_err(|_| invalid_reply())?;
    let credential = Credential { incarnation: it.incarnation, epoch: it.credential_epoch };
    Ok(Some(ProjectGrant { id, credential }))
}

/// Rejects a subagent whose name suggests another role.
fn check_name(participant: &Participant) -> Result<(), Failure> {
    let Some(role) = participant.role_in_name() else { return Ok(()) };
    Err(malformed(format!(
        "{participant} could be taken for the {}; give the subagent a task and an id that name no \
         role, for example subagent:review:3",
        role.as_str()
    )))
}

/// Rejects a list of keys that a credential of this `role` cannot be limited to.
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
        (_, Role::Admin) => {
            "the admin is not a participant of a session, so there is no credential to mint for it"
        }
        ("admin", _) | ("orchestrator", Role::Agent) => return Ok(()),
        ("orchestrator", Role::Orchestrator) => {
            "an orchestrator mints credentials of subagents only, such as subagent:review"
        }
        _ => "a subagent mints no credentials; go on with the one that you have",
    };
    Err(Failure::new("FORBIDDEN", message))
}

/// Returns the sets of tools of a credential for which `asked` was sent, if the caller is limited to
/// its `own`.
///
/// # Errors
///
/// `FORBIDDEN`: the caller has not all of them.
fn passed_on(
    own: Option<Vec<String>>,
    asked: Option<Vec<String>>,
) -> Result<Option<Vec<String>>, Failure> {
    let (own, asked) = match (own, asked) {
        (None, asked) => return Ok(asked),
        (own, None) => return Ok(own),
        (Some(own), Some(asked)) => (own, asked),
    };
    // Every credential has the working memory.
    let is_had = |it: &String| own.contains(it) || *it == Toolset::SharedContext.as_str();
    match asked.iter().find(|it| !is_had(it)) {
        Some(other) => Err(Failure::new(
            "FORBIDDEN",
            format!(
                "your credential does not have the tools {other}, so it cannot pass them on; leave \
                 them out"
            ),
        )),
        None => Ok(Some(asked)),
    }
}

/// Builds the grant for `session` from its `reply`.
fn grant(
    session: &str,
    participant: String,
    keys: Vec<String>,
    reply: &Reply,
) -> Result<Grant, Failure> {
    let unwritten = || {
        Failure::new(
            "INTERNAL",
            "the credential could not be written down; ask for one again, and report this to the operator",
        )
    };
    let CredentialEpoch { incarnation, credential_epoch: epoch } =
        serde_json::from_slice(&reply.body).map_err(|_| unwritten())?;
    let credential = Credential { incarnation, epoch };
    let scope = Scope::new(ScopeKind::Session, session).ok_or_else(unwritten)?;
    Ok(Grant { scope, participant, credential, project: None, keys, tools: None })
}

fn malformed(message: impl Into<String>) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}
