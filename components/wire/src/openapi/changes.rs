//! Documentation of the routes of changes: a page, a page that is waited for, a live stream, a
//! socket.

use serde_json::json;

use super::{
    about::OperationDoc,
    acts::rejects,
    examples,
    parts::{body, response},
    schemas::reply,
};

const DESCRIPTION: &str = "\
Changes in the order of their revisions, never a value, and only of keys the caller may read. \
`next_since` is what to pass as `since` next, also when nothing is listed. `CHANGES_TRUNCATED` \
says that changes after `since` are no longer kept: list the keys again and go on from `oldest` \
or `revision`, which the error holds.

With `wait` the answer is held back, up to that many seconds, until there is a change that passes \
the filter; when there is none in that time, nothing is listed.

Who accepts `text/event-stream` gets a stream, which begins after `Last-Event-ID` or else after \
`since`, or with what comes from now on when neither is sent; it takes neither `limit` nor `wait`:

- `event: change` once for each commit that passes the filter. `id` is its revision; `data` is \
`{\"revision\", \"changes\": […]}`, with the changes as they are listed in a page.
- `: heartbeat` after 15 seconds in which nothing was sent. An `id` alone, in front of it or at \
the beginning, is no event: it moves the `Last-Event-ID` to come back with.
- `event: end` when the stream cannot go on; `data` is `{\"error\": {…}}` as in a refusal: \
`UNAUTHENTICATED` when the credential has expired or was revoked, `SESSION_NOT_FOUND` when the \
session was deleted, `CHANGES_TRUNCATED` when the reader was so slow that changes it had not read \
are no longer kept.
- A stream that ends without `event: end` was cut off, or its server is stopping: connect again. \
Whoever sends the last `id` it saw as `Last-Event-ID` loses no change and gets none twice.

A reader that lets what was sent wait for half a minute is disconnected. Only the opening counts \
toward the rate limit.

On hosts with hibernating sockets, who asks to upgrade to `websocket` (RFC 6455) gets a socket \
instead, from where a stream would begin; others ignore the wish. Each message is a JSON text, and \
what a client sends means nothing:

- `{\"event\": \"open\", \"since\": …}` first: what comes after that revision is told.
- `{\"event\": \"change\", \"revision\": …, \"changes\": […]}` once for each commit that passes the \
filter.
- `{\"event\": \"moved\", \"since\": …}` now and then, when there was nothing to tell up to there.
- `{\"event\": \"end\", \"error\": {…}}` when it cannot go on, as for a stream, at the latest when \
the next change would have been told; then it is closed with 1008, or 1011 when the server failed.

Whoever comes back with the last revision it was told, by any message, as `since` loses no change \
and gets none twice.";

const OF_A_PROJECT: &str = "\
What was done in the project, in the order of the revisions, never a content; everybody who is of \
the project sees all of it. Waiting, streams and sockets work as those of a session \
(`read_changes`): `wait` holds the answer back up to 60 seconds until something happens; who \
accepts `text/event-stream` gets an event for each commit and comes back with `Last-Event-ID`; \
hosts with hibernating sockets upgrade to `websocket`. A stream ends with `UNAUTHENTICATED` when \
the credential has expired or its session no longer accepts it, which is looked at before each \
event and heartbeat, and with `PROJECT_NOT_FOUND` when the project was deleted. \
`CHANGES_TRUNCATED` says that changes after `since` are no longer kept: go on from `oldest` or \
`revision`, which the error holds.";

/// Returns the documentation of `GET …/changes` of sessions.
pub(super) fn about() -> OperationDoc {
    OperationDoc {
        id: "read_changes",
        tag: "changes",
        summary: "Read the changes since a revision, wait for the next, or follow them live.",
        description: DESCRIPTION,
        ..feed("changes")
    }
}

/// Returns the documentation of `GET …/changes` of projects.
pub(super) fn about_projects() -> OperationDoc {
    OperationDoc {
        id: "project_changes",
        tag: "projects",
        summary: "Read what changed in the project since a revision, wait for the next, or follow it.",
        description: OF_A_PROJECT,
        ..feed("project_changes")
    }
}

/// Returns what the documentation of the feed that `action` reads has in common.
fn feed(action: &'static str) -> OperationDoc {
    let mut content = body(reply(action), examples::reply_example(action));
    content["text/event-stream"] = json!({"schema": {"type": "string"}, "example": STREAM});
    let mut responses = response("200", "Changes, or a stream of them.", content, &[]);
    let socket = "A WebSocket that sends changes, on hosts with hibernating sockets.";
    responses.insert("101".to_owned(), json!({ "description": socket }));
    OperationDoc {
        headers: &["last_event_id"],
        responses,
        codes: rejects(action, &[]),
        ..OperationDoc::default()
    }
}

const STREAM: &str = "\
retry: 1000
id: 6
: changes after revision 6

id: 7
event: change
data: {\"revision\":7,\"changes\":[{\"revision\":7,\"action\":\"write\",…}]}

: heartbeat

";
