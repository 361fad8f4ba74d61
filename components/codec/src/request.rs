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

/// How much of what the parser says is told.
const MESSAGE_CHARS_MAX: usize = 300;
/// How many audit records are read at once when no limit is given.
const AUDIT_LIMIT_DEFAULT: u32 = 100;
/// How many audit records can be read at once.
const AUDIT_LIMIT_MAX: u32 = 1_000;

/// The members of all requests. Which of them an action takes is in
/// [`ACTIONS`](action::ACTIONS).
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestForm {
    /// What to do.
    action: String,
    /// The key: 1 to 64 of a-z, 0-9 and _.
    key: Option<String>,
    /// The text to store. Structured data is serialized.
    value: Option<String>,
    /// Only if the entry has this version; 0: only if the key does not exist.
    if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    if_revision: Option<u64>,
    /// Your own name for this request, up to 64 characters: sending the same
    /// request again under it is safe.
    request_id: Option<String>,
    /// Whose prompt: orchestrator, subagent:{task} or subagent:{task}:{id}. Your
    /// own when absent.
    participant: Option<String>,
    /// The most tokens the text may have; 1000 when absent.
    max_tokens: Option<u32>,
    /// Begin after this revision; 0 when absent.
    since: Option<u64>,
    /// How many records at most, 1 to 1000; 100 when absent.
    limit: Option<u32>,
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
    let form: RequestForm = json::parse(request).map_err(malformed)?;
    form.check_members()?;
    Ok(match form.action.as_str() {
        "list_keys" => Command::ListKeys,
        "read" => Command::Read(form.key()?),
        "write" => Command::Write(Write {
            request_id: form.request_id()?,
            key: form.key()?,
            condition: form.condition(),
            value: form.value.unwrap_or_default(),
        }),
        "delete" => Command::Delete(Delete {
            request_id: form.request_id()?,
            key: form.key()?,
            condition: form.condition(),
        }),
        "prompt" => Command::Prompt {
            participant: form.participant.as_deref().map(Participant::parse).transpose()?,
            max_tokens: form.max_tokens.map(Tokens),
        },
        "show_session" => Command::ShowSession,
        "create_session" => {
            let config = form.config.map_or_else(|| Ok(Config::default()), self::config)?;
            Command::CreateSession(Box::new(config))
        }
        "archive_session" => Command::ArchiveSession,
        "delete_session" => Command::DeleteSession,
        "revoke_credentials" => Command::RevokeCredentials,
        "audit" => form.audit()?,
        _ => return Err(unknown_action(&form.action)),
    })
}

/// Reads a configuration document.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn config_document(text: &str) -> Result<Config, Error> {
    config(Object(json::parse(text.as_bytes()).map_err(malformed)?))
}

/// A refusal of what could not be parsed, with a word on the mistakes agents
/// make most.
fn malformed(ParseError(what): ParseError) -> Error {
    // A wrong text is repeated in part only: it may be a whole value.
    let what: String = what.chars().take(MESSAGE_CHARS_MAX).collect();
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

/// A refusal of an action that is not there.
fn unknown_action(name: &str) -> Error {
    let shown: String = name.chars().take(40).collect();
    let names: Vec<&str> = action::ACTIONS.iter().map(|it| it.name).collect();
    let known = names.join(", ");
    Error::malformed(format!("action {shown:?} is not known; known are {known}"))
}

impl RequestForm {
    /// Refuses members the action does not take, and misses those it needs.
    fn check_members(&self) -> Result<(), Error> {
        let Some(action) = action::find(&self.action) else {
            return Err(unknown_action(&self.action));
        };
        let members = [
            ("key", self.key.is_some()),
            ("value", self.value.is_some()),
            ("if_version", self.if_version.is_some()),
            ("if_revision", self.if_revision.is_some()),
            ("request_id", self.request_id.is_some()),
            ("participant", self.participant.is_some()),
            ("max_tokens", self.max_tokens.is_some()),
            ("since", self.since.is_some()),
            ("limit", self.limit.is_some()),
            ("config", self.config.is_some()),
        ];
        for (name, is_there) in members {
            let what = if is_there && !action.takes(name) {
                "unknown"
            } else if !is_there && action.required.contains(&name) {
                "missing"
            } else {
                continue;
            };
            return Err(malformed(ParseError(format!("{what} field `{name}` in {}", action.name))));
        }
        Ok(())
    }

    fn key(&self) -> Result<Key, Error> {
        Key::parse(self.key.as_deref().unwrap_or_default())
    }

    fn request_id(&self) -> Result<Option<RequestId>, Error> {
        self.request_id.as_deref().map(RequestId::parse).transpose()
    }

    fn condition(&self) -> Condition {
        Condition { if_version: self.if_version, if_revision: self.if_revision.map(Revision) }
    }

    fn audit(&self) -> Result<Command, Error> {
        let limit = self.limit.unwrap_or(AUDIT_LIMIT_DEFAULT);
        if !(1..=AUDIT_LIMIT_MAX).contains(&limit) {
            let message = format!("limit is {limit}; it must be 1 to {AUDIT_LIMIT_MAX}");
            return Err(Error::malformed(message));
        }
        Ok(Command::Audit { since: Revision(self.since.unwrap_or(0)), limit })
    }
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
            key: Key::parse(&it.key)
                .map_err(|err| Error::malformed(format!("config.namespace.keys: {err}")))?,
            group: it.group,
            purpose: it.purpose,
            shape: it.shape,
            recommended_tokens: it.recommended_tokens.map(Tokens),
        })
    });
    Ok(Namespace { keys: keys.collect::<Result<_, Error>>()? })
}
