//! The configuration of a session.

use std::ops::RangeInclusive;

use crate::{
    Error,
    namespace::Namespace,
    packets::{self, Depth, PacketConfig},
    scope::ProjectId,
    store::{
        Limits,
        access::{AccessRule, RULES_MAX},
        expiry::Ttl,
    },
    tokens::{Estimator, Tokens},
};

/// The configuration of a session. The admin can change all of it except the estimator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// The limits of the store.
    pub limits: Limits,
    /// The token counter.
    pub estimator: Estimator,
    /// The key conventions; `None` for the domain-neutral template.
    pub namespace: Option<Namespace>,
    /// The limits of history, snapshots and changes.
    pub retention: Retention,
    /// The default lifetime of an entry; `None` if entries do not expire by default.
    pub ttl_default: Option<Ttl>,
    /// True if keys may have a prefix (spec 7.1).
    pub allows_prefixes: bool,
    /// The access rules; empty if everyone may read and write every key.
    pub access: Vec<AccessRule>,
    /// The project that the session belongs to.
    pub project: Option<ProjectId>,
    /// The sets of tools that its participants are offered besides the working memory, each one of
    /// [`TOOL_SETS`].
    pub tools: Vec<String>,
    /// True if a value that looks like a credential or personal data is rejected instead of stored
    /// with a warning.
    pub rejects_secrets: bool,
    /// The settings of packets.
    pub packet: PacketConfig,
}

/// A change of a configuration. Members that are `None` stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigChange {
    /// The largest value of one entry.
    pub value_tokens_max: Option<Tokens>,
    /// The largest sum of all values.
    pub store_tokens_max: Option<Tokens>,
    /// The most keys.
    pub keys_max: Option<u32>,
    /// The token counter, which only a new session can choose.
    pub estimator: Option<Estimator>,
    /// The key conventions; `Some(None)` for the template.
    pub namespace: Option<Option<Namespace>>,
    /// The most earlier versions of one key.
    pub history_versions_max: Option<u32>,
    /// The most bytes of all earlier versions together.
    pub history_bytes_max: Option<u32>,
    /// The most snapshots.
    pub snapshots_max: Option<u32>,
    /// The number of changes that the feed covers.
    pub changes_max: Option<u32>,
    /// The default lifetime of an entry; `Some(None)` for none.
    pub ttl_default: Option<Option<Ttl>>,
    /// True if keys may have a prefix.
    pub allows_prefixes: Option<bool>,
    /// The access rules.
    pub access: Option<Vec<AccessRule>>,
    /// The project; `Some(None)` for none.
    pub project: Option<Option<ProjectId>>,
    /// The sets of tools.
    pub tools: Option<Vec<String>>,
    /// True if values that look like secrets are rejected.
    pub rejects_secrets: Option<bool>,
    /// The settings of packets; `Some(None)` for the defaults.
    pub packet: Option<Option<PacketConfigChange>>,
}

/// A change of the settings of packets. Members that are `None` stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PacketConfigChange {
    /// The depth of a packet whose request names none.
    pub default_depth: Option<Depth>,
    /// The budget of a minimal packet.
    pub minimal: Option<Tokens>,
    /// The budget of a standard packet.
    pub standard: Option<Tokens>,
    /// The budget of a deep packet.
    pub deep: Option<Tokens>,
    /// True if a credential that is minted for a task comes with a packet.
    pub auto_generate: Option<bool>,
    /// True if feedback counts in the statistics.
    pub track_efficiency: Option<bool>,
    /// True if the packet of one participant is removed once it gave feedback.
    pub auto_cleanup: Option<bool>,
}

impl PacketConfigChange {
    fn apply(&self, old: &PacketConfig) -> PacketConfig {
        let PacketConfig { default_depth, mut budgets, .. } = *old;
        budgets.minimal = self.minimal.unwrap_or(budgets.minimal);
        budgets.standard = self.standard.unwrap_or(budgets.standard);
        budgets.deep = self.deep.unwrap_or(budgets.deep);
        PacketConfig {
            default_depth: self.default_depth.unwrap_or(default_depth),
            budgets,
            auto_generate: self.auto_generate.unwrap_or(old.auto_generate),
            track_efficiency: self.track_efficiency.unwrap_or(old.track_efficiency),
            auto_cleanup: self.auto_cleanup.unwrap_or(old.auto_cleanup),
        }
    }
}

/// The names of the sets of tools.
pub const TOOL_SETS: [&str; 5] =
    ["shared_context", "delta_rounds", "context_packets", "memories", "outline"];

/// The amount of history, snapshots and changes that a session retains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The most earlier versions of one key; 0 disables history.
    pub history_versions_max: u32,
    /// The most bytes of all earlier versions together.
    pub history_bytes_max: u32,
    /// The most snapshots.
    pub snapshots_max: u32,
    /// The number of changes that the feed and the audit trail cover.
    pub changes_max: u32,
}

impl Default for Retention {
    /// Returns the defaults: 10 versions of a key, 1 MiB of them, 32 snapshots, 1,000
    /// changes.
    fn default() -> Self {
        Self {
            history_versions_max: 10,
            history_bytes_max: 1 << 20,
            snapshots_max: 32,
            changes_max: 1_000,
        }
    }
}

/// The number of changes for which a session remembers a request id. It is also the
/// fewest changes that a feed may cover, since the feed determines which request ids
/// expire.
pub const REQUESTS_REMEMBERED: u32 = 256;
/// The highest `history_versions_max`.
pub const HISTORY_VERSIONS_LIMIT_MAX: u32 = 100;
/// The highest `history_bytes_max`: 16 MiB.
pub const HISTORY_BYTES_LIMIT_MAX: u32 = 16 << 20;
/// The highest `snapshots_max`.
pub const SNAPSHOTS_LIMIT_MAX: u32 = 100;
/// The highest `changes_max`.
pub const CHANGES_LIMIT_MAX: u32 = 10_000;

/// The highest `value_tokens_max`.
pub const VALUE_TOKENS_LIMIT_MAX: Tokens = Tokens(50_000);
/// The highest `store_tokens_max`.
pub const STORE_TOKENS_LIMIT_MAX: Tokens = Tokens(1_000_000);
/// The highest `keys_max`.
pub const KEYS_LIMIT_MAX: u32 = 10_000;

const _: () = assert!(VALUE_TOKENS_LIMIT_MAX.0 <= STORE_TOKENS_LIMIT_MAX.0);

impl Config {
    /// Returns the configuration with `change` applied.
    #[must_use]
    pub fn changed(self, change: ConfigChange) -> Self {
        let Self { limits, retention, .. } = self;
        Self {
            limits: Limits {
                value_tokens_max: change.value_tokens_max.unwrap_or(limits.value_tokens_max),
                store_tokens_max: change.store_tokens_max.unwrap_or(limits.store_tokens_max),
                keys_max: change.keys_max.unwrap_or(limits.keys_max),
            },
            estimator: change.estimator.unwrap_or(self.estimator),
            namespace: change.namespace.unwrap_or(self.namespace),
            retention: Retention {
                history_versions_max: change
                    .history_versions_max
                    .unwrap_or(retention.history_versions_max),
                history_bytes_max: change.history_bytes_max.unwrap_or(retention.history_bytes_max),
                snapshots_max: change.snapshots_max.unwrap_or(retention.snapshots_max),
                changes_max: change.changes_max.unwrap_or(retention.changes_max),
            },
            ttl_default: change.ttl_default.unwrap_or(self.ttl_default),
            allows_prefixes: change.allows_prefixes.unwrap_or(self.allows_prefixes),
            access: change.access.unwrap_or(self.access),
            project: change.project.unwrap_or(self.project),
            tools: change.tools.unwrap_or(self.tools),
            rejects_secrets: change.rejects_secrets.unwrap_or(self.rejects_secrets),
            packet: match &change.packet {
                None => self.packet,
                Some(None) => PacketConfig::default(),
                Some(Some(change)) => change.apply(&self.packet),
            },
        }
    }

    /// Validates that the limits are in range and consistent.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], naming the member and its range.
    pub fn check(&self) -> Result<(), Error> {
        let Limits { value_tokens_max, store_tokens_max, keys_max } = self.limits;
        in_range("value_tokens_max", value_tokens_max.0, &(1..=VALUE_TOKENS_LIMIT_MAX.0))?;
        in_range("store_tokens_max", store_tokens_max.0, &(1..=STORE_TOKENS_LIMIT_MAX.0))?;
        in_range("keys_max", keys_max, &(1..=KEYS_LIMIT_MAX))?;
        if value_tokens_max > store_tokens_max {
            return Err(Error::malformed(format!(
                "config.value_tokens_max is {}, more than config.store_tokens_max, {}: \
                 one value must fit the store",
                value_tokens_max.0, store_tokens_max.0
            )));
        }
        let kept = &self.retention;
        let versions = &(0..=HISTORY_VERSIONS_LIMIT_MAX);
        in_range("history_versions_max", kept.history_versions_max, versions)?;
        in_range("history_bytes_max", kept.history_bytes_max, &(0..=HISTORY_BYTES_LIMIT_MAX))?;
        in_range("snapshots_max", kept.snapshots_max, &(0..=SNAPSHOTS_LIMIT_MAX))?;
        in_range("changes_max", kept.changes_max, &(REQUESTS_REMEMBERED..=CHANGES_LIMIT_MAX))?;
        if self.access.len() > RULES_MAX {
            return Err(Error::malformed(format!(
                "config.access has {} rules, at most {RULES_MAX} are allowed",
                self.access.len()
            )));
        }
        if let Some(rule) = self.access.iter().find(|it| it.keys.has_prefix())
            && !self.allows_prefixes
        {
            return Err(Error::malformed(format!(
                "config.access names keys by {}, but config.allows_prefixes is false",
                rule.keys
            )));
        }
        for (nth, name) in self.tools.iter().enumerate() {
            let is_repeated = self.tools.iter().take(nth).any(|it| it == name);
            if is_repeated || !TOOL_SETS.contains(&name.as_str()) {
                return Err(Error::malformed(format!(
                    "config.tools may have {}, each once",
                    TOOL_SETS.join(", ")
                )));
            }
        }
        check_packet(&self.packet)?;
        let Some(namespace) = &self.namespace else { return Ok(()) };
        namespace.check()?;
        match namespace.keys.iter().find(|it| it.key.prefix().is_some()) {
            Some(it) if !self.allows_prefixes => Err(Error::malformed(format!(
                "config.namespace names the key {}, but config.allows_prefixes is false",
                it.key
            ))),
            _ => Ok(()),
        }
    }
}

fn check_packet(it: &PacketConfig) -> Result<(), Error> {
    Depth::ALL.into_iter().try_for_each(|depth| {
        let member = format!("config.packet.budgets.{}", depth.as_str());
        packets::check_budget(&member, it.budgets.of(depth))
    })
}

fn in_range(member: &str, value: u32, range: &RangeInclusive<u32>) -> Result<(), Error> {
    if range.contains(&value) {
        return Ok(());
    }
    let (min, max) = (range.start(), range.end());
    Err(Error::malformed(format!("config.{member} is {value}; it must be {min} to {max}")))
}

/// The most memories of a project that names no limit.
pub const MEMORIES_DEFAULT: u32 = 10_000;
/// The range of the limit of memories.
pub const MEMORIES_MAX: std::ops::RangeInclusive<u32> = 1..=50_000;

/// The configuration of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectConfig {
    /// The most memories.
    pub memories_max: u32,
    /// The token counter, which never changes.
    pub estimator: Estimator,
}

impl Default for ProjectConfig {
    fn default() -> Self {
        Self { memories_max: MEMORIES_DEFAULT, estimator: Estimator::Approximate }
    }
}

impl ProjectConfig {
    /// Validates the configuration.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn check(&self) -> Result<(), Error> {
        if MEMORIES_MAX.contains(&self.memories_max) {
            return Ok(());
        }
        Err(Error::malformed(format!(
            "memories_max is {}; it must be 1 to {}",
            self.memories_max,
            MEMORIES_MAX.end()
        )))
    }
}
