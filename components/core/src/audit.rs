//! The audit records of committed changes (spec 8.5.1): the participant, the action, the entry and
//! the time. They never contain a value.

use std::{collections::BTreeMap, fmt};

use crate::{
    Error,
    handoffs::HandoffId,
    key::{Key, Label, Line},
    kv::Revision,
    memories::MemoryId,
    outline::Marker,
    participant::Participant,
    pattern::ParticipantPattern,
    scope::Scope,
    time::Timestamp,
    tokens::Tokens,
};

/// The record of one effect of a commit. All records of one commit have the same
/// revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// The session or project.
    pub scope: Scope,
    /// The scope's revision after the change.
    pub revision: Revision,
    /// The action.
    pub action: AuditAction,
    /// The participant that acted.
    pub participant: Participant,
    /// The time of the commit.
    pub at: Timestamp,
    /// The changed entry; `None` for an action on the whole scope.
    pub entry: Option<AuditEntry>,
    /// The target of the action, if it is neither an entry nor a round.
    pub label: Option<Subject>,
    /// The reason, for actions that require one.
    pub reason: Option<Line>,
    /// The round of the action.
    pub round: Option<u64>,
}

/// The name of what an action was done to: the label of a snapshot, an id of the context pipeline,
/// or the address of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject(String);

impl Subject {
    /// Creates the name of a packet: its address.
    pub(crate) fn address(address: &str) -> Self {
        Self(address.to_owned())
    }

    /// Creates the name of a handoff: its id.
    pub(crate) fn handoff(id: HandoffId) -> Self {
        Self(id.to_string())
    }

    /// Creates the name of a memory: its id.
    pub(crate) fn memory(id: MemoryId) -> Self {
        Self(id.to_string())
    }

    /// Creates the name of a section: its marker.
    pub(crate) fn section(marker: &Marker) -> Self {
        Self(marker.to_string())
    }

    /// Parses a name: a label, a marker, or a pattern of participants.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if `text` is neither.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.starts_with('§') {
            return Marker::parse(text).map(|it| Self::section(&it));
        }
        match ParticipantPattern::parse(text) {
            Ok(it) => Ok(Self(it.as_str().to_owned())),
            Err(_) => Label::parse(text).map(Self::from),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Label> for Subject {
    fn from(label: Label) -> Self {
        Self(label.as_str().to_owned())
    }
}

/// A changed entry, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The key.
    pub key: Key,
    /// The version that was written or deleted.
    pub version: u64,
    /// The size of the written or deleted value.
    pub value_tokens: Tokens,
}

/// Declares the audit actions: each with its name in logs and on the wire, its level, and
/// the reads it invalidates.
macro_rules! audit_actions {
    ($($(#[$doc:meta])+ $action:ident $name:literal: $level:ident, $touches:ident;)+) => {
        /// The action of a change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum AuditAction {
            $($(#[$doc])+ $action,)+
        }

        impl AuditAction {
            /// Every action.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$action),+];

            /// Returns the action's name in logs and on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)+
                }
            }

            /// Returns the level at which to log the action.
            pub fn level(self) -> AuditLevel {
                match self {
                    $(Self::$action => AuditLevel::$level,)+
                }
            }

            /// Returns which reads the action makes stale.
            pub fn touches(self) -> Touches {
                match self {
                    $(Self::$action => Touches::$touches,)+
                }
            }
        }
    };
}

audit_actions! {
    /// Created or overwrote an entry.
    Write "write": Info, Entry;
    /// Removed an entry.
    Delete "delete": Info, Keys;
    /// Removed an expired entry.
    Expire "expire": Info, Keys;
    /// Replaced values of an entry with their digests.
    Redact "redact": Notice, Entry;
    /// Changed the access lists of an entry.
    SetAccess "set_access": Info, Keys;
    /// Took a snapshot.
    Snapshot "snapshot": Info, Entry;
    /// Restored the store from a snapshot.
    RestoreSnapshot "restore_snapshot": Notice, Keys;
    /// Removed a snapshot.
    DeleteSnapshot "delete_snapshot": Info, Entry;
    /// Opened a round.
    OpenRound "open_round": Info, Entry;
    /// Proposed deltas to a round.
    ProposeDeltas "propose_deltas": Info, Entry;
    /// Withdrew deltas of a round.
    WithdrawDeltas "withdraw_deltas": Info, Entry;
    /// Rejected deltas of a round.
    RejectDeltas "reject_deltas": Info, Entry;
    /// Closed a round.
    CloseRound "close_round": Info, Entry;
    /// Replaced texts in rounds with markers.
    RedactRounds "redact_rounds": Notice, Entry;
    /// Assembled a context and kept its envelope.
    AssembleContext "assemble_context": Info, Entry;
    /// Compacted a conversation and kept an envelope of it.
    Compact "compact": Info, Entry;
    /// Recorded where a context became visible.
    RecordInjection "record_injection": Info, Entry;
    /// Reported missing context.
    ReportMissing "report_missing": Info, Entry;
    /// Answered missing context.
    AnswerMissing "answer_missing": Info, Entry;
    /// Wrote a packet, or the next version of one.
    GeneratePacket "context_generate": Info, Entry;
    /// Edited a packet.
    EditPacket "context_edit": Info, Entry;
    /// Read a version of a packet for the first time, or reported a gap by a read.
    ReadPacket "context_read": Info, Entry;
    /// Gave feedback on a packet.
    GivePacketFeedback "context_feedback": Info, Entry;
    /// Removed a packet.
    ClearPacket "context_clear": Info, Entry;
    /// Created the session.
    CreateSession "create_session": Notice, Everything;
    /// Created the session from an exported document.
    ImportSession "import_session": Notice, Everything;
    /// Changed the configuration of the session.
    UpdateSession "update_session": Notice, Everything;
    /// Made the session read-only.
    ArchiveSession "archive_session": Notice, Entry;
    /// Removed the session.
    DeleteSession "delete_session": Notice, Everything;
    /// Voided every credential issued for the session so far.
    RevokeCredentials "revoke_credentials": Notice, Entry;
    /// Added a memory.
    AddMemory "add_memory": Info, Entry;
    /// Wrote the next version of a memory.
    UpdateMemory "update_memory": Info, Entry;
    /// Replaced a memory by another.
    SupersedeMemory "supersede_memory": Info, Entry;
    /// Marked a memory: archived, restored, confirmed, or to be removed.
    MarkMemory "mark_memory": Info, Entry;
    /// Read memories, which counts as use.
    ReadMemories "read_memories": Info, Entry;
    /// Gave a session the knowledge of its project (rehydration).
    Rehydrate "rehydrate": Info, Entry;
    /// Archived a memory by a rule.
    ExpireMemory "archive_memory": Info, Entry;
    /// Removed a memory by a rule.
    DeleteMemory "delete_memory": Notice, Entry;
    /// Replaced the text of a memory by its digest.
    RedactMemory "redact_memory": Notice, Entry;
    /// Wrote a section of the outline.
    PutSection "put_section": Info, Entry;
    /// Removed a section.
    DeleteSection "delete_section": Notice, Entry;
    /// Replaced the content of a section by its digest.
    RedactSection "redact_section": Notice, Entry;
    /// Acquired a section, or received it.
    AcquireSection "acquire": Info, Entry;
    /// Prolonged a lease.
    RenewLease "renew": Info, Entry;
    /// Gave a section back.
    ReleaseSection "release": Info, Entry;
    /// A lease ended by the clock.
    ExpireLease "expire_lease": Notice, Entry;
    /// Changed the coordination state.
    Coordinate "coordinate": Info, Entry;
    /// Offered a handoff.
    OfferHandoff "offer_handoff": Info, Entry;
    /// Accepted a handoff, which transfers ownership.
    AcceptHandoff "accept_handoff": Info, Entry;
    /// Declined a handoff, or withdrew it.
    DeclineHandoff "decline_handoff": Info, Entry;
    /// Transferred ownership without the former owner.
    TakeOver "take_over": Notice, Entry;
    /// Replaced the package of a handoff by its digest.
    RedactHandoff "redact_handoff": Notice, Entry;
    /// Made the project read-only.
    ArchiveProject "archive_project": Notice, Entry;
    /// Created the project.
    CreateProject "create_project": Notice, Everything;
    /// Created the project from a document, or added a page of it.
    ImportProject "import_project": Notice, Everything;
    /// Removed the project.
    DeleteProject "delete_project": Notice, Everything;
}

impl AuditAction {
    /// Returns true for an action on a packet, whose address only its receiver and the orchestrator
    /// may know.
    pub(crate) fn is_of_packets(self) -> bool {
        matches!(
            self,
            Self::GeneratePacket
                | Self::EditPacket
                | Self::ReadPacket
                | Self::GivePacketFeedback
                | Self::ClearPacket
        )
    }

    /// Returns the action with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// The log level of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLevel {
    /// Routine work of agents.
    Info,
    /// An unusual or far-reaching change.
    Notice,
}

/// The reads that a change makes stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touches {
    /// The changed entry, if any.
    Entry,
    /// The changed entry and the list of keys.
    Keys,
    /// Every read of the scope.
    Everything,
}

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The number of commits the audit trail retains beyond those of the change feed.
pub const AUDIT_COMMITS_MAX: usize = 4_096;
/// The interval, in commits, at which the audit trail is pruned. Pruning reads the whole
/// trail, so it does not run on every commit.
pub const AUDIT_PRUNED_EVERY: u64 = 256;
/// The time, in milliseconds, that a commit counts toward its participant's activity: a
/// day.
const BUSY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A commit in the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The revision of the commit.
    pub revision: Revision,
    /// The participant that made it.
    pub participant: Participant,
    /// The time of the commit.
    pub at: Timestamp,
}

/// Returns the commits to remove so that `commits_max` of `commits`, ordered oldest
/// first, remain. Removes the oldest commit of the participant with the most commits in
/// the day before `now`, and repeats. If nobody committed in that day, the participant
/// with the most commits loses its oldest. So only a more active participant can displace
/// the records of another.
pub fn to_remove(commits: &[Commit], commits_max: usize, now: Timestamp) -> Vec<Revision> {
    /// The commits of one participant: their number in the last day, and all of them,
    /// newest first.
    #[derive(Default)]
    struct Share(usize, Vec<Revision>);

    let is_busy = |it: &Commit| now.0.saturating_sub(it.at.0) < BUSY_MS;
    let mut shares = BTreeMap::<&str, Share>::new();
    for commit in commits.iter().rev() {
        let Share(busy, own) = shares.entry(commit.participant.as_str()).or_default();
        *busy = busy.saturating_add(usize::from(is_busy(commit)));
        own.push(commit.revision);
    }
    let mut removed = Vec::new();
    while commits.len().saturating_sub(removed.len()) > commits_max
        && let Some(Share(busy, own)) =
            shares.values_mut().filter(|it| !it.1.is_empty()).max_by_key(|it| (it.0, it.1.len()))
    {
        removed.extend(own.pop());
        *busy = (*busy).min(own.len());
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = BUSY_MS;

    /// Returns the revisions that remain of `commits`, given as participant and time.
    fn left(commits: &[(&str, u64)], commits_max: usize) -> Vec<u64> {
        let commits = (1..).zip(commits).map(|(revision, (who, at))| Commit {
            revision: Revision(revision),
            participant: Participant::parse(who).unwrap(),
            at: Timestamp(*at),
        });
        let commits: Vec<Commit> = commits.collect();
        let gone = to_remove(&commits, commits_max, Timestamp(DAY));
        let left = commits.iter().map(|it| it.revision).filter(|it| !gone.contains(it));
        left.map(|it| it.0).collect()
    }

    #[test]
    fn the_busiest_of_the_last_day_loses_its_oldest() {
        let (a, b) = ("subagent:a", "subagent:b");
        assert_eq!(left(&[(a, 9), (b, 9)], 2), [1, 2], "nothing while there is room");
        assert_eq!(left(&[(a, 9), (b, 9), (b, 9), (b, 9)], 2), [1, 4]);
        // A participant that was active long ago keeps its records; the active one loses
        // some.
        assert_eq!(left(&[(a, 0), (a, 0), (a, 0), (b, 9), (b, 9)], 4), [1, 2, 3, 5]);
        // If nobody was active in the last day, the one with the most commits in total.
        assert_eq!(left(&[(a, 0), (b, 0), (a, 0)], 2), [2, 3]);
        assert_eq!(left(&[(a, 0), (a, 9)], 0), Vec::<u64>::new());
    }
}
