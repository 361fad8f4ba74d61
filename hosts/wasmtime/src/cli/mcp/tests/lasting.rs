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
    let place = Place::new(vec![
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
    place.ask(&initialize());
    place.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let subscribe = json!({"uri": "session://s/keys"});
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": subscribe});
    place.ask(&subscribe);
    let level = json!({"level": "info"});
    place.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": level}));
    assert_eq!(place.ask(&write())["result"]["text"], "x");
    assert_eq!(place.ask(&list())["result"]["text"], "y");
    assert_eq!(
        place.server.asked(),
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
    assert!(place.written.try_recv().is_err());
}

#[test]
fn a_method_that_does_not_exist_is_no_forgotten_handshake() {
    let missing = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "m"}});
    let missing = answer("404 Not Found", "", &missing.to_string());
    let place = Place::new(vec![agreed("a"), missing]);
    place.ask(&initialize());
    assert_eq!(place.ask(&list())["error"]["code"], -32601);
}

/// All messages arrive in one write, as from a file. Nothing overtakes the handshake.
#[test]
fn what_is_sent_before_the_handshake_is_answered_waits_for_it() {
    let place = Place::new(vec![agreed("a"), result(1, "x"), result(1, "x")]);
    place.send(&initialize());
    place.send(&list());
    place.send(&list());
    let texts = [place.line(), place.line(), place.line()].map(|it| it["result"]["text"].clone());
    assert_eq!(texts, [Value::Null, "x".into(), "x".into()]);
    assert!(place.server.asked().iter().skip(1).all(|it| it.ends_with(" a")));
}

#[test]
fn the_stream_of_a_handshake_is_passed_on_and_opened_again() {
    let told = |uri: &str| json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
    let place = Place::new(vec![
        agreed("a"),
        answer("202 Accepted", "", ""),
        format!("{STREAM}data:\n\ndata: {}\n\ndata: {{\"half", told("x")),
        problem("503 Service Unavailable", "", "STORAGE_UNAVAILABLE"),
        format!("{STREAM}data: {}\n\n", told("y")),
    ]);
    place.ask(&initialize());
    place.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(place.line(), told("x"));
    assert_eq!(place.line()["method"], "notifications/resources/list_changed");
    assert_eq!(place.line(), told("y"));
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
fn a_subscription_goes_on_over_servers_and_what_was_missed_is_told() {
    let updated = || event("notifications/resources/updated", json!({"uri": "v"}));
    let done = json!({"jsonrpc": "2.0", "id": 5, "result": {"resultType": "complete"}});
    let failed = |code: &str| {
        let data = json!({"error": {"code": code}});
        let error = json!({"code": -32603, "message": "m", "data": data});
        format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": 5, "error": error}))
    };
    let place = Place::new(vec![
        format!("{STREAM}{}{}data: {done}\n\n", acknowledged(), updated()),
        problem("503 Service Unavailable", "", "STORAGE_UNAVAILABLE"),
        format!("{STREAM}{}{}", acknowledged(), failed("UNAUTHENTICATED")),
        format!("{STREAM}{}{}", acknowledged(), failed("SESSION_NOT_FOUND")),
    ]);
    place.send(&listen());
    let methods: Vec<_> = (0..6)
        .map(|_| {
            let line = place.line();
            let uri = line["params"]["uri"].as_str().unwrap_or("-");
            assert_eq!(line["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5);
            format!("{} {uri}", line["method"].as_str().unwrap())
        })
        .collect();
    let missed = ["notifications/resources/updated u", "notifications/resources/list_changed -"];
    let first = ["notifications/subscriptions/acknowledged -", "notifications/resources/updated v"];
    assert_eq!(methods, [first, missed, missed].concat());
    let end = place.line();
    assert_eq!((&end["id"], &end["error"]["code"]), (&5.into(), &(-32603).into()), "{end}");
    assert_eq!(place.server.asked().len(), 4);
}

#[test]
fn a_subscription_to_nothing_ends_as_the_server_says() {
    let nothing = event("notifications/subscriptions/acknowledged", json!({"notifications": {}}));
    let done = json!({"jsonrpc": "2.0", "id": 5, "result": {"resultType": "complete"}});
    let place = Place::new(vec![format!("{STREAM}{nothing}data: {done}\n\n")]);
    place.send(&listen());
    place.line();
    assert_eq!(place.line(), done);
    let refused = json!({"jsonrpc": "2.0", "id": 5, "error": {"code": -32602, "message": "m"}});
    let place = Place::new(vec![json_answer(&refused)]);
    assert_eq!(place.ask(&listen()), refused);
}

#[test]
fn a_subscription_that_was_cancelled_is_not_taken_up_again() {
    let place = Place::new(vec![format!("{STREAM}{}", acknowledged())]);
    place.send(&listen());
    place.line();
    let cancelled = json!({"requestId": 5});
    place
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    place.server.answers.lock().unwrap().push_back(result(1, "x"));
    // The cancelled subscription ends within the pause before its next attempt; this test
    // waits longer.
    assert_eq!(place.ask(&list())["result"]["text"], "x");
    while place.bridge.listening.load(std::sync::atomic::Ordering::SeqCst) > 0 {
        thread::yield_now();
    }
    assert_eq!(place.server.asked(), ["POST subscriptions/listen c1 -", "POST tools/list c1 -"]);
}
