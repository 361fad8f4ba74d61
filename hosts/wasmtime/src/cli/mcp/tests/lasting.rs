//! Tests of handshakes, their streams, and subscriptions.

use super::*;

fn initialize() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn agreed(session: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}});
    answer("200 OK", &format!("mcp-session-id: {session}\r\n"), &body.to_string())
}

/// A restarted server has forgotten every handshake, and its clients do not notice.
#[test]
fn a_handshake_that_was_forgotten_is_done_again() {
    let accepted = || answer("202 Accepted", "", "");
    let no_stream = || problem("405 Method Not Allowed", "", "METHOD_NOT_ALLOWED");
    let unknown = json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "m"}});
    let unknown = answer("404 Not Found", "", &unknown.to_string());
    let subscribed = || json_answer(&json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
    let fixture = Fixture::new(vec![
        agreed("a"),
        accepted(),
        no_stream(),
        subscribed(),
        subscribed(),
        unknown,
        agreed("b"),
        accepted(),
        subscribed(),
        subscribed(),
        result(1, "x"),
        result(1, "y"),
    ]);
    fixture.ask(&initialize());
    fixture.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let subscribe = json!({"uri": "session://s/keys"});
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": subscribe});
    fixture.ask(&subscribe);
    let level = json!({"level": "info"});
    fixture.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": level}));
    assert_eq!(fixture.ask(&write())["result"]["text"], "x");
    assert_eq!(fixture.ask(&list())["result"]["text"], "y");
    assert_eq!(
        fixture.server.asked(),
        [
            "POST initialize c1 -",
            "POST notifications/initialized c1 a",
            "GET - c1 a",
            "POST resources/subscribe c1 a",
            "POST logging/setLevel c1 a",
            "POST tools/call c1 a",
            "POST initialize c1 -",
            "POST notifications/initialized c1 b",
            "POST resources/subscribe c1 b",
            "POST logging/setLevel c1 b",
            "POST tools/call c1 b",
            "POST tools/list c1 b",
        ]
    );
    // The client received none of these messages.
    assert!(fixture.written.try_recv().is_err());
}

#[test]
fn a_method_that_does_not_exist_is_no_forgotten_handshake() {
    let missing = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "m"}});
    let missing = answer("404 Not Found", "", &missing.to_string());
    let fixture = Fixture::new(vec![agreed("a"), missing]);
    fixture.ask(&initialize());
    assert_eq!(fixture.ask(&list())["error"]["code"], -32601);
}

/// All messages arrive in one write, as from a file. Nothing overtakes the handshake.
#[test]
fn what_is_sent_before_the_handshake_is_answered_waits_for_it() {
    let fixture = Fixture::new(vec![agreed("a"), result(1, "x"), result(1, "x")]);
    fixture.send(&initialize());
    fixture.send(&list());
    fixture.send(&list());
    let texts =
        [fixture.line(), fixture.line(), fixture.line()].map(|it| it["result"]["text"].clone());
    assert_eq!(texts, [Value::Null, "x".into(), "x".into()]);
    assert!(fixture.server.asked().iter().skip(1).all(|it| it.ends_with(" a")));
}

#[test]
fn the_stream_of_a_handshake_is_passed_on_and_opened_again() {
    let updated = |uri: &str| json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
    let fixture = Fixture::new(vec![
        agreed("a"),
        answer("202 Accepted", "", ""),
        format!("{STREAM}data:\n\ndata: {}\n\ndata: {{\"half", updated("x")),
        problem("503 Service Unavailable", "", "STORAGE_UNAVAILABLE"),
        format!("{STREAM}data: {}\n\n", updated("y")),
    ]);
    fixture.ask(&initialize());
    fixture.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(fixture.line(), updated("x"));
    assert_eq!(fixture.line()["method"], "notifications/resources/list_changed");
    assert_eq!(fixture.line(), updated("y"));
}

fn listen() -> Value {
    let params = json!({"notifications": {"resourceSubscriptions": ["u"]}});
    json!({"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": params})
}

fn event(method: &str, params: Value) -> String {
    let mut params = params;
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": 5});
    format!("data: {}\n\n", json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

fn acknowledged() -> String {
    let filter = json!({"resourceSubscriptions": ["u"], "resourcesListChanged": true});
    event("notifications/subscriptions/acknowledged", json!({"notifications": filter}))
}

#[test]
fn a_subscription_continues_over_servers_and_catches_up() {
    let updated = || event("notifications/resources/updated", json!({"uri": "v"}));
    let done = json!({"jsonrpc": "2.0", "id": 5, "result": {"resultType": "complete"}});
    let failed = |code: &str| {
        let data = json!({"error": {"code": code}});
        let error = json!({"code": -32603, "message": "m", "data": data});
        format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": 5, "error": error}))
    };
    let fixture = Fixture::new(vec![
        format!("{STREAM}{}{}data: {done}\n\n", acknowledged(), updated()),
        problem("503 Service Unavailable", "", "STORAGE_UNAVAILABLE"),
        format!("{STREAM}{}{}", acknowledged(), failed("UNAUTHENTICATED")),
        format!("{STREAM}{}{}", acknowledged(), failed("SESSION_NOT_FOUND")),
    ]);
    fixture.send(&listen());
    let methods: Vec<_> = (0..6)
        .map(|_| {
            let line = fixture.line();
            let uri = line["params"]["uri"].as_str().unwrap_or("-");
            assert_eq!(line["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5);
            format!("{} {uri}", line["method"].as_str().unwrap())
        })
        .collect();
    let missed = ["notifications/resources/updated u", "notifications/resources/list_changed -"];
    let first = ["notifications/subscriptions/acknowledged -", "notifications/resources/updated v"];
    assert_eq!(methods, [first, missed, missed].concat());
    let end = fixture.line();
    assert_eq!((&end["id"], &end["error"]["code"]), (&5.into(), &(-32603).into()), "{end}");
    assert_eq!(fixture.server.asked().len(), 4);
}

#[test]
fn a_subscription_to_nothing_ends_as_the_server_says() {
    let nothing = event("notifications/subscriptions/acknowledged", json!({"notifications": {}}));
    let done = json!({"jsonrpc": "2.0", "id": 5, "result": {"resultType": "complete"}});
    let fixture = Fixture::new(vec![format!("{STREAM}{nothing}data: {done}\n\n")]);
    fixture.send(&listen());
    fixture.line();
    assert_eq!(fixture.line(), done);
    let refused = json!({"jsonrpc": "2.0", "id": 5, "error": {"code": -32602, "message": "m"}});
    let fixture = Fixture::new(vec![json_answer(&refused)]);
    assert_eq!(fixture.ask(&listen()), refused);
}

#[test]
fn a_subscription_that_was_cancelled_is_not_taken_up_again() {
    let fixture = Fixture::new(vec![format!("{STREAM}{}", acknowledged())]);
    fixture.send(&listen());
    fixture.line();
    let cancelled = json!({"requestId": 5});
    fixture
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    fixture.server.answers.lock().unwrap().push_back(result(1, "x"));
    // The cancelled subscription ends within the pause before its next attempt; this test
    // waits longer.
    assert_eq!(fixture.ask(&list())["result"]["text"], "x");
    while fixture.bridge.listening.load(std::sync::atomic::Ordering::SeqCst) > 0 {
        thread::yield_now();
    }
    assert_eq!(fixture.server.asked(), ["POST subscriptions/listen c1 -", "POST tools/list c1 -"]);
}
