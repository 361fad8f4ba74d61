//! Requests: what an agent or operator may say, and the command it makes.
//!
//! Members that no request has are refused by name; `null` means absent.

use serde::Deserialize;
use shared_context_core::{
    Command, Condition, Config, Delete, Error, Key, Participant, RequestId, Write,
    namespace::{Convention, Namespace},
    port::Revision,
    store::Limits,
    tokens::{Estimator, Tokens},
};

use crate::{
    action,
    json::{self, Object, ParseError},
};

/// How many audit records are read at once when no limit is given.
const AUDIT_LIMIT_DEFAULT: u32 = 100;
/// How many audit records can be read at once.
const AUDIT_LIMIT_MAX: u32 = 1_000;

/// The name of the action; it has been looked at before.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transparent))]
pub(crate) struct ActionName(#[expect(dead_code, reason = "looked at before")] String);

/// A request that has no members but its action.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct BareRequest {
    #[serde(rename = "action")]
    _action: ActionName,
}

/// A request for one entry.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadRequest {
    #[serde(rename = "action")]
    _action: ActionName,
    /// The key to read: 1 to 64 of a-z, 0-9 and _.
    key: String,
}

/// A request to create or overwrite one entry.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteRequest {
    #[serde(rename = "action")]
    _action: ActionName,
    /// The key to write: 1 to 64 of a-z, 0-9 and _.
    key: String,
    /// The text to store. Structured data is serialized.
    value: String,
    /// Write only if the entry has this version; 0: only if the key does not exist.
    if_version: Option<u64>,
    /// Write only if the entry was last written at this revision.
    if_revision: Option<u64>,
    /// Your own name for this request, up to 64 characters: sending the same
    /// request again under it is safe.
    request_id: Option<String>,
}

/// A request to remove one entry.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteRequest {
    #[serde(rename = "action")]
    _action: ActionName,
    /// The key to remove: 1 to 64 of a-z, 0-9 and _.
    key: String,
    /// Delete only if the entry has this version.
    if_version: Option<u64>,
    /// Delete only if the entry was last written at this revision.
    if_revision: Option<u64>,
    /// Your own name for this request, up to 64 characters: sending the same
    /// request again under it is safe.
    request_id: Option<String>,
}

/// A request for a participant's system prompt.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptRequest {
    #[serde(rename = "action")]
    _action: ActionName,
    /// Whose prompt: orchestrator, subagent:{task} or subagent:{task}:{id}. Your
    /// own when absent.
    participant: Option<String>,
    /// The most tokens the text may have; 1000 when absent.
    max_tokens: Option<u32>,
}

/// A request for audit records.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditRequest {
    #[serde(rename = "action")]
    _action: ActionName,
    /// Begin after this revision; 0 when absent.
    since: Option<u64>,
    /// How many records at most, 1 to 1000; 100 when absent.
    limit: Option<u32>,
}

/// A request to create a session.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRequest {
    #[serde(rename = "action")]
    _action: ActionName,
    /// The session's configuration; the defaults when absent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<ConfigForm>"))]
    config: Option<Object<ConfigForm>>,
}

/// The configuration of a session. What is absent has its default.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "session_config"))]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigForm {
    /// The largest value of one entry, 1 to 50000 tokens; 1000 when absent.
    value_tokens_max: Option<u32>,
    /// The largest sum of all values, 1 to 1000000 tokens; 10000 when absent.
    store_tokens_max: Option<u32>,
    /// The most keys, 1 to 10000; 1000 when absent.
    keys_max: Option<u32>,
    /// How tokens are counted: approximate (characters / 4, rounded up).
    estimator: Option<String>,
    /// The session's key conventions; the domain-neutral template when absent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<NamespaceForm>"))]
    namespace: Option<Object<NamespaceForm>>,
}

/// Key conventions, in the order they are shown. None at all: any key is as good
/// as another.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "namespace"))]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespaceForm {
    /// At most 100 conventions.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<ConventionForm>"))]
    keys: Vec<Object<ConventionForm>>,
}

/// What one key is for. Texts are one line of 1 to 200 characters.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "convention"))]
#[serde(deny_unknown_fields)]
pub(crate) struct ConventionForm {
    /// The key.
    key: String,
    /// The heading it is shown under.
    group: String,
    /// What it holds.
    purpose: String,
    /// What its value looks like.
    shape: Option<String>,
    /// How many tokens its value should have at most.
    recommended_tokens: Option<u32>,
}

/// Reads the command out of `request`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`.
pub(crate) fn command(request: &[u8]) -> Result<Command, Error> {
    let name = action::name(request).map_err(malformed)?;
    Ok(match &*name {
        "list_keys" => bare(request, Command::ListKeys)?,
        "read" => Command::Read(Key::parse(&parse::<ReadRequest>(request)?.key)?),
        "write" => Command::Write(parse::<WriteRequest>(request)?.command()?),
        "delete" => Command::Delete(parse::<DeleteRequest>(request)?.command()?),
        "prompt" => parse::<PromptRequest>(request)?.command()?,
        "show_session" => bare(request, Command::ShowSession)?,
        "create_session" => {
            let config = parse::<CreateRequest>(request)?.config;
            Command::CreateSession(Box::new(config.map_or(Ok(Config::default()), self::config)?))
        }
        "archive_session" => bare(request, Command::ArchiveSession)?,
        "delete_session" => bare(request, Command::DeleteSession)?,
        "revoke_credentials" => bare(request, Command::RevokeCredentials)?,
        "audit" => parse::<AuditRequest>(request)?.command()?,
        unknown => {
            let shown: String = unknown.chars().take(40).collect();
            let names: Vec<&str> = action::ACTIONS.iter().map(|it| it.name).collect();
            return Err(Error::malformed(format!(
                "action {shown:?} is not known; known are {}",
                names.join(", ")
            )));
        }
    })
}

/// Reads a configuration document.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn config_document(text: &str) -> Result<Config, Error> {
    config(Object(parse::<ConfigForm>(text.as_bytes())?))
}

fn bare(request: &[u8], command: Command) -> Result<Command, Error> {
    parse::<BareRequest>(request).map(|_| command)
}

fn parse<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    json::parse(bytes).map_err(malformed)
}

/// A refusal of what could not be parsed, with a word on the mistakes agents
/// make most.
fn malformed(ParseError(what): ParseError) -> Error {
    let names_the_writer = ["written_by", "participant", "written_at", "version"]
        .iter()
        .any(|member| what.contains(&format!("unknown field `{member}`")));
    let hint = if names_the_writer {
        "; the system sets the writer (from your credential), the time and the version"
    } else if what.contains("missing field `action`") {
        "; for example {\"action\":\"list_keys\"}"
    } else {
        ""
    };
    Error::malformed(format!("the request is malformed: {what}{hint}"))
}

impl WriteRequest {
    fn command(self) -> Result<Write, Error> {
        let request_id = request_id(self.request_id.as_deref())?;
        Ok(Write {
            key: Key::parse(&self.key)?,
            value: self.value,
            condition: condition(self.if_version, self.if_revision),
            request_id,
        })
    }
}

impl DeleteRequest {
    fn command(self) -> Result<Delete, Error> {
        let request_id = request_id(self.request_id.as_deref())?;
        Ok(Delete {
            key: Key::parse(&self.key)?,
            condition: condition(self.if_version, self.if_revision),
            request_id,
        })
    }
}

impl PromptRequest {
    fn command(self) -> Result<Command, Error> {
        let participant = self.participant.as_deref().map(Participant::parse).transpose()?;
        Ok(Command::Prompt { participant, max_tokens: self.max_tokens.map(Tokens) })
    }
}

impl AuditRequest {
    fn command(self) -> Result<Command, Error> {
        let limit = self.limit.unwrap_or(AUDIT_LIMIT_DEFAULT);
        if !(1..=AUDIT_LIMIT_MAX).contains(&limit) {
            let message = format!("limit is {limit}; it must be 1 to {AUDIT_LIMIT_MAX}");
            return Err(Error::malformed(message));
        }
        Ok(Command::Audit { since: Revision(self.since.unwrap_or(0)), limit })
    }
}

fn request_id(text: Option<&str>) -> Result<Option<RequestId>, Error> {
    text.map(RequestId::parse).transpose()
}

fn condition(if_version: Option<u64>, if_revision: Option<u64>) -> Condition {
    Condition { if_version, if_revision: if_revision.map(Revision) }
}

fn config(Object(form): Object<ConfigForm>) -> Result<Config, Error> {
    let defaults = Limits::default();
    let estimator = match form.estimator.as_deref() {
        None => Estimator::default(),
        Some(name) => {
            Estimator::ALL.into_iter().find(|it| it.as_str() == name).ok_or_else(|| {
                let known: Vec<&str> = Estimator::ALL.iter().map(|it| it.as_str()).collect();
                Error::malformed(format!(
                    "config.estimator is not one this host has; it has {}",
                    known.join(", ")
                ))
            })?
        }
    };
    let limits = Limits {
        value_tokens_max: form.value_tokens_max.map_or(defaults.value_tokens_max, Tokens),
        store_tokens_max: form.store_tokens_max.map_or(defaults.store_tokens_max, Tokens),
        keys_max: form.keys_max.unwrap_or(defaults.keys_max),
    };
    let namespace = form.namespace.map(namespace).transpose()?;
    Ok(Config { limits, estimator, namespace })
}

fn namespace(Object(form): Object<NamespaceForm>) -> Result<Namespace, Error> {
    let keys = form.keys.into_iter().map(|Object(it)| {
        Ok(Convention {
            key: Key::parse(&it.key)?,
            group: it.group,
            purpose: it.purpose,
            shape: it.shape,
            recommended_tokens: it.recommended_tokens.map(Tokens),
        })
    });
    Ok(Namespace { keys: keys.collect::<Result<_, Error>>()? })
}
