//! What is recorded of every committed change (spec 8.5.1): who did what to which
//! entry when, and never a value.

use std::{collections::BTreeMap, fmt};

use crate::{
    key::{Key, Label, Line},
    kv::Revision,
    participant::Participant,
    scope::Scope,
    time::Timestamp,
    tokens::Tokens,
};

/// The record of one thing that a committed change did. Records of
/// one commit have the same revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// What was changed.
    pub scope: Scope,
    /// Its revision after the change.
    pub revision: Revision,
    /// What was done.
    pub action: AuditAction,
    /// Who did it.
    pub participant: Participant,
    /// When.
    pub at: Timestamp,
    /// The entry it was done to; `None` for what concerns the whole scope.
    pub entry: Option<AuditEntry>,
    /// The snapshot it was done to or with.
    pub label: Option<Label>,
    /// Why it was done, for what asks for a reason.
    pub reason: Option<Line>,
    /// The round it was done to.
    pub round: Option<u64>,
}

/// The entry a change was made to, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its key.
    pub key: Key,
    /// Its version: the one written, or the one deleted.
    pub version: u64,
    /// The size of its value: of the one written, or of the one deleted.
    pub value_tokens: Tokens,
}

/// Declares what a change can do: each with its name in logs and on the wire, its level,
/// and what it touches.
macro_rules! audit_actions {
    ($($(#[$doc:meta])+ $action:ident $name:literal: $level:ident, $touches:ident;)+) => {
        /// What a change did.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum AuditAction {
            $($(#[$doc])+ $action,)+
        }

        impl AuditAction {
            /// Every action.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$action),+];

            /// Returns the action's name, in logs and on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)+
                }
            }

            /// Returns how much it should draw an operator's attention.
            pub fn level(self) -> AuditLevel {
                match self {
                    $(Self::$action => AuditLevel::$level,)+
                }
            }

            /// Returns what readers have to read again after it.
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
    /// Removed an entry whose time had come.
    Expire "expire": Info, Keys;
    /// Replaced values of an entry by their digests.
    Redact "redact": Notice, Entry;
    /// Changed who may read and write an entry.
    SetAccess "set_access": Info, Keys;
    /// Took a snapshot.
    Snapshot "snapshot": Info, Entry;
    /// Made the store what a snapshot holds.
    RestoreSnapshot "restore_snapshot": Notice, Keys;
    /// Removed a snapshot.
    DeleteSnapshot "delete_snapshot": Info, Entry;
    /// Opened a round.
    OpenRound "open_round": Info, Entry;
    /// Proposed deltas to a round.
    ProposeDeltas "propose_deltas": Info, Entry;
    /// Closed a round.
    CloseRound "close_round": Info, Entry;
    /// Replaced texts in rounds by markers.
    RedactRounds "redact_rounds": Notice, Entry;
    /// Created the session.
    CreateSession "create_session": Notice, Everything;
    /// Created the session from an exported document.
    ImportSession "import_session": Notice, Everything;
    /// Made the session read-only.
    ArchiveSession "archive_session": Notice, Entry;
    /// Removed the session.
    DeleteSession "delete_session": Notice, Everything;
    /// Made every credential of the session issued before void.
    RevokeCredentials "revoke_credentials": Notice, Entry;
    /// Created the project.
    CreateProject "create_project": Notice, Everything;
    /// Removed the project.
    DeleteProject "delete_project": Notice, Everything;
}

impl AuditAction {
    /// Finds the action that is called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// How much a change should draw an operator's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLevel {
    /// Agents do it day by day.
    Info,
    /// It changes more than that.
    Notice,
}

/// What readers have to read again after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touches {
    /// The entry it was done to, if any.
    Entry,
    /// That entry, and the list of keys.
    Keys,
    /// All they know.
    Everything,
}

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many commits the audit trail keeps beyond those of the change feed.
pub const AUDIT_COMMITS_MAX: usize = 4_096;
/// After how many commits the audit trail is brought back to that number: not each has to
/// look at all.
pub const AUDIT_PRUNED_EVERY: u64 = 256;
/// How long a commit counts toward how busy its participant is, in milliseconds: a day.
const BUSY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A commit that the audit trail keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The revision it made.
    pub revision: Revision,
    /// Who asked for it.
    pub participant: Participant,
    /// When.
    pub at: Timestamp,
}

/// Chooses the commits to forget so that `commits_max` are left of `commits`, which are
/// oldest first: again and again the oldest of the participant that committed most in the
/// last day before `now`, or most of all if nobody did. So nobody pushes out what others
/// did but those who do more.
pub fn to_forget(commits: &[Commit], commits_max: usize, now: Timestamp) -> Vec<Revision> {
    /// What a participant did: how much of it in the last day, and all, newest first.
    #[derive(Default)]
    struct Share(usize, Vec<Revision>);

    let is_busy = |it: &Commit| now.0.saturating_sub(it.at.0) < BUSY_MS;
    let mut shares = BTreeMap::<&str, Share>::new();
    for commit in commits.iter().rev() {
        let Share(busy, own) = shares.entry(commit.participant.as_str()).or_default();
        *busy = busy.saturating_add(usize::from(is_busy(commit)));
        own.push(commit.revision);
    }
    let mut forgotten = Vec::new();
    while commits.len().saturating_sub(forgotten.len()) > commits_max
        && let Some(Share(busy, own)) =
            shares.values_mut().filter(|it| !it.1.is_empty()).max_by_key(|it| (it.0, it.1.len()))
    {
        forgotten.extend(own.pop());
        *busy = (*busy).min(own.len());
    }
    forgotten
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = BUSY_MS;

    /// Returns the revisions that are left of commits, each by whom and when.
    fn left(commits: &[(&str, u64)], commits_max: usize) -> Vec<u64> {
        let commits = (1..).zip(commits).map(|(revision, (who, at))| Commit {
            revision: Revision(revision),
            participant: Participant::parse(who).unwrap(),
            at: Timestamp(*at),
        });
        let commits: Vec<Commit> = commits.collect();
        let gone = to_forget(&commits, commits_max, Timestamp(DAY));
        let left = commits.iter().map(|it| it.revision).filter(|it| !gone.contains(it));
        left.map(|it| it.0).collect()
    }

    #[test]
    fn the_busiest_of_the_last_day_loses_its_oldest() {
        let (a, b) = ("subagent:a", "subagent:b");
        assert_eq!(left(&[(a, 9), (b, 9)], 2), [1, 2], "nothing while there is room");
        assert_eq!(left(&[(a, 9), (b, 9), (b, 9), (b, 9)], 2), [1, 4]);
        // Who was busy long ago is spared by who is busy now.
        assert_eq!(left(&[(a, 0), (a, 0), (a, 0), (b, 9), (b, 9)], 4), [1, 2, 3, 5]);
        // If nobody was in the last day, who did most of all.
        assert_eq!(left(&[(a, 0), (b, 0), (a, 0)], 2), [2, 3]);
        assert_eq!(left(&[(a, 0), (a, 9)], 0), Vec::<u64>::new());
    }
}
