//! The text of a stream of events, as browsers and others read it
//! (`text/event-stream` of the HTML standard): what makes it, and how the change
//! feed is told. Not here: how MCP is told (`mcp::listen`, `mcp::legacy`).
//!
//! An event's id is a revision: a reader who comes back with it as
//! `Last-Event-ID` is told what came after it. A block of an id alone is no
//! event; it moves what the reader will come back with.
//!
//! # Invariant
//!
//! What the feed writes ends with a blank line, so that a stream may end
//! after any of it. Nothing but JSON without line breaks stands behind `data:`.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared_context_codec::Failure;

/// How one kind of reader is told of changes: the text of its stream,
/// `text/event-stream`.
pub(crate) trait Teller: Send + Sync {
    /// Returns the beginning of a stream that tells what comes after the revision `since`.
    fn opening(&mut self, since: u64) -> String;

    /// Adds to `text` what is told of `changes`, which are in order and all there
    /// are up to the revision `read`. Returns the revision the reader would come
    /// back with from now on, where something was told.
    ///
    /// # Errors
    ///
    /// A change does not tell what it should.
    fn changes(
        &self,
        text: &mut String,
        changes: &[&RawValue],
        read: u64,
    ) -> serde_json::Result<Option<u64>>;

    /// Adds to `text` what is told to a reader who is so far behind that changes
    /// before the revision `now` are no longer known, and goes on from there.
    /// `false`: there is nothing to tell, the stream ends.
    fn overtaken(&self, text: &mut String, now: u64) -> bool;

    /// Something to be sent while nothing happens; `id` when the reader has been
    /// spared changes since it was told something.
    fn heartbeat(&self, id: Option<u64>) -> String;

    /// Returns the end of a stream in good order: the server is stopping, or needs its place.
    fn farewell(&self, id: Option<u64>) -> String;

    /// Returns the end of a stream that cannot go on.
    fn end(&self, failure: &Failure) -> String;

    /// Notes that the reader has taken all that was told up to the revision
    /// `since`.
    fn taken(&self, _since: u64) {}

    /// Returns whether the reader still waits for this stream, and not for another one.
    fn is_wanted(&self, _now_micros: u64) -> bool {
        true
    }
}

/// What one commit changed, as readers of the feed are told.
#[derive(Debug, Serialize)]
pub(super) struct Commit<'c> {
    pub(super) revision: u64,
    changes: Vec<&'c RawValue>,
}

/// Returns the commits that `changes` are of, which are in order.
///
/// # Errors
///
/// A change does not tell its revision.
pub(super) fn commits<'c>(changes: &[&'c RawValue]) -> serde_json::Result<Vec<Commit<'c>>> {
    let mut commits: Vec<Commit<'c>> = Vec::new();
    for change in changes {
        let At { revision } = serde_json::from_str(change.get())?;
        match commits.last_mut().filter(|it| it.revision == revision) {
            Some(commit) => commit.changes.push(change),
            None => commits.push(Commit { revision, changes: vec![change] }),
        }
    }
    Ok(commits)
}

/// Tells every change, one event for each commit.
pub(super) struct Feed;

/// How long a reader waits, in milliseconds, before it connects again.
const RETRY_MS: u32 = 1_000;

/// The part of a change that is looked at here.
#[derive(Deserialize)]
struct At {
    revision: u64,
}

impl Teller for Feed {
    fn opening(&mut self, since: u64) -> String {
        format!("retry: {RETRY_MS}\nid: {since}\n: changes after revision {since}\n\n")
    }

    fn changes(
        &self,
        text: &mut String,
        changes: &[&RawValue],
        _read: u64,
    ) -> serde_json::Result<Option<u64>> {
        let mut last = None;
        for commit in commits(changes)? {
            let (revision, data) = (commit.revision, serde_json::to_string(&commit)?);
            // Writing to a string does not fail.
            let _ = write!(text, "id: {revision}\nevent: change\ndata: {data}\n\n");
            last = Some(revision);
        }
        Ok(last)
    }

    /// Returns what the reader keeps of the session has a gap: it begins anew.
    fn overtaken(&self, _text: &mut String, _now: u64) -> bool {
        false
    }

    fn heartbeat(&self, id: Option<u64>) -> String {
        comment(id, "heartbeat")
    }

    /// The reader may take the stream up elsewhere, or later.
    fn farewell(&self, id: Option<u64>) -> String {
        comment(id, "the server ends this stream; connect again")
    }

    fn end(&self, failure: &Failure) -> String {
        let error = failure.to_json();
        format!("event: end\ndata: {}\n\n", String::from_utf8_lossy(&error))
    }
}

fn comment(id: Option<u64>, comment: &str) -> String {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    format!("{id}: {comment}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, text: &str, last: Option<u64>) {
        let given: Vec<&RawValue> = serde_json::from_str(given).unwrap();
        let mut written = String::new();
        assert_eq!(Feed.changes(&mut written, &given, 99).unwrap(), last);
        assert_eq!(written, text);
    }

    #[test]
    fn a_commit_is_one_event() {
        check("[]", "", None);
        check(
            r#"[{"revision":7,"action":"write"}]"#,
            "id: 7\nevent: change\ndata: {\"revision\":7,\"changes\":[{\"revision\":7,\"action\":\"write\"}]}\n\n",
            Some(7),
        );
        check(
            r#"[{"revision":7},{"revision":7},{"revision":9}]"#,
            "id: 7\nevent: change\ndata: {\"revision\":7,\"changes\":[{\"revision\":7},{\"revision\":7}]}\n\n\
             id: 9\nevent: change\ndata: {\"revision\":9,\"changes\":[{\"revision\":9}]}\n\n",
            Some(9),
        );
    }

    #[test]
    fn a_change_without_revision_is_not_sent() {
        let given: Vec<&RawValue> = serde_json::from_str(r#"[{"action":"write"}]"#).unwrap();
        assert!(Feed.changes(&mut String::new(), &given, 99).is_err());
    }

    #[test]
    fn whatever_is_written_ends_with_a_blank_line_and_no_data_breaks_it() {
        let failure = Failure {
            details: Some(r#"{"oldest":3}"#.to_owned()),
            ..Failure::new("CHANGES_TRUNCATED", "list\r\n\nagain")
        };
        let heartbeats = [Feed.heartbeat(None), Feed.heartbeat(Some(3))];
        let ends = [Feed.farewell(None), Feed.end(&failure)];
        for text in [Feed.opening(3)].into_iter().chain(heartbeats).chain(ends) {
            assert!(text.ends_with("\n\n"), "{text:?}");
            assert_eq!(text.matches("\n\n").count(), 1, "{text:?}");
        }
        assert_eq!(Feed.heartbeat(Some(3)), "id: 3\n: heartbeat\n\n");
        let end = Feed.end(&failure);
        assert!(end.starts_with("event: end\ndata: {\"error\":{\"code\":\"CHANGES_TRUNCATED\""));
        assert!(end.contains(r#""oldest":3"#), "{end}");
    }
}
