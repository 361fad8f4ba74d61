//! The command line and a Worker behind TLS, as a team uses a deployed one.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, process::ExitCode};

use serde_json::{Value, json};
use shared_context_system::{
    terminal::{Printed, run},
    tls::{Authority, Proxy, params},
};
use shared_context_workers::Setup;
use tempfile::tempdir;

fn main() -> ExitCode {
    shared_context_workers::main(&[("a_session_is_played_over_https", played)])
}

/// Every command that works with a session, against the Worker: the command line spoke no TLS, so
/// none of them worked with a deployed one.
fn played() {
    let (folder, home) = (tempdir().unwrap(), tempdir().unwrap());
    let workerd = Setup::new(folder.path()).without_rate_limit().start();
    let admin = workerd.admin();
    let authority = Authority::new(home.path());
    let proxy = Proxy::start(workerd.address(), &authority.signed(&params("127.0.0.1")));
    let environment = [
        ("SHARED_CONTEXT_URL", &*proxy.url),
        ("SHARED_CONTEXT_CA", &*authority.file),
        ("SHARED_CONTEXT_ADMIN_KEY", admin.credential()),
    ];
    let told_as = |more: &[(&str, &str)], arguments: &[&str], input: &str| {
        let all = [&environment[..], more].concat();
        let Printed { code, out, err } = run(home.path(), &all, arguments, input);
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
        out
    };
    let told = |arguments: &[&str]| told_as(&[], arguments, "");

    told(&["session", "create", "a"]);
    told(&["set", "a", "scope", "Find the parameter.", "--as", "orchestrator"]);
    let token = told(&["token", "a", "subagent:review"]);
    let review = [("SHARED_CONTEXT_TOKEN", token.trim())];
    assert_eq!(told_as(&review, &["get", "a", "scope"], ""), "Find the parameter.");
    told_as(&review, &["set", "a", "findings_summary"], "The pool is too small.");
    assert!(told(&["ls", "a"]).contains("subagent:review"));
    assert!(told_as(&review, &["context", "a"], "").contains("The pool is too small."));

    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "context_list", "arguments": {}}});
    let out = told_as(&review, &["mcp", "a"], &format!("{hello}\n{ready}\n{list}\n"));
    let answers: Vec<Value> = out.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let listed = answers.iter().find(|it| it["id"] == 2).unwrap();
    assert!(listed["result"].to_string().contains("findings_summary"), "{out}");

    let exported = home.path().join("a.json");
    let file = exported.to_str().unwrap();
    told(&["export", "a", "-o", file]);
    assert!(fs::read_to_string(file).unwrap().contains("The pool is too small."));
    told(&["import", file, "--as", "b"]);
    told(&["redact", "a", "scope", "--reason", "named a customer", "--yes"]);
    assert!(!told(&["inspect", "a"]).contains("Find the parameter."));
    assert!(told(&["inspect", "b"]).contains("Find the parameter."));
    told_as(&review, &["rm", "a", "findings_summary"], "");
    assert!(told(&["session", "audit", "a"]).contains("redact"));
}
