//! Configuration of a session in requests.

use shared_context_core::{
    Config, Error, Key, ProjectId,
    config::{ConfigChange, PacketConfigChange},
    namespace::{Convention, Namespace},
    packets::{Depth, PacketConfig},
    pattern::KeyPattern,
    store::{
        access::{Access, AccessChange, AccessRule},
        expiry::Ttl,
    },
    tokens::{Estimator, Tokens},
};

use crate::{
    checks::access_change,
    form::{self, form},
    refusal::malformed,
};

/// The configuration of a session. What is absent has its default, and stays as it is in an
/// update; null is the default.
#[expect(clippy::option_option, reason = "in an update null and absent differ")]
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "session_config"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct ConfigForm {
    /// The largest value of one entry, 1 to 50000 tokens; 1000 by default.
    value_tokens_max: Option<Option<u32>>,
    /// The largest sum of all values, 1 to 1000000 tokens; 10000 by default.
    store_tokens_max: Option<Option<u32>>,
    /// The most keys, 1 to 10000; 1000 by default.
    keys_max: Option<Option<u32>>,
    /// How tokens are counted: approximate (characters / 4, rounded up), or an
    /// encoding of the host, such as `o200k_base`. It never changes.
    estimator: Option<Option<String>>,
    /// The session's key conventions; the domain-neutral template by default.
    namespace: Option<Option<NamespaceForm>>,
    /// The most earlier versions of one key, 0 to 100; 10 by default.
    history_versions_max: Option<Option<u32>>,
    /// The most bytes of earlier versions in all, 0 to 16777216; 1048576 by
    /// default.
    history_bytes_max: Option<Option<u32>>,
    /// The most snapshots, 0 to 100; 32 by default.
    snapshots_max: Option<Option<u32>>,
    /// How many changes the feed and the audit trail go back, 256 to 10000; 1000
    /// by default.
    changes_max: Option<Option<u32>>,
    /// How long an entry lives when its write does not say, 1 to 315360000
    /// seconds; by default until it is deleted.
    ttl_seconds_default: Option<Option<u64>>,
    /// Whether keys may have a prefix, as in inv:findings; false by default.
    allows_prefixes: Option<Option<bool>>,
    /// Who may read and write which keys, at most 32 rules; everyone every key
    /// by default.
    access: Option<Option<Vec<RuleForm>>>,
    /// The id of the project that the session belongs to; none by default. It need not exist.
    project: Option<Option<String>>,
    /// The sets of tools that participants are offered in MCP besides the working memory:
    /// `delta_rounds`, `context_packets`, `memories`, `outline`; none by default.
    tools: Option<Option<Vec<String>>>,
    /// Whether a value that looks like a credential or personal data is rejected; false by
    /// default: it is stored, with a warning.
    rejects_secrets: Option<Option<bool>>,
    /// How packets are written.
    packet: Option<Option<PacketForm>>,
}

form! {
    ConfigForm:
    value_tokens_max, store_tokens_max, keys_max, estimator, namespace, history_versions_max,
    history_bytes_max, snapshots_max, changes_max, ttl_seconds_default, allows_prefixes, access,
    project, tools, rejects_secrets, packet
}

/// How packets are written. What is absent has its default, and stays as it is in an update; null is
/// the default.
#[expect(clippy::option_option, reason = "as in the configuration")]
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_settings"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct PacketForm {
    /// The depth of a packet whose request names none: minimal, standard or deep; standard by
    /// default.
    default_depth: Option<Option<String>>,
    /// The budget of each depth.
    budgets: Option<Option<PacketBudgetsForm>>,
    /// Whether a credential that is minted for a task comes with a packet; true by default.
    auto_generate: Option<Option<bool>>,
    /// Whether feedback counts in the statistics; true by default.
    track_efficiency: Option<Option<bool>>,
    /// Whether the packet of one participant is removed once it gave feedback; true by default.
    auto_cleanup: Option<Option<bool>>,
}

form! { PacketForm: default_depth, budgets, auto_generate, track_efficiency, auto_cleanup }

/// The budgets of packets in tokens, 50 to 8000.
#[expect(clippy::option_option, reason = "as in the configuration")]
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_budgets"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct PacketBudgetsForm {
    /// Of minimal packets; 100 by default.
    minimal: Option<Option<u32>>,
    /// Of standard packets; 400 by default.
    standard: Option<Option<u32>>,
    /// Of deep packets; 800 by default.
    deep: Option<Option<u32>>,
}

form! { PacketBudgetsForm: minimal, standard, deep }

/// Who may read and write some keys. What is absent is everyone.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "access_rule"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct RuleForm {
    /// The keys, as a pattern in which * stands for any text.
    keys: String,
    /// Who may read them.
    readable_by: Option<Vec<String>>,
    /// Who may write them, of those who may read them.
    writable_by: Option<Vec<String>>,
}

form! { RuleForm: keys, readable_by, writable_by }

/// Key conventions, in the order they are shown. None at all: any key is as good
/// as another.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "namespace"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct NamespaceForm {
    /// At most 100 conventions.
    keys: Vec<ConventionForm>,
}

form! { NamespaceForm: keys }

/// What one key is for. Texts are one line of 1 to 200 characters.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "convention"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
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

form! { ConventionForm: key, group, purpose, shape, recommended_tokens }

/// Parses a configuration document.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn document(text: &str) -> Result<Config, Error> {
    parse(form::parse(text.as_bytes()).map_err(malformed)?)
}

pub(crate) fn parse(form: ConfigForm) -> Result<Config, Error> {
    Ok(Config::default().changed(change(form)?))
}

/// Parses a change of a configuration: JSON of the schema `session_config`, as a merge patch
/// (RFC 7396).
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn change_document(text: &str) -> Result<ConfigChange, Error> {
    change(form::parse(text.as_bytes()).map_err(malformed)?)
}

pub(crate) fn change(form: ConfigForm) -> Result<ConfigChange, Error> {
    let Config { limits, retention: kept, .. } = Config::default();
    let ttl = |it| Ttl::parse("config.ttl_seconds_default", it);
    let estimator = |it: Option<String>| match it {
        Some(it) => Estimator::parse(&it),
        None => Ok(Estimator::default()),
    };
    let rules = |it: Option<Vec<RuleForm>>| it.iter().flatten().map(rule).collect();
    Ok(ConfigChange {
        value_tokens_max: or_default(form.value_tokens_max.map(tokens), limits.value_tokens_max),
        store_tokens_max: or_default(form.store_tokens_max.map(tokens), limits.store_tokens_max),
        keys_max: or_default(form.keys_max, limits.keys_max),
        estimator: form.estimator.map(estimator).transpose()?,
        namespace: form.namespace.map(|it| it.map(namespace).transpose()).transpose()?,
        history_versions_max: or_default(form.history_versions_max, kept.history_versions_max),
        history_bytes_max: or_default(form.history_bytes_max, kept.history_bytes_max),
        snapshots_max: or_default(form.snapshots_max, kept.snapshots_max),
        changes_max: or_default(form.changes_max, kept.changes_max),
        ttl_default: form.ttl_seconds_default.map(|it| it.map(ttl).transpose()).transpose()?,
        allows_prefixes: or_default(form.allows_prefixes, false),
        access: form.access.map(rules).transpose()?,
        project: form.project.map(|it| it.as_deref().map(project).transpose()).transpose()?,
        tools: or_default(form.tools, Vec::new()),
        rejects_secrets: or_default(form.rejects_secrets, false),
        packet: form.packet.map(|it| it.map(packet).transpose()).transpose()?,
    })
}

fn packet(form: PacketForm) -> Result<PacketConfigChange, Error> {
    let default = PacketConfig::default();
    let depth = |it: Option<String>| match it {
        Some(it) => Depth::parse(&it)
            .map_err(|error| Error::malformed(format!("config.packet.default_depth: {error}"))),
        None => Ok(default.default_depth),
    };
    let sent = match form.budgets {
        None => PacketBudgetsForm::default(),
        Some(None) => {
            PacketBudgetsForm { minimal: Some(None), standard: Some(None), deep: Some(None) }
        }
        Some(Some(it)) => it,
    };
    Ok(PacketConfigChange {
        default_depth: form.default_depth.map(depth).transpose()?,
        minimal: or_default(sent.minimal.map(tokens), default.budgets.minimal),
        standard: or_default(sent.standard.map(tokens), default.budgets.standard),
        deep: or_default(sent.deep.map(tokens), default.budgets.deep),
        auto_generate: or_default(form.auto_generate, default.auto_generate),
        track_efficiency: or_default(form.track_efficiency, default.track_efficiency),
        auto_cleanup: or_default(form.auto_cleanup, default.auto_cleanup),
    })
}

fn tokens(sent: Option<u32>) -> Option<Tokens> {
    sent.map(Tokens)
}

/// Returns the value of a member, which is `default` if null was sent.
#[expect(clippy::option_option, reason = "as in the form")]
fn or_default<T>(sent: Option<Option<T>>, default: T) -> Option<T> {
    sent.map(|it| it.unwrap_or(default))
}

fn project(id: &str) -> Result<ProjectId, Error> {
    ProjectId::new(id).ok_or_else(|| {
        Error::malformed(
            "config.project must be 1 to 128 of A-Z, a-z, 0-9, ., _ and -, the first a letter or \
             digit; for example webshop",
        )
    })
}

fn rule(form: &RuleForm) -> Result<AccessRule, Error> {
    let named = |err| Error::malformed(format!("config.access: {err}"));
    let change = access_change(form.readable_by.as_deref(), form.writable_by.as_deref());
    let change = change.map_err(named)?;
    let keys = KeyPattern::parse(&form.keys).map_err(named)?;
    if change == AccessChange::default() {
        return Err(named(Error::malformed(format!(
            "the rule for {keys} has neither readable_by nor writable_by"
        ))));
    }
    Ok(AccessRule { keys, access: Access::default().changed(&change) })
}

fn namespace(form: NamespaceForm) -> Result<Namespace, Error> {
    let keys = form.keys.into_iter().map(|it| {
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
