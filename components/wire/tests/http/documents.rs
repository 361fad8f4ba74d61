//! Public documents: health, metrics, tool definitions, the `OpenAPI` document.

use serde_json::{Value, json};
use shared_context_wire::http::{Consistency, Options};

use crate::bench::{ADMIN_KEY, Bench};

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn health_reports_version_and_consistency() {
    let bench = Bench::new();
    let seen = bench.check_as("", "GET /healthz", &[], "", 200, "").json();
    assert_eq!(seen["status"], "ok");
    assert_eq!(seen["consistency"], "linearizable");
    assert_eq!(seen["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_host_that_may_lose_changes_reports_that_in_its_health() {
    let bench = Bench::with(|options| Options {
        consistency: Consistency::LastWriteWins,
        is_kept: false,
        ..options
    });
    let seen = bench.check_as("", "GET /healthz", &[], "", 200, "").json();
    assert_eq!((&seen["status"], &seen["consistency"]), (&json!("ok"), &json!("last-write-wins")));
    let caution = seen["caution"].as_str().unwrap();
    for part in ["same moment", "be lost", "one writer at a time", "SQLite"] {
        assert!(caution.contains(part), "{caution}");
    }
    let stored = Bench::new().check_as("", "GET /healthz", &[], "", 200, "").json();
    assert!(stored.get("caution").is_none(), "{stored}");
}

#[test]
fn the_root_explains_how_to_begin() {
    let seen = Bench::new().check_as("", "GET /", &[], "", 200, "POST $URL/v1/sessions");
    assert_eq!(seen.header("content-type"), "text/plain; charset=utf-8");
    assert!(seen.body.lines().all(|line| line.len() <= 80), "fits a terminal");
}

#[test]
fn metrics_count_routes_and_errors_but_name_no_session() {
    let bench = Bench::new();
    bench.check("GET /v1/sessions/s/entries/none", "", 404, "");
    bench.check("BREW /v1/sessions/s", "", 405, "");
    bench.check("GET /%3Cscript%3E", "", 404, "");
    let seen = bench.check_as("", "GET /metrics", &[], "", 200, "");
    assert!(seen.header("content-type").starts_with("application/openmetrics-text"));
    for line in [
        r#"shared_context_http_requests_total{route="/v1/sessions/{session}/entries/{key}",method="GET",status="404"} 1"#,
        r#"shared_context_http_requests_total{route="/v1/sessions/{session}",method="other",status="405"} 1"#,
        r#"shared_context_http_requests_total{route="unknown",method="GET",status="404"} 1"#,
        r#"shared_context_rejections_total{code="KEY_NOT_FOUND"} 1"#,
        r#"shared_context_rejections_total{code="NOT_FOUND"} 1"#,
    ] {
        assert!(seen.body.contains(line), "{line} not in {}", seen.body);
    }
    assert!(!seen.body.contains("none") && !seen.body.contains("script"));
}

#[test]
fn the_tools_are_defined_in_three_formats_for_two_roles() {
    let bench = Bench::new();
    let check = |query: &str, pointer: &str, has_snapshot: bool, count: usize| {
        let target = format!("GET /v1/tools{query}");
        let seen = bench.check_as("", &target, &[], "", 200, "").json();
        let tools = seen["tools"].as_array().unwrap();
        let has = |it: &serde_json::Value| {
            let actions =
                it.pointer(pointer).and_then(|it| it["properties"]["action"]["enum"].as_array());
            actions.is_some_and(|it| it.iter().any(|it| it == "snapshot"))
        };
        assert_eq!(tools.iter().any(has), has_snapshot, "{target}");
        assert_eq!(tools.len(), count, "{target}");
    };
    check("", "/inputSchema", true, 17);
    check("?format=mcp&role=orchestrator", "/inputSchema", true, 17);
    check("?role=agent", "/inputSchema", false, 11);
    check("?format=openai", "/function/parameters", true, 1);
    check("?format=openai&role=agent", "/function/parameters", false, 1);
    check("?format=anthropic", "/input_schema", true, 1);
    check("?role=agent&format=anthropic", "/input_schema", false, 1);
}

#[test]
fn the_openapi_document_is_served() {
    let seen = Bench::new().check_as("", "GET /openapi.json", &[], "", 200, "");
    assert_eq!(seen.header("content-type"), "application/json");
    assert_eq!(seen.json()["openapi"], "3.1.0");
}

/// Sends every example request. Every example response must have the members of the actual
/// response.
#[test]
fn the_openapi_examples_match_actual_exchanges() {
    let bench = Bench::new();
    bench.create("ticket-7");
    let summary = "/v1/sessions/ticket-7/entries/problem_summary";
    let orchestrator = bench.mint("ticket-7", "orchestrator");
    let check = |token: &str, method: &str, path: &str, body: &str, operation: &Value| {
        let seen = bench.send(token, &format!("{method} {path}"), &[JSON], body.to_owned());
        let described = &operation["responses"][seen.status.as_str()];
        let example = &described["content"]["application/json"]["example"];
        assert_eq!(members(example), members(&seen.json()), "{method} {path}: {seen:?}");
        let headers = described["headers"].as_object().into_iter().flatten();
        for (name, _) in headers {
            assert!(seen.headers.contains_key(name), "{method} {path}: {name} in {seen:?}");
        }
    };
    let document = bench.check("GET /openapi.json", "", 200, "").json();
    let at = |method: &str, path: &str| document["paths"][path][method].clone();
    let example = |operation: &Value| {
        operation["requestBody"]["content"]["application/json"]["example"].to_string()
    };
    let entry = at("put", "/v1/sessions/{session}/entries/{key}");
    check(&orchestrator, "PUT", summary, &example(&entry), &entry);
    check(&orchestrator, "PUT", summary, &example(&entry), &entry);
    check(&orchestrator, "GET", summary, "", &at("get", "/v1/sessions/{session}/entries/{key}"));
    let create = at("post", "/v1/sessions");
    bench.check_as(ADMIN_KEY, "DELETE /v1/sessions/s", &[], "", 200, "");
    let in_order = |token: &str, operations: &[(&str, &str)]| {
        for (method, rest) in operations {
            let operation = at(method, &format!("/v1/sessions/{{session}}{rest}"));
            let body =
                operation.get("requestBody").map_or_else(String::new, |_| example(&operation));
            let rest = rest.replace("{key}", "problem_summary").replace("{label}", "pre_approval");
            let rest = rest.replace("{from}", "pre_approval");
            let path = format!("/v1/sessions/ticket-7{rest}");
            check(token, &method.to_uppercase(), &path, &body, &operation);
        }
    };
    in_order(
        ADMIN_KEY,
        &[
            ("get", ""),
            ("get", "/entries"),
            ("get", "/changes"),
            ("get", "/audit"),
            ("get", "/prompt"),
            ("get", "/export"),
            ("post", "/credentials"),
        ],
    );
    let import = at("post", "/v1/sessions/import");
    check(ADMIN_KEY, "POST", "/v1/sessions/import?session_id=copy", &example(&import), &import);
    in_order(&orchestrator, &[("post", "/snapshots"), ("get", "/snapshots")]);
    in_order(ADMIN_KEY, &[("get", "/inspect")]);
    bench.check_as(&orchestrator, &format!("PUT {summary}"), &[], "Rolled back.", 200, "");
    in_order(
        &orchestrator,
        &[
            ("get", "/entries/{key}/history"),
            ("get", "/snapshots/{label}"),
            ("get", "/snapshots/{label}/entries/{key}"),
            ("get", "/snapshots/{from}/diff"),
            ("post", "/snapshots/{label}/restore"),
            ("delete", "/snapshots/{label}"),
            ("put", "/entries/{key}/access"),
            ("post", "/entries/{key}/redact"),
            ("delete", "/entries/{key}"),
        ],
    );
    in_order(&orchestrator, &[("post", "/rounds"), ("post", "/rounds/deltas")]);
    let analysis = bench.mint("ticket-7", "subagent:analysis");
    let other = r#"{"deltas":[{"operation":"add","path":"$.bindings.customer","value":"sea:customer:007","provenance":"p"}]}"#;
    let deltas = "/v1/sessions/ticket-7/rounds/deltas";
    bench.check_as(&analysis, &format!("POST {deltas}"), &[JSON], other, 201, "");
    in_order(
        &orchestrator,
        &[("post", "/rounds/close"), ("get", "/rounds/state"), ("get", "/rounds")],
    );
    let of_customer = format!("{deltas}?path=$.bindings.customer");
    let read = at("get", "/v1/sessions/{session}/rounds/deltas");
    check(&orchestrator, "GET", &of_customer, "", &read);
    in_order(ADMIN_KEY, &[("post", "/revoke"), ("post", "/archive"), ("delete", "")]);
    check(ADMIN_KEY, "POST", "/v1/sessions", &example(&create), &create);
    check(ADMIN_KEY, "GET", "/v1/sessions", "", &at("get", "/v1/sessions"));
    check("", "GET", "/healthz", "", &at("get", "/healthz"));
    let agent = bench.mint("ticket-7", "subagent:analysis");
    let tool = at("post", "/v1/sessions/{session}/shared_context");
    let examples = &tool["requestBody"]["content"]["application/json"]["examples"];
    let answers = &tool["responses"]["200"]["content"]["application/json"]["examples"];
    for action in ["write", "list_keys", "read", "write_batch", "read_batch", "prompt", "delete"] {
        let body = examples[action]["value"].to_string();
        let target = "POST /v1/sessions/ticket-7/shared_context";
        let seen = bench.check_as(&agent, target, &[JSON], &body, 200, "").json();
        if let Some(answer) = answers.get(action) {
            assert_eq!(members(&answer["value"]), members(&seen), "{action}");
        }
    }
}

/// Returns the paths of all members, recursively.
fn members(value: &Value) -> Vec<String> {
    match value {
        Value::Object(object) => {
            let mut names: Vec<String> = object
                .iter()
                // These depend on the values, and the rule of a loss on why it was lost.
                .filter(|(name, _)| !["warnings", "rule"].contains(&name.as_str()))
                .filter(|(name, _)| !name.starts_with("sha256:"))
                .flat_map(|(name, value)| {
                    let inner = members(value).into_iter().map(move |it| format!("{name}.{it}"));
                    std::iter::once(name.clone()).chain(inner)
                })
                .collect();
            names.sort();
            names
        }
        // One item represents all.
        Value::Array(items) => items.last().map(members).unwrap_or_default(),
        _ => Vec::new(),
    }
}
