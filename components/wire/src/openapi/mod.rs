//! The `OpenAPI` 3.1 document, built from the routes and the schemas of the tool.
//!
//! Paths, methods, query parameters and access come from the table that routes requests; `about`
//! contains the texts. The document is committed as `openapi.json` and served from there. This
//! module is built for tests only; one of them compares it with the committed document.
//!
//! # Invariant
//!
//! Every route is described, and every described route exists.

mod about;
mod acts;
mod changes;
mod entries;
mod examples;
mod generators;
mod mcp;
mod memory;
mod parameters;
mod parts;
mod portable;
mod schemas;
mod sessions;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::http::{
    code::{self, CODES},
    route,
    table::{Access, Operation, operations},
};

/// Error codes for every caller of a route of a session or project, besides its not-found code.
const SCOPE_CODES: [&str; 8] = [
    "UNAUTHENTICATED",
    "MALFORMED_REQUEST",
    "FORBIDDEN",
    "REQUEST_TOO_LARGE",
    "NOT_ACCEPTABLE",
    "STORAGE_UNAVAILABLE",
    "RATE_LIMITED",
    "INTERNAL",
];

/// Error codes for the operator where there is no session yet.
const ADMIN_CODES: [&str; 8] = [
    "UNAUTHENTICATED",
    "MALFORMED_REQUEST",
    "FORBIDDEN",
    "REQUEST_TOO_LARGE",
    "NOT_ACCEPTABLE",
    "STORAGE_UNAVAILABLE",
    "RATE_LIMITED",
    "INTERNAL",
];

/// Error codes that `/mcp` returns by HTTP; other errors are returned by JSON-RPC.
const MCP_CODES: [&str; 5] =
    ["UNAUTHENTICATED", "MALFORMED_REQUEST", "FORBIDDEN", "RATE_LIMITED", "INTERNAL"];

/// Error codes of public routes.
const OPEN_CODES: [&str; 3] = ["MALFORMED_REQUEST", "REQUEST_TOO_LARGE", "NOT_ACCEPTABLE"];

/// Builds the document.
fn document() -> Value {
    let mut paths = Map::new();
    for operation in operations() {
        let item = paths.entry(operation.template).or_insert_with(|| path_item(&operation));
        item[operation.method.as_str().to_ascii_lowercase()] = operation_item(&operation);
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "shared-context",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "summary": "Working memory that the agents of one session share.",
            "description": about::DESCRIPTION,
        },
        "servers": [{"url": "/"}],
        "tags": parts::tags(),
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "parameters": parameters::all(),
            "headers": parts::headers(),
            "securitySchemes": parts::security_schemes(),
        },
    });
    generators::adapt(&mut document);
    document
}

/// Returns the path item of `operation`.
fn path_item(operation: &Operation) -> Value {
    let is_handoff = operation.template.contains("/handoffs/");
    let varying = operation.template.split('/').filter_map(route::parameter_name);
    let varying = varying.map(|it| if is_handoff && it == "id" { "handoff" } else { it });
    let parameters: Vec<Value> = varying.map(parameter).collect();
    if parameters.is_empty() { json!({}) } else { json!({ "parameters": parameters }) }
}

fn operation_item(operation: &Operation) -> Value {
    let about = about::about(operation.endpoint);
    let query = operation.takes_in_query().into_iter().map(|it| match (about.id, it) {
        ("list_keys", "prefix") => "key_prefix",
        ("read_deltas", "after") => "delta_after",
        ("read_audit", "after") => "revision_after",
        ("export_project", "after") => "page_after",
        ("read_deltas", "participant") => "delta_participant",
        ("list_handoffs", "state") => "handoff_state",
        (_, name) => name,
    });
    let parameters: Vec<Value> =
        query.chain(about.headers.iter().copied()).map(parameter).collect();
    let (security, common) = match operation.access {
        Access::Open => (json!([]), &OPEN_CODES[..]),
        Access::Credential => (json!([{"credential": []}, {"admin_key": []}]), &MCP_CODES[..]),
        Access::Admin => (json!([{"admin_key": []}]), &ADMIN_CODES[..]),
        Access::Scope if about.is_admins => (json!([{"admin_key": []}]), &SCOPE_CODES[..]),
        Access::Scope => (json!([{"credential": []}, {"admin_key": []}]), &SCOPE_CODES[..]),
    };
    let mut responses = about.responses;
    let missing = match operation.access {
        Access::Scope if operation.template.contains("{project}") => Some("PROJECT_NOT_FOUND"),
        Access::Scope => Some("SESSION_NOT_FOUND"),
        _ => None,
    };
    let codes = common.iter().chain(about.codes).copied().chain(missing);
    responses.append(&mut rejections(codes, about.is_conditional));
    if operation.access == Access::Credential {
        mcp::add_faults(&mut responses);
    }
    let mut object = json!({
        "operationId": about.id,
        "tags": [about.tag],
        "summary": about.summary,
        "security": security,
        "responses": responses,
    });
    if !about.description.is_empty() {
        object["description"] = about.description.into();
    }
    if !parameters.is_empty() {
        object["parameters"] = parameters.into();
    }
    if let Some(request) = about.request {
        object["requestBody"] = request;
    }
    object
}

fn parameter(name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{name}")})
}

/// Returns one response for each status of `codes`.
fn rejections<'c>(
    codes: impl Iterator<Item = &'c str>,
    is_conditional: bool,
) -> Map<String, Value> {
    let names: Vec<&str> = codes.collect();
    let mut by_status: Vec<(StatusCode, Vec<&str>)> = Vec::new();
    // In order of precedence, as everywhere.
    for code in CODES.iter().filter(|it| names.contains(&it.name)) {
        let status = match code.name {
            "VERSION_CONFLICT" if is_conditional => StatusCode::PRECONDITION_FAILED,
            _ => code.status,
        };
        match by_status.iter_mut().find(|(it, _)| *it == status) {
            Some((_, codes)) => codes.push(code.name),
            None => by_status.push((status, vec![code.name])),
        }
    }
    by_status
        .into_iter()
        .map(|(status, codes)| (status.as_str().to_owned(), rejection(status, &codes)))
        .collect()
}

fn rejection(status: StatusCode, codes: &[&str]) -> Value {
    let operation_item: Vec<String> =
        codes.iter().map(|it| format!("`{it}`: {}", code::of(it).title)).collect();
    let mut response = json!({
        "description": operation_item.join("; "),
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/problem"},
        }},
    });
    let headers: &[&str] = match status {
        StatusCode::UNAUTHORIZED => &["WWW-Authenticate"],
        StatusCode::METHOD_NOT_ALLOWED => &["Allow"],
        StatusCode::TOO_MANY_REQUESTS => &["Retry-After", "RateLimit", "RateLimit-Policy"],
        _ => &[],
    };
    if !headers.is_empty() {
        response["headers"] = parts::headers_named(headers);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `visit` for every object in `value`.
    fn walk<'v>(value: &'v Value, visit: &mut impl FnMut(&'v Map<String, Value>)) {
        match value {
            Value::Object(object) => {
                visit(object);
                object.values().for_each(|it| walk(it, visit));
            }
            Value::Array(items) => items.iter().for_each(|it| walk(it, visit)),
            _ => {}
        }
    }

    fn described_in(document: &Value) -> Vec<(String, &Value)> {
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                if method != "parameters" {
                    operations.push((format!("{method} {path}"), operation));
                }
            }
        }
        operations
    }

    /// `SHARED_CONTEXT_BLESS=1` rewrites the document.
    #[test]
    fn the_committed_document_matches_the_routes_and_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
        let fresh = document();
        if std::env::var_os("SHARED_CONTEXT_BLESS").is_some() {
            let mut text = serde_json::to_string_pretty(&fresh).unwrap();
            text.push('\n');
            std::fs::write(path, text).unwrap();
        } else {
            let committed: Value =
                serde_json::from_str(include_str!("../../openapi.json")).unwrap();
            assert!(committed == fresh, "openapi.json is stale: run with SHARED_CONTEXT_BLESS=1");
        }
    }

    #[test]
    fn every_reference_resolves() {
        let document = document();
        let mut seen = 0;
        walk(&document, &mut |object| {
            if let Some(Value::String(reference)) = object.get("$ref") {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference}");
                seen += 1;
            }
        });
        assert!(seen > 50);
    }

    #[test]
    fn every_component_is_used() {
        let document = document();
        let text = document.to_string();
        for (kind, components) in document["components"].as_object().unwrap() {
            for name in components.as_object().unwrap().keys() {
                let reference = format!("\"#/components/{kind}/{name}\"");
                let required = format!("{{\"{name}\":[]}}");
                assert!(text.contains(&reference) || text.contains(&required), "{reference}");
            }
        }
    }

    #[test]
    fn every_operation_is_described_once_with_its_errors() {
        let document = document();
        let mut ids: Vec<&str> = Vec::new();
        for (name, operation) in described_in(&document) {
            let id = operation["operationId"].as_str().unwrap();
            assert!(!ids.contains(&id), "{id}");
            ids.push(id);
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{name}");
            assert!(operation["security"].is_array(), "{name}");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|it| it.starts_with('2')), "{name}");
            let mut rejections = responses.iter().filter(|(it, _)| it.starts_with('4')).peekable();
            assert!(rejections.peek().is_some(), "{name}");
            for (status, response) in rejections {
                let content = response["content"].as_object().unwrap();
                let references = content.values().map(|it| it["schema"]["$ref"].as_str().unwrap());
                let references: Vec<&str> = references.collect();
                let is_referenced = |name: &str| references.contains(&name);
                let is_fault =
                    name.contains("/mcp") && is_referenced("#/components/schemas/McpError");
                assert!(
                    is_fault || is_referenced("#/components/schemas/Problem"),
                    "{name} {status}"
                );
            }
            let is_open = operation["security"].as_array().unwrap().is_empty();
            assert_eq!(responses.contains_key("401"), !is_open, "{name}");
        }
        assert_eq!(ids.len(), crate::http::table::operations().count());
    }

    #[test]
    fn path_parameters_are_those_of_the_path() {
        for (path, item) in document()["paths"].as_object().unwrap() {
            let parameters = item["parameters"].as_array().map_or(0, Vec::len);
            assert_eq!(parameters, path.matches('{').count(), "{path}");
        }
    }

    #[test]
    fn every_code_of_the_tool_has_a_status() {
        for code in shared_context_codec::Code::ALL {
            assert_eq!(code::of(code.as_str()).name, code.as_str());
        }
        let order = CODES.iter().map(|it| it.name).take(shared_context_codec::Code::ALL.len());
        assert!(order.eq(shared_context_codec::Code::ALL.iter().map(|it| it.as_str())));
    }
}
