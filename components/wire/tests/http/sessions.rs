//! Sessions over HTTP: life cycle, credentials, listing, prompt and audit.

use serde_json::json;

use crate::bench::{ADMIN_KEY, Bench};

const MINT: &str = "POST /v1/sessions/s/credentials";

#[test]
fn creating_a_session_returns_the_orchestrators_credential() {
    let bench = Bench::new();
    let body = r#"{"config":{"value_tokens_max":500},"session_id":"CAPA-2026.014"}"#;
    let seen = bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, 201, "");
    assert_eq!(seen.header("location"), "/v1/sessions/CAPA-2026.014");
    assert_eq!(seen.header("cache-control"), "no-store");
    let session = seen.json();
    assert_eq!(session["session_id"], "CAPA-2026.014");
    assert_eq!(session["status"], "active");
    assert_eq!(session["config"]["value_tokens_max"], 500);
    assert_eq!(session["expires_at"], "2026-03-22T14:30:00Z");
    let credential = session["credential"].as_str().unwrap();
    let show = format!("GET {}", seen.header("location"));
    let shown = bench.check_as(credential, &show, &[], "", 200, "").json();
    assert_eq!(shown["session_id"], "CAPA-2026.014");
    assert!(shown.get("credential").is_none());
}

#[test]
fn creating_an_invalid_session_is_rejected() {
    let bench = Bench::new();
    let check = |body: &str, status: u16, expected: &str| {
        bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], body, status, expected);
    };
    check(r#"{"session_id":"s"}"#, 409, "SESSION_EXISTS");
    check(r#"{"session_id":"../s"}"#, 400, "session_id must be 1 to 128");
    check(r#"{"session_id":""}"#, 400, "MALFORMED_REQUEST");
    check(r#"{"session_id":7}"#, 400, "session_id must be a string; for example");
    check("{}", 400, "needs the member session_id");
    check("", 400, "the body is empty");
    check("[]", 400, "not a JSON object");
    check(
        r#"{"session_id":"t","id":"t"}"#,
        400,
        r#"no member \"id\", it knows session_id, config"#,
    );
    check(r#"{"session_id":"t","config":{"colour":"red"}}"#, 400, "colour");
    check(r#"{"session_id":"t","config":[]}"#, 400, "MALFORMED_REQUEST");
    check(r#"{"session_id":"t","config":{"value_tokens_max":0}}"#, 400, "MALFORMED_REQUEST");
    check(r#"{"session_id":"t","config":null}"#, 201, "");
    let text = [("content-type", "text/plain")];
    bench.check_as(ADMIN_KEY, "POST /v1/sessions", &text, "{}", 415, "application/json");
    for token in [&bench.orchestrator, &bench.agent] {
        let body = r#"{"session_id":"u"}"#;
        bench.check_as(token, "POST /v1/sessions", &[], body, 403, "only the operator");
        bench.check_as(token, "GET /v1/sessions", &[], "", 403, "FORBIDDEN");
    }
}

#[test]
fn a_session_is_archived_and_deleted() {
    let bench = Bench::new();
    let admin = |target: &str, body: &str, status: u16, expected: &str| {
        bench.check_as(ADMIN_KEY, target, &[], body, status, expected);
    };
    for step in ["archive", "revoke"] {
        let target = format!("POST /v1/sessions/s/{step}");
        bench.check_as(&bench.orchestrator, &target, &[], "", 403, "FORBIDDEN");
        admin(&target, r#"{"now":true}"#, 400, r#"no member \"now\""#);
        admin(&target, "[]", 400, "for example {}, or no body at all");
    }
    bench.check_as(&bench.orchestrator, "DELETE /v1/sessions/s", &[], "", 403, "FORBIDDEN");
    admin("POST /v1/sessions/s/archive", "", 200, r#""status":"archived""#);
    admin("POST /v1/sessions/s/archive", "{}", 200, r#""status":"archived""#);
    bench.check("PUT /v1/sessions/s/entries/a", "x", 409, "SESSION_ARCHIVED");
    bench.check("GET /v1/sessions/s/entries", "", 200, "keys");
    admin("DELETE /v1/sessions/s", "", 200, r#""deleted_session":"s""#);
    admin("GET /v1/sessions/s", "", 404, "SESSION_NOT_FOUND");
    admin("DELETE /v1/sessions/s", "", 404, "SESSION_NOT_FOUND");
    admin("POST /v1/sessions/s/archive", "", 404, "SESSION_NOT_FOUND");
    admin(MINT, r#"{"participant":"subagent:a"}"#, 404, "SESSION_NOT_FOUND");
}

#[test]
fn only_operator_and_orchestrator_mint_credentials() {
    let bench = Bench::new();
    let check = |token: &str, participant: &str, status: u16, expected: &str| {
        let body = format!(r#"{{"participant":"{participant}"}}"#);
        bench.check_as(token, MINT, &[], &body, status, expected)
    };
    for (nth, participant) in
        ["orchestrator", "subagent:analysis", "subagent:analysis:3"].into_iter().enumerate()
    {
        let minted = check(ADMIN_KEY, participant, 201, "").json();
        assert_eq!(minted["participant"], participant);
        let token = minted["credential"].as_str().unwrap();
        let target = format!("PUT /v1/sessions/s/entries/entry_{nth}");
        bench.check_as(token, &target, &[], "x", 201, participant);
    }
    check(&bench.orchestrator, "subagent:review", 201, "2026-02-21T14:30:00Z");
    check(&bench.orchestrator, "orchestrator", 403, "mints credentials of subagents only");
    // These errors once advised to ask the orchestrator for a credential.
    check(&bench.agent, "subagent:analysis", 403, "go on with the one that you have");
    check(&bench.agent, "orchestrator", 403, "go on with the one that you have");
    for token in [ADMIN_KEY, &bench.orchestrator, &bench.agent] {
        check(token, "admin", 403, "the admin is not a participant");
        for wrong in
            ["", "Admin", "user", "subagent", "subagent:", "subagent:a b", "subagent:a:b:c"]
        {
            check(token, wrong, 400, "a participant is orchestrator, subagent:{task}");
        }
    }
}

#[test]
fn a_subagents_credential_can_be_limited_to_keys() {
    let bench = Bench::new();
    for key in ["inv_1", "scope", "phase"] {
        bench.write(key);
    }
    let body = r#"{"participant":"subagent:a","keys":["inv_*","scope"],"ttl_seconds":60}"#;
    let minted = bench.check_as(&bench.orchestrator, MINT, &[], body, 201, "").json();
    assert_eq!(minted["keys"], json!(["inv_*", "scope"]));
    assert_eq!(minted["expires_at"], "2026-02-20T14:31:00Z");
    let token = minted["credential"].as_str().unwrap();
    let check = |target: &str, status: u16, expected: &str| {
        let body = if target.starts_with("PUT") { "x" } else { "" };
        bench.check_as(token, target, &[], body, status, expected)
    };
    let listing = check("GET /v1/sessions/s/entries", 200, "").json();
    let keys: Vec<_> = listing["keys"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert_eq!(keys, ["inv_1", "scope"]);
    check("GET /v1/sessions/s/entries/scope", 200, "");
    check("GET /v1/sessions/s/entries/phase", 404, "KEY_NOT_FOUND");
    check("PUT /v1/sessions/s/entries/inv_2", 201, r#""written_by":"subagent:a""#);
    for key in ["phase", "never"] {
        check(
            &format!("PUT /v1/sessions/s/entries/{key}"),
            403,
            "match inv_*, scope; write to one",
        );
        check(&format!("DELETE /v1/sessions/s/entries/{key}"), 403, "FORBIDDEN");
    }
    check("GET /v1/sessions/s/prompt", 200, "only keys that match inv_*, scope;");
    let changes = check("GET /v1/sessions/s/changes", 200, "inv_2").body;
    assert!(!changes.contains("phase"), "{changes}");
    let (_, mut watch) = bench.watch(token, "?since=1", None);
    let streamed = bench.next(&mut watch).unwrap();
    assert!(streamed.contains("inv_1") && !streamed.contains("phase"), "{streamed}");
    // A subagent cannot mint, so it cannot escape its key patterns.
    bench.check_as(token, MINT, &[], r#"{"participant":"subagent:a"}"#, 403, "FORBIDDEN");
}

#[test]
fn invalid_key_patterns_of_a_credential_are_rejected() {
    let bench = Bench::new();
    let check = |participant: &str, keys: &str, status: u16, expected: &str| {
        let body = format!(r#"{{"participant":"{participant}","keys":{keys}}}"#);
        bench.check_as(ADMIN_KEY, MINT, &[], &body, status, expected)
    };
    let patterns = |count: usize| json!(vec!["a_*"; count]).to_string();
    check("subagent:a", &patterns(16), 201, r#""keys":["a_*""#);
    check("subagent:a", r#"["*"]"#, 201, r#""keys":["*"]"#);
    let whole = check("subagent:a", "null", 201, "");
    assert!(whole.json().get("keys").is_none(), "{whole:?}");
    check("subagent:a", &patterns(17), 400, "keys: a list of keys has 17 patterns; it has at most");
    check("subagent:a", "[]", 400, "keys names no key at all");
    check("subagent:a", r#"["scope","Scope"]"#, 400, r#"keys: no key matches \"Scope\""#);
    for wrong in [r#""scope""#, "7", "{}", r#"["scope",7]"#, "[null]", r#"[["scope"]]"#] {
        check("subagent:a", wrong, 400, "the member keys must be a list of strings");
    }
    for keys in [r#"["inv_*"]"#, r#"["*"]"#, "[]"] {
        check("orchestrator", keys, 400, "only a subagent's credential can be limited to keys");
        check("admin", keys, 400, "only a subagent's credential can be limited to keys");
    }
    check("orchestrator", "null", 201, "");
    let body = r#"{"participant":"subagent:a","keys":["Scope"]}"#;
    bench.check_as(&bench.agent, MINT, &[], body, 400, "MALFORMED_REQUEST");
}

#[test]
fn the_ttl_of_a_credential_has_bounds() {
    let bench = Bench::new();
    let check = |ttl: &str, status: u16, expected: &str| {
        let body = format!(r#"{{"participant":"subagent:a","ttl_seconds":{ttl}}}"#);
        bench.check_as(&bench.orchestrator, MINT, &[], &body, status, expected);
    };
    check("60", 201, "2026-02-20T14:31:00Z");
    check("2592000", 201, "2026-03-22T14:30:00Z");
    check("null", 201, "2026-02-21T14:30:00Z");
    for wrong in ["0", "59", "2592001", "18446744073709551615"] {
        check(wrong, 400, "ttl_seconds must be from 60 to 2592000");
    }
    for wrong in ["-1", "60.5", "\"60\"", "true", "[]", "18446744073709551616"] {
        check(wrong, 400, "ttl_seconds must be a whole number");
    }
}

#[test]
fn sessions_are_listed_page_by_page() {
    let bench = Bench::new();
    for session in ["a", "b", "t", "z"] {
        bench.create(session);
    }
    let list = |query: &str, ids: &[&str], next: Option<&str>| {
        let target = format!("GET /v1/sessions{query}");
        let page = bench.check_as(ADMIN_KEY, &target, &[], "", 200, "").json();
        let seen: Vec<&str> = page["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["session_id"].as_str().unwrap())
            .collect();
        assert_eq!(seen, ids, "{query}");
        assert_eq!(page["next_after"].as_str(), next, "{query}");
    };
    list("", &["a", "b", "s", "t", "z"], None);
    list("?limit=2", &["a", "b"], Some("b"));
    list("?limit=2&after=b", &["s", "t"], Some("t"));
    list("?after=t&limit=2", &["z"], None);
    list("?limit=5", &["a", "b", "s", "t", "z"], None);
    list("?after=z", &[], None);
    list("?after=", &["a", "b", "s", "t", "z"], None);
    for query in ["limit=0", "limit=1001", "limit=x", "limit=", "limit=99999999999999999999"] {
        let target = format!("GET /v1/sessions?{query}");
        bench.check_as(ADMIN_KEY, &target, &[], "", 400, "limit must be");
    }
}

#[test]
fn a_session_deleted_during_listing_is_left_out() {
    let bench = Bench::new();
    bench.create("t");
    let gone = shared_context_codec::Failure::new("SESSION_NOT_FOUND", "gone");
    *bench.engine.next_failure.lock().unwrap() = Some(gone);
    let page = bench.check_as(ADMIN_KEY, "GET /v1/sessions", &[], "", 200, "").json();
    assert_eq!(page["sessions"].as_array().unwrap().len(), 1);
    let broken = shared_context_codec::Failure::new("STORAGE_UNAVAILABLE", "the disk is gone");
    *bench.engine.next_failure.lock().unwrap() = Some(broken);
    bench.check_as(ADMIN_KEY, "GET /v1/sessions", &[], "", 503, "the disk is gone");
}

#[test]
fn a_prompt_is_rendered_as_json_or_plain_text() {
    let bench = Bench::new();
    let prompt = "GET /v1/sessions/s/prompt";
    let as_json = bench.check(prompt, "", 200, "").json();
    let text = [("accept", "text/plain")];
    let as_text = bench.check_as(&bench.agent, prompt, &text, "", 200, "");
    assert_eq!(as_text.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(as_text.body, as_json["text"].as_str().unwrap());
    let query = format!("{prompt}?participant=orchestrator&max_tokens=400");
    let narrow = bench.check(&query, "", 200, "").json();
    assert_eq!(narrow["max_tokens"], 400);
    bench.check(&format!("{prompt}?participant=subagent%3Aanalysis%3A3"), "", 200, "");
    bench.check(&format!("{prompt}?participant=nobody"), "", 400, "MALFORMED_REQUEST");
    bench.check(&format!("{prompt}?max_tokens=1"), "", 400, "MALFORMED_REQUEST");
    bench.check(&format!("{prompt}?max_tokens=99999999999"), "", 400, "MALFORMED_REQUEST");
    bench.check(&format!("{prompt}?max_tokens=-1"), "", 400, "whole number");
    bench.check(&format!("{prompt}?who=me"), "", 400, "only participant, max_tokens");
}

#[test]
fn the_operator_reads_the_audit_and_it_has_no_values() {
    let bench = Bench::new();
    bench.check("PUT /v1/sessions/s/entries/a", "secret plan", 201, "");
    let audit = "GET /v1/sessions/s/audit";
    let seen = bench.check_as(ADMIN_KEY, audit, &[], "", 200, r#""key":"a""#);
    assert!(!seen.body.contains("secret plan"));
    let page = bench.check_as(ADMIN_KEY, &format!("{audit}?limit=1"), &[], "", 200, "").json();
    assert_eq!(page["records"].as_array().unwrap().len(), 1);
    let next = format!("{audit}?after={}", page["next_after"]);
    bench.check_as(ADMIN_KEY, &next, &[], "", 200, r#""action":"write""#);
    bench.check_as(&bench.orchestrator, audit, &[], "", 403, "FORBIDDEN");
    bench.check_as(ADMIN_KEY, &format!("{audit}?limit=1001"), &[], "", 400, "MALFORMED_REQUEST");
}

/// An orchestrator that was limited to the working memory once minted credentials with rounds.
#[test]
fn a_credential_passes_on_only_its_own_tools() {
    let bench = Bench::new();
    let mint = |token: &str, body: &str, status: u16, expected: &str| {
        bench.check_as(token, MINT, &[], body, status, expected).json()
    };
    let body = r#"{"participant":"orchestrator","tools":["shared_context"]}"#;
    let minted = mint(ADMIN_KEY, body, 201, "");
    let limited = minted["credential"].as_str().unwrap();
    let seen = mint(limited, r#"{"participant":"subagent:a"}"#, 201, "");
    assert_eq!(seen["tools"], serde_json::json!(["shared_context"]), "{seen}");
    let body = r#"{"participant":"subagent:a","tools":["delta_rounds"]}"#;
    mint(limited, body, 403, "does not have the tools delta_rounds");
    mint(limited, r#"{"participant":"subagent:a","tools":[]}"#, 201, "");
    // A caller without a limit may set any.
    mint(&bench.orchestrator, body, 201, r#""tools":["delta_rounds"]"#);
}

/// A credential for some keys once received the counts of keys and tokens of the whole session.
#[test]
fn a_limited_credential_is_told_the_counts_of_its_keys() {
    let bench = Bench::new();
    for key in ["inv_a", "other", "more"] {
        bench.write(key);
    }
    let take = r#"{"label":"first"}"#;
    let snapshots = "POST /v1/sessions/s/snapshots";
    bench.check_as(&bench.orchestrator, snapshots, &[], take, 201, r#""key_count":3"#);
    let body = r#"{"participant":"subagent:a","keys":["inv_*"]}"#;
    let minted = bench.check_as(ADMIN_KEY, MINT, &[], body, 201, "").json();
    let limited = minted["credential"].as_str().unwrap();
    for target in
        ["GET /v1/sessions/s", "GET /v1/sessions/s/snapshots", "GET /v1/sessions/s/snapshots/first"]
    {
        bench.check_as(limited, target, &[], "", 200, r#""key_count":1"#);
        bench.check(target, "", 200, r#""key_count":3"#);
    }
}

/// The advice once was to create `../cli`, which no session can be named.
#[test]
fn no_command_is_named_for_an_impossible_id() {
    let bench = Bench::new();
    let check = |id: &str, expected: &str| {
        let seen =
            bench.check_as(ADMIN_KEY, &format!("GET /v1/sessions/{id}"), &[], "", 404, expected);
        assert_eq!(seen.body.contains("session create"), expected == "create it first", "{seen:?}");
    };
    check("gone", "create it first");
    check("..%2Fcli", "there can be none");
    check("..", "there can be none");
    check("cli%3Fx=1", "there can be none");
}

/// The answer was JSON for any `Accept`.
#[test]
fn what_a_client_rules_out_is_not_sent() {
    let bench = Bench::new();
    let check = |target: &str, accept: &str, status: u16, expected: &str| {
        let headers = [("accept", accept)];
        bench.check_as(&bench.agent, target, &headers, "", status, expected)
    };
    let list = "GET /v1/sessions/s/entries";
    for accept in ["*/*;q=0", "application/xml", "image/png", "text/plain"] {
        check(list, accept, 406, "NOT_ACCEPTABLE");
    }
    for accept in ["*/*", "application/*", "image/png, application/json;q=0.1", ""] {
        check(list, accept, 200, "keys");
    }
    let context = "GET /v1/sessions/s/context";
    let text = check(context, "text/*", 200, "Working memory of this session");
    assert_eq!(text.header("content-type"), "text/markdown; charset=utf-8");
    check(context, "image/*", 406, "text/markdown");
    bench.check_as("", "GET /healthz", &[("accept", "text/html")], "", 406, "NOT_ACCEPTABLE");
    bench.check_as("", list, &[("accept", "image/png")], "", 401, "UNAUTHENTICATED");
}

/// Sent twice under one key, a redaction and an insertion took effect twice, without a word.
#[test]
fn an_idempotency_key_without_an_effect_is_rejected() {
    let bench = Bench::new();
    let check = |target: &str, body: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", "once")];
        let expected = "Idempotency-Key has no effect here";
        bench.check_as(&bench.orchestrator, target, &headers, body, 400, expected);
    };
    let redact = r#"{"text":"sk-live-51H","reason":"an API key"}"#;
    check("POST /v1/sessions/s/rounds/redact", redact);
    let redact = r#"{"action":"redact_rounds","text":"sk-live-51H","reason":"an API key"}"#;
    check("POST /v1/sessions/s/shared_context", redact);
    check("POST /v1/sessions/s/memory", r#"{"command":"view","path":"/memories"}"#);
}
