//! Malformed paths and queries, and keys with every ASCII character.

use crate::bench::{ADMIN_KEY, Bench};

#[test]
fn every_ascii_character_is_valid_in_a_key_or_rejected() {
    let bench = Bench::new();
    // A colon separates a prefix from the rest if the session allows prefixes.
    let body = r#"{"session_id":"p","config":{"allows_prefixes":true}}"#;
    bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "");
    let agent = bench.mint("p", "subagent:a");
    for path in ["inv:scope", "inv%3Ascope", "%69nv%3ascope"] {
        let target = format!("PUT /v1/sessions/p/entries/{path}");
        bench.check_as(&agent, &target, &[], "x", if path == "inv:scope" { 201 } else { 200 }, "");
    }
    for byte in 0..=127_u8 {
        let character = char::from(byte);
        let target = format!("PUT /v1/sessions/s/entries/%{byte:02X}");
        let is_key = matches!(character, 'a'..='z' | '0'..='9' | '_');
        let (status, expected) = if is_key { (201, "version") } else { (400, "INVALID_KEY") };
        bench.check(&target, "x", status, expected);
        bench.check(&format!("PUT /v1/sessions/s/entries/a%{byte:02x}b"), "x", status, expected);
        let raw = format!("/v1/sessions/s/entries/a{character}b");
        if "?#/%".contains(character) || raw.parse::<http::Uri>().is_err() {
            continue;
        }
        let status = if is_key { 200 } else { 400 };
        bench.check(
            &format!("GET {raw}"),
            "",
            status,
            if is_key { "value" } else { "INVALID_KEY" },
        );
    }
}

#[test]
fn an_encoded_slash_is_part_of_the_key() {
    let bench = Bench::new();
    bench.check("GET /v1/sessions/s/entries/a%2Fb", "", 400, "INVALID_KEY");
    bench.check("GET /v1/sessions/s/entries/a/b", "", 404, "NOT_FOUND");
    bench.check("GET /v1/sessions/s/entries/..%2F..%2Ft", "", 400, "INVALID_KEY");
    bench.check("GET /v1/sessions/s/entries/%2e%2e", "", 400, "INVALID_KEY");
    bench.check("GET /v1/sessions/s/entries/%C3%A4", "", 400, "INVALID_KEY");
    bench.check("GET /v1/sessions/s/entries/%ff", "", 400, "not UTF-8 once percent-decoded");
    bench.check("GET /v1/sessions/s/entries/%zz", "", 400, "INVALID_KEY");
    bench.check("GET /v1/sessions/s/entries/%2561", "", 400, "INVALID_KEY");
    let long = format!("GET /v1/sessions/s/entries/{}", "k".repeat(65));
    bench.check(&long, "", 400, "INVALID_KEY");
    let longer = format!("GET /v1/sessions/s/entries/{}", "k".repeat(60_000));
    assert!(bench.check(&longer, "", 400, "INVALID_KEY").body.len() < 1000);
}

#[test]
fn an_invalid_label_in_a_path_is_rejected() {
    let bench = Bench::new();
    bench.check_as(
        &bench.orchestrator,
        "POST /v1/sessions/s/snapshots",
        &[],
        r#"{"label":"v1.0-rc_2"}"#,
        201,
        "",
    );
    for label in ["v1.0-rc_2", "%76%31.0-rc%5F2"] {
        bench.check(&format!("GET /v1/sessions/s/snapshots/{label}"), "", 200, "v1.0-rc_2");
    }
    for label in ["a%20b", "a%2Fb", "%2e%2e", "-a", "_a", "%C3%A4", "%00", &"l".repeat(65)] {
        bench.check(&format!("GET /v1/sessions/s/snapshots/{label}"), "", 400, "must be 1 to 64");
    }
    bench.check("GET /v1/sessions/s/snapshots/%ff", "", 400, "not UTF-8 once percent-decoded");
    bench.check("GET /v1/sessions/s/snapshots/a/b", "", 404, "NOT_FOUND");
    bench.check("GET /v1/sessions/s/snapshots/", "", 404, "without the slash at its end");
}

#[test]
fn a_session_with_an_impossible_id_is_not_found() {
    let bench = Bench::new();
    for session in ["none", "%2e%2e", "a%2Fb", "a%20b", "%00", "%F0%9F%A6%80", &"x".repeat(5000)] {
        let seen = bench.check_as(
            ADMIN_KEY,
            &format!("GET /v1/sessions/{session}/entries"),
            &[],
            "",
            404,
            "SESSION_NOT_FOUND",
        );
        assert!(seen.body.len() < 1500, "{seen:?}");
        bench.check(&format!("GET /v1/sessions/{session}"), "", 403, "FORBIDDEN");
    }
    bench.check_as(ADMIN_KEY, "GET /v1/sessions/%ff", &[], "", 400, "not UTF-8");
}

#[test]
fn the_error_of_an_unknown_route_suggests_close_ones() {
    let bench = Bench::new();
    let check = |target: &str, expected: &str| {
        let seen = bench.check(target, "", 404, expected);
        assert_eq!(seen.json()["error"]["code"], "NOT_FOUND");
    };
    check("GET /v1/sessions/s/entry/a", "did you mean /v1/sessions/{session}/entries/{key}");
    check("GET /v1/sessions/s/entries/", "without the slash at its end");
    check("PUT /v1/sessions/s/entries/", "without the slash at its end");
    check("GET /healthz/", "without the slash at its end");
    check("GET /v1/sessions//entries", "/v1/sessions/{session}/entries");
    check("GET /favicon.ico", "GET /openapi.json");
    check("GET //", "there is no such route");
    check("GET *", "there is no such route");
}

#[test]
fn an_unknown_query_parameter_is_rejected() {
    let bench = Bench::new();
    let check = |target: &str, expected: &str| bench.check(target, "", 400, expected);
    check("GET /healthz?verbose=1", r#"query parameter \"verbose\" is unknown"#);
    check("GET /v1/sessions/s/entries?if_changed_since=1", "this route takes only prefix");
    check("GET /v1/sessions/s/snapshots?label=a", "this route takes no query parameters");
    check("GET /v1/sessions/s/snapshots/a?key=b", "this route takes no query parameters");
    check("DELETE /v1/sessions/s/entries/a?if_version=1", "takes no query parameters");
    check("GET /v1/sessions/s/prompt?max_tokens=9&max_tokens=9", "max_tokens is given twice");
    check("GET /v1/tools?format=gemini", "format must be mcp, openai or anthropic");
    check("GET /v1/tools?role=admin", "role must be agent or orchestrator");
    bench.check("GET /healthz?", "", 200, "ok");
}
