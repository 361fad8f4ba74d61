//! Tests of single requests: rejected, lost, sent again.

use super::*;

#[test]
fn what_the_server_answers_is_passed_on_whatever_its_status() {
    for status in ["200 OK", "400 Bad Request", "404 Not Found"] {
        let body = "{\n  \"jsonrpc\": \"2.0\", \"id\": 1,\n \"error\": {\"code\": -32601}}";
        let fixture = Fixture::new(vec![answer(status, "", body)]);
        assert_eq!(fixture.ask(&list())["error"]["code"], -32601, "{status}");
    }
}

#[test]
fn a_void_credential_is_replaced_once() {
    let void = || problem("401 Unauthorized", "", "UNAUTHENTICATED");
    let fixture = Fixture::new(vec![void(), result(1, "x")]);
    assert_eq!(fixture.ask(&write())["result"]["text"], "x");
    assert_eq!(fixture.server.asked(), ["POST tools/call c1 -", "POST tools/call c2 -"]);
    let fixture = Fixture::new(vec![void(), void()]);
    let error = &fixture.ask(&write())["error"];
    assert_eq!(error["code"], -32603);
    assert!(error["message"].as_str().unwrap().starts_with("so: UNAUTHENTICATED"), "{error}");
    assert_eq!(error["data"]["error"]["code"], "UNAUTHENTICATED");
    // A caller with a given credential has no other.
    let fixture =
        Fixture::with(Caller::Holder(Bearer::credential("mine".to_owned())), vec![void()]);
    assert_eq!(fixture.ask(&write())["error"]["data"]["error"]["code"], "UNAUTHENTICATED");
    assert_eq!(fixture.server.asked(), ["POST tools/call mine -"]);
}

#[test]
fn a_server_that_asks_for_a_moment_gets_it_once() {
    let limited = |after| {
        problem("429 Too Many Requests", &format!("retry-after: {after}\r\n"), "RATE_LIMITED")
    };
    let fixture = Fixture::new(vec![limited(0), result(1, "x")]);
    assert_eq!(fixture.ask(&write())["result"]["text"], "x");
    for answers in [vec![limited(0), limited(0)], vec![limited(60)]] {
        let count = answers.len();
        let fixture = Fixture::new(answers);
        let error = &fixture.ask(&write())["error"];
        assert_eq!(error["data"]["error"]["code"], "RATE_LIMITED");
        assert_eq!(fixture.server.asked().len(), count);
    }
}

#[test]
fn a_refusal_of_http_is_an_error_with_its_words() {
    #[track_caller]
    fn check(status: &str, code: i64) {
        let fixture = Fixture::new(vec![problem(status, "", "X")]);
        let error = &fixture.ask(&write())["error"];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&code.into(), &"so: X".into()),
            "{status}"
        );
    }
    check("403 Forbidden", -32603);
    check("413 Payload Too Large", -32600);
    check("503 Service Unavailable", -32603);
    let fixture = Fixture::new(vec![answer("502 Bad Gateway", "", "<html>")]);
    let error = &fixture.ask(&write())["error"];
    assert!(error["message"].as_str().unwrap().contains("502"), "{error}");
}

/// The server goes away between its commit and its answer.
#[test]
fn a_change_whose_outcome_is_unknown_is_not_sent_again() {
    let fixture = Fixture::new(vec![NOTHING.to_owned(), result(1, "x")]);
    let answer = fixture.ask(&write());
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "OUTCOME_UNKNOWN");
    let text = error["message"].as_str().unwrap();
    assert!(text.contains("may have been done") && text.contains("read"), "{text}");
    assert_eq!(fixture.server.asked().len(), 1);
}

#[test]
fn what_does_no_harm_is_sent_again() {
    let mut named = write();
    named["params"]["_meta"] = json!({"shared-context/request_id": "r"});
    for message in [list(), call("context_read", &json!({"keys": ["k"]})), named] {
        let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_owned();
        let fixture = Fixture::new(vec![NOTHING.to_owned(), half, result(1, "x")]);
        assert_eq!(fixture.ask(&message)["result"]["text"], "x", "{message}");
        assert_eq!(fixture.server.asked().len(), 3);
    }
    // The number of attempts is limited.
    let fixture = Fixture::new(Vec::new());
    let answer = fixture.ask(&list());
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
}

#[test]
fn a_notification_is_never_answered() {
    let fixture = Fixture::new(vec![problem("400 Bad Request", "", "X"), result(1, "x")]);
    fixture.send(&json!({"jsonrpc": "2.0", "method": "notifications/x"}));
    fixture.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    assert_eq!(fixture.ask(&write())["result"]["text"], "x");
    assert_eq!(fixture.server.asked(), ["POST notifications/x c1 -", "POST tools/call c1 -"]);
}

/// Several writes of one agent, each sent before the previous one was answered.
#[test]
fn calls_of_tools_keep_their_order() {
    let answers: Vec<_> = (1..=20).map(|id| result(id, "x")).collect();
    let fixture = Fixture::new(answers);
    for id in 1..=20 {
        let mut message = write();
        message["id"] = id.into();
        fixture.send(&message);
    }
    let ids: Vec<u64> = (1..=20).map(|_| fixture.line()["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=20).collect::<Vec<u64>>());
}

#[test]
fn an_answer_that_comes_as_events_is_passed_on() {
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress"});
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {"text": "x"}});
    let events = format!("{STREAM}data: {progress}\n\ndata: {response}\n\n");
    let fixture = Fixture::new(vec![events, format!("{STREAM}data: {progress}\n\n")]);
    fixture.send(&list());
    assert_eq!([fixture.line(), fixture.line()], [progress.clone(), response]);
    fixture.send(&list());
    assert_eq!(fixture.line(), progress);
    assert_eq!(fixture.line()["error"]["code"], -32603);
}
