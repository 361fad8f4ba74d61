//! The program as a person and as a script uses it, against a started server: every command, for
//! people and with `--json`, its exit codes, and its errors.

use std::{fs, io::Write as _, net::TcpListener};

use serde_json::{Value, json};
use shared_context_system::terminal::{DATA, Place, Printed, check_refused, printed, run};
use tempfile::tempdir;

#[test]
fn a_session_lives_from_create_to_delete() {
    let place = Place::new();
    assert!(place.told(&["session", "list"]).contains("session create"), "a hint for beginners");
    let created = place.told(&["session", "create", "ticket-7"]);
    assert!(created.contains("ticket-7") && created.contains("SHARED_CONTEXT_TOKEN="), "{created}");
    let created = place.json(&["session", "create", "ticket-8"]);
    assert_eq!(created["session_id"], "ticket-8");
    assert!(created["credential"].is_string());
    let listed = place.told(&["session", "list"]);
    assert!(listed.contains("ticket-7") && listed.contains("ticket-8"), "{listed}");
    let listed = place.json(&["session", "list", "--limit", "1"]);
    assert_eq!(listed["sessions"][0]["session_id"], "ticket-7");
    assert_eq!(listed["next_after"], "ticket-7");
    let rest = place.json(&["session", "list", "--after", "ticket-7"]);
    assert_eq!(rest["sessions"][0]["session_id"], "ticket-8");
    assert!(place.told(&["session", "show", "ticket-7"]).contains("active"));
    assert_eq!(place.json(&["session", "show", "ticket-7"])["status"], "active");
    assert!(place.told(&["session", "archive", "ticket-7"]).contains("ticket-7"));
    assert_eq!(place.json(&["session", "archive", "ticket-8"])["status"], "archived");
    assert!(place.told(&["session", "show", "ticket-7"]).contains("archived"));
    assert!(place.told(&["session", "audit", "ticket-7"]).contains("archive_session"));
    let revoked = place.json(&["session", "revoke", "ticket-8"]);
    let epochs = [&created, &revoked].map(|it| it["credential_epoch"].as_u64().unwrap());
    assert!(epochs[0] < epochs[1], "{epochs:?}");
    // There is no terminal to ask for confirmation.
    place.refused(&["session", "delete", "ticket-7"], 2, "USAGE", &["--yes"]);
    assert!(place.told(&["session", "delete", "ticket-7", "--yes"]).contains("ticket-7"));
    assert_eq!(place.json(&["session", "delete", "ticket-8", "-y"])["deleted_session"], "ticket-8");
    place.refused(&["session", "show", "ticket-7"], 1, "SESSION_NOT_FOUND", &["session list"]);
    let path = place.folder.path().join("config.json");
    fs::write(&path, r#"{"store_tokens_max": 4000}"#).unwrap();
    let path = path.to_str().unwrap();
    let small = place.json(&["session", "create", "small", "--config", path]);
    assert_eq!(small["config"]["store_tokens_max"], 4000);
    let inline = [r#"{"store_tokens_max": 5000}"#, r#"{"store_tokens_max": "#];
    let large = place.json(&["session", "create", "large", "--config", inline[0]]);
    assert_eq!(large["config"]["store_tokens_max"], 5000);
    let change = r#"{"store_tokens_max": null, "keys_max": 50}"#;
    let updated = place.told(&["session", "update", "large", "--config", change]);
    assert!(updated.contains("updated") && updated.contains("50 keys"), "{updated}");
    let updated = place.json(&["session", "update", "large", "--config", path]);
    assert_eq!(updated["config"]["store_tokens_max"], 4000);
    assert_eq!(updated["config"]["keys_max"], 50, "what is absent stays");
    place.refused(&["session", "update", "large"], 2, "USAGE", &["--config"]);
    let broken = ["session", "create", "other", "--config", inline[1]];
    place.refused(&broken, 2, "USAGE", &["the configuration in --config is not JSON"]);
}

#[test]
fn participants_call_from_a_terminal() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let write = r#"{"action":"write","key":"scope","value":"Find the parameter."}"#;
    let written = place.told(&["call", "a", write, "--as", "orchestrator"]);
    assert!(written.contains("scope") && written.contains("version 1"), "{written}");
    let written = place.json(&["call", "a", write, "--as", "subagent:analysis"]);
    assert_eq!(
        (&written["version"], &written["written_by"]),
        (&2.into(), &"subagent:analysis".into())
    );
    let read = r#"{"action":"read","key":"scope"}"#;
    assert!(place.told(&["call", "a", read, "--as", "admin"]).contains("Find the parameter."));
    let listed = place.told(&["call", "a", r#"{"action":"list_keys"}"#, "--as", "orchestrator"]);
    assert!(listed.contains("scope") && listed.contains("of 10,000 tokens"), "{listed}");
    // A credential of one's own, and the request through a pipe.
    let token = place.told(&["token", "a", "subagent:review:1", "--ttl", "15m"]);
    assert_eq!(token.trim().split('.').count(), 3, "{token}");
    assert!(place.json(&["token", "a", "orchestrator"])["credential"].is_string());
    let limited = ["token", "a", "subagent:review", "--keys", "inv_*, current_phase"];
    let minted = place.json(&limited);
    assert_eq!(minted["keys"], json!(["inv_*", "current_phase"]));
    let data = place.data();
    let home = place.folder.path();
    let limited = place.told(&limited);
    let environment = [("SHARED_CONTEXT_DATA", &*data), ("SHARED_CONTEXT_TOKEN", limited.trim())];
    let listed = run(home, &environment, &["call", "a", r#"{"action":"list_keys"}"#], "");
    assert!(listed.code == 0 && !listed.out.contains("scope"), "{}{}", listed.out, listed.err);
    let refused = run(home, &environment, &["call", "a", write], "");
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("keys that match inv_*, current_phase"), "{}", refused.err);
    let environment = [("SHARED_CONTEXT_DATA", &*data), ("SHARED_CONTEXT_TOKEN", token.trim())];
    let piped = run(home, &environment, &["call", "a", "-", "--json"], read);
    assert_eq!(piped.code, 0, "{}", piped.err);
    assert!(piped.out.contains("Find the parameter."), "{}", piped.out);
    let prompt = run(home, &environment, &["prompt", "a"], "");
    assert_eq!(prompt.code, 0, "{}", prompt.err);
    assert!(prompt.out.contains("shared_context"), "{}", prompt.out);
    assert!(place.told(&["prompt", "a", "--as", "orchestrator"]).contains("current_phase"));
    let budget = place.json(&["prompt", "a", "--max-tokens", "300"]);
    assert!(budget["tokens"].as_u64().unwrap() <= 300, "{budget}");
    let text = run(home, &environment, &["context", "a", "--max-tokens", "500"], "");
    assert!(
        text.out.contains("scope (version 2, by subagent:analysis)"),
        "{}{}",
        text.out,
        text.err
    );
    place.refused(
        &["context", "a", "--max-tokens", "1", "--as", "orchestrator"],
        1,
        "MALFORMED_REQUEST",
        &["the shortest text has"],
    );
    // A rejection by the server is shown with its code.
    let missing = r#"{"action":"read","key":"missing"}"#;
    place.refused(
        &["call", "a", missing, "--as", "orchestrator"],
        1,
        "KEY_NOT_FOUND",
        &["missing"],
    );
    place.refused(&["call", "a", "{", "--as", "orchestrator"], 1, "MALFORMED_REQUEST", &[]);
    place.refused(&["call", "a", write, "--as", "admin"], 1, "FORBIDDEN", &["a participant"]);
    place.refused(&["call", "a", read], 2, "NO_CREDENTIAL", &["--as"]);
    place.refused(&["call", "b", read, "--as", "orchestrator"], 1, "SESSION_NOT_FOUND", &[]);
    place.refused(&["token", "a", "nobody"], 1, "MALFORMED_REQUEST", &["subagent:"]);
    let minted = place.json(&["token", "a", "subagent:review", "--tools", "delta_rounds"]);
    assert_eq!(minted["tools"], serde_json::json!(["delta_rounds"]), "{minted}");
    let unknown = ["token", "a", "subagent:review", "--tools", "billing"];
    place.refused(&unknown, 1, "MALFORMED_REQUEST", &["delta_rounds"]);
    let mint = |who, keys| ["token", "a", who, "--keys", keys];
    place.refused(&mint("subagent:b", "Scope"), 1, "MALFORMED_REQUEST", &["no key matches"]);
    place.refused(&mint("subagent:b", ""), 1, "MALFORMED_REQUEST", &["no key matches"]);
    place.refused(&mint("orchestrator", "scope"), 1, "MALFORMED_REQUEST", &["leave keys out"]);
}

/// A value may hold what drives a terminal; printing it must only show it.
#[test]
fn a_stored_value_cannot_drive_the_terminal() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let value = "\u{1b}[2J\u{1b}]0;owned\u{7} \u{9b}1m \u{202e}devorppa\u{2069}";
    let write = json!({"action": "write", "key": "k", "value": value}).to_string();
    place.told(&["call", "a", &write, "--as", "orchestrator"]);
    let read = ["call", "a", r#"{"action":"read","key":"k"}"#, "--as", "orchestrator"];
    for form in [&read[..], &[&read[..], &["--json"]].concat()] {
        let shown = place.told(form);
        let acts = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{2069}'];
        assert!(!shown.contains(acts), "{shown:?}");
    }
    assert_eq!(place.json(&read)["value"], value);
    // A document that is kept is kept as it is.
    assert!(place.told(&["export", "a"]).contains("\u{202e}devorppa"));
}

#[test]
fn doctor_says_what_it_looked_at() {
    let place = Place::new();
    let report = place.told(&["doctor"]);
    assert!(report.contains("component") && report.contains("database"), "{report}");
    assert_eq!(place.json(&["doctor"])["is_healthy"], true);
    // And without a server, and with a sick database.
    let data = place.data();
    let home = tempdir().unwrap();
    let Place { server, folder } = place;
    server.stop();
    let doctor = |arguments: &[&str]| {
        run(home.path(), &[("SHARED_CONTEXT_DATA", &data)], &[&["doctor"], arguments].concat(), "")
    };
    let report = doctor(&[]);
    assert_eq!(report.code, 0, "{}{}", report.out, report.err);
    let database = folder.path().join(DATA).join("shared-context.db");
    let bytes = fs::read(&database).unwrap();
    fs::write(&database, &bytes[..bytes.len() / 2]).unwrap();
    let report = doctor(&[]);
    assert_eq!(report.code, 5, "{}{}", report.out, report.err);
    assert!(report.out.contains("shared-context.db"), "{}", report.out);
    let report: Value = serde_json::from_str(&doctor(&["--json"]).out).unwrap();
    assert_eq!(report["is_healthy"], false);
    assert_eq!(fs::read(&database).unwrap().len(), bytes.len() / 2, "looking changes nothing");
}

#[test]
fn the_demo_keeps_what_it_claims() {
    let home = tempdir().unwrap();
    let demo = run(home.path(), &[], &["demo"], "");
    assert_eq!(demo.code, 0, "{}{}", demo.out, demo.err);
    assert!(demo.out.contains("restart") || demo.out.contains("stopped"), "{}", demo.out);
    let demo = run(home.path(), &[], &["demo", "--json"], "");
    assert_eq!(demo.code, 0, "{}{}", demo.out, demo.err);
    let document: Value = serde_json::from_str(&demo.out).unwrap();
    assert!(!document["claims"].as_array().unwrap().is_empty(), "{document}");
    assert!(!home.path().join(".local/share/shared-context").exists(), "it leaves nothing behind");
}

#[test]
fn every_help_has_examples_and_every_mistake_a_way_out() {
    let home = tempdir().unwrap();
    let run = |arguments: &[&str]| run(home.path(), &[], arguments, "");
    for command in [
        &["serve"][..],
        &["demo"],
        &["session"],
        &["session", "create"],
        &["session", "list"],
        &["session", "show"],
        &["session", "archive"],
        &["session", "delete"],
        &["session", "revoke"],
        &["session", "audit"],
        &["token"],
        &["call"],
        &["prompt"],
        &["history"],
        &["snapshot"],
        &["snapshot", "take"],
        &["snapshot", "list"],
        &["snapshot", "read"],
        &["snapshot", "diff"],
        &["snapshot", "restore"],
        &["snapshot", "delete"],
        &["watch"],
        &["inspect"],
        &["export"],
        &["import"],
        &["redact"],
        &["doctor"],
    ] {
        for flag in ["--help", "-h"] {
            let Printed { code, out, err } = run(&[command, &[flag]].concat());
            assert_eq!((code, &*err), (0, ""), "{command:?}");
            assert!(out.contains("Example"), "{command:?}: {out}");
            assert!(out.contains("shared-context "), "{command:?}: {out}");
            assert!(out.lines().all(|it| it.chars().count() <= 100), "{command:?}: {out}");
        }
    }
    let help = run(&["--help"]);
    assert!(
        help.out.contains("Exit codes") && help.out.contains("SHARED_CONTEXT_URL"),
        "{}",
        help.out
    );
    assert!(run(&["--version"]).out.starts_with("shared-context "));
    check_refused(run(&[]), 2, &["Usage"]);
    check_refused(run(&["serv"]), 2, &["serve"]);
    check_refused(run(&["session"]), 2, &["create"]);
    check_refused(run(&["session", "create"]), 2, &["ID", "--help"]);
    check_refused(run(&["snapshot"]), 2, &["restore"]);
    check_refused(run(&["redact", "a", "k"]), 2, &["--reason"]);
    check_refused(run(&["redact", "a", "--reason", "r"]), 2, &["KEY"]);
    check_refused(run(&["history", "a", "k", "--versions", "1,x"]), 2, &["--versions"]);
    check_refused(run(&["serve", "--listen", "nowhere"]), 2, &["127.0.0.1"]);
    check_refused(run(&["serve", "--rate", "0"]), 2, &["off"]);
    check_refused(run(&["serve", "--disk-max-mib", "0"]), 2, &["--disk-max-mib"]);
    check_refused(run(&["token", "a", "orchestrator", "--ttl", "soon"]), 2, &["15m"]);
    let Printed { code, out, .. } = run(&["session", "creat", "a", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &document["error"]["code"]), (2, &"USAGE".into()), "{out}");
}

#[test]
fn without_a_server_a_command_says_how_to_start_one() {
    let home = tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let key = "k".repeat(64);
    let environment = [("SHARED_CONTEXT_URL", &*url), ("SHARED_CONTEXT_ADMIN_KEY", &key)];
    let read = r#"{"action":"list_keys"}"#;
    for arguments in [
        &["session", "list"][..],
        &["session", "create", "a"],
        &["session", "show", "a"],
        &["session", "archive", "a"],
        &["session", "delete", "a", "--yes"],
        &["token", "a", "orchestrator"],
        &["call", "a", read, "--as", "orchestrator"],
        &["prompt", "a"],
        &["history", "a", "k"],
        &["snapshot", "take", "a", "l", "--as", "orchestrator"],
        &["watch", "a"],
        &["watch", "a", "--since", "0"],
        &["inspect", "a"],
        &["export", "a"],
        &["redact", "a", "k", "--reason", "r", "--yes"],
    ] {
        let parts = [&*url, "shared-context serve"];
        check_refused(run(home.path(), &environment, arguments, ""), 3, &parts);
        let arguments = [arguments, &["--json"]].concat();
        let Printed { code, out, .. } = run(home.path(), &environment, &arguments, "");
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(document["error"]["code"], "SERVER_UNREACHABLE", "{out}");
        assert_eq!(code, 3);
    }
    // Something else answers there.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", other.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let mut request = [0; 4096];
        let _ = std::io::Read::read(&mut stream, &mut request).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
    });
    let environment = [("SHARED_CONTEXT_URL", &*url), ("SHARED_CONTEXT_ADMIN_KEY", &key)];
    let listed = run(home.path(), &environment, &["session", "list"], "");
    check_refused(listed, 3, &["not a shared-context server"]);
    answering.join().unwrap();
}

/// The address in the data folder is that of a server that was killed.
#[test]
fn a_server_that_was_killed_is_missed_with_a_word() {
    let place = Place::new();
    let data = place.data();
    let Place { server, folder } = place;
    server.kill();
    let listed = run(folder.path(), &[("SHARED_CONTEXT_DATA", &data)], &["session", "list"], "");
    check_refused(listed, 3, &["shared-context serve"]);
}

/// A command with `--data BACKUP` once changed the sessions of the server at the default address,
/// which ran on another folder.
#[test]
fn a_folder_without_a_server_stands_for_no_other_server() {
    let place = Place::new();
    place.told(&["session", "create", "victim"]);
    let key = fs::read_to_string(place.folder.path().join(DATA).join("keys.json")).unwrap();
    let backup = place.file("backup");
    fs::create_dir(&backup).unwrap();
    fs::write(place.folder.path().join("backup/keys.json"), &key).unwrap();
    let key: Value = serde_json::from_str(&key).unwrap();
    let key = key["admin_key"].as_str().unwrap();
    for arguments in [&["session", "list"][..], &["session", "delete", "victim", "--yes"]] {
        let arguments = [arguments, &["--data", &backup]].concat();
        let environment = [("SHARED_CONTEXT_ADMIN_KEY", key)];
        let printed = run(place.folder.path(), &environment, &arguments, "");
        check_refused(printed, 3, &["no server runs on", &backup, "shared-context serve"]);
    }
    place.told(&["session", "show", "victim"]);
}

/// The next step was once to run `doctor`, also while `doctor` ran.
#[test]
fn a_wrong_admin_key_is_named_with_its_source() {
    let place = Place::new();
    let data = place.data();
    let key = "k".repeat(64);
    let environment = [("SHARED_CONTEXT_DATA", &*data), ("SHARED_CONTEXT_ADMIN_KEY", &*key)];
    let listed = run(place.folder.path(), &environment, &["session", "list"], "");
    let next = "the admin key from SHARED_CONTEXT_ADMIN_KEY is not the key of";
    check_refused(listed, 1, &["UNAUTHENTICATED", next, "--data"]);
    let doctor = run(place.folder.path(), &environment, &["doctor"], "");
    assert_eq!(doctor.code, 5, "{}{}", doctor.out, doctor.err);
    assert!(
        doctor.out.contains("the admin key from")
            && !doctor.out.contains("`shared-context doctor`")
    );
}

/// `-o -` once wrote a file of that name.
#[test]
fn a_document_is_written_to_standard_output_on_request() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let document = place.told(&["export", "a"]);
    assert_eq!(place.told(&["export", "a", "-o", "-"]), document);
    let file = place.file("a.json");
    let told = place.json(&["export", "a", "-o", &file]);
    assert_eq!(told["bytes"], fs::metadata(&file).unwrap().len());
    assert_eq!(fs::read_to_string(&file).unwrap(), document);
}

/// `set ID KEY --jsn` once stored `--jsn` and replaced the value.
#[test]
fn a_mistyped_option_changes_nothing() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let set = |more: &[&'static str]| {
        [&["set", "a", "important", "--as", "orchestrator"][..], more].concat()
    };
    place.told(&set(&["old"]));
    place.refused(&set(&["--jsn"]), 2, "USAGE", &["--jsn", "write -- before it"]);
    assert_eq!(place.told(&["get", "a", "important"]), "old");
    place.told(&set(&["--", "--jsn"]));
    assert_eq!(place.told(&["get", "a", "important"]), "--jsn");
}

/// What `serve` prints for a person is what they paste first.
#[test]
fn the_first_call_that_serve_prints_works_as_it_stands() {
    let place = Place::new();
    let greeting = place.server.greeting();
    assert!(greeting.contains(place.server.url()), "{greeting}");
    let is_call = |line: &&str| line.starts_with("  ") && !line.trim().is_empty();
    let (_, call) = greeting.split_once("comes back.").unwrap();
    let call: Vec<_> = call.lines().filter(is_call).collect();
    let shell = std::process::Command::new("sh").args(["-euc", &call.join("\n")]).output();
    let shell = printed(shell.unwrap());
    if shell.err.contains("curl: not found") {
        shared_context_system::tell("skipped: there is no curl to paste the first call with");
        return;
    }
    assert_eq!(shell.code, 0, "{}{}", shell.out, shell.err);
    let answer: Value = serde_json::from_str(&shell.out).unwrap();
    assert_eq!((&answer["key"], &answer["version"]), (&"scope".into(), &1.into()), "{answer}");
}
