//! The files that the program generates, scripts for shells and manual pages, and the output it
//! omits without a terminal.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;
use shared_context_system::{
    program,
    terminal::{Place, Printed, check_refused, run},
};
use tempfile::tempdir;

/// Asks bash, with our script, what completes the last of `words`.
fn completed(words: &[&str]) -> String {
    let program = program::path().display();
    let quoted: Vec<String> = words.iter().map(|it| format!("'{it}'")).collect();
    let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
    let script = format!(
        "source <('{program}' completions bash)\n\
         function=$(complete -p shared-context | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
         COMP_WORDS=({}) COMP_CWORD={}\n\
         \"$function\" shared-context '{last}' '{before}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1
    );
    let Output { status, stdout, stderr } =
        Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Regression test: nothing was completed behind the first command, because the name of
/// the program has a hyphen (clap-rs/clap#6421).
#[test]
fn bash_completes_commands_and_options() {
    assert_eq!(completed(&["shared-context", "prof"]), "profile\n");
    assert_eq!(completed(&["shared-context", "session", "cre"]), "create\n");
    let options = completed(&["shared-context", "get", "--pro"]);
    assert_eq!(options.split_whitespace().collect::<Vec<_>>(), ["--profile", "--profile-file"]);
}

#[test]
fn four_shells_have_a_script() {
    let home = tempdir().unwrap();
    let run = |arguments: &[&str]| run(home.path(), &[], arguments, "");
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let Printed { code, out, err } = run(&["completions", shell]);
        assert_eq!((code, &*err), (0, ""), "{shell}");
        for part in ["shared-context", "snapshot", "restore", "admin-key-file"] {
            assert!(out.contains(part), "{shell} does not complete {part}");
        }
    }
    let document: Value =
        serde_json::from_str(&run(&["completions", "zsh", "--json"]).out).unwrap();
    assert!(document["script"].as_str().unwrap().starts_with("#compdef shared-context"));
    check_refused(run(&["completions", "cmd"]), 2, &["powershell"]);
    check_refused(run(&["completions"]), 2, &["SHELL"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let home = tempdir().unwrap();
    let folder = home.path().join("man1");
    let shown = folder.to_str().unwrap();
    let run = |arguments: &[&str]| run(home.path(), &[], arguments, "");
    let written: Value =
        serde_json::from_str(&run(&["man", "--dir", shown, "--json"]).out).unwrap();
    let files = written["files"].as_array().unwrap();
    assert_eq!(files.len(), fs::read_dir(&folder).unwrap().count());
    for name in ["", "-session-create", "-profile-add", "-snapshot-diff", "-completions"] {
        assert!(folder.join(format!("shared-context{name}.1")).is_file(), "{name}");
    }
    for file in files {
        let page = fs::read_to_string(file.as_str().unwrap()).unwrap();
        for part in [".TH shared-context", ".SH SYNOPSIS", ".SH EXAMPLES", "shared\\-context "] {
            assert!(page.contains(part), "{file} has no {part}");
        }
    }
    let page = fs::read_to_string(folder.join("shared-context-get.1")).unwrap();
    assert!(page.contains("SHARED_CONTEXT_URL"), "{page}");
    assert!(run(&["man"]).out.contains(".TH shared-context 1"));
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    check_refused(run(&["man", "--dir", file.to_str().unwrap()]), 2, &["cannot write", "--dir"]);
}

#[test]
fn without_a_terminal_there_is_no_progress() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let file = place.file("a.json");
    for arguments in
        [&["export", "a", "-o", &*file][..], &["import", &*file, "--as", "b"], &["doctor"]]
    {
        let Printed { code, out, err } = place.run(arguments);
        assert_eq!((code, &*err), (0, ""), "{arguments:?}");
        assert!(!out.contains('\r'), "{out:?}");
    }
}

/// The messages of an argument parser do not help people who do not know the parser.
#[test]
fn no_mistake_is_answered_in_words_of_a_parser() {
    let place = Place::new();
    place.told(&["session", "create", "a"]);
    let home = place.folder.path();
    let config = place.file("config.json");
    fs::write(&config, "{\n  \"keys_max\": 50,\n}\n").unwrap();
    let data = place.data();
    let variable = ("SHARED_CONTEXT_LOG", "a=b=c");
    for (arguments, parts) in [
        (
            &["session", "create", "b", "--config", &*config][..],
            &["line 3", "{\"keys_max\": 50}"][..],
        ),
        (&["session", "create", "b", "--config", "{"], &["line 1", "too early"]),
        (&["session", "create", "b", "--config", "{\"a\":x}"], &["line 1, at character 6"]),
        (&["session", "list", "--limit", "x"], &["write a whole number"]),
        (&["session", "audit", "a", "--after=-1"], &["write a whole number"]),
        (&["context", "a", "--max-tokens", "many"], &["write a whole number"]),
        (&["history", "a", "k", "--versions", "1,x"], &["write a whole number"]),
        (&["redact", "a", "k", "--reason", "r", "--revision", "1.5"], &["write a whole number"]),
        (&["set", "a", "k", "v", "--if-version", ""], &["--if-version"]),
        (&["set", "a", "k", "v", "--ttl", "1w"], &["such as 15m"]),
        (&["serve", "--disk-max-mib", "all"], &["a number of MiB"]),
        (&["serve", "--connections-max", "all"], &["a number from 1"]),
        (&["serve", "--public-url", "x y"], &["--public-url"]),
        (&["serve", "--rate", "fast"], &["off"]),
        (&["mcp", "a", "--tools", "x"], &["delta_rounds"]),
        (&["mcp", ""], &["the id of a session"]),
        (&["import", &*config], &[]),
        (&["call", "a", "{", "--as", "orchestrator"], &[]),
        (&["mcp", "a"], &["SHARED_CONTEXT_LOG", "info,shared_context=debug"]),
    ] {
        let environment = [("SHARED_CONTEXT_DATA", &*data), variable];
        let Printed { code, out, err } = run(home, &environment, arguments, "");
        assert_ne!(code, 0, "{arguments:?}: {out}");
        for part in parts {
            assert!(err.contains(part), "{arguments:?}: {part} is not in {err}");
        }
        for word in ["EOF", "expected", "digit", "trailing", "column", "u64", "parse", "directive"]
        {
            assert!(!err.contains(word), "{arguments:?}: {word} is in {err}");
        }
    }
}

/// A file of keys that is damaged is named without words of a parser, too.
#[test]
fn a_damaged_file_of_keys_is_named() {
    let place = Place::new();
    let data = place.data();
    let Place { server, folder } = place;
    server.stop();
    fs::write(folder.path().join(&data).join("keys.json"), "{\"secret\":").unwrap();
    let environment = [("SHARED_CONTEXT_DATA", &*data)];
    let started = run(folder.path(), &environment, &["serve", "--listen", "0"], "");
    assert!(!started.err.contains("EOF"), "{}", started.err);
    assert!(started.err.contains("keys.json"), "{}", started.err);
    assert_eq!(started.code, 4);
}

/// `context check --repair` printed the summary as it was and exited with 0 when the missing facts
/// did not fit into `--max-tokens`.
#[test]
fn a_repair_without_room_names_what_did_not_fit() {
    let home = tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let transcript = file(
        "transcript.jsonl",
        r#"{"role":"user","content":"We must never touch the registration code."}"#,
    );
    let summary = file("summary.md", "Some summary.\n");
    let check = |options: &[&str]| {
        let arguments = ["context", "check", &transcript, &summary, "--repair"];
        run(home.path(), &[], &[&arguments[..], options].concat(), "")
    };
    let Printed { code, out, err } = check(&["--max-tokens", "10"]);
    assert_eq!((code, &*out), (5, "Some summary.\n"), "{err}");
    let parts =
        ["CHECK_FAILED", "no room", "  line-1-", ": We must never touch", "raise --max-tokens"];
    assert!(parts.iter().all(|it| err.contains(it)), "{err}");
    let Printed { code, out, .. } = check(&["--max-tokens", "10", "--json"]);
    let reply: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 5);
    assert!(!reply["repaired"]["left_out"].as_array().unwrap().is_empty(), "{reply}");
    let Printed { code, out, .. } = check(&[]);
    assert!(code == 0 && out.contains("We must never touch"), "{out}");
}
