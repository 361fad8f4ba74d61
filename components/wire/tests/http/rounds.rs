//! Rounds as resources: opening, proposing, closing, state and deltas.

use crate::bench::{Bench, TestResponse};

const ROUNDS: &str = "/v1/sessions/s/rounds";
const BIND: &str = r#"{"deltas":[{"operation":"add","path":"$.bindings.customer","value":"sea:1","provenance":"by lookup"}]}"#;

#[track_caller]
fn post(bench: &Bench, rest: &str, body: &str, status: u16, expected: &str) -> TestResponse {
    let target = format!("POST {ROUNDS}{rest}");
    bench.check_as(&bench.orchestrator, &target, &[], body, status, expected)
}

#[track_caller]
fn get(bench: &Bench, rest: &str, status: u16, expected: &str) {
    bench.check(&format!("GET {ROUNDS}{rest}"), "", status, expected);
}

#[test]
fn a_round_is_opened_gets_deltas_is_closed_and_read() {
    let bench = Bench::new();
    get(&bench, "", 200, r#"{"rounds":[],"revision":1}"#);
    post(&bench, "/deltas", BIND, 409, "ROUND_NOT_OPEN");
    post(&bench, "", r#"{"query":"Who?","clip":null}"#, 201, r#""status":"open""#);
    post(&bench, "", "", 409, "ROUND_OPEN");
    bench.check(&format!("POST {ROUNDS}/deltas"), BIND, 201, r#""first_sequence":1"#);
    get(&bench, "/deltas", 200, r#""outcome":"pending""#);
    bench.check(&format!("POST {ROUNDS}/close"), "", 403, "FORBIDDEN");
    post(&bench, "/close", "", 200, r#""status":"closed""#);
    post(&bench, "/close", "{}", 409, "ROUND_NOT_OPEN");
    get(&bench, "/state", 200, r#""bindings":{"customer":"sea:1"}"#);
    get(&bench, "/state?round=0", 200, r#""bindings":{}"#);
    get(&bench, "/state?round=2", 404, "ROUND_NOT_FOUND");
    get(&bench, "", 200, r#""rounds":[{"round":1,"status":"closed""#);

    post(&bench, "", "", 201, r#""round":2"#);
    let taken = r#"{"deltas":[{"operation":"add","path":"$['bindings'].customer","value":"sea:2","provenance":"p"}]}"#;
    post(&bench, "/deltas", taken, 409, "IDENTITY_CONFLICT");
    let rule = r#"{"deltas":[{"operation":"add","path":"$.rules","value":null,"provenance":"p"}]}"#;
    post(&bench, "/deltas", rule, 201, r#""round":2"#);
    post(&bench, "/close", r#"{"discard":true}"#, 200, r#""status":"discarded""#);
    get(&bench, "/deltas?limit=1", 200, r#""next_after":"1.1""#);
    get(&bench, "/deltas?after=1.1", 200, r#"{"deltas":[{"round":2,"#);
    get(&bench, "/deltas?round=2", 200, r#""value":null"#);
    get(&bench, "/deltas?path=%24.bindings.customer", 200, r#""outcome":"applied"}],"revision""#);
    get(&bench, "/deltas?path=$.entities", 200, r#"{"deltas":[],"#);
}

#[test]
fn a_retry_with_the_same_idempotency_key_has_no_effect() {
    let bench = Bench::new();
    let send = |rest: &str, key: &str, body: &str, status: u16, expected: &str| {
        let target = format!("POST {ROUNDS}{rest}");
        let headers = [("idempotency-key", key)];
        bench.check_as(&bench.orchestrator, &target, &headers, body, status, expected).body
    };
    assert_eq!(send("", "o", "", 201, "open"), send("", "\"o\"", "{}", 201, "open"));
    let first = send("/deltas", "d", BIND, 201, r#""last_sequence":1"#);
    assert_eq!(send("/deltas", "d", BIND, 201, ""), first);
    send("/deltas", "d", &BIND.replace("sea:1", "sea:2"), 409, "REQUEST_ID_REUSED");
    assert_eq!(send("/close", "c", "", 200, "closed"), send("/close", "c", "", 200, "closed"));
    get(&bench, "/deltas", 200, r#""sequence":1"#);
}

#[test]
fn an_invalid_request_on_rounds_is_rejected() {
    let bench = Bench::new();
    post(&bench, "", "", 201, "");
    post(&bench, "/deltas", "", 400, "the body is empty, it must be a JSON object; for example");
    post(&bench, "/deltas", "{}", 400, "propose_deltas needs deltas");
    post(&bench, "/deltas", r#"{"deltas":[],"round":1}"#, 400, "no member");
    post(&bench, "/close", r#"{"request_id":"a"}"#, 400, r#"no member \"request_id\""#);
    post(&bench, "/deltas", r#"{"deltas":{}}"#, 400, "deltas must be a list, not an object");
    let nowhere = BIND.replace("$.bindings", "bindings");
    let error = post(&bench, "/deltas", &nowhere, 400, "INVALID_PATH").json();
    assert_eq!(error["error"]["delta"], 1);
    post(&bench, "/deltas", &BIND.replace("add", "modify"), 404, "PATH_NOT_FOUND");
    let rule = BIND.replace("$.bindings.customer", "$.query");
    post(&bench, "/deltas", &rule, 409, "PATH_EXISTS");
    post(&bench, "/close", r#"{"clip":"none"}"#, 400, "clip is one of");
    post(&bench, "/close", r#"{"action":"open_round"}"#, 400, r#"no member \"action\""#);
    post(&bench, "/close", "[]", 400, "not a JSON object");
    post(&bench, "?query=x", "", 400, "no query parameters");
    get(&bench, "/state?round=-1", 400, "round must be a whole number");
    get(&bench, "/state?path=$.query", 400, r#"\"path\" is unknown, this route takes only round"#);
    get(&bench, "/deltas?path=query", 400, "INVALID_PATH");
    get(&bench, "/deltas?after=1", 400, "next_after");
    get(&bench, "/deltas?limit=0", 400, "limit is 0");
    get(&bench, "/1", 404, "NOT_FOUND");
    let target = format!("POST {ROUNDS}/close");
    let send = |header, status, expected| {
        bench.check_as(&bench.orchestrator, &target, &[header], "{}", status, expected);
    };
    send(("content-type", "text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE");
    send(("if-match", "\"1\""), 400, "if-match");
    send(("idempotency-key", ""), 400, "request_id");
    bench.check(&format!("PUT {ROUNDS}/state"), "", 405, "METHOD_NOT_ALLOWED");
}

/// The rejection of a delta that was withdrawn before once said that its outcome was `rejected`.
#[test]
fn the_outcome_of_an_unchanged_delta_is_not_claimed() {
    let bench = Bench::new();
    let round = |token: &str, path: &str, body: &str, status: u16| {
        let target = format!("POST /v1/sessions/s/rounds{path}");
        bench.check_as(token, &target, &[], body, status, "").json()
    };
    round(&bench.orchestrator, "", "", 201);
    let delta = r#"{"operation":"add","path":"$.rules","value":1,"provenance":"p"}"#;
    round(&bench.agent, "/deltas", &format!(r#"{{"deltas":[{delta},{delta}]}}"#), 201);
    let seen = round(&bench.agent, "/deltas/withdraw", r#"{"sequences":[1]}"#, 200);
    assert_eq!(seen["outcome"], "withdrawn");
    let reject = r#"{"sequences":[1],"reason":"no"}"#;
    let seen = round(&bench.orchestrator, "/deltas/reject", reject, 200);
    assert_eq!(
        (&seen["unchanged"], seen.get("outcome")),
        (&serde_json::json!([1]), None),
        "{seen}"
    );
    let reject = r#"{"sequences":[1,2],"reason":"no"}"#;
    let seen = round(&bench.orchestrator, "/deltas/reject", reject, 200);
    assert_eq!(
        (&seen["outcome"], &seen["sequences"]),
        (&"rejected".into(), &serde_json::json!([2]))
    );
}
