//! Replies about a session as a whole: status, configuration, inspection.

use serde::Serialize;
use shared_context_core::{
    Config, Key, ProjectId,
    context::RenderedContext,
    packets::{Budgets, PacketConfig},
    prompt::Rendered,
    reply::{Inspection, SessionInfo},
    store::{access::AccessRule, expiry::Ttl},
};

use crate::{
    json::Time,
    store::{
        entry_replies::{ReadReply, is_false},
        snapshot_replies::SnapshotForm,
    },
};

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
    estimator: &'a str,
    /// The session's own key conventions; null: the domain-neutral template.
    namespace: Option<NamespaceReply<'a>>,
    /// The most earlier versions of one key.
    history_versions_max: u32,
    /// The most bytes of earlier versions in all.
    history_bytes_max: u32,
    /// The most snapshots.
    snapshots_max: u32,
    /// How many changes the feed and the audit trail go back.
    changes_max: u32,
    /// How long an entry lives when its write does not say; null: until it is
    /// deleted.
    ttl_seconds_default: Option<u32>,
    /// Whether keys may have a prefix.
    allows_prefixes: bool,
    /// Who may read and write which keys.
    access: Vec<RuleReply<'a>>,
    /// The project that the session belongs to; absent where it belongs to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
    /// The sets of tools that participants are offered in MCP besides the working memory; absent
    /// where there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [String],
    /// True when a value that looks like a credential or personal data is rejected; absent when it
    /// is stored with a warning.
    #[serde(skip_serializing_if = "is_false")]
    rejects_secrets: bool,
    /// How packets are written; absent where it is by the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    packet: Option<PacketReply>,
}

/// How packets are written.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_settings_in_force"))]
pub(crate) struct PacketReply {
    /// The depth of a packet whose request names none.
    default_depth: &'static str,
    /// The budget of each depth.
    budgets: PacketBudgetsReply,
    /// Whether a credential that is minted for a task comes with a packet.
    auto_generate: bool,
    /// Whether feedback counts in the statistics.
    track_efficiency: bool,
    /// Whether the packet of one participant is removed once it gave feedback.
    auto_cleanup: bool,
}

/// The budgets of packets in tokens.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_budgets_in_force"))]
pub(crate) struct PacketBudgetsReply {
    /// Of minimal packets.
    minimal: u32,
    /// Of standard packets.
    standard: u32,
    /// Of deep packets.
    deep: u32,
}

/// Who may read and write some keys.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "access_rule_in_force"))]
pub(crate) struct RuleReply<'a> {
    /// The keys, as a pattern.
    keys: &'a str,
    /// Who may read them, as patterns.
    readable_by: Vec<&'a str>,
    /// Who may write them, of those who may read them.
    writable_by: Vec<&'a str>,
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
    pub(crate) deleted_session: &'a str,
    /// The revision after its removal.
    pub(crate) revision: u64,
}

/// Everything about a session, values included.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "inspect_reply"))]
pub(crate) struct InspectReply<'a> {
    /// The session.
    session: SessionReply<'a>,
    /// Its entries with their values, by key.
    entries: Vec<ReadReply<'a>>,
    /// Its snapshots, oldest first.
    snapshots: Vec<SnapshotForm<'a>>,
    /// How much history is kept.
    history: HistoryUseForm,
    /// How far the change feed goes back.
    changes: ChangesUseForm,
    /// When the next entry expires, or earlier; null: none does.
    next_expiry: Option<Time>,
    /// The session's revision.
    revision: u64,
}

/// How much history is kept, of how much.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "history_use"))]
pub(crate) struct HistoryUseForm {
    /// Earlier versions that are kept.
    versions: u64,
    /// Their bytes, 128 for each included.
    bytes: u64,
    /// The most bytes.
    max_bytes: u64,
}

/// How far the change feed goes back.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "changes_use"))]
pub(crate) struct ChangesUseForm {
    /// The oldest revision whose changes are kept.
    oldest: Option<u64>,
    /// How many commits' changes are kept.
    count: u64,
}

pub(crate) fn session(it: &SessionInfo, revision: u64) -> SessionReply<'_> {
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

pub(crate) fn config(it: &Config) -> ConfigReply<'_> {
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
        history_versions_max: it.retention.history_versions_max,
        history_bytes_max: it.retention.history_bytes_max,
        snapshots_max: it.retention.snapshots_max,
        changes_max: it.retention.changes_max,
        ttl_seconds_default: it.ttl_default.map(Ttl::seconds),
        allows_prefixes: it.allows_prefixes,
        access: it.access.iter().map(rule).collect(),
        project: it.project.as_ref().map(ProjectId::as_str),
        tools: &it.tools,
        rejects_secrets: it.rejects_secrets,
        packet: (it.packet != PacketConfig::default()).then(|| packet(&it.packet)),
    }
}

fn packet(it: &PacketConfig) -> PacketReply {
    let Budgets { minimal, standard, deep } = it.budgets;
    PacketReply {
        default_depth: it.default_depth.as_str(),
        budgets: PacketBudgetsReply { minimal: minimal.0, standard: standard.0, deep: deep.0 },
        auto_generate: it.auto_generate,
        track_efficiency: it.track_efficiency,
        auto_cleanup: it.auto_cleanup,
    }
}

fn rule(it: &AccessRule) -> RuleReply<'_> {
    RuleReply {
        keys: it.keys.as_str(),
        readable_by: it.access.readable_by.patterns().collect(),
        writable_by: it.access.writable_by.patterns().collect(),
    }
}

pub(crate) fn inspection(it: &Inspection, revision: u64) -> InspectReply<'_> {
    InspectReply {
        session: session(&it.session, revision),
        entries: it.entries.iter().map(ReadReply::from).collect(),
        snapshots: it.snapshots.iter().map(SnapshotForm::from).collect(),
        history: HistoryUseForm {
            versions: it.history.versions,
            bytes: it.history.bytes,
            max_bytes: it.history.bytes_max,
        },
        changes: ChangesUseForm { oldest: it.oldest_change.map(|it| it.0), count: it.changes },
        next_expiry: it.next_expiry.map(Time),
        revision,
    }
}

/// The working memory as text.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "context_reply"))]
pub(crate) struct ContextReply<'a> {
    /// The text, in Markdown: each value between fences that it does not contain.
    text: &'a str,
    /// Its size.
    tokens: u32,
    /// The budget it was given.
    max_tokens: u32,
    /// The keys in the text, in its order.
    keys: Vec<&'a str>,
    /// The keys that did not fit, at most the first 100.
    left_out: Vec<LeftOutForm<'a>>,
    /// How many keys did not fit.
    left_out_count: usize,
    /// The session's revision.
    revision: u64,
}

/// An entry that did not fit.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "left_out_entry"))]
struct LeftOutForm<'a> {
    /// The key.
    key: &'a str,
    /// Size of its value in tokens.
    value_size_tokens: u32,
}

pub(crate) fn context(it: &RenderedContext, revision: u64) -> ContextReply<'_> {
    let left_out = it.left_out.iter();
    ContextReply {
        text: &it.text,
        tokens: it.tokens.0,
        max_tokens: it.max_tokens.0,
        keys: it.keys.iter().map(Key::as_str).collect(),
        left_out: left_out
            .map(|(key, size)| LeftOutForm { key: key.as_str(), value_size_tokens: size.0 })
            .collect(),
        left_out_count: it.left_out_count,
        revision,
    }
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

pub(crate) fn prompt(it: &Rendered) -> PromptReply<'_> {
    PromptReply {
        text: &it.text,
        tokens: it.tokens.0,
        max_tokens: it.max_tokens.0,
        left_out: &it.left_out,
    }
}
