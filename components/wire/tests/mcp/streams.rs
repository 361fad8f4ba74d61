//! Streams of notifications, read chunk by chunk.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use shared_context_wire::http::{Body, Watch};

use crate::{
    bench::{Bench, WaitEvent},
    client::modern_request,
};

/// Returns the messages in a chunk of a stream.
#[track_caller]
pub(crate) fn messages(text: &str) -> Vec<Value> {
    assert!(text.ends_with('\n'), "{text:?}");
    let data = text.lines().filter_map(|it| it.strip_prefix("data:"));
    let data = data.map(str::trim).filter(|it| !it.is_empty());
    data.map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// Returns the subject of a notification: `list`, or the last part of the URI.
#[track_caller]
pub(crate) fn subject(message: &Value) -> &str {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    match message["method"].as_str() {
        Some("notifications/resources/list_changed") => "list",
        Some("notifications/resources/updated") => {
            message["params"]["uri"].as_str().unwrap().rsplit('/').next().unwrap()
        }
        _ => panic!("{message}"),
    }
}

/// Returns the subjects of all notifications in a chunk, sorted.
#[track_caller]
pub(crate) fn subjects(text: &str) -> String {
    let messages = messages(text);
    let mut subjects: Vec<&str> = messages.iter().map(subject).collect();
    subjects.sort_unstable();
    subjects.join(" ")
}

impl Bench {
    /// Sends a request and returns the stream that it opens.
    #[track_caller]
    pub(crate) fn live(&self, request: Request<Bytes>) -> Box<Watch> {
        let (head, body) = self.answer(request).into_parts();
        match body {
            Body::Live(watch) => {
                assert_eq!(head.status, 200);
                assert_eq!(head.headers["content-type"], "text/event-stream");
                assert_eq!(head.headers["x-accel-buffering"], "no");
                assert_eq!(head.headers["cache-control"], "no-store");
                watch
            }
            body => panic!("no stream: {} {body:?}", head.status),
        }
    }

    /// Opens a stream of `subscriptions/listen` with this request id and filter.
    #[track_caller]
    pub(crate) fn listen(&self, token: &str, id: &Value, notifications: &Value) -> Box<Watch> {
        let params = json!({ "notifications": notifications });
        let (headers, mut body) = modern_request("subscriptions/listen", params);
        body["id"] = id.clone();
        let mut request = Request::post("/mcp")
            .header("authorization", format!("Bearer {token}"))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        self.live(request.body(body.to_string().into()).unwrap())
    }

    /// Returns the messages in the next chunk.
    #[track_caller]
    pub(crate) fn next_messages(&self, watch: &mut Watch) -> Vec<Value> {
        messages(&self.next(watch).unwrap())
    }

    /// Schedules `request` by `participant` on the session `s`.
    pub(crate) fn request_during_wait(&self, participant: &'static str, request: &Value) {
        self.during_wait(WaitEvent::Request(participant, request.to_string()));
    }

    /// Returns the number of open streams from the metrics.
    pub(crate) fn open_streams(&self) -> u32 {
        let metrics = self.send("", "GET /metrics", &[], "").body;
        let line = metrics.lines().find_map(|it| it.strip_prefix("shared_context_open_streams "));
        line.unwrap().parse().unwrap()
    }
}
