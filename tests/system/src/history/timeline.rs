//! What a person is shown of a history that nothing explains: the answer, and what
//! happened around it.

use std::fmt::{self, Write as _};

use super::{
    History, Operation,
    model::{Answer, Change, Condition, Key, Request},
};

/// How many changes are shown that were answered before.
const BEFORE_MAX: usize = 6;
/// How many operations without an answer before this one are shown.
const DURING_MAX: usize = 16;

/// Returns the history around the operation `offending`, whose answer, the `nth`, is the first
/// that nothing explains.
pub(super) fn of(history: &History, offending: usize, nth: usize) -> String {
    let offender = &history.operations[offending];
    let until = offender.told.as_ref().map_or(u64::MAX, |(at, _)| at.place);
    let keys = offender.request.keys();
    let is_near = |it: &&Operation| {
        let touches = keys.is_empty() || it.request.keys().iter().any(|key| keys.contains(key));
        let is_change = matches!(it.request, Request::Change(_) | Request::Insert(_));
        touches && (is_change || it.asked > offender.asked)
    };
    let mut before = Vec::new();
    let mut during = Vec::new();
    for operation in history.operations.iter().filter(is_near) {
        if operation.asked.place > until || std::ptr::eq(operation, offender) {
            continue;
        }
        match &operation.told {
            Some((at, _)) if *at < offender.asked => before.push((at.place, operation)),
            _ => during.push((operation.asked.place, operation)),
        }
    }
    before.sort_by_key(|(place, _)| *place);
    during.sort_by_key(|(place, _)| *place);
    let mut text = format!(
        "{} is not linearizable: of {} operations the {nth}th answer is the first that no order \
         explains\n\n",
        history.name,
        history.operations.len()
    );
    let skipped = before.len().saturating_sub(BEFORE_MAX);
    line_of_heading(&mut text, "answered before it was asked, on the same keys", skipped);
    before[skipped..].iter().for_each(|(_, it)| line(&mut text, it));
    let skipped = during.len().saturating_sub(DURING_MAX);
    line_of_heading(&mut text, "not answered by then", skipped);
    during[skipped..].iter().for_each(|(_, it)| line(&mut text, it));
    text.push_str("the answer that nothing explains\n");
    line(&mut text, offender);
    text
}

fn line_of_heading(text: &mut String, heading: &str, skipped: usize) {
    // Writing to a string does not fail.
    let _ = match skipped {
        0 => writeln!(text, "{heading}"),
        _ => writeln!(text, "{heading} ({skipped} earlier ones are not shown)"),
    };
}

fn line(text: &mut String, operation: &Operation) {
    let ms = |at: super::Instant| at.time.as_secs_f64() * 1000.0;
    let told = operation.told.as_ref();
    let until = told.map_or_else(|| "…".to_owned(), |(at, _)| format!("{:.1}", ms(*at)));
    let answer = told.map_or_else(|| "no answer".to_owned(), |(_, it)| it.to_string());
    let _ = writeln!(
        text,
        "  {:>9.1} – {until:<9} client {:<2} {:<44} {answer}",
        ms(operation.asked),
        operation.client,
        operation.request.to_string(),
    );
}

impl Request {
    /// Returns the keys it names; none: all.
    fn keys(&self) -> Vec<Key> {
        match self {
            Self::Read(key) | Self::Insert(key) => vec![*key],
            Self::ReadBatch(keys) => keys.clone(),
            Self::List => Vec::new(),
            Self::Change(it) => it.writes.iter().chain(&it.deletes).map(|(key, _)| *key).collect(),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(key) => write!(f, "read {key}"),
            Self::ReadBatch(keys) => write!(f, "read_batch {keys:?}"),
            Self::List => write!(f, "list_keys"),
            Self::Change(change) => change.fmt(f),
            Self::Insert(key) => write!(f, "insert a line into {key}"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writes = self.writes.iter().map(|(key, it)| format!("{key} := w{}{it}", self.value));
        let deletes = self.deletes.iter().map(|(key, it)| format!("delete {key}{it}"));
        let done: Vec<_> = writes.chain(deletes).collect();
        let name =
            if self.is_named { format!(" (request_id {})", self.wish) } else { String::new() };
        write!(f, "{}{name}", done.join(" and "))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Version(version) => write!(f, " if version {version}"),
            Self::Revision(revision) => write!(f, " if revision {revision}"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(it) => {
                write!(f, "w{} version {} of revision {}", it.value, it.version, it.revision)
            }
            Self::Entries { revision, entries } => {
                write!(f, "at revision {revision}:")?;
                for entry in entries {
                    match entry {
                        Some(it) => write!(f, " w{} version {}", it.value, it.version)?,
                        None => write!(f, " nothing")?,
                    }
                }
                Ok(())
            }
            Self::Keys { revision, versions } => write!(f, "at revision {revision}: {versions:?}"),
            Self::Changed { revision, written, deleted } => {
                write!(f, "done, revision {revision}")?;
                let mut versions = written.iter().chain(deleted);
                versions.try_for_each(|it| write!(f, ", version {it}"))
            }
            Self::Inserted => write!(f, "done"),
            Self::Overtaken => write!(f, "refused: others came first"),
            Self::Missing(key) => write!(f, "refused: no {key}"),
            Self::Conflict { key, version, revision } => {
                write!(f, "refused: {key} has version {version} of revision {revision}")
            }
        }
    }
}
