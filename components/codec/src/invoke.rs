//! One request of the JSON tool, from bytes to bytes.

use shared_context_core::{
    self as core, Command, Config, Error, Outcome, ProjectCommand, Scope, ScopeKind, execute,
    pattern::KeyPatterns,
    port::{Clock, Kv, Log, Ports, Tokenizer},
    portable::Portable,
    refuse,
};

use crate::{Failure, actions, json::to_vec, reply, session};

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The revision the answer is of: after the change, or as read. For one
    /// entry it is the revision at which that entry was written.
    pub revision: u64,
    /// The answer as JSON.
    pub body: Vec<u8>,
    /// What became of what the request is about, so that nobody has to read the
    /// answer for it.
    pub effect: Effect,
    /// When the next of the session's entries expires, or earlier, in
    /// milliseconds since the epoch: a host with a timer calls [`wake`] then.
    pub next_expiry_ms: Option<u64>,
}

/// What became of what a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// What the action says.
    Done,
    /// A write created the entry.
    Created,
    /// Nothing changed after the revision that the request names.
    Unchanged,
}

impl Effect {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Created => "created",
            Self::Unchanged => "unchanged",
        }
    }

    /// Finds the effect that is called `name`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Done, Self::Created, Self::Unchanged].into_iter().find(|it| it.as_str() == name)
    }

    /// Creates the effect that `reply` tells of.
    fn of(reply: &core::Reply) -> Self {
        match reply {
            core::Reply::Written(it) if it.entry.version == 1 => Self::Created,
            core::Reply::Unchanged => Self::Unchanged,
            _ => Self::Done,
        }
    }
}

/// Who calls, as the host knows it; never taken from the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// `orchestrator`, `subagent:{task}`, `subagent:{task}:{id}`, or `admin`.
    pub participant: String,
    /// The credential that was shown; `None` when the host vouches for the
    /// caller by other means.
    pub credential: Option<Credential>,
    /// The only keys that are there for the caller, which is a subagent then:
    /// patterns such as `inv_*`, at most 16. Empty: all keys.
    pub keys: Vec<String>,
}

pub use core::Credential;

impl Caller {
    /// Creates a caller the host itself vouches for.
    pub fn trusted(participant: impl Into<String>) -> Self {
        Self { participant: participant.into(), credential: None, keys: Vec::new() }
    }

    /// Returns the caller as the core knows it.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: the host named no participant, or keys that it cannot
    /// be limited to.
    pub fn check(&self) -> Result<core::Caller, Error> {
        let mut caller = core::Caller::trusted(&self.participant)?;
        caller.credential = self.credential;
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
    let outcome = perform(ports, kind, id, caller, actions::command(kind, request))?;
    Ok(Reply {
        revision: outcome.revision.0,
        body: reply::encode(&outcome),
        effect: Effect::of(&outcome.reply),
        next_expiry_ms: outcome.next_expiry.map(|it| it.0),
    })
}

/// Removes what has expired in `scope`, and returns when the next of its entries expires,
/// or earlier, in milliseconds since the epoch. Nothing expires in a project.
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

/// Splits `scope` into kind and id. What has no known kind is a session of no valid id.
fn split(scope: &str) -> (ScopeKind, &str) {
    ScopeKind::split(scope).unwrap_or((ScopeKind::Session, ""))
}

/// Performs `command`, or rejects what was no command, on the `kind` of scope that is
/// called `id`.
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

/// Returns the scope that `command` is for.
///
/// # Errors
///
/// `MALFORMED_REQUEST` when it is to be created under an id that it cannot have,
/// `SESSION_NOT_FOUND` or `PROJECT_NOT_FOUND` when it is not to be created.
fn scope_for(kind: ScopeKind, id: &str, command: &Command) -> Result<Scope, Error> {
    let is_new = matches!(
        command,
        Command::CreateSession(_) | Command::Import(_) | Command::Project(ProjectCommand::Create)
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

/// Reads a configuration document: JSON of the schema `session_config`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn parse_config(text: &str) -> Result<Config, Error> {
    session::config::document(text)
}

/// Returns a configuration in force as a JSON document, every member present.
pub fn config_to_json(config: &Config) -> String {
    String::from_utf8(to_vec(&session::replies::config(config))).unwrap_or_default()
}

/// Reads a session out of a document: JSON of the schema `session_document`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`, `FORMAT_TOO_NEW`, `DOCUMENT_ALTERED`.
pub fn parse_document(text: &str) -> Result<Portable, Error> {
    session::document::parse(text)
}

/// Returns what was answered as the JSON tool tells it.
pub fn to_json(outcome: &Outcome) -> String {
    String::from_utf8(reply::encode(outcome)).unwrap_or_default()
}
