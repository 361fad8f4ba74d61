//! `REDbot` looks at responses as an HTTP cache and a picky client would: headers, caching,
//! conditional requests, negotiation.

use std::path::Path;

use serde_json::Value;
use shared_context_system::Setup;

use crate::{
    SESSION,
    clients::{python_program, stdout},
    create_example_session,
};

/// Requests beside the GETs of the document: method, path after the session's, body.
const OTHERS: [(&str, &str, &str); 6] = [
    ("HEAD", "/entries/scope", ""),
    ("OPTIONS", "/entries/scope", ""),
    ("GET", "/entries/none", ""),
    ("PUT", "/entries/scope", r#"{"value":"two"}"#),
    ("POST", "/shared_context", r#"{"action":"list_keys"}"#),
    ("POST", "/shared_context", r#"{"action":"#),
];
/// A finding that is right for the last of [`OTHERS`], whose body is cut short: its method and name.
const EXPECTED: (&str, &str) = ("POST", "STATUS_BAD_REQUEST");

/// Checks every GET that needs no other parameter than the session's id, and [`OTHERS`]. Returns a
/// line that counts them.
///
/// # Errors
///
/// `REDbot` is not installed, or it found something.
pub(crate) fn run() -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let server = Setup::new(folder.path()).without_rate_limit().start();
    let orchestrator = create_example_session(&server.admin());
    let document = orchestrator.get("/openapi.json").expect(200);
    let session = format!("/v1/sessions/{SESSION}");
    let mut requests = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{session}", SESSION);
        let is_stream = path.ends_with("/mcp");
        if methods["get"].is_object() && !path.contains('{') && !is_stream {
            let needs_credential = methods["get"]["security"] != Value::Array(Vec::new());
            requests.push(("GET", path, "", needs_credential));
        }
    }
    let others = OTHERS
        .iter()
        .map(|(method, path, body)| (*method, format!("{session}{path}"), *body, true));
    requests.extend(others);
    let mut findings = Vec::new();
    for (method, path, body, needs_credential) in &requests {
        let credential = if *needs_credential { orchestrator.credential() } else { "" };
        let mut python = python_program()?;
        python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("redbot/check.py"));
        python.args([method, &*format!("{}{path}", server.url()), credential, body]);
        let found = stdout(python)?;
        let is_fault = |line: &&str| !(EXPECTED.0 == *method && line.starts_with(EXPECTED.1));
        findings.extend(found.lines().filter(is_fault).map(|it| format!("{method} {path}: {it}")));
    }
    match findings.as_slice() {
        [] => Ok(format!("redbot: {} requests, 0 findings", requests.len())),
        _ => Err(format!("redbot:\n{}", findings.join("\n"))),
    }
}
