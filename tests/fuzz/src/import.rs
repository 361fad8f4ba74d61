//! Documents of sessions: what is imported is exported again as it was, and what is
//! refused leaves nothing.
//!
//! A document is tried as it is, which mostly fails at its digests, and once more
//! with digests that fit, as who forges one would make them.

use serde_json::Value;
use shared_context_codec::{Caller, Code};
use shared_context_core::digest::sha256;

use crate::{
    json_tool::{ask, check_failure},
    place::Place,
    script::{Asked, requests},
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

/// Imports `document` where nothing is: what is exported then.
fn import(document: &str) -> Option<Vec<u8>> {
    let place = Place::empty();
    let request = format!(r#"{{"action":"import_session","document":{document}}}"#);
    match place.invoke("copy", &Caller::trusted("admin"), request.as_bytes()) {
        Ok(_) => {
            let exported = export(&place, "copy").expect("what was imported can be exported");
            let again = Place::empty();
            let admin = Caller::trusted("admin");
            let text = String::from_utf8_lossy(&exported);
            let request = format!(r#"{{"action":"import_session","document":{text}}}"#);
            let outcome = again.invoke("copy", &admin, request.as_bytes());
            assert!(outcome.is_ok(), "what was exported is refused: {outcome:?}: {text}");
            assert_eq!(export(&again, "copy").as_deref(), Some(&exported[..]), "not the same");
            check_rows(&place);
            Some(exported)
        }
        Err(failure) => {
            check_failure(&failure);
            assert!(place.kv.names(None, 9).is_empty(), "{failure} left something");
            None
        }
    }
}

/// Checks that every command can read what was imported.
fn check_rows(place: &Place) {
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
        let outcome = place.invoke("copy", &admin, request.as_bytes());
        let is_fine = outcome.as_ref().map_or_else(
            |failure| {
                // The feed of an imported session begins after its past.
                failure.code == Code::ChangesTruncated.as_str()
            },
            |_| true,
        );
        assert!(is_fine, "{request}: {outcome:?}");
    }
}

fn export(place: &Place, session: &str) -> Option<Vec<u8>> {
    let request = br#"{"action":"export_session"}"#;
    place.invoke(session, &Caller::trusted("admin"), request).ok().map(|it| it.body)
}

/// Checks that the session `session`, if there is one, can be exported and imported.
pub(crate) fn check_export(place: &Place, session: &str) {
    let show = br#"{"action":"show_session"}"#;
    if place.invoke(session, &Caller::trusted("admin"), show).is_err() {
        return;
    }
    let exported = export(place, session).expect("a session can be exported");
    let text = String::from_utf8_lossy(&exported).into_owned();
    let document: Value = serde_json::from_str(&text).expect("a document is JSON");
    assert_eq!(forged(document.clone()), document, "the digests fit");
    let request = format!(r#"{{"action":"import_session","document":{text}}}"#);
    let other = Place::empty();
    // What is written later than now would not be taken.
    other.pass(shared_context_core::port::Clock::now(place).0 - crate::place::START_MS);
    let outcome = other.invoke(session, &Caller::trusted("admin"), request.as_bytes());
    assert!(outcome.is_ok(), "what was exported is refused: {outcome:?}: {text}");
    assert_eq!(export(&other, session).as_deref(), Some(text.as_bytes()), "not the same");
}

/// `document` with digests that fit, of its values too.
fn forged(mut document: Value) -> Value {
    if let Some(values) = document.get_mut("values").and_then(Value::as_object_mut) {
        let texts: Vec<_> = values.values().filter_map(Value::as_str).map(str::to_owned).collect();
        values.extend(texts.into_iter().map(|it| (sha256(&it), Value::from(it))));
        values.retain(|name, value| value.as_str().is_some_and(|it| sha256(it) == *name));
    }
    sealed(document)
}

/// Returns what can be exported after each case of the conformance suite.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for script in crate::json_tool::seeds() {
        let place = Place::empty();
        let create = br#"{"action":"create_session"}"#;
        let _ = place.invoke("main", &Caller::trusted("admin"), create);
        for written in requests(&script) {
            let _ = ask(&place, &Asked::read(written));
        }
        seeds.extend(export(&place, "main").filter(|it| it.len() < 8_192));
    }
    seeds.extend(export(&Place::inhabited(), "main"));
    seeds.sort();
    seeds.dedup();
    seeds
}
