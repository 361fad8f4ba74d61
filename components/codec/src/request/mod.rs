//! Requests: what an agent or operator may say, and the command it makes.
//!
//! Members that no request has are refused by name; `null` means absent.

mod config;
mod document;
mod members;
pub mod parts;
mod rounds;

use serde_json::value::RawValue;
use shared_context_core::{
    Command, Config, Delete, Error, Key, Label, Line, Participant, Prefix, RedactRounds, RequestId,
    Write, key::KEY_BYTES_MAX, pattern::KeyPattern, port::Revision, tokens::Tokens,
};

use crate::{
    action,
    form::{self, form},
    json::{ParseError, Time},
};
pub(crate) use config::{ConfigForm, document as config_document};
pub(crate) use document::{DocumentForm, parse as parse_document};
pub(crate) use members::{DeleteForm, Keys, WriteForm};
use parts::{SentDelete, SentOptions, SentWrite};
pub(crate) use rounds::{DeltaForm, StrategyForm, WeightForm};

/// How much of what the parser says is told.
const MESSAGE_CHARS_MAX: usize = 300;

/// All members of all requests. Which of them an action takes is in
/// [`action::ACTIONS`].
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct RequestForm {
    /// What to do.
    action: String,
    /// The key: 1 to 64 of a-z, 0-9 and _; where the session allows prefixes also
    /// prefix:key.
    key: Option<String>,
    /// The keys, 1 to 100, none of them twice. For `changes`: only changes of the
    /// keys that match this pattern, in which * stands for any text.
    keys: Option<Keys>,
    /// Only keys with this prefix.
    prefix: Option<String>,
    /// The text to store. Structured data is serialized.
    value: Option<String>,
    /// Only if the entry has this version; 0: only if the key does not exist.
    if_version: Option<u64>,
    /// Only if the entry was last written at this revision.
    if_revision: Option<u64>,
    /// Answer `{"unchanged":true}` if nothing asked for changed after this
    /// revision.
    if_changed_since: Option<u64>,
    /// Your own name for this request, up to 64 characters: sending the same
    /// request again under it is safe.
    request_id: Option<String>,
    /// The entry expires this many seconds after the write, 1 to 315360000.
    ttl_seconds: Option<u64>,
    /// The entry expires at this instant, RFC 3339.
    expires_at: Option<Time>,
    /// Who may read the entry, as patterns: *, orchestrator, subagent:{task},
    /// subagent:{task}:{id}, where * in task and id stands for any text.
    readable_by: Option<Vec<String>>,
    /// Who may write the entry, as patterns.
    writable_by: Option<Vec<String>>,
    /// Whether earlier versions of the entry are kept.
    history: Option<bool>,
    /// The writes, each as a request to write.
    writes: Option<Vec<WriteForm>>,
    /// The deletes, each as a request to delete.
    deletes: Option<Vec<DeleteForm>>,
    /// Only versions of these numbers; all that are kept when absent.
    versions: Option<Vec<u64>>,
    /// The snapshot: 1 to 64 of A-Z, a-z, 0-9, ., _ and -.
    label: Option<String>,
    /// Why, in one line.
    note: Option<String>,
    /// The snapshot to compare.
    from: Option<String>,
    /// The snapshot to compare it with; what is there now when absent.
    to: Option<String>,
    /// Only the value written at this revision.
    revision: Option<u64>,
    /// Why, in one line.
    reason: Option<String>,
    /// The secret, or a part of it by which every text that has it can be told: 4 to
    /// 1000 characters.
    text: Option<String>,
    /// Whose prompt: orchestrator, subagent:{task} or subagent:{task}:{id}. Your
    /// own when absent.
    participant: Option<String>,
    /// The most tokens the text may have; 1000 when absent.
    max_tokens: Option<u32>,
    /// Begin after this revision; with the oldest that is kept when absent.
    since: Option<u64>,
    /// How many commits or deltas at most, 1 to 1000; 100 when absent.
    limit: Option<u32>,
    /// What the session is about; for its first round only.
    query: Option<String>,
    /// How much participants count: for each the first that fits, 1 where none does.
    weights: Option<Vec<WeightForm>>,
    /// How disagreements are settled: for each path the first that fits,
    /// weighted-merge where none does.
    strategies: Option<Vec<StrategyForm>>,
    /// What goes when the state would be too large; lowest-weight-first when absent,
    /// on closing what the round was opened with.
    clip: Option<String>,
    /// The most bytes the state may have, 1000 to 262144; as before when absent, at
    /// first 50000.
    bytes_max: Option<u32>,
    /// The changes that are proposed, 1 to 200.
    deltas: Option<Vec<DeltaForm>>,
    /// Whether the round ends without applying any of its deltas.
    discard: Option<bool>,
    /// A round: the state as it was after this one, or only its deltas.
    round: Option<u64>,
    /// Only deltas about this place, or what is below it: a `JSONPath` such as
    /// $.bindings.customer.
    path: Option<String>,
    /// Begin after this delta: its round and sequence, as `next_after` tells them.
    after: Option<String>,
    /// The session's configuration; the defaults when absent.
    config: Option<ConfigForm>,
    /// The session as `export_session` told it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<DocumentForm>"))]
    document: Option<Box<RawValue>>,
}

form! {
    RequestForm:
    action, key, keys, prefix, value, if_version, if_revision, if_changed_since, request_id,
    ttl_seconds, expires_at, readable_by, writable_by, history, writes, deletes, versions, label,
    note, from, to, revision, reason, text, participant, max_tokens, since, limit, query, weights,
    strategies, clip, bytes_max, deltas, discard, round, path, after, config, document
}

/// Reads the command out of `request`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`, `INVALID_PATH`, `FORMAT_TOO_NEW`,
/// `DOCUMENT_ALTERED`.
pub(crate) fn command(request: &[u8]) -> Result<Command, Error> {
    let form: RequestForm = form::parse(request).map_err(malformed)?;
    form.check_members()?;
    Ok(match form.action.as_str() {
        "list_keys" => Command::ListKeys {
            prefix: form.prefix.as_deref().map(Prefix::parse).transpose()?,
            if_changed_since: form.if_changed_since.map(Revision),
        },
        "read" => Command::Read {
            key: form.key()?,
            if_changed_since: form.if_changed_since.map(Revision),
        },
        "read_batch" => form.read_batch()?,
        "write" => form.write()?,
        "delete" => form.delete()?,
        "write_batch" => form.write_batch()?,
        "read_history" => {
            Command::ReadHistory { key: form.key()?, versions: form.versions.unwrap_or_default() }
        }
        "set_access" => {
            let key = form.key.as_deref().unwrap_or_default();
            parts::set_access(key, form.readable_by.as_deref(), form.writable_by.as_deref())?
        }
        "snapshot" => Command::TakeSnapshot {
            label: form.label()?,
            note: form.note.as_deref().map(|it| Line::parse("note", it)).transpose()?,
        },
        "list_snapshots" => Command::ListSnapshots,
        "read_snapshot" => Command::ReadSnapshot {
            label: form.label()?,
            key: form.key.as_deref().map(Key::parse).transpose()?,
        },
        "diff_snapshots" => Command::DiffSnapshots {
            from: Label::parse(form.from.as_deref().unwrap_or_default())?,
            to: form.to.as_deref().map(Label::parse).transpose()?,
        },
        "restore_snapshot" => Command::RestoreSnapshot(form.label()?),
        "delete_snapshot" => Command::DeleteSnapshot(form.label()?),
        "changes" => form.changes()?,
        "open_round" => form.open_round()?,
        "propose_deltas" => form.propose_deltas()?,
        "close_round" => form.close_round()?,
        "read_state" => Command::ReadState { round: form.round },
        "read_deltas" => form.read_deltas()?,
        "convergence" => Command::ReadConvergence,
        "redact_rounds" => {
            let text = form.text.as_deref().unwrap_or_default();
            Command::RedactRounds(RedactRounds::new(text, form.reason()?)?)
        }
        "redact" => Command::Redact {
            reason: form.reason()?,
            key: form.key()?,
            revision: form.revision.map(Revision),
        },
        "inspect" => Command::Inspect,
        "export_session" => Command::Export,
        "import_session" => {
            let document = form.document.as_deref().map(RawValue::get).unwrap_or_default();
            Command::Import(Box::new(document::parse(document)?))
        }
        "prompt" => Command::Prompt {
            participant: form.participant.as_deref().map(Participant::parse).transpose()?,
            max_tokens: form.max_tokens.map(Tokens),
        },
        "show_session" => Command::ShowSession,
        "create_session" => {
            let config = form.config.map_or_else(|| Ok(Config::default()), config::parse)?;
            Command::CreateSession(Box::new(config))
        }
        "archive_session" => Command::ArchiveSession,
        "delete_session" => Command::DeleteSession,
        "revoke_credentials" => Command::RevokeCredentials,
        "audit" => Command::Audit {
            limit: parts::limit(form.limit)?,
            since: Revision(form.since.unwrap_or(0)),
        },
        _ => return Err(unknown_action(&form.action)),
    })
}

/// A refusal of what could not be parsed, with a word on the mistakes agents
/// make most.
fn malformed(ParseError(what): ParseError) -> Error {
    // A wrong text is repeated in part only: it may be a whole value.
    let what = with_nearest(&what).unwrap_or(what);
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

/// What the parser says of a member that is not there, and which one reads like it
/// instead of all that are; `None` when none does.
fn with_nearest(what: &str) -> Option<String> {
    const ALIKE: f64 = 0.6;
    let (told, known) = what.split_once(", expected ")?;
    let (_, name) = told.strip_suffix('`')?.rsplit_once("unknown field `")?;
    if name.len() > KEY_BYTES_MAX {
        return None;
    }
    let alike = |it: &str| strsim::normalized_damerau_levenshtein(name, it);
    let known = known.split('`').skip(1).step_by(2).map(|it| (alike(it), it));
    let (likeness, nearest) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness >= ALIKE).then(|| format!("{told}; did you mean {nearest}?"))
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
            ("keys", self.keys.is_some()),
            ("prefix", self.prefix.is_some()),
            ("value", self.value.is_some()),
            ("if_version", self.if_version.is_some()),
            ("if_revision", self.if_revision.is_some()),
            ("if_changed_since", self.if_changed_since.is_some()),
            ("request_id", self.request_id.is_some()),
            ("ttl_seconds", self.ttl_seconds.is_some()),
            ("expires_at", self.expires_at.is_some()),
            ("readable_by", self.readable_by.is_some()),
            ("writable_by", self.writable_by.is_some()),
            ("history", self.history.is_some()),
            ("writes", self.writes.is_some()),
            ("deletes", self.deletes.is_some()),
            ("versions", self.versions.is_some()),
            ("label", self.label.is_some()),
            ("note", self.note.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("revision", self.revision.is_some()),
            ("reason", self.reason.is_some()),
            ("text", self.text.is_some()),
            ("participant", self.participant.is_some()),
            ("max_tokens", self.max_tokens.is_some()),
            ("since", self.since.is_some()),
            ("limit", self.limit.is_some()),
            ("config", self.config.is_some()),
            ("document", self.document.is_some()),
            ("query", self.query.is_some()),
            ("weights", self.weights.is_some()),
            ("strategies", self.strategies.is_some()),
            ("clip", self.clip.is_some()),
            ("bytes_max", self.bytes_max.is_some()),
            ("deltas", self.deltas.is_some()),
            ("discard", self.discard.is_some()),
            ("round", self.round.is_some()),
            ("path", self.path.is_some()),
            ("after", self.after.is_some()),
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

    fn label(&self) -> Result<Label, Error> {
        Label::parse(self.label.as_deref().unwrap_or_default())
    }

    fn reason(&self) -> Result<Line, Error> {
        Line::parse("reason", self.reason.as_deref().unwrap_or_default())
    }

    fn request_id(&self) -> Result<Option<RequestId>, Error> {
        self.request_id.as_deref().map(RequestId::parse).transpose()
    }

    fn write(self) -> Result<Command, Error> {
        let request_id = self.request_id()?;
        let write = SentWrite {
            key: self.key.unwrap_or_default(),
            value: self.value.unwrap_or_default(),
            if_version: self.if_version,
            if_revision: self.if_revision,
            options: SentOptions {
                ttl_seconds: self.ttl_seconds,
                expires_at: self.expires_at.map(|it| it.0),
                readable_by: self.readable_by,
                writable_by: self.writable_by,
                history: self.history,
            },
        };
        Ok(Command::Write(Write { request_id, ..write.check()? }))
    }

    fn delete(self) -> Result<Command, Error> {
        let request_id = self.request_id()?;
        let key = self.key.unwrap_or_default();
        let (if_version, if_revision) = (self.if_version, self.if_revision);
        let delete = SentDelete { key, if_version, if_revision }.check()?;
        Ok(Command::Delete(Delete { request_id, ..delete }))
    }

    fn read_batch(self) -> Result<Command, Error> {
        let Some(Keys::List(keys)) = &self.keys else {
            return Err(malformed(ParseError("keys: expected a list of keys".to_owned())));
        };
        parts::read_batch(keys, self.if_changed_since.map(Revision))
    }

    fn write_batch(self) -> Result<Command, Error> {
        let request_id = self.request_id()?;
        let writes = self.writes.unwrap_or_default().into_iter();
        let deletes = self.deletes.unwrap_or_default().into_iter();
        let writes = writes.map(Into::into).collect();
        parts::write_batch(writes, deletes.map(Into::into).collect(), request_id)
    }

    fn changes(self) -> Result<Command, Error> {
        let keys = match &self.keys {
            None => None,
            Some(Keys::Pattern(pattern)) => Some(KeyPattern::parse(pattern)?),
            Some(Keys::List(_)) => {
                return Err(malformed(ParseError(
                    "keys: expected a pattern, for example \"findings_*\"".to_owned(),
                )));
            }
        };
        Ok(Command::Changes {
            since: self.since.map(Revision),
            limit: parts::limit(self.limit)?,
            keys,
        })
    }
}
