//! Checks a bucket's rows: exactly those that the session needs, none missing and none left over.

use std::collections::{BTreeMap, BTreeSet};

use shared_context_core::store::history::{HistoryUse, VERSION_BYTES};

use super::state::Model;

/// The rows of a bucket.
pub type Rows = BTreeMap<String, Vec<u8>>;

/// Checks the row names of a bucket that holds `session`, and the contents of its values.
///
/// # Errors
///
/// The rows that are missing, left over or different.
pub fn check(rows: &Rows, session: Option<&Model>) -> Result<(), String> {
    // A deleted session leaves only the offset of its revisions.
    let Some(model) = session else {
        return same("no session", rows.keys().filter(|it| *it != "offset").cloned(), []);
    };
    let of = |kind: &str| -> Vec<String> {
        rows.keys().filter(|row| row.starts_with(kind)).cloned().collect()
    };
    let values: Rows = model
        .all_versions()
        .into_iter()
        .map(|it| {
            let row = format!("v/{}/{:016x}", it.entry.key, it.entry.revision.0);
            (row, it.value.into_bytes())
        })
        .collect();
    same("values", of("v/"), values.keys().cloned())?;
    if let Some((row, _)) = values.iter().find(|(row, value)| rows.get(*row) != Some(value)) {
        return Err(format!("another value is stored in {row}"));
    }
    same("entries", of("k/"), model.entries.keys().map(|it| format!("k/{it}")))?;
    let past = model.history.iter().filter(|(_, it)| !it.is_empty());
    same("history", of("h/"), past.map(|(key, _)| format!("h/{key}")))?;
    let taken = || model.snapshots.iter().map(|it| it.info.revision.0);
    same("snapshots", of("s/"), taken().map(|it| format!("s/{it:016x}")))?;
    same("their entries", of("e/"), taken().map(|it| format!("e/{it:016x}")))?;
    let changes = model.first().0..=model.revision;
    same("changes", of("c/"), changes.map(|it| format!("c/{it:016x}")))?;
    let requests = model.answers.keys().map(|(who, id)| format!("q/{who}/{id}"));
    same("requests", of("q/"), requests)?;
    // Deltas of one proposal share a row, named by the first of them.
    let of_round = |row: String| match row.strip_prefix("r/d/") {
        Some(_) => row[.."r/d/".len() + 16].to_owned(),
        None => row,
    };
    same("rounds", of("r/").into_iter().map(of_round), model.rounds.rows())?;
    let kept = &model.context;
    let envelopes = kept.envelopes.iter().map(|it| ("e", it.number));
    let injections = kept.injections.iter().map(|it| ("i", it.number));
    let missing = kept.missing.iter().map(|it| ("m", it.id.number));
    let numbered = envelopes.chain(injections).chain(missing);
    let numbered = numbered.map(|(kind, number)| format!("a/{kind}/{number:016x}"));
    let head = (!kept.is_empty()).then(|| "a/head".to_owned());
    same("the context pipeline", of("a/"), numbered.chain(head))?;
    let kept = &model.packets;
    let versions = kept.packets.iter().flat_map(|packet| {
        let row = |version: u32| format!("p/v/{}/{version:08x}", packet.address);
        packet.versions.iter().map(move |it| row(it.version))
    });
    let read = kept.packets.iter().filter(|it| !it.readers.is_empty());
    let read = read.map(|it| format!("p/k/{}", it.address));
    let feedback = kept.feedback.iter().map(|it| format!("p/f/{:016x}", it.number));
    let head = (kept.last_packet > 0).then(|| "p/head".to_owned());
    let counted = (!kept.statistics.types.is_empty()).then(|| "p/s".to_owned());
    let needed = versions.chain(read).chain(feedback).chain(head).chain(counted);
    same("packets", of("p/"), needed)?;
    let others = [
        ("access", !model.config().access.is_empty()),
        ("meta", true),
        ("namespace", model.config().namespace.is_some()),
    ];
    let others = others.into_iter().filter(|(_, is_there)| *is_there);
    let known = ["a/", "c/", "e/", "h/", "k/", "p/", "q/", "r/", "s/", "v/", "offset"];
    let is_other = |row: &&String| !known.iter().any(|it| row.starts_with(it));
    same("others", rows.keys().filter(is_other).cloned(), others.map(|(row, _)| row.to_owned()))
}

/// Checks that the stored rows are the needed ones.
fn same(
    what: &str,
    stored: impl IntoIterator<Item = String>,
    needed: impl IntoIterator<Item = String>,
) -> Result<(), String> {
    let stored: BTreeSet<String> = stored.into_iter().collect();
    let needed: BTreeSet<String> = needed.into_iter().collect();
    if stored == needed {
        return Ok(());
    }
    let missing: Vec<_> = needed.difference(&stored).collect();
    let orphaned: Vec<_> = stored.difference(&needed).collect();
    Err(format!("rows of {what}: missing {missing:?}, left over {orphaned:?}"))
}

/// Recounts the stored history.
pub fn history(model: &Model) -> HistoryUse {
    let all = || model.history.values().flatten();
    HistoryUse {
        versions: all().count() as u64,
        bytes: all().map(|it| VERSION_BYTES + it.stored.value.len() as u64).sum(),
        bytes_max: model.config().retention.history_bytes_max.into(),
    }
}
