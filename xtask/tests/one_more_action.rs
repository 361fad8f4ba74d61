//! Measures the cost of one more action: a copy of core, codec and wire gets a small one. To build
//! the copy and to request the action takes minutes: `SHARED_CONTEXT_ONE_MORE_ACTION=build cargo
//! test -p xtask --test one_more_action`.
//!
//! It used to take 28 files. Generated descriptions (`describe.json`, `openapi.json`) and tests do
//! not count.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// An edit by a person: the file, the text before which it is made, and the new lines.
type Edit = (&'static str, &'static str, &'static str);

const COMMANDS: &str = "components/core/src/rounds/commands.rs";
const RULES: &str = "components/core/src/session/rounds.rs";
const ACTIONS: &str = "components/codec/src/rounds/actions.rs";
const REPLIES: &str = "components/codec/src/rounds/replies.rs";

/// An action that counts the rounds that ended.
const ACTION: &[Edit] = &[
    (
        COMMANDS,
        "    /// Replaces every text in rounds",
        "    /// Counts the rounds that ended.\n    Count,\n",
    ),
    (COMMANDS, "    /// To `Redact`.", "    /// To `Count`.\n    Counted(u64),\n"),
    (COMMANDS, "            Self::Deltas(_) |", "            Self::Counted(_) => None,\n"),
    (
        RULES,
        "            Command::Redact(redact) =>",
        "            Command::Count => Ok(self.told(Reply::Counted(self.stored().rounds()?.last))),\n",
    ),
    (
        ACTIONS,
        "    /// Replace every text of states",
        "    /// Count the rounds that ended.
    count_rounds: ANYONE, read;
        needs {}
        takes {}
        answers CountReply;
        |_it| Ok(Command::Rounds(RoundsCommand::Count));

",
    ),
    (ACTIONS, "ConvergenceReply, ", "CountReply, "),
    (
        REPLIES,
        "/// What a redaction in rounds did.",
        "/// How many rounds ended.
#[derive(Serialize)]
#[cfg_attr(feature = \"schema\", derive(schemars::JsonSchema))]
#[cfg_attr(feature = \"schema\", schemars(rename = \"count_reply\"))]
pub(crate) struct CountReply {
    /// So many.
    count: u64,
    /// The session's revision.
    revision: u64,
}

",
    ),
    (
        REPLIES,
        "        Reply::Redacted(it) =>",
        "        Reply::Counted(count) => to_vec(&CountReply { count: *count, revision }),\n",
    ),
];

/// The declaration of its route.
const ROUTE: &[Edit] = &[(
    ACTIONS,
    "        needs {}\n        takes {}\n        answers CountReply;",
    "        at Get \"/rounds/count\" -> 200;\n",
)];

/// The variable that has the copy built.
const BUILD: &str = "SHARED_CONTEXT_ONE_MORE_ACTION";

/// The test that is run in the copy.
const QUESTION: &str = r##"
mod one_more {
    use crate::bench::Bench;

    #[test]
    fn it_answers() {
        let bench = Bench::new();
        bench.check("POST /v1/sessions/s/shared_context", r#"{"action":"count_rounds"}"#, 200, r#"{"count":0,"#);
        bench.check("GET /v1/sessions/s/rounds/count", "", 200, r#"{"count":0,"#);
        let document = bench.check("GET /v1/tools", "", 200, "count_rounds");
        assert!(document.body.contains("delta_rounds"));
    }
}
"##;

#[test]
fn one_more_action_takes_four_files_and_its_route_none_more() {
    let copy = written();
    if env::var_os(BUILD).is_some() {
        build_and_ask(&copy);
    }
}

/// Builds the copy and asks for the action.
fn build_and_ask(copy: &Path) {
    let tests = copy.join("components/wire/tests/http/main.rs");
    fs::write(&tests, fs::read_to_string(&tests).unwrap() + QUESTION).unwrap();
    let target = root().join("target/one-more-action-build");
    let built = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["test", "--quiet", "--offline", "--package", "shared-context-wire"])
        .args(["--test", "http", "one_more"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .output()
        .unwrap();
    let told = [built.stdout, built.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert!(built.status.success(), "{}", told.join("\n"));
    assert!(told.join("").contains("1 passed"), "{}", told.join("\n"));
}

/// Writes the action and its route into a copy, counts the files, and returns the copy's folder.
fn written() -> PathBuf {
    let copy = copied();
    let mut touched = BTreeSet::new();
    for (path, before, lines) in ACTION {
        edit(&copy, path, before, lines);
        touched.insert(*path);
    }
    assert!(touched.len() <= 4, "an action takes {touched:?}");
    for (path, before, lines) in ROUTE {
        edit(&copy, path, before, lines);
        assert!(touched.contains(path), "its route takes {path} besides");
    }
    copy
}

/// Returns a workspace with unchanged copies of core, codec and wire.
fn copied() -> PathBuf {
    let copy = root().join("target/one-more-action");
    drop(fs::remove_dir_all(&copy));
    for part in ["core", "codec", "memory-tool", "wire"] {
        let part = Path::new("components").join(part);
        copy_folder(&root().join(&part), &copy.join(&part));
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (head, members) = manifest.split_once("members = [").unwrap();
    let (_, rest) = members.split_once(']').unwrap();
    // Without the profiles: nothing in it is played long enough to be optimized.
    let (rest, _) = rest.split_once("[profile.").unwrap();
    let manifest = format!("{head}members = [\"components/*\"]{rest}");
    fs::write(copy.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root().join("Cargo.lock"), copy.join("Cargo.lock")).unwrap();
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// Inserts `lines` before the first occurrence of `before`.
fn edit(copy: &Path, path: &str, before: &str, lines: &str) {
    let file = copy.join(path);
    let text = fs::read_to_string(&file).unwrap();
    let Some(at) = text.find(before) else { panic!("{path} has no {before:?} any more") };
    let (head, tail) = text.split_at(at);
    fs::write(&file, format!("{head}{lines}{tail}")).unwrap();
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
