//! The interface `snapshots`.

use shared_context_core::{
    Command, Key, Label, Line, Outcome, Reply,
    store::{Entry, Totals, snapshot::SnapshotInfo as Info},
};

use super::{Caller, Result, entry, perform, types};
use crate::{
    Component,
    bindings::exports::shared_context::core::snapshots::{
        ChangedEntry, Difference, Guest, Listing, Restored, RestoredEntry, SidedEntry, Snapshot,
        SnapshotInfo,
    },
};

impl Guest for Component {
    fn take(
        session: String,
        caller: Caller,
        label: String,
        note: Option<String>,
    ) -> Result<SnapshotInfo> {
        let command = || {
            let label = Label::parse(&label)?;
            let note = note.map(|it| Line::parse("note", &it)).transpose()?;
            Ok(Command::TakeSnapshot { label, note })
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Snapshot(it) = outcome.reply else { return None };
            Some(info(it))
        })
    }

    fn list_all(session: String, caller: Caller) -> Result<Listing> {
        perform(&session, caller, Ok(Command::ListSnapshots), |outcome| {
            let Reply::Snapshots(it) = outcome.reply else { return None };
            Some(Listing {
                snapshots: it.snapshots.into_iter().map(info).collect(),
                max_snapshots: it.snapshots_max,
                revision: outcome.revision.0,
            })
        })
    }

    fn read(session: String, caller: Caller, label: String) -> Result<Snapshot> {
        let command = Label::parse(&label).map(|label| Command::ReadSnapshot { label, key: None });
        perform(&session, caller, command, |outcome| {
            let Reply::SnapshotRead(it) = outcome.reply else { return None };
            let entries = it.entries.into_iter().map(entry).collect();
            Some(Snapshot { info: info(it.info), entries })
        })
    }

    fn read_entry(
        session: String,
        caller: Caller,
        label: String,
        key: String,
    ) -> Result<types::Entry> {
        let command = || {
            let (label, key) = (Label::parse(&label)?, Some(Key::parse(&key)?));
            Ok(Command::ReadSnapshot { label, key })
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Entry(it) = outcome.reply else { return None };
            Some(entry(it))
        })
    }

    fn diff(
        session: String,
        caller: Caller,
        from: String,
        to: Option<String>,
    ) -> Result<Difference> {
        let command = || {
            let from = Label::parse(&from)?;
            let to = to.map(|it| Label::parse(&it)).transpose()?;
            Ok(Command::DiffSnapshots { from, to })
        };
        perform(&session, caller, command(), difference)
    }

    fn restore(session: String, caller: Caller, label: String) -> Result<Restored> {
        let command = Label::parse(&label).map(Command::RestoreSnapshot);
        perform(&session, caller, command, |outcome| {
            let Reply::Restored(it) = outcome.reply else { return None };
            let written = it.written.iter().map(|(key, version)| RestoredEntry {
                key: key.as_str().to_owned(),
                version: *version,
            });
            Some(Restored {
                written: written.collect(),
                deleted: it.deleted.iter().map(|it| it.as_str().to_owned()).collect(),
                unchanged: it.unchanged,
                revision: outcome.revision.0,
            })
        })
    }

    fn delete(session: String, caller: Caller, label: String) -> Result<types::Revision> {
        let command = Label::parse(&label).map(Command::DeleteSnapshot);
        perform(&session, caller, command, |it| Some(it.revision.0))
    }
}

fn info(it: Info) -> SnapshotInfo {
    SnapshotInfo {
        label: it.label.as_str().to_owned(),
        note: it.note.map(|it| it.as_str().to_owned()),
        taken_by: it.taken_by.as_str().to_owned(),
        taken_at_ms: it.taken_at.0,
        key_count: it.totals.keys,
        total_tokens: it.totals.tokens.0,
        revision: it.revision.0,
    }
}

fn difference(outcome: Outcome) -> Option<Difference> {
    let Reply::Diff(it) = outcome.reply else { return None };
    let diff = it.diff;
    let grown =
        |(from, to): &(Entry, Entry)| i64::from(to.value_tokens.0) - i64::from(from.value_tokens.0);
    Some(Difference {
        added: diff.added.iter().map(sided_entry).collect(),
        removed: diff.removed.iter().map(sided_entry).collect(),
        changed: diff.changed.iter().map(changed_entry).collect(),
        unchanged: diff.unchanged,
        added_tokens: Totals::of(&diff.added).tokens.0,
        removed_tokens: Totals::of(&diff.removed).tokens.0,
        changed_tokens: diff.changed.iter().map(grown).sum(),
        revision: outcome.revision.0,
    })
}

fn sided_entry(it: &Entry) -> SidedEntry {
    SidedEntry {
        key: it.key.as_str().to_owned(),
        version: it.version,
        value_tokens: it.value_tokens.0,
    }
}

fn changed_entry((from, to): &(Entry, Entry)) -> ChangedEntry {
    ChangedEntry {
        key: from.key.as_str().to_owned(),
        from_version: from.version,
        to_version: to.version,
        from_tokens: from.value_tokens.0,
        to_tokens: to.value_tokens.0,
    }
}
