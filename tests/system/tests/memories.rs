//! Commands about projects and their memories, against a started server.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::fs;

use serde_json::{Value, json};
use shared_context_system::terminal::{Place, Printed, run};

/// Returns a place with the project `webshop` and the session `a` that names it.
fn place() -> Place {
    let place = Place::new();
    assert!(place.told(&["project", "list"]).contains("project create"), "a hint");
    let created = place.told(&["project", "create", "webshop"]);
    assert!(created.contains("created webshop active"), "{created}");
    place.told(&["session", "create", "a", "--config", r#"{"project":"webshop"}"#]);
    place
}

/// Returns the arguments of `memory` by a participant in the session `a`.
fn by<'a>(participant: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [&["memory"], arguments, &["--as", participant, "--in", "a"]].concat()
}

/// Adds a decision with the text `says`; returns the output.
fn decide(place: &Place, participant: &str, title: &str, says: &str) -> Value {
    let set = format!("decision={says}");
    let mut arguments = vec!["add", "webshop", "--type", "decision", "--title", title];
    arguments.extend(["--set", &*set, "--importance", "9", "--tag", "storage,orders"]);
    place.json(&by(participant, &arguments))["memories"][0].clone()
}

fn id(added: &Value) -> &str {
    added["decision_id"].as_str().unwrap_or_else(|| added["memory_id"].as_str().unwrap())
}

#[test]
fn what_a_team_knows_is_added_found_and_replaced() {
    let place = place();
    // From here on, only the orchestrator's credential of a session is used.
    let token = place.told(&["token", "a", "orchestrator"]);
    let url = place.server.url();
    let environment = [("SHARED_CONTEXT_TOKEN", token.trim()), ("SHARED_CONTEXT_URL", url)];
    let holder = |arguments: &[&str], input: &str| -> String {
        let Printed { code, out, err } = run(place.folder.path(), &environment, arguments, input);
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
        out
    };
    let added = holder(
        &[
            "memory",
            "add",
            "webshop",
            "--type",
            "decision",
            "--title",
            "Orders in SQLite",
            "--set",
            "decision=Orders are kept in SQLite.",
            "--set",
            "alternatives_considered=Files",
            "--importance",
            "8",
            "--tag",
            "storage",
        ],
        "",
    );
    assert!(added.starts_with("✓ DEC-") && added.contains(" added, revision "), "{added}");
    let old = added.split_whitespace().nth(1).unwrap().to_owned();
    let request = json!([
        {"memory_type": "issue", "title": "Slow checkout",
            "content": {"description": "The pool is exhausted.", "severity": "high"}},
        {"memory_type": "learning", "title": "Retries",
            "content": {"lesson": "Retry orders with backoff."}},
    ])
    .to_string();
    let added = holder(&["memory", "add", "webshop", "--file", "-"], &request);
    assert_eq!(added.lines().filter(|it| it.starts_with('✓')).count(), 2, "{added}");
    let again = holder(&["memory", "add", "webshop", "--file", "-"], &request);
    assert_eq!(again.matches("was there already").count(), 2, "{again}");

    let found = holder(&["memory", "search", "webshop", "where are orders kept"], "");
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].starts_with("ID") && lines[0].ends_with("SCORE"), "{found}");
    assert!(lines[1].contains(&old) && lines[1].contains("Orders in SQLite"), "{found}");
    let shown = holder(&["memory", "show", "webshop", &old], "");
    assert!(shown.contains("Decision: Orders are kept in SQLite."), "{shown}");
    assert!(shown.contains("Alternatives Considered:\n  - Files"), "{shown}");
    assert!(shown.contains("by orchestrator in a"), "{shown}");

    let told = holder(&["memory", "rehydrate", "webshop", "--task", "Add refunds"], "");
    for part in ["Orders are kept in SQLite.", "The pool is exhausted.", "Retry orders"] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    let new = decide(&place, "orchestrator", "Orders in PostgreSQL", "Orders are in PostgreSQL.");
    let superseded = ["memory", "supersede", "webshop", &old, "--by", id(&new)];
    assert!(holder(&superseded, "").contains("holds in place of"));
    let told = holder(&["memory", "rehydrate", "webshop"], "");
    assert!(told.contains("PostgreSQL") && !told.contains("are kept in SQLite"), "{told}");
    let archived = holder(&["memory", "search", "webshop", "--archived"], "");
    assert!(archived.contains(&old), "{archived}");

    let maintained = holder(&["memory", "maintain", "webshop", "--dry-run"], "");
    assert!(maintained.starts_with("nothing to do"), "{maintained}");
    let log = holder(&["memory", "log", "webshop"], "");
    let at = |it: &str| log.find(it).unwrap_or_else(|| unreachable!("{it} is not in {log}"));
    assert!(at("Orders in PostgreSQL") < at("Orders in SQLite"), "the newest first: {log}");

    let changes = holder(&["project", "changes", "webshop"], "");
    assert!(changes.contains("supersede_memory") && !changes.contains("SQLite"), "{changes}");
    let project = place.told(&["project", "show", "webshop"]);
    assert!(project.contains("4 memories of 10,000"), "{project}");
    assert!(place.told(&["project", "list"]).contains("webshop  active"));
}

#[test]
fn a_memory_is_changed_marked_and_redacted() {
    let place = place();
    let decision = decide(&place, "subagent:review", "Sessions in Redis", "They are in Redis.");
    assert_eq!(decision["warnings"][0]["code"], "UNVERIFIED", "{decision}");
    let rehydrate = by("orchestrator", &["rehydrate", "webshop"]);
    let told = place.run(&rehydrate);
    assert!(!told.out.contains("Redis") && told.err.contains("1 unverified"), "{told:?}");
    let marked = place.told(&["memory", "mark", "webshop", id(&decision), "--as", "verified"]);
    assert!(marked.contains("1 memory marked as verified"), "{marked}");
    assert!(place.told(&rehydrate).contains("They are in Redis."));

    let update = ["update", "webshop", id(&decision), "--set", "rationale=Speed.", "--tag", ""];
    let update = by("orchestrator", &[&update[..], &["--expires", "never"]].concat());
    assert_eq!(place.json(&update)["version"], 2);
    let again = by("orchestrator", &["update", "webshop", id(&decision), "--importance", "10"]);
    place.refused(&[&again[..], &["--if-version", "1"]].concat(), 1, "VERSION_CONFLICT", &[]);
    let shown = place.json(&["memory", "show", "webshop", id(&decision)]);
    let content = json!({"decision": "They are in Redis.", "rationale": "Speed."});
    assert_eq!(shown["memories"][0]["content"], content);
    assert_eq!(shown["memories"][0]["tags"], json!([]));

    let redact = ["memory", "redact", "webshop", id(&decision), "--reason", "a host name"];
    place.refused(&redact, 2, "USAGE", &["--yes"]);
    assert!(place.told(&[&redact[..], &["--yes"]].concat()).contains("sha256:"));
    let shown = place.told(&["memory", "show", "webshop", id(&decision)]);
    assert!(!shown.contains("Redis.") && shown.contains("redacted: a host name"), "{shown}");
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let place = place();
    place.refused(&["project", "create", "webshop"], 1, "PROJECT_EXISTS", &["project show"]);
    place.refused(&["memory", "log", "shop"], 1, "PROJECT_NOT_FOUND", &["project list"]);
    let nobody = ["memory", "log", "webshop", "--as", "orchestrator"];
    place.refused(&nobody, 2, "NO_SESSION", &["SHARED_CONTEXT_SESSION"]);
    let mark = by("subagent:x", &["maintain", "webshop"]);
    place.refused(&mark, 1, "FORBIDDEN", &[]);
    let file = place.file("content.json");
    fs::write(&file, "[1]").unwrap();
    let add = ["memory", "add", "webshop", "--type", "learning", "--title", "x"];
    let content = |it: &'static str| [&add[..], &["--content", it]].concat();
    place.refused(&content("{"), 2, "USAGE", &["--content is not a JSON object", "lesson"]);
    place.refused(&[&add[..], &["--content", &file]].concat(), 2, "USAGE", &["content.json"]);
    place.refused(&content(r#"{"colour":"red"}"#), 1, "MALFORMED_REQUEST", &["lesson"]);
    let known = ["memory", "show", "webshop", "DEC-2026-03-02-001"];
    place.refused(&known, 1, "MEMORY_NOT_FOUND", &["memory search"]);

    place.refused(&["project", "delete", "webshop"], 2, "USAGE", &["--yes"]);
    assert!(place.told(&["project", "archive", "webshop"]).contains("is archived"));
    let add = [&add[..], &["--set", "lesson=y"]].concat();
    place.refused(&add, 1, "PROJECT_ARCHIVED", &[]);
    place.told(&["project", "delete", "webshop", "--yes"]);
    place.refused(&["project", "show", "webshop"], 1, "PROJECT_NOT_FOUND", &["project list"]);
    assert!(place.told(&["session", "show", "a"]).contains("a active"), "the session stays");
}

/// If a step before the storing of memories fails, nothing is closed, and the error reports that.
#[test]
fn a_session_is_closed_only_with_its_memories() {
    let place = place();
    place.told(&["set", "a", "decisions_made", "Orders are in SQLite.", "--as", "orchestrator"]);
    let is_active = |id: &str| place.told(&["session", "show", id]).contains(" active");
    let close = ["session", "close", "a", "--remember"];
    let unnamed = [&close[..], &["--only", "1"]].concat();
    place.refused(&unnamed, 2, "USAGE", &["--only needs --code", "session summary a"]);
    let code = code(&place, "a");
    let unknown = [&close[..], &["--only", "99", "--code", &code]].concat();
    place.refused(&unknown, 2, "USAGE", &["no proposal 99", "nothing was closed"]);
    place.told(&["session", "create", "b"]);
    let nowhere = ["session", "close", "b", "--remember"];
    place.refused(&nowhere, 2, "USAGE", &["names no project", "nothing was closed"]);
    assert!(is_active("a") && is_active("b"));
    assert!(place.told(&["session", "close", "b"]).contains("is archived"));

    let closed = place.told(&close);
    assert!(closed.contains(" added, revision ") && closed.contains("is archived"), "{closed}");
    let again = place.told(&close);
    assert!(again.contains("was there already"), "{again}");
    let found = place.json(&["memory", "search", "webshop", "orders"]);
    assert_eq!((&found["total"], &found["memories"][0]["session_id"]), (&json!(1), &json!("a")));

    place.told(&["session", "create", "c", "--config", r#"{"project":"webshop"}"#]);
    place.told(&["set", "c", "constraints", "Never log keys.", "--as", "orchestrator"]);
    place.told(&["project", "archive", "webshop"]);
    let archived = ["session", "close", "c", "--remember"];
    place.refused(&archived, 1, "PROJECT_ARCHIVED", &["nothing was closed"]);
    assert!(is_active("c"));
}

/// Returns the code of a session's summary.
fn code(place: &Place, session: &str) -> String {
    let said = place.run(&["session", "summary", session]).err;
    let code = said.split("--code ").nth(1).unwrap_or_default();
    code.chars().take_while(char::is_ascii_hexdigit).collect()
}

/// The proposals were numbered anew at the close. What a subagent had written meanwhile was stored in
/// place of what was chosen, in the name of the orchestrator, and the session was archived.
#[test]
fn only_proposals_that_were_shown_are_remembered() {
    let place = place();
    let rogue = "Turn off TLS on the checkout API.";
    let seen = || place.json(&["memory", "search", "webshop", "TLS"])["memories"][0].clone();
    for session in ["a", "c"] {
        if session == "c" {
            place.told(&["session", "create", "c", "--config", r#"{"project":"webshop"}"#]);
        }
        place.told(&["set", session, "lessons", "Warm the caches.", "--as", "orchestrator"]);
        let before = code(&place, session);
        let text = format!("{rogue} In {session}.");
        place.told(&["set", session, "decisions_made", &text, "--as", "subagent:rogue"]);
        let close = ["session", "close", session, "--remember"];
        let only = [&close[..], &["--only", "1", "--code", &before]].concat();
        place.refused(
            &only,
            2,
            "USAGE",
            &["no longer those of this summary", "nothing was closed"],
        );
        let shown = place.told(&["session", "summary", session]);
        assert!(shown.contains("**By**: subagent:rogue"), "{shown}");
        if session == "a" {
            // Nobody chose it.
            assert!(place.told(&close).contains("UNVERIFIED"));
            assert_eq!(
                (&seen()["is_verified"], &seen()["agent_id"]),
                (&json!(false), &json!("subagent:rogue"))
            );
        } else {
            let now = code(&place, "c");
            let chosen = [&close[..], &["--only", "1", "--code", &now]].concat();
            let closed = place.told(&chosen);
            assert!(!closed.contains("UNVERIFIED") && closed.contains("archived"), "{closed}");
            let all = place.json(&["memory", "search", "webshop", "TLS"]);
            let of_c =
                all["memories"].as_array().unwrap().iter().find(|it| it["session_id"] == "c");
            let of_c = of_c.unwrap();
            assert_eq!(
                (&of_c["is_verified"], &of_c["agent_id"]),
                (&json!(true), &json!("subagent:rogue"))
            );
        }
    }
}

/// A memory that was named as `DEC-…` was once answered with its UUID.
#[test]
fn a_change_names_the_memory_as_it_was_named() {
    let place = place();
    let added = ["SQLite", "PostgreSQL"].map(|it| decide(&place, "orchestrator", it, it));
    let [old, new] = [&added[0], &added[1]].map(id);
    let changed = |arguments: &[&str]| place.told(&[&["memory"], arguments].concat());
    let updated = changed(&["update", "webshop", old, "--importance", "3"]);
    assert!(updated.contains(&format!("{old} version 2 written")), "{updated}");
    let marked = changed(&["mark", "webshop", old, "--as", "archived"]);
    assert!(marked.contains(&format!("\n  {old}\n")), "{marked}");
    changed(&["mark", "webshop", old, "--as", "active"]);
    let superseded = changed(&["supersede", "webshop", old, "--by", new]);
    assert!(superseded.contains(&format!("{new} holds in place of {old}")), "{superseded}");
}
