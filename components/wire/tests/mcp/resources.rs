//! `resources/list`, `resources/templates/list` and `resources/read`.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shared_context_codec::Failure;

use crate::{
    bench::{ADMIN_KEY, Bench},
    both_eras::error,
};

const HOUR_MS: u64 = 3_600_000;
const SKILL: &str = "skill://shared-context/SKILL.md";

/// Creates a server whose session `s` has `count` entries, from `k000` on.
fn with_entries(count: usize) -> Bench {
    let bench = Bench::new();
    for it in 0..count {
        bench.write(&format!("k{it:03}"));
    }
    bench
}

fn uris(result: &Value) -> Vec<String> {
    let resources = result["resources"].as_array().unwrap();
    resources.iter().map(|it| it["uri"].as_str().unwrap().to_owned()).collect()
}

/// Returns the URIs of every page of the list for `token`.
#[track_caller]
fn pages(bench: &Bench, token: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let reply = bench.result_in_both_eras(token, "resources/list", params);
        reply.check_cacheable(0, "private");
        pages.push(uris(&reply.result));
        match reply.result.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return pages,
        }
    }
}

/// Checks that `uri` is not found for `token`, with the same error as for an unknown resource.
#[track_caller]
fn is_not_found(bench: &Bench, token: &str, uri: &str) {
    let [modern, legacy] = bench.errors_by_era(token, "resources/read", json!({ "uri": uri }));
    assert_eq!((&modern["code"], &legacy["code"]), (&json!(-32602), &json!(-32002)), "{uri}");
    assert_eq!(modern["message"], legacy["message"]);
    assert!(modern["message"].as_str().unwrap().starts_with("Resource not found"), "{modern}");
    for error in [modern, legacy] {
        assert_eq!(error["data"], json!({ "uri": uri }), "{error}");
    }
}

#[test]
fn the_list_contains_visible_resources_only() {
    let bench = Bench::new();
    bench.use_tool(&bench.agent, &json!({"action": "write", "key": "scope", "value": "Find it."}));
    bench.use_tool(
        &bench.agent,
        &json!({"action": "write", "key": "scope", "value": "Find it all."}),
    );
    let write =
        json!({"action": "write", "key": "plan", "value": "x", "readable_by": ["orchestrator"]});
    bench.use_tool(&bench.orchestrator, &write);
    let seen = bench.result_in_both_eras(&bench.agent, "resources/list", json!({}));
    seen.check_cacheable(0, "private");
    let resources = seen.result["resources"].as_array().unwrap();
    assert_eq!(
        uris(&seen.result),
        ["session://s/keys", "session://s/context", SKILL, "session://s/entries/scope"]
    );
    assert_eq!(
        resources[3],
        json!({
            "uri": "session://s/entries/scope",
            "name": "scope",
            "description": "version 2 by subagent:analysis, 3 tokens",
            "mimeType": "text/plain",
            "annotations": {"audience": ["assistant"], "lastModified": "2026-02-20T14:30:00Z"},
        })
    );
    assert_eq!(resources[0]["name"], "keys");
    assert_eq!(resources[0]["mimeType"], "application/json");
    assert_eq!(resources[2]["name"], "shared-context");
    assert_eq!(resources[2]["mimeType"], "text/markdown");
    assert!(seen.result.get("nextCursor").is_none());

    let all = bench.result_in_both_eras(&bench.orchestrator, "resources/list", json!({}));
    let plan = "session://s/entries/plan";
    assert_eq!(uris(&all.result)[3..], [plan, "session://s/entries/scope"]);
    assert_eq!(all.result["resources"][3]["description"], "version 1 by orchestrator, 1 token");
}

#[test]
fn the_operator_gets_only_the_skill_and_the_templates() {
    let bench = with_entries(1);
    assert_eq!(pages(&bench, ADMIN_KEY), [[SKILL]]);
    let error =
        bench.error_in_both_eras(ADMIN_KEY, "resources/list", json!({"cursor": "YWZ0ZXIgYQ"}));
    assert_eq!(error["code"], -32602, "{error}");
    let read = json!({"uri": "session://s/entries/k000"});
    assert_eq!(
        bench.result_in_both_eras(ADMIN_KEY, "resources/read", read).result["contents"][0]["text"],
        "x"
    );
}

#[test]
fn pages_have_100_resources_without_duplicates() {
    for (entries, expected) in [
        (0, vec![3]),
        (96, vec![99]),
        (97, vec![100]),
        (98, vec![100, 1]),
        (230, vec![100, 100, 33]),
    ] {
        let bench = with_entries(entries);
        let pages = pages(&bench, &bench.agent);
        let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
        assert_eq!(sizes, expected, "{entries}");
        let seen = pages.concat();
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), entries + 3);
        assert!(seen[3..].is_sorted());
    }
}

#[test]
fn a_change_between_two_pages_shifts_nothing() {
    let bench = with_entries(150);
    let first = bench.result_in_both_eras(&bench.agent, "resources/list", json!({})).result;
    assert_eq!(uris(&first).last().unwrap(), "session://s/entries/k096");
    bench.write("a");
    bench.use_tool(&bench.agent, &json!({"action": "delete", "key": "k096"}));
    bench.use_tool(&bench.agent, &json!({"action": "delete", "key": "k097"}));
    let params = json!({"cursor": first["nextCursor"]});
    let second = bench.result_in_both_eras(&bench.agent, "resources/list", params).result;
    assert_eq!(uris(&second)[0], "session://s/entries/k098");
    assert_eq!(uris(&second).len(), 52);
}

#[test]
fn an_invalid_cursor_is_rejected() {
    let bench = with_entries(120);
    for cursor in [json!("2"), json!(""), json!("k097"), json!("azA5Nw"), json!(2), json!({})] {
        let error =
            bench.error_in_both_eras(&bench.agent, "resources/list", json!({ "cursor": cursor }));
        assert_eq!(error["code"], -32602, "{cursor}");
        assert!(error["message"].as_str().unwrap().contains("cursor"), "{error}");
    }
    let null = bench.result_in_both_eras(&bench.agent, "resources/list", json!({"cursor": null}));
    assert_eq!(uris(&null.result).len(), 100);
    let error =
        bench.error_in_both_eras(&bench.agent, "resources/templates/list", json!({"cursor": "a"}));
    assert_eq!(error["code"], -32602);
}

#[test]
fn there_are_templates_for_keys_and_entries() {
    let bench = Bench::new();
    for token in [&*bench.agent, ADMIN_KEY] {
        let reply = bench.result_in_both_eras(token, "resources/templates/list", json!({}));
        reply.check_cacheable(HOUR_MS, "public");
        let templates = reply.result["resourceTemplates"].as_array().unwrap();
        let seen: Vec<[&str; 2]> = templates
            .iter()
            .map(|it| ["uriTemplate", "mimeType"].map(|name| it[name].as_str().unwrap()))
            .collect();
        assert_eq!(
            seen,
            [
                ["session://{session}/entries/{key}", "text/plain"],
                ["session://{session}/keys", "application/json"],
                ["session://{session}/context", "text/markdown"],
                ["session://{session}/packets/{address}", "text/markdown"],
            ]
        );
        assert!(templates.iter().all(|it| it["name"].is_string() && it["description"].is_string()));
    }
}

#[test]
fn an_entry_is_read_as_text_with_its_metadata() {
    let bench = Bench::new();
    let value = "Über \"alles\":\n\t{\"a\": 1}\u{2028}";
    bench.write("other");
    bench.use_tool(&bench.agent, &json!({"action": "write", "key": "scope", "value": "x"}));
    bench.use_tool(&bench.agent, &json!({"action": "write", "key": "scope", "value": value}));
    let uri = "session://s/entries/scope";
    let reply =
        bench.result_in_both_eras(&bench.orchestrator, "resources/read", json!({ "uri": uri }));
    reply.check_cacheable(0, "private");
    let revision = &reply.result["contents"][0]["_meta"]["shared-context/revision"];
    assert_eq!(
        reply.result,
        json!({"contents": [{
            "uri": uri,
            "mimeType": "text/plain",
            "text": value,
            "_meta": {
                "shared-context/version": 2,
                "shared-context/revision": revision,
                "shared-context/written_by": "subagent:analysis",
            },
        }]})
    );
    let read = bench.check("GET /v1/sessions/s/entries/scope", "", 200, "");
    assert_eq!(*revision, read.json()["revision"]);
    assert!(revision.is_u64());
}

#[test]
fn a_prefixed_key_is_read_by_listed_and_template_uri() {
    let bench = Bench::new();
    let session = json!({"session_id": "p", "config": {"allows_prefixes": true}}).to_string();
    let created = bench.check_as(ADMIN_KEY, "POST /v1/sessions", &[], &session, 201, "");
    let token = created.json()["credential"].as_str().unwrap().to_owned();
    let write = r#"{"action":"write","key":"inv:findings","value":"It is the valve."}"#;
    bench.check_as(&token, "POST /v1/sessions/p/shared_context", &[], write, 200, "");
    let listed = bench.result_in_both_eras(&token, "resources/list", json!({}));
    assert_eq!(uris(&listed.result)[3], "session://p/entries/inv:findings");
    for uri in ["session://p/entries/inv:findings", "session://p/entries/inv%3Afindings"] {
        let reply = bench.result_in_both_eras(&token, "resources/read", json!({ "uri": uri }));
        let contents = &reply.result["contents"][0];
        assert_eq!(
            (&contents["uri"], &contents["text"]),
            (&json!(uri), &json!("It is the valve."))
        );
    }
    is_not_found(&bench, &token, "session://p/entries/oth:findings");
}

#[test]
fn the_keys_resource_equals_the_list_of_the_tool() {
    let bench = with_entries(3);
    let uri = "session://s/keys";
    let reply = bench.result_in_both_eras(&bench.agent, "resources/read", json!({ "uri": uri }));
    reply.check_cacheable(0, "private");
    let listed = bench.check(
        "POST /v1/sessions/s/shared_context",
        r#"{"action":"list_keys"}"#,
        200,
        r#""key_count":3"#,
    );
    let contents = json!([{"uri": uri, "mimeType": "application/json", "text": listed.body}]);
    assert_eq!(reply.result, json!({ "contents": contents }));
}

#[test]
fn an_unknown_resource_is_not_found() {
    let bench = with_entries(1);
    for uri in [
        "session://s/entries/none",
        "session://s/entries/K000",
        "session://s/entries/a%2Fb",
        "session://s/entries/k000?x",
        "session://s/entries/k000/",
        "session://s/entries/inv:k000",
        "session://s/keys/",
        "session://s/snapshots/a",
        "session://s",
        "test://nonexistent-resource-for-conformance-testing",
        "skill://shared-context",
        "skill://other/SKILL.md",
        "file:///etc/passwd",
        "nothing at all",
        "",
    ] {
        is_not_found(&bench, &bench.agent, uri);
        is_not_found(&bench, ADMIN_KEY, uri);
    }
    for session in ["none", "a%2Fb", "..", "%00", "session%2Fs"] {
        is_not_found(&bench, ADMIN_KEY, &format!("session://{session}/keys"));
        is_not_found(&bench, ADMIN_KEY, &format!("session://{session}/entries/k000"));
    }
}

#[test]
fn a_hidden_resource_is_reported_as_not_found() {
    let bench = Bench::new();
    let other = bench.create("other");
    for token in [&bench.orchestrator, &other] {
        let session = if *token == other { "other" } else { "s" };
        let target = format!("POST /v1/sessions/{session}/shared_context");
        let write = r#"{"action":"write","key":"plan","value":"x","readable_by":["orchestrator"]}"#;
        bench.check_as(token, &target, &[], write, 200, "");
    }
    // Hidden by the access rules of the entry.
    is_not_found(&bench, &bench.agent, "session://s/entries/plan");
    // A URI of another session, existing or not, is rejected without a request to the engine.
    bench.engine.requests.lock().unwrap().clear();
    for session in ["other", "none"] {
        is_not_found(&bench, &bench.agent, &format!("session://{session}/entries/plan"));
        is_not_found(&bench, &bench.orchestrator, &format!("session://{session}/entries/plan"));
        is_not_found(&bench, &bench.orchestrator, &format!("session://{session}/keys"));
    }
    assert_eq!(bench.engine.requests.lock().unwrap().len(), 0);
    // Hidden by the limited credential.
    bench.write("scope");
    let invite = r#"{"participant":"subagent:b","keys":["findings_*"]}"#;
    let target = "POST /v1/sessions/s/credentials";
    let minted = bench.check_as(&bench.orchestrator, target, &[], invite, 201, "");
    let limited = minted.json()["credential"].as_str().unwrap().to_owned();
    is_not_found(&bench, &limited, "session://s/entries/scope");
    assert_eq!(pages(&bench, &limited), [["session://s/keys", "session://s/context", SKILL]]);
}

#[test]
fn a_request_without_uri_is_rejected() {
    let bench = Bench::new();
    for (params, expected) in [
        (json!({}), "uri is missing"),
        (json!({"uri": null}), "uri is missing"),
        (json!({"uri": 7}), "uri must be a string"),
        (json!({"uri": ["session://s/keys"]}), "uri must be a string"),
    ] {
        let error = bench.error_in_both_eras(&bench.agent, "resources/read", params);
        assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(expected)));
    }
}

#[test]
fn a_failing_store_is_not_reported_as_not_found() {
    let bench = with_entries(1);
    let fails =
        |code| *bench.engine.next_failure.lock().unwrap() = Some(Failure::new(code, "away"));
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "session://s/keys"})),
        ("resources/read", json!({"uri": "session://s/entries/k000"})),
    ] {
        for code in ["STORAGE_UNAVAILABLE", "INTERNAL"] {
            fails(code);
            let modern = error(&bench.modern(&bench.agent, method, params.clone()));
            fails(code);
            let legacy = error(&bench.legacy(&bench.agent, None, method, params.clone()));
            for error in [modern, legacy] {
                assert_eq!(error["code"], -32603, "{method}: {error}");
                assert_eq!(error["data"]["error"]["code"], code);
            }
        }
        bench.result_in_both_eras(&bench.agent, method, params);
    }
}

#[test]
fn a_void_credential_gets_http_401() {
    let bench = with_entries(1);
    bench.check_as(ADMIN_KEY, "DELETE /v1/sessions/s", &[], "", 200, "");
    bench.create("s");
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "session://s/keys"})),
        ("resources/read", json!({"uri": "session://s/entries/k000"})),
        ("prompts/get", json!({"name": "shared_context"})),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/resource", "uri": "session://{session}/entries/{key}"},
                "argument": {"name": "key", "value": ""},
            }),
        ),
    ] {
        let modern = bench.modern(&bench.agent, method, params.clone());
        for seen in [modern, bench.legacy(&bench.agent, None, method, params)] {
            assert_eq!(seen.status, 401, "{method}: {seen:?}");
            assert_eq!(seen.json()["error"]["code"], "UNAUTHENTICATED");
        }
    }
}

#[test]
fn the_skill_is_read_as_listed() {
    let bench = Bench::new();
    let mut texts = BTreeSet::new();
    for token in [&*bench.agent, &*bench.orchestrator, ADMIN_KEY] {
        let reply = bench.result_in_both_eras(token, "resources/read", json!({ "uri": SKILL }));
        reply.check_cacheable(HOUR_MS, "public");
        let contents = &reply.result["contents"][0];
        assert_eq!(
            (&contents["uri"], &contents["mimeType"]),
            (&json!(SKILL), &json!("text/markdown"))
        );
        assert!(contents.get("_meta").is_none());
        texts.insert(contents["text"].as_str().unwrap().to_owned());
    }
    let [text] = &*texts.into_iter().collect::<Vec<_>>() else { panic!("one text for all") };
    assert!(text.starts_with("---\nname: shared-context\ndescription: "), "{text}");
    let listed = bench.result_in_both_eras(&bench.agent, "resources/list", json!({})).result;
    assert_eq!(listed["resources"][2]["uri"], SKILL);
    assert_eq!(listed["resources"][2]["size"], text.len());
}
