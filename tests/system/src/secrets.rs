//! Checks logs for texts that must never be logged. They are collected from the requests and
//! answers of all tests: values of entries, credentials, keys and secrets. Every test that reads a
//! server's log passes it to [`check`].
//!
//! Of a value, only its longest stretches are searched for that no log format can alter: printable
//! ASCII without quotes and backslashes. A stretch of a value counts from `STRETCH_MIN` characters
//! on, of a secret from `SECRET_MIN`. Shorter ones occur in logs by chance, such as the value
//! "revision". Names of keys, sessions, participants and labels, and reasons belong in a log. They
//! are no finding if a value has the same text.
//!
//! # Invariants
//!
//! - The check covers the whole process: a value that one test stores may not be logged by the
//!   server of another.
//! - A part of a secret is a finding as well, from half of it on.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use aho_corasick::AhoCorasick;
use serde_json::Value;

/// The fewest characters of a part of a value that is searched for.
const STRETCH_MIN: usize = 16;
/// The fewest characters of a part of a secret that is.
const SECRET_MIN: usize = 8;
/// The most characters of a stretch that are searched for: a log may cut what it shows.
const STRETCH_MAX: usize = 32;
/// The members of requests and answers whose text is a value of an entry.
const VALUES: [&str; 6] = ["value", "file_text", "old_str", "new_str", "insert_text", "content"];
/// Those whose text opens something.
const SECRETS: [&str; 3] = ["credential", "secret", "admin_key"];
/// Those whose text names something, or gives a reason: audit logs contain them.
const NAMES: [&str; 8] =
    ["key", "label", "reason", "participant", "session_id", "session", "request_id", "written_by"];

#[derive(Debug, Default)]
struct Known {
    /// The texts that must not be in a log.
    hidden: BTreeSet<String>,
    /// The texts that may be in a log.
    names: BTreeSet<String>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { hidden: BTreeSet::new(), names: BTreeSet::new() });

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers the value of an entry.
pub fn value(text: &str) {
    let is_kept = |it: char| matches!(it, ' '..='~') && it != '"' && it != '\\';
    let stretches = text.split(|it| !is_kept(it)).map(str::trim);
    let longest = stretches.max_by_key(|it| it.len()).unwrap_or_default();
    hide(longest, STRETCH_MIN);
    if longest.len() > 2 * STRETCH_MAX {
        hide(&longest[longest.len() - STRETCH_MAX..], STRETCH_MIN);
    }
}

/// Remembers a credential, a key or a secret.
pub fn secret(text: &str) {
    match text.split('.').collect::<Vec<_>>()[..] {
        // Every token begins with the same header.
        [_, claims, signature] => {
            halves(claims);
            halves(signature);
        }
        _ => halves(text),
    }
}

fn halves(text: &str) {
    if text.is_ascii() {
        let (first, second) = text.split_at(text.len() / 2);
        hide(first, SECRET_MIN);
        hide(second, SECRET_MIN);
    }
}

fn hide(stretch: &str, at_least: usize) {
    if stretch.len() >= at_least {
        known().hidden.insert(stretch[..stretch.len().min(STRETCH_MAX)].to_owned());
    }
}

/// Collects the texts of a request: its path, its headers and its body. What is no JSON is a value.
pub fn request<'h>(
    path: &str,
    headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    body: Option<&[u8]>,
) {
    let path = path.split('?').next().unwrap_or_default();
    // A credential is never part of a path, whoever tries.
    path.split('/').filter(|it| !it.contains('.')).for_each(name);
    for (name, text) in headers {
        if name.eq_ignore_ascii_case("authorization") {
            secret(text.rsplit(' ').next().unwrap_or_default());
        }
    }
    if let Some(bytes) = body {
        match serde_json::from_slice(bytes) {
            Ok(document) => document_of(&document),
            Err(_) => String::from_utf8_lossy(bytes).lines().for_each(value),
        }
    }
}

/// Collects the texts of an answer: a document, or a stream of events.
pub fn answer(text: &str) {
    let is_document = serde_json::from_str(text).map(|it| document_of(&it)).is_ok();
    if !is_document {
        let events = text.lines().filter_map(|it| it.strip_prefix("data:"));
        events.filter_map(|it| serde_json::from_str(it).ok()).for_each(|it| document_of(&it));
    }
}

fn document_of(document: &Value) {
    match document {
        Value::Array(items) => items.iter().for_each(document_of),
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if VALUES.contains(&&**name) => value(text),
                    Value::String(text) if SECRETS.contains(&&**name) => secret(text),
                    Value::String(text) if NAMES.contains(&&**name) => self::name(text),
                    // A member may be a document, as text.
                    Value::String(text) if text.starts_with(['{', '[']) => {
                        if let Ok(inner) = serde_json::from_str(text) {
                            document_of(&inner);
                        }
                    }
                    other => document_of(other),
                }
            }
        }
        _ => {}
    }
}

/// Remembers what may be logged, although it may be a value too.
pub fn name(text: &str) {
    known().names.insert(text.to_owned());
}

/// Fails if `log` shows anything that must not be in a log.
#[track_caller]
pub fn check(log: &str) {
    if let Some(found) = found(log) {
        panic!("{found}");
    }
}

/// Returns which line shows what.
fn found(log: &str) -> Option<String> {
    let known = known();
    let is_name = |text: &str| known.names.iter().any(|name| name.contains(text));
    let hidden: Vec<_> = known.hidden.iter().collect();
    let search = AhoCorasick::new(&hidden).unwrap();
    let line_of = |at: usize| {
        let (from, to) = (log[..at].rfind('\n').map_or(0, |it| it + 1), log[at..].find('\n'));
        &log[from..to.map_or(log.len(), |it| at + it)]
    };
    let mut seen = BTreeSet::new();
    for hit in search.find_overlapping_iter(log) {
        if seen.insert(hit.pattern()) && !is_name(hidden[hit.pattern().as_usize()]) {
            let text = hidden[hit.pattern().as_usize()];
            return Some(format!("the log shows {text:?}: {}", line_of(hit.start())));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_found(log: &str, text: Option<&str>) {
        let found = found(log);
        assert_eq!(found.is_some(), text.is_some(), "{found:?}");
        if let Some(text) = text {
            assert!(found.unwrap().contains(text));
        }
    }

    /// One test: what is remembered is so for the whole process.
    #[test]
    fn what_went_over_the_wire_is_found_in_a_log_and_names_are_not() {
        let body = |body: &[u8]| request("/v1/sessions/in_a_path_of_a_session", [], Some(body));
        body(br#"{"writes":[{"key":"scope_of_it_and_more","value":"line one\nthe second \"line\" is longer than all"}]}"#);
        body(br#"{"credential":"eyJhbGciOiJIUzI1NiJ9.eyJzZXMiOiJhIn0xyz.c2lnbmF0dXJlIG9mIGl0"}"#);
        answer("id: 3\ndata: {\"value\":\"in an event stream\"}\n\n");
        value("in_a_path_of_a_session");
        body(b"a text that is no JSON");
        body(br#"{"key":"scope_of_it_and_more","value":"scope_of_it_and_more"}"#);
        body(br#"{"text":"{\"value\":\"nested inside of another\"}"}"#);
        value(&"very long ".repeat(100));
        value("rather short");
        secret("0123456789abcdef0123456789abcdef");
        check_found(
            "nothing of it\nrather short in_a_path_of_a_session scope_of_it_and_more eyJhbGciOiJIUzI1NiJ9",
            None,
        );
        check_found(
            r#"INFO x="line one\nthe second \"line\" is longer than all""#,
            Some("is longer than all"),
        );
        check_found("a\nb c2lnbmF0dXJl d\ne", Some("b c2lnbmF0dXJl d"));
        check_found("eyJzZXMiOiJhIn0xyz", Some("log shows"));
        check_found("it was in an event stream.", Some("event"));
        check_found("a text that is no JSON", Some("JSON"));
        check_found("nested inside of another", Some("nested"));
        check_found("cut: very long very long very long very lo…", Some("very"));
        check_found("key=0123456789abcdef…", Some("0123"));
    }
}
