//! Entries as resources: methods, bodies, conditions.

use crate::bench::{ADMIN_KEY, Bench};

const TEXT: (&str, &str) = ("content-type", "text/plain");
const JSON: (&str, &str) = ("content-type", "application/json");
const SCOPE: &str = "/v1/sessions/s/entries/scope";

#[test]
fn an_entry_is_put_read_listed_and_deleted() {
    let bench = Bench::new();
    let put = format!("PUT {SCOPE}");
    let seen = bench.check_as(&bench.agent, &put, &[TEXT], "Find the parameter.", 201, "");
    assert_eq!(seen.json()["version"], 1);
    assert_eq!(seen.json()["written_by"], "subagent:analysis");
    let first = seen.header("etag").to_owned();
    let seen = bench.check_as(&bench.agent, &put, &[JSON], r#"{"value":"Wider."}"#, 200, "");
    assert_eq!(seen.json()["version"], 2);
    let second = seen.header("etag").to_owned();
    assert_ne!(first, second);
    assert_eq!(second, format!("\"{}\"", seen.json()["revision"]));

    let seen = bench.check(&format!("GET {SCOPE}"), "", 200, r#""value":"Wider.""#);
    assert_eq!(seen.header("etag"), second);
    assert_eq!(seen.header("content-type"), "application/json");
    assert_eq!(seen.header("cache-control"), "no-store");
    let seen = bench.check("GET /v1/sessions/s/entries", "", 200, r#""key":"scope""#);
    assert!(!seen.body.contains("Wider"));
    assert_eq!(seen.header("etag"), format!("\"{}\"", seen.json()["revision"]));

    bench.check(&format!("DELETE {SCOPE}"), "", 200, r#""deleted":"scope","previous_version":2"#);
    bench.check(&format!("GET {SCOPE}"), "", 404, "KEY_NOT_FOUND");
    bench.check(&format!("DELETE {SCOPE}"), "", 404, "KEY_NOT_FOUND");
}

#[test]
fn a_value_is_stored_unchanged() {
    let bench = Bench::new();
    bench.check_as(&bench.agent, "PUT /v1/sessions/s/entries/v", &[TEXT], "before", 201, "");
    let values = [
        "",
        " ",
        "\u{0}",
        "\r\n\t",
        "{\"value\":1}",
        "\\u0041",
        "🦀 ä \u{feff}",
        "\"",
        "\\",
        "null",
    ];
    for value in values {
        let json = serde_json::json!({ "value": value });
        let untyped: &[(&str, &str)] = &[];
        for (headers, body) in [
            (&[TEXT][..], value.to_owned()),
            (untyped, value.to_owned()),
            (&[JSON], json.to_string()),
        ] {
            if headers.is_empty() && body.is_empty() {
                continue; // See `a_forgotten_body_or_type_changes_nothing`.
            }
            bench.check_as(&bench.agent, "DELETE /v1/sessions/s/entries/v", &[], "", 200, "");
            bench.check_as(&bench.agent, "PUT /v1/sessions/s/entries/v", headers, &body, 201, "");
            let seen = bench.check("GET /v1/sessions/s/entries/v", "", 200, "");
            assert_eq!(seen.json()["value"], value, "{headers:?}");
        }
    }
}

/// `curl -X PUT` without a body once erased the entry, and JSON without a type was stored as text.
#[test]
fn a_forgotten_body_or_type_changes_nothing() {
    let bench = Bench::new();
    let entry = "PUT /v1/sessions/s/entries/precious";
    bench.check_as(&bench.agent, entry, &[TEXT], "gold", 201, "");
    bench.check_as(&bench.agent, entry, &[], "", 400, "the body is empty");
    bench.check_as(&bench.agent, entry, &[JSON], "", 400, "the body is empty");
    let json = r#"{"value":"x"}"#;
    bench.check_as(&bench.agent, entry, &[], json, 400, "send Content-Type: application/json");
    bench.check("GET /v1/sessions/s/entries/precious", "", 200, r#""value":"gold""#);
    // Who says that it is text means it.
    bench.check_as(&bench.agent, entry, &[TEXT], json, 200, "");
    bench.check_as(&bench.agent, entry, &[TEXT], "", 200, r#""value_size_tokens":0"#);
}

#[test]
fn a_body_that_is_no_value_is_rejected() {
    let bench = Bench::new();
    let check = |header: &[(&str, &str)], body: &[u8], status: u16, expected: &str| {
        let seen = bench.send(&bench.agent, &format!("PUT {SCOPE}"), header, body.to_vec());
        assert_eq!(seen.status, status, "{seen:?}");
        assert!(seen.body.contains(expected), "{seen:?}");
        assert!(!seen.body.contains("hidden"), "a value is never repeated: {seen:?}");
    };
    check(&[TEXT], b"hidden\xff", 400, "not UTF-8 at byte 6");
    check(
        &[JSON],
        b"hidden",
        400,
        "not valid JSON: a value is missing, or text is without double quotes, at line 1 column 1",
    );
    check(&[JSON], b"\"hidden\"", 400, "not a JSON object");
    check(&[JSON], br#"{"value":"hidden""#, 400, "line 1 column");
    check(&[JSON], br#"{"value":"hidden","ttl":1}"#, 400, r#"no member \"ttl\", it knows value"#);
    let if_match = "over HTTP it is a header: send If-Match with the ETag";
    check(&[JSON], br#"{"value":"hidden","if_version":1}"#, 400, if_match);
    check(&[JSON], br#"{"value":"hidden","request_id":"r"}"#, 400, "send Idempotency-Key");
    check(&[JSON], br#"{"value":"hidden","ttl_seconds":"x"}"#, 400, "ttl_seconds must be a whole");
    check(&[JSON], br#"{"value":"hidden","written_by":"orchestrator"}"#, 400, "written_by");
    check(&[JSON], br#"{"value":"hidden","value":"hidden"}"#, 400, "the member value twice");
    check(&[JSON], br#"{"value":null}"#, 400, "needs the member value");
    check(&[JSON], b"{}", 400, "needs the member value");
    check(&[JSON], br#"{"value":["hidden"]}"#, 400, "MALFORMED_REQUEST");
    check(&[JSON], br#"{"value":"\ud800"}"#, 400, "MALFORMED_REQUEST");
    check(&[("content-type", "text/html")], b"hidden", 415, "does not take text/html");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    check(&form, b"hidden", 415, "send Content-Type: application/json (PUT takes text/plain too)");
    check(&[TEXT, ("content-encoding", "gzip")], b"hidden", 415, "a compressed body");
    check(&[TEXT, JSON], b"hidden", 400, "content-type is given twice");
    assert!(bench.engine.requests.lock().unwrap().len() <= 3, "little reached the rules");
}

#[test]
fn conditions_are_headers_and_fail_with_412() {
    let bench = Bench::new();
    let put = |headers: &[(&str, &str)], value: &str, status: u16, expected: &str| {
        let headers: Vec<_> = [TEXT].iter().chain(headers).copied().collect();
        bench.check_as(&bench.agent, &format!("PUT {SCOPE}"), &headers, value, status, expected)
    };
    put(&[("if-match", "\"1\"")], "a", 412, "VERSION_CONFLICT");
    let etag = put(&[("if-none-match", "*")], "a", 201, "").header("etag").to_owned();
    let seen = put(&[("if-none-match", "*")], "b", 412, "VERSION_CONFLICT");
    assert_eq!(seen.json()["error"]["current_version"], 1);
    let newer = put(&[("if-match", &etag)], "b", 200, "").header("etag").to_owned();
    put(&[("if-match", &etag)], "c", 412, "VERSION_CONFLICT");
    put(&[("if-match", &format!("W/{newer}"))], "c", 412, "VERSION_CONFLICT");
    put(&[("if-match", "\"none-of-ours\"")], "c", 412, "VERSION_CONFLICT");
    put(&[("if-match", "7")], "c", 400, "If-Match takes * or entity tags");
    put(&[("if-none-match", "7")], "c", 400, "If-None-Match takes * or entity tags");
    put(&[("if-match", &newer), ("if-none-match", "*")], "c", 400, "send the one you mean");

    let delete = |headers: &[(&str, &str)], status: u16, expected: &str| {
        bench.check_as(&bench.agent, &format!("DELETE {SCOPE}"), headers, "", status, expected);
    };
    delete(&[("if-match", &etag)], 412, "VERSION_CONFLICT");
    delete(&[("if-none-match", "*")], 412, "VERSION_CONFLICT");
    delete(&[("if-match", &newer)], 200, "deleted");
    delete(&[("if-match", &newer)], 404, "KEY_NOT_FOUND");

    // A failed condition in a tool request is reported as an error of the tool.
    let body = r#"{"action":"write","key":"scope","value":"x","if_version":7}"#;
    bench.check("POST /v1/sessions/s/shared_context", body, 409, "VERSION_CONFLICT");
}

/// `If-Match: *` and lists of tags got 400 although RFC 9110 §13.1 allows both. A client that
/// followed the standard could not write.
#[test]
fn conditions_may_be_stars_and_lists() {
    let bench = Bench::new();
    let ask = |method: &str, headers: &[(&str, &str)], value: &str, status: u16| {
        let expected = if status == 412 { "VERSION_CONFLICT" } else { "" };
        let headers: Vec<_> = [TEXT].iter().chain(headers).copied().collect();
        bench.check_as(
            &bench.agent,
            &format!("{method} {SCOPE}"),
            &headers,
            value,
            status,
            expected,
        )
    };
    let put = |headers: &[(&str, &str)], value: &str, status: u16| {
        ask("PUT", headers, value, status).header("etag").to_owned()
    };
    put(&[("if-match", "*")], "a", 412);
    let first = put(&[("if-none-match", "\"1\", \"2\"")], "a", 201);
    let second = put(&[("if-match", "*")], "b", 200);
    put(&[("if-match", &format!("{first}, \"x\", W/{second}"))], "c", 412);
    let third = put(&[("if-match", &format!("{first},{second}"))], "c", 200);
    put(&[("if-match", &first), ("if-match", &second)], "d", 412);
    put(&[("if-none-match", &format!("{first}, W/{third}"))], "d", 412);
    put(&[("if-none-match", &first), ("if-match", "*")], "d", 200);
    ask("DELETE", &[("if-none-match", "*")], "", 412);
    ask("DELETE", &[("if-match", &format!("{first}, {second}"))], "", 412);
    ask("DELETE", &[("if-match", "*")], "", 200);
    ask("DELETE", &[("if-match", "*")], "", 404);
    // A retry would be compared with a later state of the entry.
    let retried = [("if-match", "*"), ("idempotency-key", "once")];
    put(&retried, "e", 400);
}

/// A `PUT` once took nothing but the value, so that an expiry needed the JSON tool.
#[test]
fn a_put_sets_expiry_and_access_too() {
    let bench = Bench::new();
    let put = format!("PUT {SCOPE}");
    let body = r#"{"value":"a","ttl_seconds":60,"readable_by":["*"],"writable_by":null}"#;
    let seen = bench.check_as(&bench.agent, &put, &[JSON], body, 201, "").json();
    assert_eq!(seen["expires_at"], "2026-02-20T14:31:00Z");
    let both = r#"{"value":"b","ttl_seconds":60,"expires_at":"2026-02-20T15:00:00Z"}"#;
    bench.check_as(&bench.agent, &put, &[JSON], both, 400, "send one of them");
}

/// The body of a `DELETE` was once ignored: `{"if_version":7}` deleted version 1.
#[test]
fn a_delete_takes_its_condition_as_a_header_only() {
    let bench = Bench::new();
    bench.check(&format!("PUT {SCOPE}"), "a", 201, "");
    let delete = format!("DELETE {SCOPE}");
    for body in [r#"{"if_version":7}"#, "garbage", "[]"] {
        bench.check(&delete, body, 400, "send its ETag as If-Match");
    }
    bench.check(&delete, "{}", 200, "deleted");
}

/// `If-Match` on a `GET` was once ignored (RFC 9110 §13.1.1).
#[test]
fn a_read_with_if_match_requires_one_of_the_tags() {
    let bench = Bench::new();
    bench.check(&format!("PUT {SCOPE}"), "a", 201, "");
    for target in [format!("GET {SCOPE}"), "GET /v1/sessions/s/entries".to_owned()] {
        let etag = bench.check(&target, "", 200, "").header("etag").to_owned();
        let get = |headers: &[(&str, &str)], status: u16, expected: &str| {
            bench.check_as(&bench.agent, &target, headers, "", status, expected)
        };
        let several = format!("\"0\", {etag}");
        for tags in [&*etag, &several, "*"] {
            get(&[("if-match", tags)], 200, "");
        }
        get(&[("if-match", &etag), ("if-none-match", &etag)], 304, "");
        let seen = get(&[("if-match", "\"0\""), ("if-none-match", &etag)], 412, "");
        assert_eq!(seen.json()["error"]["code"], "VERSION_CONFLICT");
        assert_eq!(format!("\"{}\"", seen.json()["error"]["current_revision"]), etag);
        get(&[("if-match", &format!("W/{etag}"))], 412, "read it without the header");
        get(&[("if-match", "7")], 400, "If-Match takes * or entity tags");
    }
    let none = [("if-match", "\"0\"")];
    bench.check_as(&bench.agent, "GET /v1/sessions/s/entries/none", &none, "", 404, "");
}

/// `PUT` with `Content-Range` replaced the whole value by a part.
#[test]
fn a_partial_put_is_rejected() {
    let bench = Bench::new();
    let headers = [TEXT, ("content-range", "bytes 0-0/2")];
    let put = format!("PUT {SCOPE}");
    bench.check_as(&bench.agent, &put, &headers, "a", 400, "Content-Range");
    bench.check(&format!("GET {SCOPE}"), "", 404, "");
}

#[test]
fn a_repeated_insert_fails_unless_it_is_a_retry() {
    let bench = Bench::new();
    let put = |headers: &[(&str, &str)], status: u16, expected: &str| {
        let headers: Vec<_> =
            [TEXT, ("if-none-match", "*")].iter().chain(headers).copied().collect();
        bench.check_as(&bench.agent, &format!("PUT {SCOPE}"), &headers, "a", status, expected)
    };
    let retry = [("idempotency-key", "once")];
    let first = put(&retry, 201, "");
    put(&[], 412, "VERSION_CONFLICT");
    put(&[("idempotency-key", "twice")], 412, "VERSION_CONFLICT");
    let again = put(&retry, 201, "");
    assert_eq!(first.header("etag"), again.header("etag"));
}

#[test]
fn a_reader_with_the_current_tag_gets_304() {
    let bench = Bench::new();
    bench.check_as(&bench.agent, &format!("PUT {SCOPE}"), &[TEXT], "a", 201, "");
    for target in [format!("GET {SCOPE}"), "GET /v1/sessions/s/entries".to_owned()] {
        let etag = bench.check(&target, "", 200, "scope").header("etag").to_owned();
        let check = |tag: &str, status: u16| {
            let seen =
                bench.check_as(&bench.agent, &target, &[("if-none-match", tag)], "", status, "");
            assert_eq!(seen.header("etag"), etag);
            assert_eq!(seen.body.is_empty(), status == 304);
            assert_eq!(seen.headers.contains_key("content-type"), status == 200);
        };
        check(&etag, 304);
        check(&format!("\"0\", W/{etag}"), 304);
        check("*", 304);
        check("\"0\"", 200);
    }
    let none = [("if-none-match", "*")];
    bench.check_as(&bench.agent, "GET /v1/sessions/s/entries/none", &none, "", 404, "");
    // The entry never had the tag "3", although it was unchanged at that revision.
    bench.check("PUT /v1/sessions/s/entries/plan", "a", 201, "");
    let get = format!("GET {SCOPE}");
    for (tag, status) in [("\"3\"", 200), ("\"2\"", 304), ("\"1\", \"2\"", 304)] {
        let headers = [("if-none-match", tag)];
        let seen = bench.check_as(&bench.agent, &get, &headers, "", status, "");
        assert_eq!(seen.header("etag"), "\"2\"", "{tag}");
        assert_eq!(seen.body.contains("\"value\":\"a\""), status == 200, "{tag}");
    }
}

#[test]
fn changed_access_rules_are_read_despite_an_equal_tag() {
    let bench = Bench::new();
    bench.check(&format!("PUT {SCOPE}"), "a", 201, "");
    let get = format!("GET {SCOPE}");
    let etag = bench.check(&get, "", 200, "").header("etag").to_owned();
    let tags = [("if-none-match", etag.as_str())];
    bench.check_as(&bench.agent, &get, &tags, "", 304, "");
    let access = r#"{"writable_by":["orchestrator"]}"#;
    let set = format!("PUT {SCOPE}/access");
    bench.check_as(&bench.orchestrator, &set, &[], access, 200, "");
    let seen = bench.check_as(&bench.agent, &get, &tags, "", 200, r#""read_only":true"#);
    assert_eq!(seen.header("etag"), etag, "what was written is as it was");
}

#[test]
fn an_idempotency_key_makes_a_retry_safe() {
    let bench = Bench::new();
    let put = |key: &str, value: &str, status: u16, expected: &str| {
        let headers = [TEXT, ("idempotency-key", key)];
        bench.check_as(&bench.agent, &format!("PUT {SCOPE}"), &headers, value, status, expected)
    };
    let first = put("w-1", "a", 201, "");
    let again = put("\"w-1\"", "a", 201, "");
    assert_eq!(first.body, again.body);
    put("w-1", "b", 409, "REQUEST_ID_REUSED");
    put("", "b", 400, "MALFORMED_REQUEST");
    put(&"x".repeat(65), "b", 400, "MALFORMED_REQUEST");
    let delete = |key: &str| {
        let headers = [("idempotency-key", key)];
        bench.check_as(&bench.agent, &format!("DELETE {SCOPE}"), &headers, "", 200, "deleted").body
    };
    assert_eq!(delete("d-1"), delete("d-1"));
}

#[test]
fn the_admin_can_read_but_not_write_entries() {
    let bench = Bench::new();
    bench.check_as(&bench.agent, &format!("PUT {SCOPE}"), &[TEXT], "a", 201, "");
    bench.check_as(ADMIN_KEY, &format!("GET {SCOPE}"), &[], "", 200, "\"value\":\"a\"");
    bench.check_as(ADMIN_KEY, &format!("PUT {SCOPE}"), &[TEXT], "b", 403, "FORBIDDEN");
    bench.check_as(ADMIN_KEY, &format!("DELETE {SCOPE}"), &[], "", 403, "FORBIDDEN");
}

#[test]
fn limits_of_the_store_are_reported_with_their_numbers() {
    let bench = Bench::new();
    let put = |key: &str, characters: usize, status: u16, expected: &str| {
        let target = format!("PUT /v1/sessions/s/entries/{key}");
        bench.check_as(&bench.agent, &target, &[TEXT], &"x".repeat(characters), status, expected)
    };
    let seen = put("a", 4001, 413, "VALUE_TOO_LARGE");
    assert_eq!(seen.json()["error"]["limit"], 1000);
    assert_eq!(seen.json()["error"]["actual"], 1001);
    for nth in 0..10 {
        put(&format!("k{nth}"), 4000, 201, "");
    }
    put("one_more", 1, 409, "STORE_FULL");
}
