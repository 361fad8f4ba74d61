//! The row `meta`: a session's metadata.

use serde::{Deserialize, Serialize};

use super::format_1;
use crate::{
    Error,
    config::{Config, Retention},
    kv::Revision,
    packets::{Budgets, Depth, PacketConfig},
    row::{damaged, decode_either, whole},
    scope::ProjectId,
    store::{Limits, Totals, expiry::Ttl},
    time::Timestamp,
    tokens::{Estimator, Tokens},
};

/// The format of `meta` that also has the size of the session as a document.
const FORMAT: u8 = 3;
/// The format of `meta` that also has the session's project. It is only written for
/// sessions with a project, so that earlier versions can read all others.
const FORMAT_WITH_PROJECT: u8 = 4;

/// The format of `meta` that also has the sets of tools and whether secrets are rejected. It is only
/// written for sessions that have either.
const FORMAT_WITH_TOOLS: u8 = 5;

/// The format of `meta` that also has how packets are written. It is only written for sessions that
/// do not write them by the defaults.
const FORMAT_WITH_PACKETS: u8 = 6;

/// The metadata of a session, which every request loads.
#[expect(clippy::struct_excessive_bools, reason = "each says another thing of the session")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) is_archived: bool,
    /// The incarnation: it differs for each session that ever had this id.
    pub(crate) incarnation: u64,
    /// The first revision that a reader can continue from: that of its creation or import, or a
    /// later one since an update of the configuration. Earlier changes are not in the feed.
    pub(crate) first_revision: Revision,
    /// The credential epoch: the time of its creation in milliseconds, plus one for each
    /// revocation.
    pub(crate) credential_epoch: u64,
    pub(crate) created_at: Timestamp,
    pub(crate) changed_at: Timestamp,
    pub(crate) estimator: Estimator,
    pub(crate) limits: Limits,
    pub(crate) retention: Retention,
    pub(crate) ttl_default: Option<Ttl>,
    pub(crate) allows_prefixes: bool,
    pub(crate) has_own_namespace: bool,
    pub(crate) has_rules: bool,
    /// The difference between the session's revisions and its bucket's. It is positive if
    /// this session, or an earlier one of its id, was imported from a bucket with higher
    /// revisions.
    pub(crate) revision_offset: u64,
    /// The revision at which an entry last changed.
    pub(crate) entries_revision: Revision,
    /// The instant at which the next entry expires, or an earlier one.
    pub(crate) next_expiry: Option<Timestamp>,
    pub(crate) history_versions: u64,
    pub(crate) history_bytes: u64,
    /// The revisions at which the snapshots were taken, oldest first.
    pub(crate) snapshots: Vec<Revision>,
    pub(crate) totals: Totals,
    /// The size of the session as a document, in bytes, without its rounds; `None` if an
    /// earlier version stored the row.
    pub(crate) weight: Option<u64>,
    pub(crate) project: Option<ProjectId>,
    pub(crate) tools: Vec<String>,
    pub(crate) rejects_secrets: bool,
    pub(crate) packet: PacketConfig,
}

#[expect(clippy::struct_excessive_bools, reason = "as in Meta")]
#[derive(Serialize, Deserialize)]
pub(super) struct MetaRecord {
    pub(super) is_archived: bool,
    pub(super) incarnation: u64,
    pub(super) first_revision: u64,
    pub(super) credential_epoch: u64,
    pub(super) created_at_ms: u64,
    pub(super) changed_at_ms: u64,
    pub(super) estimator: String,
    pub(super) value_tokens_max: u32,
    pub(super) store_tokens_max: u32,
    pub(super) keys_max: u32,
    pub(super) has_own_namespace: bool,
    pub(super) key_count: u32,
    pub(super) total_tokens: u32,
    pub(super) retention: RetentionRecord,
    pub(super) ttl_default_seconds: Option<u32>,
    pub(super) allows_prefixes: bool,
    pub(super) has_rules: bool,
    pub(super) revision_offset: u64,
    pub(super) entries_revision: u64,
    pub(super) next_expiry_ms: Option<u64>,
    pub(super) history_versions: u64,
    pub(super) history_bytes: u64,
    pub(super) snapshots: Vec<u64>,
}

#[expect(clippy::struct_field_names, reason = "named as in Retention")]
#[derive(Serialize, Deserialize)]
pub(super) struct RetentionRecord {
    history_versions_max: u32,
    history_bytes_max: u32,
    snapshots_max: u32,
    changes_max: u32,
}

/// The settings of packets: depth, budgets by depth, and the three switches.
type PacketRecord = (String, (u32, u32, u32), (bool, bool, bool));

fn packet_record(it: &PacketConfig) -> PacketRecord {
    let Budgets { minimal, standard, deep } = it.budgets;
    let switches = (it.auto_generate, it.track_efficiency, it.auto_cleanup);
    (it.default_depth.as_str().to_owned(), (minimal.0, standard.0, deep.0), switches)
}

fn stored_packet((depth, budgets, switches): PacketRecord) -> Result<PacketConfig, Error> {
    let (minimal, standard, deep) = budgets;
    let (auto_generate, track_efficiency, auto_cleanup) = switches;
    Ok(PacketConfig {
        default_depth: Depth::parse(&depth).map_err(damaged)?,
        budgets: Budgets {
            minimal: Tokens(minimal),
            standard: Tokens(standard),
            deep: Tokens(deep),
        },
        auto_generate,
        track_efficiency,
        auto_cleanup,
    })
}

impl From<Retention> for RetentionRecord {
    fn from(it: Retention) -> Self {
        let Retention { history_versions_max, history_bytes_max, snapshots_max, changes_max } = it;
        Self { history_versions_max, history_bytes_max, snapshots_max, changes_max }
    }
}

impl From<RetentionRecord> for Retention {
    fn from(it: RetentionRecord) -> Self {
        let RetentionRecord { history_versions_max, history_bytes_max, snapshots_max, changes_max } =
            it;
        Self { history_versions_max, history_bytes_max, snapshots_max, changes_max }
    }
}

impl Default for RetentionRecord {
    fn default() -> Self {
        Retention::default().into()
    }
}

impl Meta {
    /// Creates the metadata of a session created at `now` with `config`. `bucket` is the
    /// bucket's revision after the creation.
    pub(crate) fn new(
        bucket: Revision,
        revision_offset: u64,
        now: Timestamp,
        config: &Config,
    ) -> Self {
        let first_revision = Revision(bucket.0.saturating_add(revision_offset));
        Self {
            is_archived: false,
            incarnation: first_revision.0,
            first_revision,
            // Another host can have a session with this id and revision; the time
            // distinguishes their credentials.
            credential_epoch: now.0,
            created_at: now,
            changed_at: now,
            estimator: config.estimator.clone(),
            limits: config.limits,
            retention: config.retention,
            ttl_default: config.ttl_default,
            allows_prefixes: config.allows_prefixes,
            has_own_namespace: config.namespace.is_some(),
            has_rules: !config.access.is_empty(),
            revision_offset,
            entries_revision: first_revision,
            next_expiry: None,
            history_versions: 0,
            history_bytes: 0,
            snapshots: Vec::new(),
            totals: Totals::default(),
            weight: Some(0),
            project: config.project.clone(),
            tools: config.tools.clone(),
            rejects_secrets: config.rejects_secrets,
            packet: config.packet.clone(),
        }
    }

    /// Applies a changed configuration, whose estimator is the same.
    pub(crate) fn configure(&mut self, config: &Config) {
        self.limits = config.limits;
        self.retention = config.retention;
        self.ttl_default = config.ttl_default;
        self.allows_prefixes = config.allows_prefixes;
        self.has_own_namespace = config.namespace.is_some();
        self.has_rules = !config.access.is_empty();
        self.project.clone_from(&config.project);
        self.tools.clone_from(&config.tools);
        self.rejects_secrets = config.rejects_secrets;
        self.packet.clone_from(&config.packet);
    }

    /// Returns the revision of the session when its bucket has `bucket`.
    pub(crate) fn revision(&self, bucket: Revision) -> Revision {
        Revision(bucket.0.saturating_add(self.revision_offset))
    }

    /// Returns the first revision in the change feed when the session is at revision
    /// `now`.
    pub(crate) fn first_of_feed(&self, now: Revision) -> Revision {
        let covered = u64::from(self.retention.changes_max);
        Revision(now.next().0.saturating_sub(covered)).max(self.first_revision)
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, Error> {
        let record = MetaRecord {
            is_archived: self.is_archived,
            incarnation: self.incarnation,
            first_revision: self.first_revision.0,
            credential_epoch: self.credential_epoch,
            created_at_ms: self.created_at.0,
            changed_at_ms: self.changed_at.0,
            estimator: self.estimator.as_str().to_owned(),
            value_tokens_max: self.limits.value_tokens_max.0,
            store_tokens_max: self.limits.store_tokens_max.0,
            keys_max: self.limits.keys_max,
            has_own_namespace: self.has_own_namespace,
            key_count: self.totals.keys,
            total_tokens: self.totals.tokens.0,
            retention: self.retention.into(),
            ttl_default_seconds: self.ttl_default.map(Ttl::seconds),
            allows_prefixes: self.allows_prefixes,
            has_rules: self.has_rules,
            revision_offset: self.revision_offset,
            entries_revision: self.entries_revision.0,
            next_expiry_ms: self.next_expiry.map(|it| it.0),
            history_versions: self.history_versions,
            history_bytes: self.history_bytes,
            snapshots: self.snapshots.iter().map(|it| it.0).collect(),
        };
        let project = self.project.as_ref().map(ProjectId::as_str);
        match project {
            _ if self.packet != PacketConfig::default() => postcard::to_extend(
                &(
                    record,
                    self.weight,
                    project,
                    &self.tools,
                    self.rejects_secrets,
                    packet_record(&self.packet),
                ),
                vec![FORMAT_WITH_PACKETS],
            ),
            _ if self.rejects_secrets || !self.tools.is_empty() => postcard::to_extend(
                &(record, self.weight, project, &self.tools, self.rejects_secrets),
                vec![FORMAT_WITH_TOOLS],
            ),
            None => postcard::to_extend(&(record, self.weight), vec![FORMAT]),
            Some(project) => {
                postcard::to_extend(&(record, self.weight, project), vec![FORMAT_WITH_PROJECT])
            }
        }
        .map_err(damaged)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        type Stored = (MetaRecord, Option<u64>, Option<String>, Vec<String>, bool);
        let mut packet = PacketConfig::default();
        let (it, weight, project, tools, rejects_secrets): Stored = match bytes.split_first() {
            Some((&FORMAT, rest)) => {
                let (it, weight) = whole(rest)?;
                (it, weight, None, Vec::new(), false)
            }
            Some((&FORMAT_WITH_PROJECT, rest)) => {
                let (it, weight, project) = whole(rest)?;
                (it, weight, Some(project), Vec::new(), false)
            }
            Some((&FORMAT_WITH_TOOLS, rest)) => whole(rest)?,
            Some((&FORMAT_WITH_PACKETS, rest)) => {
                let (it, weight, project, tools, rejects_secrets, stored) = whole(rest)?;
                packet = stored_packet(stored)?;
                (it, weight, project, tools, rejects_secrets)
            }
            _ => {
                let it = decode_either::<_, format_1::MetaRecord>(bytes)?;
                (it, None, None, Vec::new(), false)
            }
        };
        let project_id =
            |id: String| ProjectId::new(&id).ok_or_else(|| damaged(format!("project {id:?}")));
        let ttl = |seconds: u32| Ttl::parse("ttl", seconds.into()).map_err(damaged);
        Ok(Self {
            is_archived: it.is_archived,
            incarnation: it.incarnation,
            first_revision: Revision(it.first_revision),
            credential_epoch: it.credential_epoch,
            created_at: Timestamp(it.created_at_ms),
            changed_at: Timestamp(it.changed_at_ms),
            estimator: Estimator::parse(&it.estimator).map_err(damaged)?,
            limits: Limits {
                value_tokens_max: Tokens(it.value_tokens_max),
                store_tokens_max: Tokens(it.store_tokens_max),
                keys_max: it.keys_max,
            },
            retention: it.retention.into(),
            ttl_default: it.ttl_default_seconds.map(ttl).transpose()?,
            allows_prefixes: it.allows_prefixes,
            has_own_namespace: it.has_own_namespace,
            has_rules: it.has_rules,
            revision_offset: it.revision_offset,
            entries_revision: Revision(it.entries_revision),
            next_expiry: it.next_expiry_ms.map(Timestamp),
            history_versions: it.history_versions,
            history_bytes: it.history_bytes,
            snapshots: it.snapshots.into_iter().map(Revision).collect(),
            totals: Totals { keys: it.key_count, tokens: Tokens(it.total_tokens) },
            weight,
            project: project.map(project_id).transpose()?,
            tools,
            rejects_secrets,
            packet,
        })
    }
}
