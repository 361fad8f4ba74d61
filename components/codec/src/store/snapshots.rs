//! Actions on snapshots and on the change feed (spec 7).

use shared_context_core::{Key, Label, Line, pattern::KeyPattern, port::Revision};

#[cfg(feature = "schema")]
use super::{
    entry_replies::ReadReply,
    snapshot_replies::{
        DeleteSnapshotReply, DiffReply, RestoreReply, SnapshotForm, SnapshotReply, SnapshotsReply,
    },
};
#[cfg(feature = "schema")]
use crate::feed::ChangesReply;
use crate::{
    action::{ANYONE, ORCHESTRATOR, declare::actions},
    checks::{limit, named, request_id},
};

actions! {
    of Store:

    /// Freeze the whole store under a label, to compare with or go back to.
    snapshot: ORCHESTRATOR, change;
        at Post "/snapshots", r#"{"label":"pre_approval"}"# -> 201 "/snapshots/{label}" as take_snapshot;
        rejects SessionArchived, SnapshotExists, SnapshotLimit, StoreFull;
        needs {
            /// The snapshot: 1 to 64 of A-Z, a-z, 0-9, ., _ and -.
            label: String,
        }
        takes {
            /// Why, in one line.
            note: String,
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers SnapshotForm<'_>;
        |it| {
            let id = request_id(it.request_id.as_deref())?;
            Ok(named(id, Command::TakeSnapshot {
            label: Label::parse(&it.label)?,
            note: it.note.as_deref().map(|it| Line::parse("note", it)).transpose()?,
        }))
        };

    /// List the snapshots, oldest first.
    list_snapshots: ANYONE, read;
        at Get "/snapshots" -> 200;
        needs {}
        takes {}
        answers SnapshotsReply<'_>;
        |_it| Ok(Command::ListSnapshots);

    /// Read what a snapshot holds, or one key of it.
    read_snapshot: ANYONE, read;
        at Get "/snapshots/{label}" without key -> 200;
        at Get "/snapshots/{label}/entries/{key}" -> 200 as read_snapshot_entry;
        rejects InvalidKey, SnapshotNotFound, KeyNotFound;
        needs {
            /// The snapshot: 1 to 64 of A-Z, a-z, 0-9, ., _ and -.
            label: String,
        }
        takes {
            /// The key: 1 to 64 of a-z, 0-9 and _; where the session allows prefixes also
            /// prefix:key.
            key: String,
        }
        answers SnapshotReply<'_>, ReadReply<'_>;
        |it| Ok(Command::ReadSnapshot {
            label: Label::parse(&it.label)?,
            key: it.key.as_deref().map(Key::parse).transpose()?,
        });

    /// Tell what was added, removed and changed between two snapshots, or since one.
    diff_snapshots: ANYONE, read;
        at Get "/snapshots/{from}/diff" -> 200;
        rejects SnapshotNotFound;
        needs {
            /// The snapshot to compare.
            from: String,
        }
        takes {
            /// The snapshot to compare it with; what is there now when absent.
            to: String,
        }
        answers DiffReply<'_>;
        |it| Ok(Command::DiffSnapshots {
            from: Label::parse(&it.from)?,
            to: it.to.as_deref().map(Label::parse).transpose()?,
        });

    /// Make the store what a snapshot holds, as new versions, in one step.
    restore_snapshot: ORCHESTRATOR, change;
        at Post "/snapshots/{label}/restore" -> 200;
        rejects SessionArchived, SnapshotNotFound, StoreFull;
        needs {
            /// The snapshot: 1 to 64 of A-Z, a-z, 0-9, ., _ and -.
            label: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers RestoreReply<'_>;
        |it| {
            let id = request_id(it.request_id.as_deref())?;
            Ok(named(id, Command::RestoreSnapshot(Label::parse(&it.label)?)))
        };

    /// Remove a snapshot.
    delete_snapshot: ORCHESTRATOR, change;
        at Delete "/snapshots/{label}" -> 200;
        rejects SessionArchived, SnapshotNotFound;
        needs {
            /// The snapshot: 1 to 64 of A-Z, a-z, 0-9, ., _ and -.
            label: String,
        }
        takes {}
        answers DeleteSnapshotReply<'_>;
        |it| Ok(Command::DeleteSnapshot(Label::parse(&it.label)?));

    /// Read what changed since a revision, oldest first; never a value.
    changes: ANYONE, read;
        rejects InvalidKey, ChangesTruncated;
        needs {}
        takes {
            /// Begin after this revision; with the oldest that is kept when absent.
            since: u64,
            /// How many commits or deltas at most, 1 to 1000; 100 when absent.
            limit: u32,
            /// The keys, 1 to 100, none of them twice. For `changes`: only changes of the
            /// keys that match this pattern, in which * stands for any text.
            keys: String,
            /// Whether to leave out your own changes; false when absent.
            except_own: bool,
        }
        answers ChangesReply<'_>;
        |it| Ok(Command::Changes {
            keys: it.keys.as_deref().map(KeyPattern::parse).transpose()?,
            since: it.since.map(Revision),
            limit: limit(it.limit)?,
            except_own: it.except_own.unwrap_or(false),
        });
}
