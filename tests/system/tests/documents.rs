//! The documents show commands and what they print. This test runs every shell block
//! of the README, of SECURITY.md and of `docs/` and compares the output shown below it.
//!
//! # Invariant
//!
//! Every fenced block is run, is compared with an output, or is listed in [`NOT_RUN`]
//! with the reason. A new block fails the test until it is one of these.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};
use shared_context_system::{Server, program, tell};
use tempfile::tempdir;

/// The address in the documents; each page is run against a separate server.
const URL: &str = "http://127.0.0.1:8787";
/// The data folder that the documents show.
const FOLDER: &str = "~/.local/share/shared-context";
const README_LINES_MAX: usize = 120;
/// The first block of the README, as those who evaluate the project run it.
const TWO_COMMANDS: &str = "\
cargo xtask serve    # build, start, and print how to make the first call
cargo xtask test     # prove it: every check that CI runs
";

/// Blocks that are not run here: the page, how the block begins, and the reason.
const NOT_RUN: &[(&str, &str, &str)] = &[
    ("README.md", "cargo xtask serve    #", "builds everything; CI runs the second command"),
    ("docs/operate.md", "cargo xtask serve\n", "builds everything; CI does it, too"),
    ("docs/operate.md", "✓ shared-context", "compared with the greeting of a server, below"),
    ("docs/operate.md", "export SHARED_CONTEXT_DATA", "runs until stopped; every test starts one"),
    ("docs/operate.md", "umask 077", "tests/system/tests/backup.rs runs it"),
    ("docs/command-line.md", "use = desk", "tests/system/tests/cli_profiles.rs reads such files"),
    ("docs/cloudflare.md", "cargo xtask build", "builds everything; a stage of `cargo xtask test`"),
    ("docs/cloudflare.md", "cd hosts/cloudflare", "deploys to an account of Cloudflare"),
    ("docs/spin.md", "cargo xtask build", "builds everything and needs Spin"),
    ("docs/spin.md", "cargo xtask serve-spin", "builds everything; a stage of `cargo xtask test`"),
    ("docs/spin.md", "spin up -f", "needs Spin; tests/spin/tests/key_value.rs runs this app"),
    ("docs/embed.md", "let component", "a doc test of hosts/wasmtime/src/lib.rs has the whole"),
    ("docs/agents.md", "context_session(", "notation of a tool call; tests/mcp makes it"),
    ("docs/contributing.md", "cargo xtask serve", "builds and tests everything"),
    ("docs/contributing.md", "cargo xtask sim", "stages of `cargo xtask test`"),
    ("docs/context.md", "shared-context evidence ticket-7 ENV-1 >", "a test of the codec runs it"),
    ("docs/delta-rounds.md", "{\"action\":\"redact_rounds\"", "conformance: rounds/8.5-*"),
    ("docs/decisions/0029-an-action-is-declared-once.md", "/// Read", "source of the codec"),
    (
        "docs/decisions/0032-routes-come-from-declarations.md",
        "snapshot: ORCH",
        "source of the codec",
    ),
    ("docs/benchmarks.md", "read, core", "figures of `cargo xtask bench`"),
    ("docs/benchmarks.md", "read, p50", "figures of `cargo xtask bench --only workers`"),
    (
        "docs/benchmarks.md",
        "tokens                       500  1000",
        "figures of `cargo xtask bench --only context`",
    ),
    (
        "docs/benchmarks.md",
        "tokens                                  500  1000",
        "figures of `cargo xtask bench --only context`",
    ),
    (
        "docs/benchmarks.md",
        "from the start of the process",
        "figures of `cargo xtask bench --only scale`",
    ),
    ("docs/benchmarks.md", "budget of tokens", "figures of `cargo xtask bench --only context`"),
    (
        "docs/benchmarks.md",
        "                              assembly   its envelope",
        "figures of `cargo xtask bench --only context`",
    ),
    ("docs/benchmarks.md", "8 clients", "figures of `cargo xtask spin`"),
    (
        "docs/benchmarks.md",
        "                                  requests",
        "figures measured on Spin itself",
    ),
];

/// The pages with transcripts, which components/codec/tests/transcript.rs plays.
const PLAYED: &[&str] = &["docs/context.md", "docs/delta-rounds.md"];

/// A fenced block of a page.
#[derive(Debug)]
struct Block {
    page: String,
    line: usize,
    language: String,
    text: String,
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }

    /// Returns the commands of a block; `None` if it has no commands.
    fn script(&self) -> Option<String> {
        match self.language.as_str() {
            "sh" => Some(self.text.clone()),
            "json" if self.text.contains("\"mcpServers\"") => Some(connection(&self.text)),
            _ => None,
        }
    }

    fn is_output(&self) -> bool {
        matches!(self.language.as_str(), "text" | "json") && self.script().is_none()
    }

    /// Returns the place in [`NOT_RUN`] that lists the block.
    fn exception(&self) -> Option<usize> {
        NOT_RUN.iter().position(|(page, text, _)| self.page == *page && self.text.starts_with(text))
    }
}

/// Returns the commands of an MCP client that is configured by `text`: it starts the
/// program or connects to the address, and begins the handshake.
fn connection(text: &str) -> String {
    let config: Value = serde_json::from_str(text).unwrap();
    let server = &config["mcpServers"]["shared-context"];
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "documents", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    if let Some(command) = server["command"].as_str() {
        let arguments = server["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
        let arguments: Vec<_> = arguments.collect();
        return format!("printf '%s\\n' '{message}' | {command} {}\n", arguments.join(" "));
    }
    assert_eq!(server["headers"]["Authorization"], "Bearer eyJ…");
    let url = server["url"].as_str().unwrap();
    format!(
        "curl -sS {url} -H 'Content-Type: application/json' \
         -H 'Accept: application/json, text/event-stream' \
         -H \"Authorization: Bearer $(shared-context token notes orchestrator)\" -d '{message}'\n"
    )
}

/// Returns all fenced blocks of the page at `path` from the root of the repository.
fn blocks(root: &Path, path: &str) -> Vec<Block> {
    let text = fs::read_to_string(root.join(path)).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (index, line) in text.lines().enumerate() {
        let inside = line.trim_start();
        match (&mut open, inside.strip_prefix("```")) {
            (None, None) => {}
            (None, Some(language)) => {
                let language = language.trim().to_owned();
                let block =
                    Block { page: path.to_owned(), line: index + 1, language, text: String::new() };
                open = Some((line.len() - inside.len(), block));
            }
            (Some((indent, block)), None) => {
                block.text.push_str(line.get(*indent..).unwrap_or_default());
                block.text.push('\n');
            }
            (Some(_), Some(_)) => blocks.extend(open.take().map(|(_, block)| block)),
        }
    }
    assert!(open.is_none(), "{path} has a block without an end");
    blocks
}

/// Returns the paths of all pages.
fn pages(root: &Path) -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "SECURITY.md".to_owned()];
    for folder in ["docs", "docs/decisions"] {
        let names = fs::read_dir(root.join(folder)).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        let names = names.filter(|it| Path::new(it).extension().is_some_and(|it| it == "md"));
        let found = names.map(|it| format!("{folder}/{it}"));
        pages.extend(found.collect::<BTreeSet<_>>());
    }
    pages
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Replaces the digits of dates and times by `0`.
fn without_times(line: &str) -> String {
    let mut line: Vec<char> = line.trim_end().chars().collect();
    for shape in ["0000-00-00", "00:00:00"] {
        let shape: Vec<char> = shape.chars().collect();
        for start in 0..(line.len() + 1).saturating_sub(shape.len()) {
            let Some(part) = line.get_mut(start..start + shape.len()) else { continue };
            let is_time = part.iter().zip(&shape).all(|(found, wanted)| {
                if *wanted == '0' { found.is_ascii_digit() } else { found == wanted }
            });
            if is_time {
                part.copy_from_slice(&shape);
            }
        }
    }
    line.into_iter().collect()
}

/// Returns whether `printed` is the line `shown`, in which `…` matches any text.
fn is_shown_as(printed: &str, shown: &str) -> bool {
    let (printed, shown) = (without_times(printed), without_times(shown));
    let mut parts = shown.split('…');
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    true
}

/// Checks that the lines of `block` are among those of `printed`, in their order. Empty
/// lines only separate the output of commands.
fn check_output(block: &Block, printed: &str) {
    let mut lines = printed.lines();
    for shown in block.text.lines().filter(|it| !it.trim().is_empty()) {
        let is_found = lines.by_ref().any(|it| is_shown_as(it, shown));
        assert!(is_found, "{}: {shown:?} is not printed here:\n{printed}", block.place());
    }
}

/// Copies the files of a folder and of those in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Runs `scripts` in one shell against a separate server; returns the output of each.
fn run(page: &str, scripts: &[String]) -> Option<Vec<String>> {
    let home = tempdir().unwrap();
    let data = home.path().join("data");
    // Pages that are read from a clone name its examples. They write, so they get a copy.
    copy(&root().join("examples/packets"), &home.path().join("examples/packets"));
    let server = Server::start(&data);
    let program = format!("shared-context() {{ '{}' \"$@\"; }}\n", program::path().display());
    let blocks = scripts.iter().enumerate().map(|(index, script)| {
        format!("printf '\\n%s\\n' '<block {index}>'\n{}", script.replace(URL, server.url()))
    });
    let whole = program + &blocks.collect::<String>();
    let shell = program::command("bash".as_ref())
        .args(["-euo", "pipefail", "-c", &whole])
        .current_dir(home.path())
        .env("SHARED_CONTEXT_DATA", &data)
        .env("HOME", home.path())
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let [out, err] = [shell.stdout, shell.stderr].map(|it| String::from_utf8(it).unwrap());
    if err.contains("curl: command not found") {
        tell(&format!("skipped {page}: there is no curl to run its commands with"));
        return None;
    }
    assert!(shell.status.success(), "{page}: {out}\n{err}");
    server.stop();
    let mut printed = Vec::new();
    let mut rest = out.as_str();
    for index in 0..scripts.len() {
        let (before, after) = rest.split_once(&format!("\n<block {index}>\n")).unwrap();
        if index > 0 {
            printed.push(before.to_owned());
        }
        rest = after;
    }
    printed.push(rest.to_owned());
    Some(printed)
}

/// Checks one page; returns the exceptions that its blocks use.
fn check(page: &str, blocks: &[Block]) -> BTreeSet<usize> {
    let mut exceptions = BTreeSet::new();
    let mut scripts: Vec<String> = Vec::new();
    let mut outputs = Vec::new();
    let mut is_after_script = false;
    for block in blocks {
        if let Some(exception) = block.exception() {
            assert!(exceptions.insert(exception), "{}: listed for two blocks", block.place());
            is_after_script = false;
        } else if let Some(script) = block.script() {
            scripts.push(script);
            is_after_script = block.language == "sh";
        } else if block.is_output() && is_after_script {
            outputs.push((scripts.len() - 1, block));
            is_after_script = false;
        } else if block.language == "transcript" && PLAYED.contains(&page) {
            is_after_script = false;
        } else {
            panic!(
                "{}: this block is neither run nor compared. Mark commands as `sh` and the output \
                 below them as `text` or `json`, or list the block in NOT_RUN with a reason",
                block.place()
            );
        }
    }
    if scripts.is_empty() {
        return exceptions;
    }
    let Some(printed) = run(page, &scripts) else { return exceptions };
    for (index, block) in outputs {
        check_output(block, printed.get(index).unwrap());
    }
    for (script, printed) in scripts.iter().zip(&printed) {
        let is_handshake = script.contains("\"method\":\"initialize\"");
        assert!(!is_handshake || printed.contains("\"serverInfo\""), "{page}: {script}{printed}");
    }
    exceptions
}

#[test]
fn every_command_shown_in_a_document_works() {
    let mut used = BTreeSet::new();
    let mut count = 0;
    for page in pages(root()) {
        let blocks = blocks(root(), &page);
        count += blocks.len();
        used.extend(check(&page, &blocks));
    }
    for (index, (page, text, _)) in NOT_RUN.iter().enumerate() {
        assert!(used.contains(&index), "NOT_RUN: {page} has no block that begins with {text:?}");
    }
    assert!(count > 2 * NOT_RUN.len(), "{count} blocks were found");
}

#[test]
fn the_readme_is_short_and_begins_with_two_commands() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(text.lines().count() <= README_LINES_MAX, "move details to a page in docs/");
    let blocks = blocks(root(), "README.md");
    assert_eq!(blocks.first().map(|it| it.text.as_str()), Some(TWO_COMMANDS));
}

#[test]
fn the_greeting_of_a_server_is_as_shown() {
    let page = blocks(root(), "docs/operate.md");
    let shown = page.iter().find(|it| it.text.starts_with("✓ shared-context")).unwrap();
    let home = tempdir().unwrap();
    let server = Server::start(home.path());
    let printed = server.greeting();
    let printed = printed.replace(server.url(), URL);
    let printed = printed.replace(home.path().to_str().unwrap(), FOLDER);
    // The key itself is printed in a terminal only.
    let is_of_key = |line: &&str| {
        ["  admin key", "  KEY=", "             kept in"].iter().any(|it| line.starts_with(it))
    };
    let [shown, printed]: [Vec<&str>; 2] =
        [&*shown.text, &*printed].map(|it| it.lines().filter(|line| !is_of_key(line)).collect());
    assert_eq!(shown, printed);
    server.stop();
}

/// A command that was renamed must be renamed in the documents.
#[test]
fn every_xtask_command_in_a_document_exists() {
    let source = fs::read_to_string(root().join("xtask/src/main.rs")).unwrap();
    for page in pages(root()) {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for rest in text.split("cargo xtask ").skip(1) {
            let name = rest.split(|it: char| !it.is_ascii_lowercase() && it != '-').next().unwrap();
            let words = name.split('-').filter_map(|word| {
                let (first, rest) = word.split_at_checked(1)?;
                Some(first.to_ascii_uppercase() + rest)
            });
            let variant: String = words.collect();
            let is_there =
                ["(", ",", " {"].iter().any(|it| source.contains(&format!("\n    {variant}{it}")));
            assert!(is_there && !name.is_empty(), "{page} names `cargo xtask {name}`");
        }
    }
}

#[test]
fn a_line_is_compared_but_for_times_and_omissions() {
    assert!(is_shown_as("at 2026-11-23 03:50:27 by a", "at 2025-01-02 23:59:59 by a"));
    assert!(is_shown_as("{\"a\":1,\"b\":2,\"c\":3}", "{…\"b\":2,…}"));
    assert!(is_shown_as("12 bytes", "… bytes") && is_shown_as("a", "a…"));
    assert!(!is_shown_as("version 1", "version 2"));
    assert!(!is_shown_as("{\"a\":1}", "{…\"b\":2,…}"));
    assert!(!is_shown_as("one line more", "one line"));
}
