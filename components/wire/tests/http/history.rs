//! What an entry was, who may see it, and what is taken out of it.

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
fn the_versions_of_an_entry_are_read_all_or_some() {
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
    let refused = |query: &str, told: &str| {
        bench.check(&format!("GET {SCOPE}/history?{query}"), "", 400, told);
    };
    for wrong in ["versions=", "versions=x", "versions=1,,2", "versions=-1", "versions=1;2"] {
        refused(wrong, "such as versions=1,2");
    }
    refused("version=1", "this route takes only versions");
    refused("versions=1&versions=2", "versions is given twice");
    bench.check("GET /v1/sessions/s/entries/none/history", "", 404, "KEY_NOT_FOUND");
    bench.check("GET /v1/sessions/s/entries/None/history", "", 400, "INVALID_KEY");
    bench.check_as(ADMIN_KEY, &format!("GET {SCOPE}/history"), &[], "", 200, "three");
}

#[test]
fn who_may_see_an_entry_is_said_by_its_writer_and_the_orchestrator() {
    let bench = with_three_versions();
    let set = |token: &str, body: &str, status: u16, told: &str| {
        bench.check_as(token, &format!("PUT {SCOPE}/access"), &[], body, status, told)
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

    let refused = |body: &str, status: u16, told: &str| {
        set(&bench.agent, body, status, told);
    };
    refused("", 400, r#"for example {\"writable_by\":"#);
    refused("{}", 400, "readable_by");
    refused(r#"{"readable_by":[]}"#, 400, "MALFORMED_REQUEST");
    refused(r#"{"readable_by":"*"}"#, 400, "readable_by");
    refused(r#"{"readable_by":["user:*"]}"#, 400, "MALFORMED_REQUEST");
    refused(r#"{"key":"plan","readable_by":["*"]}"#, 400, r#"no member \"key\""#);
    let none = "PUT /v1/sessions/s/entries/none/access";
    bench.check(none, only_mine, 404, "KEY_NOT_FOUND");
}

#[test]
fn a_value_is_redacted_everywhere_or_at_one_revision() {
    let bench = with_three_versions();
    let redact = |token: &str, body: &str, status: u16, told: &str| {
        bench.check_as(token, &format!("POST {SCOPE}/redact"), &[], body, status, told)
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

    let refused = |body: &str, status: u16, told: &str| {
        redact(&bench.orchestrator, body, status, told);
    };
    refused("", 400, r#"for example {\"reason\":"#);
    refused("{}", 400, "reason");
    refused(r#"{"reason":""}"#, 400, "reason must be one line");
    refused(r#"{"reason":"x","revision":"2"}"#, 400, "revision");
    refused(r#"{"reason":"x","versions":[1]}"#, 400, "it knows reason, revision");
    refused(r#"{"reason":"x","revision":99}"#, 404, "KEY_NOT_FOUND");
}

#[test]
fn a_condition_about_the_entry_is_not_ignored() {
    let bench = with_three_versions();
    let body = r#"{"reason":"x"}"#;
    for (target, body) in [("PUT /access", r#"{"readable_by":["*"]}"#), ("POST /redact", body)] {
        let target = target.replace('/', &format!("{SCOPE}/"));
        for header in ["if-match", "if-none-match"] {
            let headers = [(header, "\"4\"")];
            let told = format!("the header {header} means nothing here");
            bench.check_as(&bench.orchestrator, &target, &headers, body, 400, &told);
        }
        let text = [("content-type", "text/plain")];
        bench.check_as(&bench.orchestrator, &target, &text, body, 415, "application/json");
    }
}
