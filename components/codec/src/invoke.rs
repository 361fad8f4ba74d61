//! One request of the JSON tool, from bytes to bytes.

use shared_context_core::{
    self as core, Command, Config, Error, Outcome, ProjectCommand, Role, Scope, ScopeKind,
    SessionId,
    config::ConfigChange,
    execute,
    pattern::KeyPatterns,
    port::{Clock, Kv, Log, Ports, Tokenizer},
    portable::Portable,
    refuse,
};

use crate::{Failure, actions, json::to_vec, refusal::shorten, reply, session};

/// Reply to a successful request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Revision of the reply: after the change, or as read. For one entry it is the revision at
    /// which that entry was written.
    pub revision: u64,
    /// Reply as JSON.
    pub body: Vec<u8>,
    /// Effect on the resource, so that hosts do not have to parse the body.
    pub effect: Effect,
    /// No later than the next expiry of an entry of the session, in milliseconds since the epoch. A
    /// host with a timer calls [`wake`] then.
    pub next_expiry_ms: Option<u64>,
}

/// Effect of a request on its resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The action was performed.
    Done,
    /// A write created the entry.
    Created,
    /// Nothing changed since the revision in the request.
    Unchanged,
}

impl Effect {
    /// Returns the name of the effect.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Created => "created",
            Self::Unchanged => "unchanged",
        }
    }

    /// Returns the effect with the name `name`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Done, Self::Created, Self::Unchanged].into_iter().find(|it| it.as_str() == name)
    }

    /// Returns the effect that `reply` reports.
    fn of(reply: &core::Reply) -> Self {
        match reply {
            core::Reply::Written(it) if it.entry.version == 1 => Self::Created,
            core::Reply::Unchanged => Self::Unchanged,
            _ => Self::Done,
        }
    }
}

/// A caller, as the host identified it; never taken from the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// `orchestrator`, `subagent:{task}`, `subagent:{task}:{id}`, or `admin`.
    pub participant: String,
    /// Credential that was presented; `None` when the host vouches for the caller by other means.
    pub credential: Option<Credential>,
    /// The only keys that exist for this caller, which must be a subagent: at most 16 patterns such
    /// as `inv_*`. Empty: all keys.
    pub keys: Vec<String>,
    /// The session that the caller acts in, where it acts on a project.
    pub session: Option<String>,
}

pub use core::Credential;

impl Caller {
    /// Creates a caller that the host itself vouches for.
    pub fn trusted(participant: impl Into<String>) -> Self {
        Self { participant: participant.into(), credential: None, keys: Vec::new(), session: None }
    }

    /// Returns the role that the participant's name says.
    fn role(&self) -> Role {
        match self.participant.as_str() {
            "admin" => Role::Admin,
            "orchestrator" => Role::Orchestrator,
            _ => Role::Agent,
        }
    }

    /// Validates the caller and converts it to the core's type.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: the host passed an invalid participant, or keys that the caller cannot
    /// be limited to.
    pub fn check(&self) -> Result<core::Caller, Error> {
        let mut caller = core::Caller::trusted(&self.participant)?;
        caller.credential = self.credential;
        caller.session = match &self.session {
            None => None,
            Some(id) => Some(
                SessionId::new(id)
                    .ok_or_else(|| Error::malformed("the session of the caller has no valid id"))?,
            ),
        };
        caller.limited_to(KeyPatterns::parse(&self.keys)?)
    }
}

/// Performs `request` on `scope` (`session/{id}` or `project/{id}`).
///
/// # Errors
///
/// The first that applies, in the order of [`Code::ALL`](crate::Code::ALL).
pub fn invoke<K: Kv, C: Clock, L: Log, T: Tokenizer>(
    ports: &Ports<'_, K, C, L, T>,
    scope: &str,
    caller: &Caller,
    request: &[u8],
) -> Result<Reply, Failure> {
    let (kind, id) = split(scope);
    let command = actions::command(kind, caller.role(), request);
    let outcome = perform(ports, kind, id, caller, command).map_err(|error| {
        let mut failure = Failure::from(error);
        // Only the operator can create it.
        if failure.code == "SESSION_NOT_FOUND" && caller.role() == Role::Admin {
            let shown = shorten(id, 140);
            failure.message = match Scope::new(kind, id) {
                Some(_) => format!(
                    "there is no session {id:?}; create it first: shared-context session create {id}"
                ),
                None => format!(
                    "there is no session {shown:?}, and there can be none: its id would be 1 to 128 \
                     of A-Z, a-z, 0-9, ., _ and -, the first a letter or digit"
                ),
            };
        }
        failure
    })?;
    Ok(Reply {
        revision: outcome.revision.0,
        body: reply::encode(&outcome),
        effect: Effect::of(&outcome.reply),
        next_expiry_ms: outcome.next_expiry.map(|it| it.0),
    })
}

/// Removes expired entries of `scope`. Returns a time no later than the next expiry, in
/// milliseconds since the epoch. Nothing expires in a project.
///
/// # Errors
///
/// `SESSION_NOT_FOUND`, `STORAGE_UNAVAILABLE`.
pub fn wake<K: Kv, C: Clock, L: Log, T: Tokenizer>(
    ports: &Ports<'_, K, C, L, T>,
    scope: &str,
) -> Result<Option<u64>, Failure> {
    match split(scope) {
        (ScopeKind::Project, _) => Ok(None),
        (kind, id) => {
            let caller = Caller::trusted("admin");
            let outcome = perform(ports, kind, id, &caller, Ok(Command::Sweep))?;
            Ok(outcome.next_expiry.map(|it| it.0))
        }
    }
}

/// Splits `scope` into kind and id. An unknown kind yields a session with an invalid id.
fn split(scope: &str) -> (ScopeKind, &str) {
    ScopeKind::split(scope).unwrap_or((ScopeKind::Session, ""))
}

/// Performs `command` on the scope of this `kind` and `id`, or rejects the request if parsing
/// failed.
///
/// # Errors
///
/// As [`invoke`].
pub fn perform<K: Kv, C: Clock, L: Log, T: Tokenizer>(
    ports: &Ports<'_, K, C, L, T>,
    kind: ScopeKind,
    id: &str,
    caller: &Caller,
    command: Result<Command, Error>,
) -> Result<Outcome, Error> {
    let caller = caller.check()?;
    match command {
        Ok(command) => {
            let scope = scope_for(kind, id, &command)?;
            execute(ports, &scope, &caller, &command)
        }
        Err(error) => Err(match Scope::new(kind, id) {
            Some(scope) => refuse(ports.kv, &scope, &caller, error),
            None => error,
        }),
    }
}

/// Returns the scope for `command`.
///
/// # Errors
///
/// `MALFORMED_REQUEST` if a new scope is given an invalid id; `SESSION_NOT_FOUND` or
/// `PROJECT_NOT_FOUND` for any other command with an invalid id.
fn scope_for(kind: ScopeKind, id: &str, command: &Command) -> Result<Scope, Error> {
    let asked = match command {
        Command::Named { command, .. } => command,
        _ => command,
    };
    let is_new = matches!(
        asked,
        Command::CreateSession(_)
            | Command::Import(_)
            | Command::Project(ProjectCommand::Create(_) | ProjectCommand::Import { .. })
    );
    match Scope::new(kind, id) {
        None if is_new => Err(Error::malformed(format!(
            "{}_id must be 1 to 128 of A-Z, a-z, 0-9, ., _ and -, \
             the first a letter or digit; for example CAPA-2026-014",
            kind.as_str()
        ))),
        Some(scope) => Ok(scope),
        None => Scope::parse(kind, id),
    }
}

/// Parses a configuration document: JSON of the schema `session_config`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn parse_config(text: &str) -> Result<Config, Error> {
    session::config::document(text)
}

/// Parses a change of a configuration: a merge patch of the schema `session_config`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn parse_config_change(text: &str) -> Result<ConfigChange, Error> {
    session::config::change_document(text)
}

/// Returns a configuration as a JSON document with every member present.
pub fn config_to_json(config: &Config) -> String {
    String::from_utf8(to_vec(&session::replies::config(config))).unwrap_or_default()
}

/// Parses a session document: JSON of the schema `session_document`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`, `FORMAT_TOO_NEW`, `DOCUMENT_ALTERED`.
pub fn parse_document(text: &str) -> Result<Portable, Error> {
    session::document::parse(text)
}

/// Returns the outcome as the JSON tool's reply.
pub fn to_json(outcome: &Outcome) -> String {
    String::from_utf8(reply::encode(outcome)).unwrap_or_default()
}
