//! The text of event streams (`text/event-stream` of the HTML standard): the trait of event
//! formatters, and the formatter of the change feed.
//!
//! The formatters of MCP are in `mcp::listen` and `mcp::legacy`.
//!
//! The id of an event is a revision: a reader that reconnects with it as `Last-Event-ID` gets the
//! changes after it. A block with only an id is not an event; it updates the reader's
//! `Last-Event-ID`.
//!
//! # Invariant
//!
//! The text of the feed ends with a blank line, so that a stream may end after any part of it.
//! `data:` contains only JSON without line breaks.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared_context_codec::Failure;

/// Event formatter: writes changes as the events of one kind of stream (`text/event-stream`).
pub(crate) trait EventFormatter: Send + Sync {
    /// Returns the beginning of a stream with the changes after the revision `since`.
    fn opening(&mut self, since: u64) -> String;

    /// Appends events for `changes` to `text`. They are in order and complete up to the revision
    /// `read`. Returns the revision at which the reader would resume, if an event was written.
    ///
    /// # Errors
    ///
    /// A change lacks a required member.
    fn changes(
        &self,
        text: &mut String,
        changes: &[&RawValue],
        read: u64,
    ) -> serde_json::Result<Option<u64>>;

    /// Appends a notice for a reader that is too far behind: changes before the revision `now` are
    /// no longer stored, and the stream continues from there. Returns false if the stream must end
    /// instead.
    fn truncated(&self, text: &mut String, now: u64) -> bool;

    /// Returns a text to send while nothing happens; `id` is set if changes were filtered out since
    /// the last event.
    fn heartbeat(&self, id: Option<u64>) -> String;

    /// Returns the end of a stream that is closed in order: the server is stopping, or needs its
    /// slot.
    fn closing(&self, id: Option<u64>) -> String;

    /// Returns the end of a stream that failed.
    fn end(&self, failure: &Failure) -> String;

    /// Records that the reader has received everything up to the revision `since`.
    fn delivered(&self, _since: u64) {}

    /// Returns false once the reader has opened another stream instead.
    fn is_current(&self, _now_micros: u64) -> bool {
        true
    }
}

/// Changes of one commit, as sent to readers of the feed.
#[derive(Debug, Serialize)]
pub(super) struct Commit<'c> {
    pub(super) revision: u64,
    changes: Vec<&'c RawValue>,
}

/// Groups `changes`, which are in order, by commit.
///
/// # Errors
///
/// A change lacks its revision.
pub(super) fn commits<'c>(changes: &[&'c RawValue]) -> serde_json::Result<Vec<Commit<'c>>> {
    let mut commits: Vec<Commit<'c>> = Vec::new();
    for change in changes {
        let ChangeRevision { revision } = serde_json::from_str(change.get())?;
        match commits.last_mut().filter(|it| it.revision == revision) {
            Some(commit) => commit.changes.push(change),
            None => commits.push(Commit { revision, changes: vec![change] }),
        }
    }
    Ok(commits)
}

/// Formatter of the change feed: one event for each commit.
pub(super) struct FeedFormatter;

/// Delay before a reader reconnects, in milliseconds.
const RETRY_MS: u32 = 1_000;

/// Revision of a change; its other members are passed on.
#[derive(Deserialize)]
struct ChangeRevision {
    revision: u64,
}

impl EventFormatter for FeedFormatter {
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

    /// Returns false: the reader's copy of the session has a gap, and it must start over.
    fn truncated(&self, _text: &mut String, _now: u64) -> bool {
        false
    }

    fn heartbeat(&self, id: Option<u64>) -> String {
        comment(id, "heartbeat")
    }

    /// Asks the reader to reconnect, elsewhere or later.
    fn closing(&self, id: Option<u64>) -> String {
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
        assert_eq!(FeedFormatter.changes(&mut written, &given, 99).unwrap(), last);
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
        assert!(FeedFormatter.changes(&mut String::new(), &given, 99).is_err());
    }

    #[test]
    fn every_event_ends_with_a_blank_line_whatever_its_data() {
        let failure = Failure {
            details: Some(r#"{"oldest":3}"#.to_owned()),
            ..Failure::new("CHANGES_TRUNCATED", "list\r\n\nagain")
        };
        let heartbeats = [FeedFormatter.heartbeat(None), FeedFormatter.heartbeat(Some(3))];
        let ends = [FeedFormatter.closing(None), FeedFormatter.end(&failure)];
        for text in [FeedFormatter.opening(3)].into_iter().chain(heartbeats).chain(ends) {
            assert!(text.ends_with("\n\n"), "{text:?}");
            assert_eq!(text.matches("\n\n").count(), 1, "{text:?}");
        }
        assert_eq!(FeedFormatter.heartbeat(Some(3)), "id: 3\n: heartbeat\n\n");
        let end = FeedFormatter.end(&failure);
        assert!(end.starts_with("event: end\ndata: {\"error\":{\"code\":\"CHANGES_TRUNCATED\""));
        assert!(end.contains(r#""oldest":3"#), "{end}");
    }
}
