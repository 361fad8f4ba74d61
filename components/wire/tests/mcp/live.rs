//! Streams of notifications, as a client takes them piece by piece.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use shared_context_wire::http::{Body, Watch};

use crate::{
    bench::{Bench, WaitEvent},
    client::modern_request,
};

/// Returns the messages in a piece of a stream.
#[track_caller]
pub(crate) fn messages(text: &str) -> Vec<Value> {
    assert!(text.ends_with('\n'), "{text:?}");
    let data = text.lines().filter_map(|it| it.strip_prefix("data:"));
    let data = data.map(str::trim).filter(|it| !it.is_empty());
    data.map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// Returns what a notification says in short: `list`, or the last part of the URI.
#[track_caller]
pub(crate) fn short(message: &Value) -> &str {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    match message["method"].as_str() {
        Some("notifications/resources/list_changed") => "list",
        Some("notifications/resources/updated") => {
            message["params"]["uri"].as_str().unwrap().rsplit('/').next().unwrap()
        }
        _ => panic!("{message}"),
    }
}

/// Returns the same for all messages in a piece, each once; in the order of the alphabet.
#[track_caller]
pub(crate) fn told(text: &str) -> String {
    let messages = messages(text);
    let mut told: Vec<&str> = messages.iter().map(short).collect();
    told.sort_unstable();
    told.join(" ")
}

impl Bench {
    /// Sends a request that is answered with a stream.
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

    /// Opens a stream of `subscriptions/listen` with this id and this filter.
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

    /// Returns the messages that come next.
    #[track_caller]
    pub(crate) fn next_messages(&self, watch: &mut Watch) -> Vec<Value> {
        messages(&self.next(watch).unwrap())
    }

    /// `who` makes the request `request` on the session `s` while someone waits.
    pub(crate) fn request_during_wait(&self, who: &'static str, request: &Value) {
        self.during_wait(WaitEvent::Request(who, request.to_string()));
    }

    /// Returns how many streams are open, as the metrics say.
    pub(crate) fn open_streams(&self) -> u32 {
        let metrics = self.send("", "GET /metrics", &[], "").body;
        let line = metrics.lines().find_map(|it| it.strip_prefix("shared_context_open_streams "));
        line.unwrap().parse().unwrap()
    }
}
