//! Profiles and callers: the server that a command calls, its credential, and the errors of an
//! invalid file of profiles.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use serde_json::Value;
use shared_context_system::{
    Server,
    terminal::{Place, Printed, check_refused, run},
};
use tempfile::tempdir;

/// Returns the path of a home's profiles.
fn profiles(place: &Place) -> PathBuf {
    place.folder.path().join(".config/shared-context/profiles")
}

/// Writes the file of profiles of `place`.
fn keep(place: &Place, text: &str) {
    let path = profiles(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Runs a command that must succeed, with these variables only.
#[track_caller]
fn told(place: &Place, environment: &[(&str, &str)], arguments: &[&str], input: &str) -> String {
    let Printed { code, out, err } = run(place.folder.path(), environment, arguments, input);
    assert_eq!(code, 0, "{arguments:?}: {out}{err}");
    out
}

#[test]
fn a_profile_is_added_used_listed_and_removed() {
    let place = Place::new();
    let (_, key) = place.server.secrets();
    let told = |arguments: &[&str], input: &str| told(&place, &[], arguments, input);
    assert!(told(&["profile", "ls"], "").contains("profile add"), "a hint for beginners");
    let url = place.server.url();
    let add = ["profile", "add", "prod", "--url", url, "--session", "a", "--admin-key-file", "-"];
    told(&add, &format!("{key}\n"));
    let mode = fs::metadata(profiles(&place)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    told(&["session", "create", "a", "--profile", "prod"], "");
    told(&["profile", "use", "prod"], "");
    told(&["set", ".", "scope", "Find the parameter.", "--as", "orchestrator"], "");
    assert_eq!(told(&["get", ".", "scope"], ""), "Find the parameter.");
    assert!(told(&["ls"], "").contains("scope"), "the session may be left out");
    assert!(told(&["inspect"], "").contains("Find the parameter."));
    assert_eq!(told(&["token", ".", "subagent:review"], "").trim().split('.').count(), 3);
    for arguments in [&["profile", "ls"][..], &["profile", "ls", "--json"]] {
        let listed = told(arguments, "");
        assert!(listed.contains("prod") && listed.contains(url), "{listed}");
        assert!(!listed.contains(&*key), "{listed}");
    }
    let listed: Value = serde_json::from_str(&told(&["profile", "ls", "--json"], "")).unwrap();
    let profile = &listed["profiles"][0];
    assert_eq!((&profile["is_used"], &profile["has_admin_key"]), (&true.into(), &true.into()));
    let run = |arguments: &[&str]| run(place.folder.path(), &[], arguments, "k");
    check_refused(run(&add), 2, &["prod already", "profile rm prod"]);
    told(&["profile", "use", "--none"], "");
    check_refused(run(&["ls"]), 2, &["no session is named", "SHARED_CONTEXT_SESSION"]);
    told(&["profile", "rm", "prod"], "");
    check_refused(run(&["ls", "--profile", "prod"]), 2, &["no profile prod", "profile add"]);
    check_refused(run(&["profile", "rm", "prod"]), 2, &["no profile prod", "profile ls"]);
    check_refused(run(&["profile", "add", "x", "--url", "nowhere"]), 2, &["not an address"]);
    let before = fs::read(profiles(&place)).unwrap();
    let other = ["profile", "add", "x", "--url", "ftp://memory.example.com"];
    check_refused(run(&other), 2, &["the scheme ftp", "http or https"]);
    assert_eq!(fs::read(profiles(&place)).unwrap(), before, "nothing was added");
}

/// Of each setting an option comes first, then its variable, then the profile.
#[test]
fn an_option_beats_a_variable_and_that_the_profile() {
    let place = Place::new();
    let profile = |port| format!("[p{port}]\nurl = http://127.0.0.1:{port}\nsession = s{port}\n\n");
    keep(&place, &format!("use = p3\n{}{}", profile(3), profile(4)));
    let other = place.file("other");
    fs::copy(profiles(&place), &other).unwrap();
    let [one, two] = [1, 2].map(|it| format!("http://127.0.0.1:{it}"));
    let key = ("SHARED_CONTEXT_ADMIN_KEY", "k");
    let variable = ("SHARED_CONTEXT_URL", &*two);
    let chosen = ("SHARED_CONTEXT_PROFILE", "p4");
    let file = ("SHARED_CONTEXT_PROFILE_FILE", &*other);
    let empty = ("SHARED_CONTEXT_URL", "");
    for (arguments, environment, port) in [
        (&["--url", &*one, "--profile", "p4"][..], &[variable, chosen][..], 1),
        (&["--profile", "p4"], &[variable], 2),
        (&["--profile", "p3"], &[chosen], 3),
        (&["--profile-file", &*other], &[chosen, empty], 4),
        (&[], &[file, chosen], 4),
        (&[], &[], 3),
    ] {
        let environment = [environment, &[key]].concat();
        let arguments = [&["session", "list"], arguments].concat();
        let listed = run(place.folder.path(), &environment, &arguments, "");
        check_refused(listed, 3, &[&format!("at http://127.0.0.1:{port}:")]);
    }
    // A data folder that is named means its server.
    let data = place.data();
    for (arguments, environment) in [
        (&["session", "list", "--data", &*data][..], &[][..]),
        (&["session", "list"], &[("SHARED_CONTEXT_DATA", &*data)]),
    ] {
        told(&place, environment, arguments, "");
    }
    place.told(&["session", "create", "a"]);
    place.told(&["session", "create", "b"]);
    keep(&place, &format!("use = here\n[here]\nurl = {}\nsession = a\n", place.server.url()));
    let shown = |environment: &[(&str, &str)], arguments: &[&str]| {
        let environment = [environment, &[("SHARED_CONTEXT_DATA", &*data)]].concat();
        told(&place, &environment, &[&["session", "show"], arguments].concat(), "")
    };
    let variable = [("SHARED_CONTEXT_SESSION", "b")];
    assert!(shown(&[], &["."]).starts_with("a "));
    assert!(shown(&variable, &["."]).starts_with("b "));
    assert!(shown(&variable, &["a"]).starts_with("a "));
}

/// Without option, variable and profile the server of the user's data folder is meant.
#[test]
fn the_default_is_the_server_of_the_users_folder() {
    let home = tempdir().unwrap();
    let server = Server::start(&home.path().join(".local/share/shared-context"));
    let Printed { code, out, err } = run(home.path(), &[], &["session", "create", "a"], "");
    assert_eq!(code, 0, "{out}{err}");
    server.stop();
}

#[test]
fn a_key_of_a_profile_is_sent_to_its_url_only() {
    let place = Place::new();
    let url = place.server.url();
    keep(&place, &format!("use = p\n[p]\nurl = {url}\nadmin_key = secret-of-p\nsession = a\n"));
    let elsewhere = ["session", "list", "--url", "http://192.0.2.1"];
    check_refused(run(place.folder.path(), &[], &elsewhere, ""), 2, &["no admin key"]);
    let default = ["session", "show", ".", "--url", "http://192.0.2.1"];
    check_refused(run(place.folder.path(), &[], &default, ""), 2, &["no session is named"]);
    // The server rejects this one: it was sent.
    check_refused(run(place.folder.path(), &[], &["session", "list"], ""), 1, &["UNAUTHENTICATED"]);
}

#[test]
fn a_broken_or_shared_file_of_profiles_is_named() {
    let place = Place::new();
    let shown = profiles(&place).to_str().unwrap().to_owned();
    keep(&place, "[prod]\nurl = http://127.0.0.1:1\nadmin_key: hunter2\n");
    for arguments in [&["session", "list"][..], &["profile", "ls"], &["mcp", "a"], &["doctor"]] {
        let printed = run(place.folder.path(), &[], arguments, "");
        assert!(!printed.err.contains("hunter2"), "{}", printed.err);
        check_refused(printed, 2, &["line 3 of", &shown, "write it like"]);
    }
    keep(&place, "[prod]\nurl = http://127.0.0.1:1\n");
    fs::set_permissions(profiles(&place), fs::Permissions::from_mode(0o644)).unwrap();
    let listed = run(place.folder.path(), &[], &["session", "list"], "");
    check_refused(listed, 2, &[&shown, "other users", "chmod 600"]);
}

/// The order in which the caller is chosen: option, variable, credential, profile, operator.
#[test]
fn one_rule_says_who_calls() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let data = place.data();
    let minted = |who| place.told(&["token", "a", who]).trim().to_owned();
    let (token, of_profile) = (minted("subagent:token"), minted("subagent:profile"));
    keep(&place, &format!("use = p\n[p]\nurl = {}\ntoken = {of_profile}\n", place.server.url()));
    let data = ("SHARED_CONTEXT_DATA", &*data);
    let variable = ("SHARED_CONTEXT_AS", "subagent:variable");
    let credential = ("SHARED_CONTEXT_TOKEN", &*token);
    let by_option = ["--as", "orchestrator"];
    for (arguments, environment, who) in [
        (&by_option[..], &[data, variable, credential][..], "orchestrator"),
        (&[], &[data, variable, credential], "subagent:variable"),
        (&[], &[data, credential], "subagent:token"),
        (&[], &[data], "subagent:profile"),
    ] {
        let set = [&["set", "a", "k", "x", "--json"], arguments].concat();
        let written: Value = serde_json::from_str(&told(&place, environment, &set, "")).unwrap();
        assert_eq!(written["written_by"], who);
    }
    fs::remove_file(profiles(&place)).unwrap();
    place.refused(&["set", "a", "k", "x"], 2, "NO_CREDENTIAL", &["--as"]);
    assert!(place.told(&["ls", "a"]).contains("subagent:profile"), "the operator may list");
    assert!(place.told(&["prompt", "a"]).contains("current_phase"), "for the orchestrator");
}

/// A credential that is set is used by every command that is not the operator's.
#[test]
fn every_command_uses_the_credential_that_is_set() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    place.told(&["session", "create", "b"]);
    let token = place.told(&["token", "b", "orchestrator"]);
    let data = place.data();
    let environment = [("SHARED_CONTEXT_DATA", &*data), ("SHARED_CONTEXT_TOKEN", token.trim())];
    for arguments in [
        &["ls", "a"][..],
        &["get", "a", "k"],
        &["set", "a", "k", "x"],
        &["rm", "a", "k"],
        &["call", "a", r#"{"action":"list_keys"}"#],
        &["prompt", "a"],
        &["context", "a"],
        &["history", "a", "k"],
        &["snapshot", "take", "a", "l"],
        &["snapshot", "list", "a"],
        &["snapshot", "read", "a", "l"],
        &["snapshot", "diff", "a", "l"],
        &["snapshot", "restore", "a", "l"],
        &["snapshot", "delete", "a", "l", "--yes"],
        &["redact", "a", "k", "--reason", "r", "--yes"],
        &["watch", "a", "--since", "0"],
        &["session", "show", "a"],
        &["mcp", "a"],
    ] {
        let Printed { code, err, .. } = run(place.folder.path(), &environment, arguments, "");
        assert_eq!(code, 1, "{arguments:?}: {err}");
        assert!(
            err.contains("UNAUTHENTICATED") || err.contains("FORBIDDEN"),
            "{arguments:?}: {err}"
        );
    }
    // The operator's commands do not look at it.
    for arguments in [&["session", "list"][..], &["inspect", "a"], &["token", "a", "orchestrator"]]
    {
        told(&place, &environment, arguments, "");
    }
}

/// A variable does what its option does, and an invalid one is answered like it.
#[test]
fn a_variable_stands_for_its_option() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let data = place.data();
    let with = |variable: (&str, &str), arguments: &[&str]| {
        let environment = [("SHARED_CONTEXT_DATA", &*data), variable];
        run(place.folder.path(), &environment, arguments, "")
    };
    let listed = with(("SHARED_CONTEXT_JSON", "1"), &["session", "list"]);
    assert!(listed.out.starts_with('{'), "{}{}", listed.out, listed.err);
    let listed = with(("SHARED_CONTEXT_STATUS", "archived"), &["session", "list"]);
    assert!(listed.out.contains("no such sessions"), "{}{}", listed.out, listed.err);
    let listed = with(("SHARED_CONTEXT_LIMIT", ""), &["session", "list"]);
    assert_eq!(listed.code, 0, "an empty one is none: {}", listed.err);
    let listed = with(("SHARED_CONTEXT_LIMIT", "many"), &["session", "list"]);
    check_refused(listed, 2, &["--limit", "write a whole number"]);
    let set = ["set", "a", "lease", "x", "--as", "orchestrator", "--json"];
    let written = with(("SHARED_CONTEXT_SET_TTL", "15m"), &set);
    assert!(written.out.contains("expires_at"), "{}{}", written.out, written.err);
}
