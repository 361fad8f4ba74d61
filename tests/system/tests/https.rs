//! The command line over https: a session played through a TLS proxy, and every kind of
//! certificate that must not be trusted.

use std::fs;

use rcgen::{BasicConstraints, IsCa, date_time_ymd};
use serde_json::{Value, json};
use shared_context_system::{
    terminal::{Place, Printed, check_refused, run},
    tls::{Authority, Proxy, params, self_signed},
};

/// Runs a command as on another machine: address, authority and key are in the environment.
#[track_caller]
fn told(place: &Place, proxy: &Proxy, ca: &str, arguments: &[&str], input: &str) -> String {
    let (_, key) = place.server.secrets();
    let environment = [
        ("SHARED_CONTEXT_URL", &*proxy.url),
        ("SHARED_CONTEXT_CA", ca),
        ("SHARED_CONTEXT_ADMIN_KEY", &*key),
    ];
    let Printed { code, out, err } = run(place.folder.path(), &environment, arguments, input);
    assert_eq!(code, 0, "{arguments:?}: {out}{err}");
    out
}

#[test]
fn a_session_is_played_over_https() {
    let place = Place::new();
    let authority = Authority::new(place.folder.path());
    let proxy = Proxy::start(place.server.address(), &authority.signed(&params("127.0.0.1")));
    let told = |arguments: &[&str]| told(&place, &proxy, &authority.file, arguments, "");
    told(&["session", "create", "a"]);
    let write = r#"{"action":"write","key":"scope","value":"Find the parameter."}"#;
    assert!(told(&["call", "a", write, "--as", "orchestrator"]).contains("version 1"));
    assert!(told(&["inspect", "a"]).contains("Find the parameter."));
    assert_eq!(told(&["token", "a", "subagent:review"]).trim().split('.').count(), 3);
    let file = place.file("a.json");
    told(&["export", "a", "-o", &file]);
    assert!(fs::read_to_string(&file).unwrap().contains("Find the parameter."));
    told(&["redact", "a", "scope", "--reason", "named a customer", "--yes"]);
    assert!(!told(&["inspect", "a"]).contains("Find the parameter."));
}

/// With a profile neither address nor authority nor key is in a command.
#[test]
fn a_profile_keeps_what_https_needs() {
    let place = Place::new();
    let authority = Authority::new(place.folder.path());
    let proxy = Proxy::start(place.server.address(), &authority.signed(&params("127.0.0.1")));
    let (_, key) = place.server.secrets();
    let told = |arguments: &[&str], input: &str| {
        let Printed { code, out, err } = run(place.folder.path(), &[], arguments, input);
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
        out
    };
    let add = ["profile", "add", "prod", "--url", &proxy.url, "--ca", &authority.file];
    told(&[&add[..], &["--session", "a", "--admin-key-file", "-"]].concat(), &key);
    told(&["profile", "use", "prod"], "");
    told(&["session", "create", "a"], "");
    told(&["set", ".", "scope", "--as", "orchestrator"], "Find the parameter.");
    assert_eq!(told(&["get", ".", "scope"], ""), "Find the parameter.");
}

#[test]
fn changes_arrive_over_https_as_they_happen() {
    let place = Place::new();
    let authority = Authority::new(place.folder.path());
    let proxy = Proxy::start(place.server.address(), &authority.signed(&params("127.0.0.1")));
    place.told(&["session", "create", "a"]);
    let watch = place.start(&["watch", "a", "--url", &proxy.url, "--ca", &authority.file]);
    watch.wait_until(|it| it.err().contains("watching a"));
    let write = r#"{"action":"write","key":"scope","value":"Find the parameter."}"#;
    place.told(&["call", "a", write, "--as", "orchestrator"]);
    watch.wait_until(|it| it.out().contains("scope"));
}

#[test]
fn the_bridge_of_mcp_works_over_https() {
    let place = Place::new();
    let authority = Authority::new(place.folder.path());
    let proxy = Proxy::start(place.server.address(), &authority.signed(&params("127.0.0.1")));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let out = told(&place, &proxy, &authority.file, &["mcp", "a"], &format!("{hello}\n"));
    let answer: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!((&answer["id"], &answer["error"]), (&json!(1), &Value::Null), "{answer}");
}

#[test]
fn a_certificate_that_is_not_valid_is_rejected() {
    let place = Place::new();
    let authority = Authority::new(place.folder.path());
    let mut expired = params("127.0.0.1");
    expired.not_after = date_time_ymd(2020, 1, 1);
    let mut future = params("127.0.0.1");
    future.not_before = date_time_ymd(3000, 1, 1);
    let mut own_authority = params("127.0.0.1");
    own_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    for (identity, part) in [
        (authority.signed(&expired), "has expired"),
        (authority.signed(&future), "is not valid yet"),
        (authority.signed(&params("memory.example.com")), "is for another name"),
        (self_signed(&params("127.0.0.1")), "is self-signed"),
        (self_signed(&own_authority), "self-signed as an authority"),
    ] {
        let proxy = Proxy::start(place.server.address(), &identity);
        let server = ["--url", &*proxy.url, "--ca", &*authority.file];
        let arguments = [&["session", "list"][..], &server].concat();
        place.refused(&arguments, 3, "TLS_FAILED", &[part, &proxy.url]);
    }
}

#[test]
fn the_authority_of_a_certificate_must_be_trusted() {
    let place = Place::new();
    let authority = Authority::new(place.folder.path());
    let proxy = Proxy::start(place.server.address(), &authority.signed(&params("127.0.0.1")));
    place.refused(&["session", "list", "--url", &proxy.url], 3, "TLS_FAILED", &["--ca FILE"]);
    // A self-signed certificate can be its own authority.
    let identity = self_signed(&params("127.0.0.1"));
    let file = place.file("own.pem");
    fs::write(&file, identity.certificate.pem()).unwrap();
    let proxy = Proxy::start(place.server.address(), &identity);
    place.told(&["session", "list", "--url", &proxy.url, "--ca", &file]);
    // A server without TLS is reported as one.
    let plain = place.server.url().replace("http://", "https://");
    let listed = place.run(&["session", "list", "--url", &plain, "--ca", &file]);
    check_refused(listed, 3, &["does not speak TLS", "http://"]);
    let missing = ["session", "list", "--url", &proxy.url, "--ca", "/nowhere.pem"];
    place.refused(&missing, 2, "USAGE", &["/nowhere.pem", "there is no such file"]);
}
