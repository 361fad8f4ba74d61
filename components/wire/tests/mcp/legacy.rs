//! The stream of the older protocols: what it tells of what a client subscribed to.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use shared_context_wire::http::Watch;

use crate::{
    bench::{Bench, Hook, LocalEngine, TestResponse, WaitEvent},
    client::LEGACY,
    live::{messages, told},
};

pub(crate) const KEYS: &str = "session://s/keys";
pub(crate) const A: &str = "session://s/entries/a";

/// A client of the agent's after its handshake.
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

    /// Opens a stream: what it begins with, and the stream.
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

/// Returns the last id in a piece of a stream.
pub(crate) fn last_id(text: &str) -> Option<&str> {
    text.lines().filter_map(|it| it.strip_prefix("id: ")).next_back()
}

fn write(key: &str) -> Value {
    json!({"action": "write", "key": key, "value": "x"})
}

#[test]
fn a_client_hears_of_what_it_subscribed_to_and_of_the_list() {
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
    assert_eq!(told(&client.next(&mut watch)), "list");
    bench.write_during_wait("b");
    bench.write_during_wait("a");
    let text = client.next(&mut watch);
    assert_eq!((&*told(&text), last_id(&text)), ("a", Some("5")));
    assert_eq!(client.next(&mut watch), ": heartbeat\n");
}

#[test]
fn subscribing_counts_for_the_stream_that_is_open() {
    let client = Client::new();
    let (_, mut watch) = client.stream(None);
    client.bench.write("a");
    assert_eq!(told(&client.next(&mut watch)), "list");
    client.subscribe(A);
    client.subscribe("session://s/entries/%61");
    client.subscribe(KEYS);
    client.bench.write("a");
    assert_eq!(told(&client.next(&mut watch)), "%61 a keys");
    let seen = client.ask("resources/unsubscribe", A);
    assert_eq!(seen.body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    client.bench.write("a");
    assert_eq!(told(&client.next(&mut watch)), "%61 keys");
    // What was not subscribed to is no error.
    assert_eq!(client.ask("resources/unsubscribe", A).json()["result"], json!({}));
}

/// A client subscribes before its stream is open: what is changed between is told.
#[test]
fn a_change_between_subscribing_and_the_stream_is_told() {
    let client = Client::new();
    client.subscribe(A);
    client.bench.write("a");
    let deed: Hook = Box::new(|engine: &LocalEngine| {
        engine.invoke_as("subagent:analysis", &write("b").to_string());
    });
    client.bench.engine.before.lock().unwrap().push_back(("\"changes\"", deed));
    let (opening, mut watch) = client.stream(None);
    assert_eq!((&*told(&opening), last_id(&opening)), ("a list", Some("3")));
    assert_eq!(client.next(&mut watch), ": heartbeat\n");
}

#[test]
fn a_stream_goes_on_where_the_one_before_was() {
    let client = Client::new();
    let bench = &client.bench;
    client.subscribe(A);
    let (_, mut first) = client.stream(None);
    bench.write("a");
    assert_eq!(told(&client.next(&mut first)), "a list");
    bench.write("a");
    // The client took what came, asked for more and was cut off.
    bench.during_wait(WaitEvent::ServerStops);
    assert_eq!(told(&client.next(&mut first)), "a");
    assert_eq!(bench.next(&mut first), None);
    drop(first);
    bench.write("b");
    let (opening, second) = client.stream(None);
    assert_eq!((&*told(&opening), last_id(&opening)), ("list", Some("4")));
    drop(second);
    // The client knows better what it took.
    for (id, expected) in [("1", "a list"), ("2", "a list"), ("3", "list"), ("4", "")] {
        let (opening, _watch) = client.stream(Some(id));
        assert_eq!(told(&opening), expected, "{id}");
    }
}

/// A client that was cut off for long, or comes with what is no revision of this
/// session, is told of all that it subscribed to.
#[test]
fn a_client_that_was_overtaken_is_told_everything() {
    let client = Client::new();
    for uri in [A, KEYS, "session://s/entries/b"] {
        client.subscribe(uri);
    }
    let (opening, mut watch) = client.stream(Some("99"));
    assert_eq!((&*told(&opening), last_id(&opening)), ("a b keys list", Some("1")));
    client.bench.write("a");
    assert_eq!(told(&client.next(&mut watch)), "a keys list");
}

#[test]
fn a_stream_that_tells_nothing_moves_its_client_on() {
    let client = Client::new();
    let (_, mut watch) = client.stream(None);
    client.bench.write("a");
    assert_eq!(told(&client.next(&mut watch)), "list");
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
fn a_second_stream_takes_the_place_of_the_first() {
    let client = Client::new();
    let (_, mut first) = client.stream(None);
    let (_, mut second) = client.stream(None);
    client.bench.write("a");
    assert_eq!(client.bench.next(&mut first), None);
    assert_eq!(told(&client.next(&mut second)), "list");
    // The same when something was to be told already.
    client.bench.write("b");
    let mut third = client.bench.live(client.request(None));
    let (opening, _fourth) = client.stream(None);
    assert_eq!(told(&opening), "list");
    assert_eq!(client.bench.next(&mut third), None);
    assert_eq!(client.bench.next(&mut second), None);
}

/// There is no request that could be answered with the reason: the client hears it
/// when it connects again.
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
fn what_is_hidden_from_the_caller_is_not_told() {
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
    assert_eq!(told(&client.next(&mut watch)), "a keys list");
}

/// Clients of 2025-06-18 know no events without a message.
#[test]
fn a_client_of_the_oldest_version_is_sent_messages_and_comments_only() {
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
fn a_client_that_takes_nothing_is_told_little_and_misses_nothing() {
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
        seen.push((told(&text), last_id(&text).unwrap().to_owned()));
    }
    let expected = [("keys list", "33"), ("keys", "65"), ("keys", "97"), ("a keys list", "101")];
    let seen: Vec<(&str, &str)> = seen.iter().map(|(told, id)| (&**told, &**id)).collect();
    assert_eq!(seen, expected);
}
