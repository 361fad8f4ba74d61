//! The stream of the legacy protocols: notifications of subscribed resources.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use shared_context_wire::http::Watch;

use crate::{
    bench::{Bench, Hook, LocalEngine, TestResponse, WaitEvent},
    client::LEGACY,
    streams::{messages, subjects},
};

pub(crate) const KEYS: &str = "session://s/keys";
pub(crate) const A: &str = "session://s/entries/a";

/// A client with the agent's credential after its handshake.
pub(crate) struct Client {
    pub(crate) bench: Bench,
    pub(crate) id: String,
}

impl Client {
    pub(crate) fn new() -> Self {
        let bench = Bench::new();
        let id = bench.initialize(&bench.agent);
        Self { bench, id }
    }

    pub(crate) fn ask(&self, method: &str, uri: &str) -> TestResponse {
        let params = json!({ "uri": uri });
        self.bench.legacy(&self.bench.agent, Some(&self.id), method, params)
    }

    #[track_caller]
    pub(crate) fn subscribe(&self, uri: &str) {
        let seen = self.ask("resources/subscribe", uri);
        assert_eq!(seen.body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    }

    pub(crate) fn request(&self, last_event_id: Option<&str>) -> Request<Bytes> {
        let token = &self.bench.agent;
        let mut request = Request::get("/mcp")
            .header("authorization", format!("Bearer {token}"))
            .header("accept", "text/event-stream")
            .header("mcp-protocol-version", LEGACY)
            .header("mcp-session-id", &self.id);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        request.body(Bytes::new()).unwrap()
    }

    /// Opens a stream. Returns its first chunk and the stream.
    #[track_caller]
    pub(crate) fn stream(&self, last_event_id: Option<&str>) -> (String, Box<Watch>) {
        let mut watch = self.bench.live(self.request(last_event_id));
        (self.bench.next(&mut watch).unwrap(), watch)
    }

    #[track_caller]
    pub(crate) fn next(&self, watch: &mut Watch) -> String {
        self.bench.next(watch).unwrap()
    }
}

/// Returns the last event id in a chunk of a stream.
pub(crate) fn last_id(text: &str) -> Option<&str> {
    text.lines().filter_map(|it| it.strip_prefix("id: ")).next_back()
}

fn write(key: &str) -> Value {
    json!({"action": "write", "key": key, "value": "x"})
}

#[test]
fn a_client_is_notified_of_subscriptions_and_the_list() {
    let client = Client::new();
    let bench = &client.bench;
    client.subscribe(A);
    let (opening, mut watch) = client.stream(None);
    assert_eq!(opening, "retry: 1000\nid: 1\ndata:\n\n: changes after revision 1\n");
    bench.write_during_wait("a");
    let text = client.next(&mut watch);
    assert_eq!(
        messages(&text),
        [
            json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}),
            json!({"jsonrpc": "2.0", "method": "notifications/resources/updated",
                   "params": {"uri": A}}),
        ]
    );
    assert_eq!(last_id(&text), Some("2"));
    bench.write_during_wait("b");
    assert_eq!(subjects(&client.next(&mut watch)), "list");
    bench.write_during_wait("b");
    bench.write_during_wait("a");
    let text = client.next(&mut watch);
    assert_eq!((&*subjects(&text), last_id(&text)), ("a", Some("5")));
    assert_eq!(client.next(&mut watch), ": heartbeat\n");
}

#[test]
fn subscribing_affects_the_open_stream() {
    let client = Client::new();
    let (_, mut watch) = client.stream(None);
    client.bench.write("a");
    assert_eq!(subjects(&client.next(&mut watch)), "list");
    client.subscribe(A);
    client.subscribe("session://s/entries/%61");
    client.subscribe(KEYS);
    client.bench.write("a");
    assert_eq!(subjects(&client.next(&mut watch)), "%61 a keys");
    let seen = client.ask("resources/unsubscribe", A);
    assert_eq!(seen.body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    client.bench.write("a");
    assert_eq!(subjects(&client.next(&mut watch)), "%61 keys");
    // Unsubscribing without a subscription is no error.
    assert_eq!(client.ask("resources/unsubscribe", A).json()["result"], json!({}));
}

/// `resources/list` shows the working memory as text, which nobody could once subscribe to.
#[test]
fn the_working_memory_as_text_is_updated_with_its_entries() {
    let client = Client::new();
    client.subscribe("session://s/context");
    let (_, mut watch) = client.stream(None);
    client.bench.write("a");
    assert_eq!(subjects(&client.next(&mut watch)), "context list");
    client.bench.write("a");
    assert_eq!(subjects(&client.next(&mut watch)), "context");
}

/// A client subscribes before it opens its stream. The stream reports changes in between.
#[test]
fn a_change_between_subscribing_and_opening_is_reported() {
    let client = Client::new();
    client.subscribe(A);
    client.bench.write("a");
    let hook: Hook = Box::new(|engine: &LocalEngine| {
        engine.invoke_as("subagent:analysis", &write("b").to_string());
    });
    client.bench.engine.hooks.lock().unwrap().push_back(("\"changes\"", hook));
    let (opening, mut watch) = client.stream(None);
    assert_eq!((&*subjects(&opening), last_id(&opening)), ("a list", Some("3")));
    assert_eq!(client.next(&mut watch), ": heartbeat\n");
}

#[test]
fn a_stream_continues_where_the_previous_one_ended() {
    let client = Client::new();
    let bench = &client.bench;
    client.subscribe(A);
    let (_, mut first) = client.stream(None);
    bench.write("a");
    assert_eq!(subjects(&client.next(&mut first)), "a list");
    bench.write("a");
    // The client received the event, continued to read and was disconnected.
    bench.during_wait(WaitEvent::ServerStops);
    assert_eq!(subjects(&client.next(&mut first)), "a");
    assert_eq!(bench.next(&mut first), None);
    drop(first);
    bench.write("b");
    let (opening, second) = client.stream(None);
    assert_eq!((&*subjects(&opening), last_id(&opening)), ("list", Some("4")));
    drop(second);
    // The cursor of the client overrides that of the server.
    for (id, expected) in [("1", "a list"), ("2", "a list"), ("3", "list"), ("4", "")] {
        let (opening, _watch) = client.stream(Some(id));
        assert_eq!(subjects(&opening), expected, "{id}");
    }
}

/// A client that was disconnected for long, or sends an unknown revision, is notified of every
/// resource it subscribed to.
#[test]
fn a_client_that_fell_behind_is_notified_of_everything() {
    let client = Client::new();
    for uri in [A, KEYS, "session://s/entries/b"] {
        client.subscribe(uri);
    }
    let (opening, mut watch) = client.stream(Some("99"));
    assert_eq!((&*subjects(&opening), last_id(&opening)), ("a b keys list", Some("1")));
    client.bench.write("a");
    assert_eq!(subjects(&client.next(&mut watch)), "a keys list");
}

#[test]
fn heartbeats_advance_the_cursor_of_the_client() {
    let client = Client::new();
    let (_, mut watch) = client.stream(None);
    client.bench.write("a");
    assert_eq!(subjects(&client.next(&mut watch)), "list");
    client.bench.write_during_wait("a");
    let moved = "retry: 1000\nid: 3\ndata:\n\n: heartbeat\n";
    assert_eq!(client.next(&mut watch), moved);
    assert_eq!(client.next(&mut watch), ": heartbeat\n");
    client.bench.write("a");
    client.bench.during_wait(WaitEvent::ServerStops);
    let farewell = client.next(&mut watch);
    assert_eq!(
        farewell,
        "retry: 1000\nid: 4\ndata:\n\n: the server ends this stream; connect again\n"
    );
    assert_eq!(client.bench.next(&mut watch), None);
}

#[test]
fn a_second_stream_replaces_the_first() {
    let client = Client::new();
    let (_, mut first) = client.stream(None);
    let (_, mut second) = client.stream(None);
    client.bench.write("a");
    assert_eq!(client.bench.next(&mut first), None);
    assert_eq!(subjects(&client.next(&mut second)), "list");
    // The same with a pending notification.
    client.bench.write("b");
    let mut third = client.bench.live(client.request(None));
    let (opening, _fourth) = client.stream(None);
    assert_eq!(subjects(&opening), "list");
    assert_eq!(client.bench.next(&mut third), None);
    assert_eq!(client.bench.next(&mut second), None);
}

/// No pending request could carry the error as its response. The client gets it when it
/// reconnects.
#[test]
fn a_stream_whose_credential_is_revoked_ends() {
    let client = Client::new();
    let bench = &client.bench;
    client.subscribe(A);
    let (_, mut watch) = client.stream(None);
    bench.request_during_wait("admin", &json!({"action": "revoke_credentials"}));
    bench.write_during_wait("a");
    assert_eq!(client.next(&mut watch), ": this stream ends: UNAUTHENTICATED\n");
    assert_eq!(bench.next(&mut watch), None);
}

#[test]
fn changes_of_hidden_entries_are_not_reported() {
    let client = Client::new();
    client.subscribe(A);
    client.subscribe(KEYS);
    let (_, mut watch) = client.stream(None);
    let hidden = json!({"action": "write", "key": "a", "value": "x",
                        "readable_by": ["orchestrator"]});
    client.bench.request_during_wait("orchestrator", &hidden);
    let text = client.next(&mut watch);
    assert_eq!(text, "retry: 1000\nid: 2\ndata:\n\n: heartbeat\n");
    let shown = json!({"action": "set_access", "key": "a", "readable_by": ["*"]});
    client.bench.request_during_wait("orchestrator", &shown);
    assert_eq!(subjects(&client.next(&mut watch)), "a keys list");
}

/// Clients of 2025-06-18 do not support events without a message.
#[test]
fn the_oldest_version_gets_messages_and_comments_only() {
    let bench = Bench::new();
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let id = bench.mcp(&bench.agent, &[], &body.to_string()).header("mcp-session-id").to_owned();
    let client = Client { bench, id };
    let mut request = client.request(None);
    request.headers_mut().insert("mcp-protocol-version", "2025-06-18".parse().unwrap());
    let mut watch = client.bench.live(request);
    assert_eq!(client.next(&mut watch), ": changes after revision 1\n");
    client.bench.write_during_wait("a");
    assert_eq!(
        client.next(&mut watch),
        "event: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\
         \"method\":\"notifications/resources/list_changed\"}\n\n"
    );
    client.bench.write_during_wait("a");
    assert_eq!(client.next(&mut watch), ": heartbeat\n");
}

#[test]
fn a_slow_client_gets_merged_notifications_and_misses_none() {
    let client = Client::new();
    client.subscribe(A);
    client.subscribe(KEYS);
    let (_, mut watch) = client.stream(None);
    for nth in 0..100 {
        client.bench.write(if nth < 99 { "b" } else { "a" });
    }
    let mut seen = Vec::new();
    while let text = client.next(&mut watch)
        && text != ": heartbeat\n"
    {
        assert!(text.len() < 500, "{text}");
        seen.push((subjects(&text), last_id(&text).unwrap().to_owned()));
    }
    let expected = [("keys list", "33"), ("keys", "65"), ("keys", "97"), ("a keys list", "101")];
    let seen: Vec<(&str, &str)> = seen.iter().map(|(names, id)| (&**names, &**id)).collect();
    assert_eq!(seen, expected);
}
