//! Replies as JSON. Members that 000 §3 shows come first, in its order; what is
//! ours follows.

use serde::Serialize;
use shared_context_core::{
    Config, Outcome, Reply,
    audit::AuditRecord,
    command::{AuditPage, SessionInfo, Written},
    port::Revision,
    prompt::Rendered,
    store::{Entry, Listing, advice::Advice},
};

use crate::json::Time;

/// What is known of an entry, without its value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "entry_info"))]
pub(crate) struct EntryForm<'a> {
    /// The key.
    key: &'a str,
    /// Who wrote this version.
    written_by: &'a str,
    /// When, UTC.
    written_at: Time,
    /// 1 for a new key, one more at each write.
    version: u64,
    /// Size of the value in tokens.
    value_size_tokens: u32,
    /// The session's revision at which this version was written.
    revision: u64,
}

/// All entries without values, and the store's totals.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "list_reply"))]
pub(crate) struct ListReply<'a> {
    /// The entries, by key.
    keys: Vec<EntryForm<'a>>,
    /// Sum of the sizes of all values.
    total_tokens: u32,
    /// The most that sum may be.
    max_tokens: u32,
    /// Number of entries.
    key_count: u32,
    /// The session's revision.
    revision: u64,
}

/// One entry and its value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "read_reply"))]
pub(crate) struct ReadReply<'a> {
    /// The key.
    key: &'a str,
    /// The value.
    value: &'a str,
    /// Who wrote this version.
    written_by: &'a str,
    /// When, UTC.
    written_at: Time,
    /// 1 for a new key, one more at each write.
    version: u64,
    /// Size of the value in tokens.
    value_size_tokens: u32,
    /// The session's revision at which this version was written.
    revision: u64,
}

/// What a write did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "write_reply"))]
pub(crate) struct WriteReply<'a> {
    /// The key.
    key: &'a str,
    /// Its version now.
    version: u64,
    /// Who wrote it: you.
    written_by: &'a str,
    /// When, UTC.
    written_at: Time,
    /// Size of the value in tokens.
    value_size_tokens: u32,
    /// The session's revision at which it was written.
    revision: u64,
    /// Remarks; they never altered what was stored. Absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    advices: Vec<AdviceForm<'a>>,
}

/// A remark on a write.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "advice"))]
pub(crate) struct AdviceForm<'a> {
    /// `NEAR_LIMIT`, `DISTILL`, `OUTSIDE_NAMESPACE`, `LOOKS_RAW`,
    /// `LOOKS_SENSITIVE`, `STALE_KEYS` or `SIMILAR_KEY`.
    code: &'static str,
    /// What to consider.
    message: &'a str,
}

/// What a delete did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delete_reply"))]
pub(crate) struct DeleteReply<'a> {
    /// The key that is gone.
    deleted: &'a str,
    /// The version it had.
    previous_version: u64,
    /// The session's revision after the delete.
    revision: u64,
}

/// What is known of a session without its entries.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "session"))]
pub(crate) struct SessionReply<'a> {
    /// Its id.
    session_id: &'a str,
    /// `active`, or `archived`: read-only.
    status: &'static str,
    /// Differs for each session that ever had this id.
    incarnation: u64,
    /// Credentials of an earlier epoch are void.
    credential_epoch: u64,
    /// When it was created, UTC.
    created_at: Time,
    /// When it last changed, UTC.
    changed_at: Time,
    /// Number of entries.
    key_count: u32,
    /// Sum of the sizes of all values.
    total_tokens: u32,
    /// The most that sum may be.
    max_tokens: u32,
    /// What it was created with, every member present.
    config: ConfigReply<'a>,
    /// Its revision.
    revision: u64,
}

/// The configuration of a session, every member present.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "session_config_in_force"))]
pub(crate) struct ConfigReply<'a> {
    /// The largest value of one entry.
    value_tokens_max: u32,
    /// The largest sum of all values.
    store_tokens_max: u32,
    /// The most keys.
    keys_max: u32,
    /// How tokens are counted.
    estimator: &'static str,
    /// The session's own key conventions; null: the domain-neutral template.
    namespace: Option<NamespaceReply<'a>>,
}

/// Key conventions, in the order they are shown.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "namespace_in_force"))]
pub(crate) struct NamespaceReply<'a> {
    /// The conventions.
    keys: Vec<ConventionReply<'a>>,
}

/// What one key is for.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "convention_in_force"))]
pub(crate) struct ConventionReply<'a> {
    /// The key.
    key: &'a str,
    /// The heading it is shown under.
    group: &'a str,
    /// What it holds.
    purpose: &'a str,
    /// What its value looks like.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<&'a str>,
    /// How many tokens its value should have at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    recommended_tokens: Option<u32>,
}

/// What the removal of a session did.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "delete_session_reply"))]
pub(crate) struct DeleteSessionReply<'a> {
    /// The id of the session that is gone.
    deleted_session: &'a str,
    /// The revision after its removal.
    revision: u64,
}

/// Text for a system prompt.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "prompt_reply"))]
pub(crate) struct PromptReply<'a> {
    /// The text.
    text: &'a str,
    /// Its size.
    tokens: u32,
    /// The budget it was given.
    max_tokens: u32,
    /// What did not fit the budget, in the order it was left out.
    left_out: &'a [&'static str],
}

/// Some of a session's audit records.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "audit_page"))]
pub(crate) struct AuditReply<'a> {
    /// The records, oldest first.
    records: Vec<AuditForm<'a>>,
    /// The revision of the oldest record still kept.
    oldest: Option<u64>,
    /// Ask again since this revision for more; null when there is no more.
    next_since: Option<u64>,
}

/// Who did what to which entry when; never a value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "audit_record"))]
pub(crate) struct AuditForm<'a> {
    /// The session's revision after the change.
    revision: u64,
    /// What was done.
    action: &'static str,
    /// Who did it.
    written_by: &'a str,
    /// When, UTC.
    written_at: Time,
    /// The entry it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// Its version: the one written, or the one deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// The size of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_size_tokens: Option<u32>,
}

/// The JSON of what was answered.
pub(crate) fn encode(outcome: &Outcome) -> Vec<u8> {
    let Revision(revision) = outcome.revision;
    match &outcome.reply {
        Reply::Session(it) => to_vec(&session(it, revision)),
        Reply::SessionDeleted(it) => {
            to_vec(&DeleteSessionReply { deleted_session: it.as_str(), revision })
        }
        Reply::Listing(it) => to_vec(&listing(it, revision)),
        Reply::Entry { entry, value } => to_vec(&read(entry, value)),
        Reply::Written(it) => to_vec(&written(it)),
        Reply::Deleted(it) => to_vec(&DeleteReply {
            deleted: it.key.as_str(),
            previous_version: it.previous_version,
            revision,
        }),
        Reply::Prompt(it) => to_vec(&prompt(it)),
        Reply::Audit(it) => to_vec(&audit(it)),
    }
}

/// The JSON of a configuration in force.
pub(crate) fn encode_config(it: &Config) -> Vec<u8> {
    to_vec(&config(it))
}

/// Every form is plain data, which always has a JSON form.
fn to_vec(form: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(form).unwrap_or_default()
}

fn entry(it: &Entry) -> EntryForm<'_> {
    EntryForm {
        key: it.key.as_str(),
        written_by: it.written_by.as_str(),
        written_at: Time(it.written_at),
        version: it.version,
        value_size_tokens: it.value_tokens.0,
        revision: it.revision.0,
    }
}

fn listing(it: &Listing, revision: u64) -> ListReply<'_> {
    ListReply {
        keys: it.entries.iter().map(entry).collect(),
        total_tokens: it.totals.tokens.0,
        max_tokens: it.tokens_max.0,
        key_count: it.totals.keys,
        revision,
    }
}

fn read<'a>(it: &'a Entry, value: &'a str) -> ReadReply<'a> {
    ReadReply {
        key: it.key.as_str(),
        value,
        written_by: it.written_by.as_str(),
        written_at: Time(it.written_at),
        version: it.version,
        value_size_tokens: it.value_tokens.0,
        revision: it.revision.0,
    }
}

fn written(Written { entry, advices }: &Written) -> WriteReply<'_> {
    WriteReply {
        key: entry.key.as_str(),
        version: entry.version,
        written_by: entry.written_by.as_str(),
        written_at: Time(entry.written_at),
        value_size_tokens: entry.value_tokens.0,
        revision: entry.revision.0,
        advices: advices.iter().map(advice).collect(),
    }
}

fn advice(it: &Advice) -> AdviceForm<'_> {
    AdviceForm { code: it.code.as_str(), message: &it.message }
}

fn session(it: &SessionInfo, revision: u64) -> SessionReply<'_> {
    SessionReply {
        session_id: it.session.as_str(),
        status: if it.is_archived { "archived" } else { "active" },
        incarnation: it.incarnation,
        credential_epoch: it.credential_epoch,
        created_at: Time(it.created_at),
        changed_at: Time(it.changed_at),
        key_count: it.key_count,
        total_tokens: it.total_tokens.0,
        max_tokens: it.config.limits.store_tokens_max.0,
        config: config(&it.config),
        revision,
    }
}

fn config(it: &Config) -> ConfigReply<'_> {
    let namespace = it.namespace.as_ref().map(|it| NamespaceReply {
        keys: it
            .keys
            .iter()
            .map(|it| ConventionReply {
                key: it.key.as_str(),
                group: &it.group,
                purpose: &it.purpose,
                shape: it.shape.as_deref(),
                recommended_tokens: it.recommended_tokens.map(|it| it.0),
            })
            .collect(),
    });
    ConfigReply {
        value_tokens_max: it.limits.value_tokens_max.0,
        store_tokens_max: it.limits.store_tokens_max.0,
        keys_max: it.limits.keys_max,
        estimator: it.estimator.as_str(),
        namespace,
    }
}

fn prompt(it: &Rendered) -> PromptReply<'_> {
    PromptReply {
        text: &it.text,
        tokens: it.tokens.0,
        max_tokens: it.max_tokens.0,
        left_out: &it.left_out,
    }
}

fn audit(it: &AuditPage) -> AuditReply<'_> {
    AuditReply {
        records: it.records.iter().map(audit_record).collect(),
        oldest: it.oldest.map(|it| it.0),
        next_since: it.next_since.map(|it| it.0),
    }
}

fn audit_record(it: &AuditRecord) -> AuditForm<'_> {
    let entry = it.entry.as_ref();
    AuditForm {
        revision: it.revision.0,
        action: it.action.as_str(),
        written_by: it.participant.as_str(),
        written_at: Time(it.at),
        key: entry.map(|it| it.key.as_str()),
        version: entry.map(|it| it.version),
        value_size_tokens: entry.map(|it| it.value_tokens.0),
    }
}
