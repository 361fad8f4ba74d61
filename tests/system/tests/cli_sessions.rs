//! Commands that look into a session or carry it elsewhere, against a started
//! server: history, snapshots, live changes, documents, redaction.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};
use shared_context_system::terminal::{Place, Running, check_refused};

/// The participant that changes entries in these tests.
const BY: [&str; 2] = ["--as", "orchestrator"];

/// Returns a place with the session `a`.
fn place() -> Place {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    place
}

trait Acts {
    fn write(&self, key: &str, value: &str);
    fn call(&self, request: &Value) -> Value;
}

impl Acts for Place {
    fn write(&self, key: &str, value: &str) {
        self.call(&json!({"action": "write", "key": key, "value": value}));
    }

    fn call(&self, request: &Value) -> Value {
        self.json(&["call", "a", &request.to_string(), "--as", "orchestrator"])
    }
}

/// Returns the arguments of a command of the orchestrator.
fn by<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &BY].concat()
}

#[test]
fn a_history_is_told_with_its_values() {
    let place = place();
    place.write("scope", "First.");
    place.write("scope", "Second.");
    place.call(&json!({"action": "delete", "key": "scope"}));
    place.write("scope", "Third.");
    let history = place.told(&["history", "a", "scope"]);
    let parts = ["First.", "superseded", "Second.", "deleted", "Third.", "current"];
    let at: Vec<usize> = ["First.", "Second.", "Third."]
        .iter()
        .map(|it| history.find(it).unwrap_or_else(|| unreachable!("{history}")))
        .collect();
    assert!(at.is_sorted(), "oldest first: {history}");
    assert!(parts.iter().all(|it| history.contains(it)), "{history}");
    let one = place.json(&["history", "a", "scope", "--versions", "2", "--as", "subagent:x"]);
    assert_eq!(one["versions"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(one["versions"][0]["value"], "Second.");
    place.refused(&["history", "a", "Bad Key"], 1, "INVALID_KEY", &[]);
    place.refused(&["history", "b", "scope"], 1, "SESSION_NOT_FOUND", &["session list"]);
}

#[test]
fn a_snapshot_is_taken_compared_restored_and_deleted() {
    let place = place();
    place.write("scope", "Find the parameter.");
    place.write("plan", "Read all.");
    assert!(place.told(&["snapshot", "list", "a"]).contains("snapshot take"), "a hint");
    let note = ["snapshot", "take", "a", "before", "--note", "all read"];
    let taken = place.told(&by(&note));
    assert!(taken.contains("before") && taken.contains("2 keys"), "{taken}");
    place.write("scope", "Find the parameter of the second table.");
    place.write("findings", "It is the temperature.");
    place.call(&json!({"action": "delete", "key": "plan"}));
    assert_eq!(place.json(&by(&["snapshot", "take", "a", "after"]))["label"], "after");
    let listed = place.told(&["snapshot", "list", "a"]);
    assert!(listed.contains("before") && listed.contains("all read"), "{listed}");
    let read = place.told(&["snapshot", "read", "a", "before"]);
    assert!(read.contains("Find the parameter.") && read.contains("Read all."), "{read}");
    let read = place.json(&["snapshot", "read", "a", "before", "plan"]);
    assert_eq!(read["value"], "Read all.");
    for to in [&["after"][..], &[]] {
        let diff = place.told(&[&["snapshot", "diff", "a", "before"], to].concat());
        let lines: Vec<&str> = diff.lines().collect();
        assert!(lines[0].contains("before"), "{diff}");
        assert!(lines[1].starts_with("+ findings") && lines[2].starts_with("- plan"), "{diff}");
        assert!(lines[3].starts_with("~ scope") && lines[3].contains("v1 → v2"), "{diff}");
    }
    let restored = place.told(&by(&["snapshot", "restore", "a", "before"]));
    assert!(restored.contains("plan") && restored.contains("findings"), "{restored}");
    let read = place.call(&json!({"action": "read", "key": "scope"}));
    assert_eq!((&read["value"], &read["version"]), (&"Find the parameter.".into(), &3.into()));
    place.refused(&by(&["snapshot", "delete", "a", "before"]), 2, "USAGE", &["--yes"]);
    place.told(&by(&["snapshot", "delete", "a", "before", "--yes"]));
    let restore = by(&["snapshot", "restore", "a", "before"]);
    place.refused(&restore, 1, "SNAPSHOT_NOT_FOUND", &["snapshot list"]);
    place.refused(&by(&["snapshot", "take", "a", "after"]), 1, "SNAPSHOT_EXISTS", &[]);
    place.refused(&by(&["snapshot", "take", "a", "a b"]), 1, "MALFORMED_REQUEST", &[]);
    place.refused(&["snapshot", "take", "a", "x"], 2, "NO_CREDENTIAL", &["--as"]);
    let forbidden = ["snapshot", "take", "a", "x", "--as", "subagent:x"];
    place.refused(&forbidden, 1, "FORBIDDEN", &["orchestrator"]);
}

/// Returns the revisions that a `watch --json` printed.
fn revisions(watching: &Running) -> Vec<u64> {
    let out = watching.out();
    let whole = out.rfind('\n').map_or("", |end| &out[..end]);
    let event = |line| serde_json::from_str::<Value>(line).unwrap()["revision"].as_u64().unwrap();
    whole.lines().map(event).collect()
}

#[test]
fn a_watch_over_restarts_loses_and_repeats_no_event() {
    let mut place = place();
    let watching = place.start(&["watch", "a", "--json", "--since", "0"]);
    for round in 0..3 {
        for nth in 0..20 {
            place.write("counter", &format!("{round} {nth}"));
        }
        if round == 1 {
            place.server.kill();
            let folder = place.folder;
            let server = shared_context_system::Server::start(
                &folder.path().join(shared_context_system::terminal::DATA),
            );
            place = Place { server, folder };
        } else {
            place = place.restarted();
        }
    }
    place.write("last", "x");
    watching.wait_until(|it| revisions(it).last() == Some(&62));
    assert_eq!(revisions(&watching), (1..=62).collect::<Vec<u64>>());
    assert!(watching.err().contains("connecting again"), "{}", watching.err());
    watching.interrupt();
    let ended = watching.ended();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("--since 62"), "{}", ended.err);
    assert!(!ended.out.contains("counter\":") && !ended.out.contains("2 19"), "no values");
}

#[test]
fn a_watch_for_people_shows_what_is_asked_for_from_now_on() {
    let place = place();
    place.write("scope", "Before.");
    let watching = place.start(&["watch", "a", "--keys", "find*", "--as", "subagent:review"]);
    watching.wait_until(|it| it.err().contains("watching a after revision 2"));
    place.write("scope", "After.");
    place.write("findings", "Found.");
    watching.wait_until(|it| it.out().ends_with('\n'));
    let out = watching.out();
    assert!(out.contains("write findings v1, 2 tokens by orchestrator"), "{out}");
    assert_eq!(out.lines().count(), 1, "{out}");
    assert!(!out.contains('\u{1b}') && !out.contains("Found."), "{out:?}");
}

#[test]
fn a_watch_ends_with_the_reason_when_there_is_no_going_on() {
    let place = place();
    let watching = place.start(&["watch", "a"]);
    watching.wait_until(|it| it.err().contains("watching"));
    place.told(&["session", "delete", "a", "--yes"]);
    let ended = watching.ended();
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("SESSION_NOT_FOUND"), "{}", ended.err);
    place.refused(&["watch", "a"], 1, "SESSION_NOT_FOUND", &["session list"]);
    place.told(&["session", "create", "b"]);
    let advice = ["read what is there now", "--since 0"];
    place.refused(&["watch", "b", "--since", "99"], 1, "CHANGES_TRUNCATED", &advice);
    place.refused(&["watch", "b", "--keys", "NO"], 1, "MALFORMED_REQUEST", &[]);
}

/// `watch --since 0` ended with `CHANGES_TRUNCATED` on a session that was created anew, although
/// its help says that 0 shows all that is kept. The revisions of a name never go back.
#[test]
fn a_watch_from_zero_shows_all_that_is_kept() {
    let place = place();
    place.write("scope", "Before.");
    place.told(&["session", "delete", "a", "--yes"]);
    place.told(&["session", "create", "a"]);
    place.write("plan", "After.");
    let watching = place.start(&["watch", "a", "--since", "0"]);
    watching.wait_until(|it| it.out().contains("write plan v1"));
    place.refused(&["watch", "a", "--since", "1"], 1, "CHANGES_TRUNCATED", &["--since "]);
}

#[test]
fn a_session_is_carried_elsewhere_as_a_document() {
    let place = place();
    place.write("scope", "Find the parameter.");
    place.write("scope", "Find it.");
    place.told(&by(&["snapshot", "take", "a", "before"]));
    let document = place.told(&["export", "a"]);
    let file = place.file("a.json");
    let written = place.told(&["export", "a", "--output", &file]);
    assert!(written.contains(&file), "{written}");
    assert_eq!(fs::read_to_string(&file).unwrap(), document, "one and the same document");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    place.refused(&["import", &file], 1, "SESSION_EXISTS", &[]);
    let imported = place.told(&["import", &file, "--as", "b"]);
    assert!(
        imported.contains("b active") && imported.contains("SHARED_CONTEXT_TOKEN="),
        "{imported}"
    );
    let read = ["call", "b", r#"{"action":"read","key":"scope"}"#, "--as", "admin"];
    assert_eq!(place.json(&read)["value"], "Find it.");
    let piped = place.piped(&["import", "-", "--as", "c", "--json"], &document);
    assert_eq!(piped.code, 0, "{}{}", piped.out, piped.err);
    let altered = document.replace("Find the parameter.", "Find the passphrase");
    let refused = place.piped(&["import", "-", "--as", "d"], &altered);
    check_refused(refused, 1, &["DOCUMENT_ALTERED", "values."]);
    let newer = document.replace("shared-context/session/1", "shared-context/session/9");
    check_refused(place.piped(&["import", "-", "--as", "d"], &newer), 1, &["FORMAT_TOO_NEW"]);
    place.refused(&["import", &place.file("none")], 2, "USAGE", &["name a file"]);
    place.refused(&["export", "a", "-o", "/no/such/x"], 2, "FILE_NOT_WRITTEN", &["folder"]);
    // Nothing but the session's id, which stands in it, distinguishes a copy from the original.
    let copy = place.told(&["export", "b"]);
    place.told(&["session", "delete", "a", "--yes"]);
    place.told(&["import", &file]);
    assert_eq!(place.told(&["export", "a"]), document, "the round trip is byte-identical");
    assert_ne!(copy, document);
}

#[test]
fn a_redacted_value_is_nowhere_any_more() {
    let place = place();
    place.write("scope", "The password is hunter2.");
    place.told(&by(&["snapshot", "take", "a", "before"]));
    place.write("scope", "The password is gone.");
    let redact = ["redact", "a", "scope", "--reason", "held a password", "--revision", "2"];
    place.refused(&redact, 2, "USAGE", &["--yes"]);
    let redacted = place.told(&[&redact[..], &["--yes"]].concat());
    assert!(redacted.contains("sha256:"), "{redacted}");
    for command in
        [&["history", "a", "scope"][..], &["snapshot", "read", "a", "before"], &["export", "a"]]
    {
        let told = place.told(command);
        assert!(!told.contains("hunter2"), "{command:?}: {told}");
        assert!(told.contains("held a password"), "{command:?}: {told}");
    }
    let audit = place.told(&["session", "audit", "a"]);
    assert!(audit.contains("redact") && audit.contains("held a password"), "{audit}");
    let current = place.call(&json!({"action": "read", "key": "scope"}));
    assert_eq!(current["value"], "The password is gone.");
}

#[test]
fn a_text_of_rounds_is_redacted_by_the_file_that_holds_it() {
    let place = place();
    place.call(&json!({"action": "open_round", "query": "Who has hunter2?"}));
    let delta = json!({"operation": "add", "path": "$.entities", "value": {"hunter2": "x"},
        "provenance": "It is hunter2."});
    place.call(&json!({"action": "propose_deltas", "deltas": [delta]}));
    place.call(&json!({"action": "close_round"}));
    let secret = place.file("secret.txt");
    fs::write(&secret, "hunter2\n").unwrap();
    let redact = ["redact", "a", "--in-rounds", &secret, "--reason", "a password"];
    place.refused(&redact, 2, "USAGE", &["--yes"]);
    let redacted = place.told(&[&redact[..], &["--yes"]].concat());
    assert!(redacted.contains("redacted:f52fbd32b2b3b86f"), "{redacted}");
    assert!(!place.told(&["export", "a"]).contains("hunter2"));
    let again = ["redact", "a", "--in-rounds", "-", "--reason", "a password", "--yes"];
    let again = place.piped(&again, "hunter2");
    assert!(again.out.contains("nothing in the rounds contains the text"), "{again:?}");
}

#[test]
fn an_inspection_shows_all_there_is() {
    let place = place();
    place.write("scope", "Find the parameter.");
    place.write("long", "word ".repeat(100).trim_end());
    place.told(&by(&["snapshot", "take", "a", "before"]));
    place.call(&json!({"action": "write", "key": "soon", "value": "x", "ttl_seconds": 3600}));
    let inspection = place.told(&["inspect", "a"]);
    for part in
        ["a active", "of 10,000 tokens", "Find the parameter.", "…", "before", "expiry", "snapshot"]
    {
        assert!(inspection.contains(part), "{part}: {inspection}");
    }
    let inspection = place.json(&["inspect", "a"]);
    assert_eq!(inspection["entries"].as_array().unwrap().len(), 3);
}

#[test]
fn sessions_are_listed_by_what_they_are() {
    let place = place();
    place.told(&["session", "create", "ticket-1"]);
    place.told(&["session", "create", "ticket-2"]);
    place.told(&["session", "archive", "ticket-2"]);
    let ids = |arguments: &[&str]| -> Vec<String> {
        let listed = place.json(&[&["session", "list"], arguments].concat());
        let id = |it: &Value| it["session_id"].as_str().unwrap().to_owned();
        listed["sessions"].as_array().unwrap().iter().map(id).collect()
    };
    assert_eq!(ids(&["--status", "archived"]), ["ticket-2"]);
    assert_eq!(ids(&["--prefix", "ticket-", "--status", "active"]), ["ticket-1"]);
    assert_eq!(ids(&["--changed-before", "2001-01-01T00:00:00Z"]), [""; 0]);
    assert_eq!(ids(&["--changed-after", "2001-01-01T00:00:00Z"]).len(), 3);
    let none = place.told(&["session", "list", "--prefix", "x"]);
    assert!(none.contains("no such sessions"), "{none}");
    place.refused(&["session", "list", "--changed-after", "now"], 1, "MALFORMED_REQUEST", &[]);
}

#[test]
fn a_session_may_count_exactly() {
    let place = place();
    for (session, estimator, tokens) in
        [("exact", "o200k_base", 2), ("older", "cl100k_base", 2), ("rough", "approximate", 3)]
    {
        let config = place.file("config.json");
        fs::write(&config, json!({"estimator": estimator}).to_string()).unwrap();
        place.told(&["session", "create", session, "--config", &config]);
        let write = r#"{"action":"write","key":"k","value":"hello world"}"#;
        let written = place.json(&by(&["call", session, write]));
        assert_eq!(written["value_size_tokens"], tokens, "{estimator}");
    }
    assert!(place.told(&["session", "show", "exact"]).contains("o200k_base"));
    let config = place.file("config.json");
    fs::write(&config, r#"{"estimator":"p50k_base"}"#).unwrap();
    let create = ["session", "create", "no", "--config", &config];
    place.refused(&create, 1, "MALFORMED_REQUEST", &["o200k_base", "cl100k_base"]);
}

#[test]
fn single_entries_are_written_read_and_deleted() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let me = ["--as", "orchestrator"];
    let set = |rest: &[&str], input: &str| {
        let printed = place.piped(&[&["set", "a"], rest, &me].concat(), input);
        assert_eq!(printed.code, 0, "{}", printed.err);
        printed.out
    };
    assert!(set(&["scope", "-5 degrees"], "").contains("version 1"));
    assert_eq!(place.told(&["get", "a", "scope"]), "-5 degrees");
    // Line breaks and control characters survive the way in and out.
    let value = "two\nlines \u{1b}[1m ä\n";
    for (nth, rest) in [&["scope"][..], &["scope", "-"]].iter().enumerate() {
        assert!(set(rest, value).contains(&format!("version {}", nth + 2)));
        assert_eq!(place.run(&["get", "a", "scope"]).out, value);
    }
    let file = place.file("value.txt");
    fs::write(&file, value).unwrap();
    set(&["notes", "--file", &file, "--ttl", "1h"], "");
    assert_eq!(place.run(&["get", "a", "notes"]).out, value);
    assert!(place.json(&["get", "a", "notes"])["expires_at"].is_string());
    let listed = place.told(&["ls", "a"]);
    assert!(listed.contains("scope") && listed.contains("notes"), "{listed}");
    let stale = [&["set", "a", "scope", "x", "--if-version", "1"][..], &me].concat();
    place.refused(&stale, 1, "VERSION_CONFLICT", &[]);
    // Another participant writes, so this one deletes nothing that it has not seen.
    let stale = [&["rm", "a", "scope", "--if-version", "2"][..], &me].concat();
    place.refused(&stale, 1, "VERSION_CONFLICT", &["version 3"]);
    assert_eq!(place.run(&["get", "a", "scope"]).out, value);
    let wrong = [&["rm", "a", "scope", "--if-version", "newest"][..], &me].concat();
    place.refused(&wrong, 2, "USAGE", &["--if-version"]);
    set(&["lease", "review runs"], "");
    place.told(&[&["rm", "a", "lease", "--if-version", "1"][..], &me].concat());
    place.refused(&["get", "a", "lease"], 1, "KEY_NOT_FOUND", &[]);
    place.told(&[&["rm", "a", "notes"][..], &me].concat());
    assert_eq!(place.json(&["ls", "a"])["keys"].as_array().unwrap().len(), 1);
    place.refused(&["get", "a", "notes"], 1, "KEY_NOT_FOUND", &[]);
    place.refused(&["set", "a", "scope", "x"], 2, "NO_CREDENTIAL", &["--as"]);
    let missing = [&["set", "a", "scope", "--file", "/nowhere"][..], &me].concat();
    place.refused(&missing, 2, "USAGE", &["/nowhere"]);
}

/// Control characters of values were replaced as on a terminal: the digest of a prompt that was
/// made of one was not that of the text.
#[test]
fn a_piped_context_and_prompt_are_the_exact_text() {
    let place = place();
    place.write("scope", "two\nlines \u{1b}[1m \u{7} ä\n");
    for command in [
        &["context", "a", "--as", "orchestrator"][..],
        &["context", "a", "--task", "Find the lines.", "--as", "subagent:review"],
        &["prompt", "a", "--as", "subagent:review"],
        &["prompt", "a", "--max-tokens", "300"],
    ] {
        let text = place.json(command)["text"].as_str().unwrap().to_owned();
        assert_eq!(place.run(command).out, text, "{command:?}");
    }
    assert!(place.run(&by(&["context", "a"])).out.contains("[1m \u{7} ä"), "it is the value's");
}

/// `prompt --as admin` printed the prompt of the orchestrator, while the operator's key gets a
/// different one over HTTP. And with `--project` the operator could name a session that does not
/// exist.
#[test]
fn a_prompt_is_that_of_whoever_is_named() {
    let place = place();
    let of = |participant| place.told(&["prompt", "a", "--as", participant]);
    let opening = "You are the orchestrator";
    assert!(of("orchestrator").contains(opening) && !of("admin").contains(opening));
    assert!(place.told(&["prompt", "a"]).contains(opening), "where nobody is named");
    place.told(&["project", "create", "webshop"]);
    let prompt = ["prompt", "nosuch", "--project", "webshop"];
    place.refused(&prompt, 1, "SESSION_NOT_FOUND", &["session list"]);
    place.told(&["prompt", "--project", "webshop"]);
}

/// `session show` did not say of which project a session is.
#[test]
fn a_session_is_shown_with_its_project() {
    let place = place();
    assert!(!place.told(&["session", "show", "a"]).contains("project"));
    place.told(&["project", "create", "webshop"]);
    place.told(&["session", "create", "b", "--config", r#"{"project":"webshop"}"#]);
    let shown = place.told(&["session", "show", "b"]);
    assert!(
        shown.lines().any(|it| it.starts_with("project") && it.ends_with("webshop")),
        "{shown}"
    );
}
