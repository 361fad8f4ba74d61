//! The text of a stream of events, as browsers and others read it
//! (`text/event-stream` of the HTML standard).
//!
//! An event's id is a revision: a reader who comes back with it as
//! `Last-Event-ID` is told what came after it. A block of an id alone is no
//! event; it moves what the reader will come back with.
//!
//! # Invariant
//!
//! Whatever is written here ends with a blank line, so that a stream may end
//! after any of it. Nothing but JSON without line breaks stands behind `data:`.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;
use shared_context_codec::Failure;

/// How long a reader waits, in milliseconds, before it connects again.
const RETRY_MS: u32 = 1_000;

/// The part of a change that is looked at here.
#[derive(Deserialize)]
struct At {
    revision: u64,
}

/// The beginning of a stream that tells what comes after the revision `since`.
pub(super) fn opening(since: u64) -> String {
    format!("retry: {RETRY_MS}\nid: {since}\n: changes after revision {since}\n\n")
}

/// Adds one event to `text` for each commit among `changes`, which are in order.
/// Returns the revision of the last one.
///
/// # Errors
///
/// A change does not tell its revision.
pub(super) fn changes(
    text: &mut String,
    changes: &[&RawValue],
) -> Result<Option<u64>, serde_json::Error> {
    let mut last = None;
    for change in changes {
        let At { revision } = serde_json::from_str(change.get())?;
        if last == Some(revision) {
            text.push(',');
        } else {
            end_event(text, last);
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "id: {revision}\nevent: change\ndata: {{\"revision\":{revision},\"changes\":["
            );
            last = Some(revision);
        }
        text.push_str(change.get());
    }
    end_event(text, last);
    Ok(last)
}

fn end_event(text: &mut String, begun: Option<u64>) {
    if begun.is_some() {
        text.push_str("]}\n\n");
    }
}

/// Something to be sent while nothing happens; `id` when the reader has been
/// spared changes since the last event.
pub(super) fn heartbeat(id: Option<u64>) -> String {
    comment(id, "heartbeat")
}

/// The end of a stream that the reader may take up elsewhere, or later.
pub(super) fn farewell(id: Option<u64>) -> String {
    comment(id, "the server is stopping; connect again")
}

fn comment(id: Option<u64>, comment: &str) -> String {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    format!("{id}: {comment}\n\n")
}

/// The end of a stream that cannot go on.
pub(super) fn end(failure: &Failure) -> String {
    let error = failure.to_json();
    format!("event: end\ndata: {}\n\n", String::from_utf8_lossy(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, text: &str, last: Option<u64>) {
        let given: Vec<&RawValue> = serde_json::from_str(given).unwrap();
        let mut written = String::new();
        assert_eq!(changes(&mut written, &given).unwrap(), last);
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
        assert!(changes(&mut String::new(), &given).is_err());
    }

    #[test]
    fn whatever_is_written_ends_with_a_blank_line_and_no_data_breaks_it() {
        let failure = Failure {
            details: Some(r#"{"oldest":3}"#.to_owned()),
            ..Failure::new("CHANGES_TRUNCATED", "list\r\n\nagain")
        };
        for text in [opening(3), heartbeat(None), heartbeat(Some(3)), farewell(None), end(&failure)]
        {
            assert!(text.ends_with("\n\n"), "{text:?}");
            assert_eq!(text.matches("\n\n").count(), 1, "{text:?}");
        }
        assert_eq!(heartbeat(Some(3)), "id: 3\n: heartbeat\n\n");
        let end = end(&failure);
        assert!(end.starts_with("event: end\ndata: {\"error\":{\"code\":\"CHANGES_TRUNCATED\""));
        assert!(end.contains(r#""oldest":3"#), "{end}");
    }
}
