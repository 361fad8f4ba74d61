//! Earlier versions of an entry, its access rules and redaction.

use serde_json::json;

use crate::bench::{ADMIN_KEY, Bench};

const SCOPE: &str = "/v1/sessions/s/entries/scope";

fn with_three_versions() -> Bench {
    let bench = Bench::new();
    for (value, status) in [("one", 201), ("two", 200), ("three", 200)] {
        bench.check(&format!("PUT {SCOPE}"), value, status, "");
    }
    bench
}

#[test]
fn all_or_some_versions_of_an_entry_are_read() {
    let bench = with_three_versions();
    let check = |query: &str, values: &[&str]| {
        let seen = bench.check(&format!("GET {SCOPE}/history{query}"), "", 200, "").json();
        let versions = seen["versions"].as_array().unwrap();
        let read: Vec<&str> = versions.iter().map(|it| it["value"].as_str().unwrap()).collect();
        assert_eq!(read, values, "{query}");
    };
    check("", &["one", "two", "three"]);
    check("?versions=2", &["two"]);
    check("?versions=3,1", &["one", "three"]);
    check("?versions=1%2C2", &["one", "two"]);
    check("?versions=9", &[]);
    let check_rejected = |query: &str, expected: &str| {
        bench.check(&format!("GET {SCOPE}/history?{query}"), "", 400, expected);
    };
    for wrong in ["versions=", "versions=x", "versions=1,,2", "versions=-1", "versions=1;2"] {
        check_rejected(wrong, "such as versions=1,2");
    }
    check_rejected("version=1", "this route takes only versions");
    check_rejected("versions=1&versions=2", "versions is given twice");
    bench.check("GET /v1/sessions/s/entries/none/history", "", 404, "KEY_NOT_FOUND");
    bench.check("GET /v1/sessions/s/entries/None/history", "", 400, "INVALID_KEY");
    bench.check_as(ADMIN_KEY, &format!("GET {SCOPE}/history"), &[], "", 200, "three");
}

#[test]
fn the_writer_and_the_orchestrator_set_access_rules() {
    let bench = with_three_versions();
    let set = |token: &str, body: &str, status: u16, expected: &str| {
        bench.check_as(token, &format!("PUT {SCOPE}/access"), &[], body, status, expected)
    };
    let other = bench.mint("s", "subagent:review");
    let only_mine = r#"{"readable_by":["subagent:analysis"]}"#;
    set(&other, only_mine, 403, "FORBIDDEN");
    set(ADMIN_KEY, only_mine, 403, "FORBIDDEN");
    let seen = set(&bench.agent, only_mine, 200, "").json();
    assert_eq!(seen["readable_by"], json!(["subagent:analysis"]));
    assert!(seen.get("value").is_none() && seen.get("writable_by").is_none());
    bench.check_as(&other, &format!("GET {SCOPE}"), &[], "", 404, "KEY_NOT_FOUND");
    bench.check_as(&other, &format!("PUT {SCOPE}/access"), &[], only_mine, 403, "FORBIDDEN");
    let writers = r#"{"writable_by":["subagent:*"],"readable_by":null}"#;
    let seen = set(&bench.orchestrator, writers, 200, "").json();
    assert_eq!(seen["readable_by"], json!(["subagent:analysis"]), "what is not sent stays");
    set(&bench.orchestrator, r#"{"readable_by":["*"],"writable_by":["*"]}"#, 200, "");

    let check_rejected = |body: &str, status: u16, expected: &str| {
        set(&bench.agent, body, status, expected);
    };
    check_rejected("", 400, r#"for example {\"writable_by\":"#);
    check_rejected("{}", 400, "readable_by");
    check_rejected(r#"{"readable_by":[]}"#, 400, "MALFORMED_REQUEST");
    check_rejected(r#"{"readable_by":"*"}"#, 400, "readable_by");
    check_rejected(r#"{"readable_by":["user:*"]}"#, 400, "MALFORMED_REQUEST");
    check_rejected(r#"{"key":"plan","readable_by":["*"]}"#, 400, r#"no member \"key\""#);
    let none = "PUT /v1/sessions/s/entries/none/access";
    bench.check(none, only_mine, 404, "KEY_NOT_FOUND");
}

#[test]
fn a_value_is_redacted_everywhere_or_at_one_revision() {
    let bench = with_three_versions();
    let redact = |token: &str, body: &str, status: u16, expected: &str| {
        bench.check_as(token, &format!("POST {SCOPE}/redact"), &[], body, status, expected)
    };
    bench.check(&format!("POST {SCOPE}/redact"), r#"{"reason":"x"}"#, 403, "FORBIDDEN");
    let one = r#"{"reason":"a password","revision":2}"#;
    let seen = redact(&bench.orchestrator, one, 200, r#""redacted":"scope""#).json();
    assert_eq!(seen["digests"].as_array().unwrap().len(), 1);
    bench.check(&format!("GET {SCOPE}"), "", 200, "three");
    let seen = redact(ADMIN_KEY, r#"{"reason":"a password"}"#, 200, "").json();
    assert_eq!(seen["digests"].as_array().unwrap().len(), 2);
    let history = bench.check(&format!("GET {SCOPE}/history"), "", 200, "a password").body;
    assert!(!history.contains("one") && !history.contains("two") && !history.contains("three"));

    let check_rejected = |body: &str, status: u16, expected: &str| {
        redact(&bench.orchestrator, body, status, expected);
    };
    check_rejected("", 400, r#"for example {\"reason\":"#);
    check_rejected("{}", 400, "reason");
    check_rejected(r#"{"reason":""}"#, 400, "reason must be one line");
    check_rejected(r#"{"reason":"x","revision":"2"}"#, 400, "revision");
    check_rejected(r#"{"reason":"x","versions":[1]}"#, 400, "it knows reason, revision");
    check_rejected(r#"{"reason":"x","revision":99}"#, 404, "KEY_NOT_FOUND");
}

#[test]
fn a_condition_on_access_or_redact_is_rejected() {
    let bench = with_three_versions();
    let body = r#"{"reason":"x"}"#;
    for (target, body) in [("PUT /access", r#"{"readable_by":["*"]}"#), ("POST /redact", body)] {
        let target = target.replace('/', &format!("{SCOPE}/"));
        for header in ["if-match", "if-none-match"] {
            let headers = [(header, "\"4\"")];
            let expected = format!("the header {header} means nothing here");
            bench.check_as(&bench.orchestrator, &target, &headers, body, 400, &expected);
        }
        let text = [("content-type", "text/plain")];
        bench.check_as(&bench.orchestrator, &target, &text, body, 415, "application/json");
    }
}
