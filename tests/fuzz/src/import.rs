//! Session documents: an imported document is exported again unchanged, and a rejected one
//! stores nothing.
//!
//! Each document is tried as it is, which mostly fails because of its digests, and with
//! recomputed digests, as a forger would write it.

use serde_json::Value;
use shared_context_codec::{Caller, Code};
use shared_context_core::digest::sha256;

use crate::{
    host::MemoryHost,
    json_tool::{check_failure, send},
    script::{ToolRequest, requests},
    seal::sealed,
};

/// Imports the document `input`.
pub fn run(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    import(text);
    if let Ok(document) = serde_json::from_str(text) {
        import(&forged(document).to_string());
    }
}

/// Imports `document` into an empty host; returns the document exported then, or `None` if
/// it was rejected.
fn import(document: &str) -> Option<Vec<u8>> {
    let host = MemoryHost::empty();
    let request = format!(r#"{{"action":"import_session","document":{document}}}"#);
    match host.invoke("copy", &Caller::trusted("admin"), request.as_bytes()) {
        Ok(_) => {
            let exported = export(&host, "copy").expect("what was imported can be exported");
            let again = MemoryHost::empty();
            let admin = Caller::trusted("admin");
            let text = String::from_utf8_lossy(&exported);
            let request = format!(r#"{{"action":"import_session","document":{text}}}"#);
            let outcome = again.invoke("copy", &admin, request.as_bytes());
            assert!(outcome.is_ok(), "the exported document is rejected: {outcome:?}: {text}");
            assert_eq!(export(&again, "copy").as_deref(), Some(&exported[..]), "not the same");
            check_rows(&host);
            Some(exported)
        }
        Err(failure) => {
            check_failure(&failure);
            assert!(host.kv.names(None, 9).is_empty(), "a rejection stored something: {failure}");
            None
        }
    }
}

/// Checks that every command can read the imported session.
fn check_rows(host: &MemoryHost) {
    let admin = Caller::trusted("admin");
    for request in [
        r#"{"action":"inspect"}"#,
        r#"{"action":"list_keys"}"#,
        r#"{"action":"list_snapshots"}"#,
        r#"{"action":"changes"}"#,
        r#"{"action":"prompt"}"#,
        r#"{"action":"read_state"}"#,
        r#"{"action":"read_deltas"}"#,
        r#"{"action":"convergence"}"#,
    ] {
        let outcome = host.invoke("copy", &admin, request.as_bytes());
        let is_fine = outcome.as_ref().map_or_else(
            |failure| {
                // The feed of an imported session begins at its import.
                failure.code == Code::ChangesTruncated.as_str()
            },
            |_| true,
        );
        assert!(is_fine, "{request}: {outcome:?}");
    }
}

fn export(host: &MemoryHost, session: &str) -> Option<Vec<u8>> {
    let request = br#"{"action":"export_session"}"#;
    host.invoke(session, &Caller::trusted("admin"), request).ok().map(|it| it.body)
}

/// Checks that the session `session`, if there is one, can be exported and imported.
pub(crate) fn check_export(host: &MemoryHost, session: &str) {
    let show = br#"{"action":"show_session"}"#;
    if host.invoke(session, &Caller::trusted("admin"), show).is_err() {
        return;
    }
    let exported = export(host, session).expect("a session can be exported");
    let text = String::from_utf8_lossy(&exported).into_owned();
    let document: Value = serde_json::from_str(&text).expect("a document is JSON");
    assert_eq!(forged(document.clone()), document, "a digest is wrong");
    let request = format!(r#"{{"action":"import_session","document":{text}}}"#);
    let other = MemoryHost::empty();
    // Entries written in the future would be rejected.
    other.pass(shared_context_core::port::Clock::now(host).0 - crate::host::START_MS);
    let outcome = other.invoke(session, &Caller::trusted("admin"), request.as_bytes());
    assert!(outcome.is_ok(), "the exported document is rejected: {outcome:?}: {text}");
    assert_eq!(export(&other, session).as_deref(), Some(text.as_bytes()), "not the same");
}

/// Recomputes the digests of `document`, including those of its values.
fn forged(mut document: Value) -> Value {
    if let Some(values) = document.get_mut("values").and_then(Value::as_object_mut) {
        let texts: Vec<_> = values.values().filter_map(Value::as_str).map(str::to_owned).collect();
        values.extend(texts.into_iter().map(|it| (sha256(&it), Value::from(it))));
        values.retain(|name, value| value.as_str().is_some_and(|it| sha256(it) == *name));
    }
    sealed(document)
}

/// Returns the documents exported after each case of the conformance suite.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for script in crate::json_tool::seeds() {
        let host = MemoryHost::empty();
        let create = br#"{"action":"create_session"}"#;
        let _ = host.invoke("main", &Caller::trusted("admin"), create);
        for written in requests(&script) {
            let _ = send(&host, &ToolRequest::read(written));
        }
        seeds.extend(export(&host, "main").filter(|it| it.len() < 8_192));
    }
    seeds.extend(export(&MemoryHost::populated(), "main"));
    seeds.sort();
    seeds.dedup();
    seeds
}
