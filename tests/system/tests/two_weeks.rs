//! Three sessions of a project over two weeks, as `docs/memories.md` shows them: the blocks of its
//! section are run a week apart. `documents.rs` compares the output of all pages, on one day.
//!
//! The program has no clock to set, so its server runs in this process.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use shared_context_core::{port::Clock, time::Timestamp};
use shared_context_system::program;
use shared_context_wasmtime::{Server, ServerOptions};
use tokio::runtime::Runtime;

/// 2026-03-02T09:00:00Z, a Monday, in milliseconds.
const MONDAY: u64 = 1_772_442_000_000;
const WEEK: u64 = 7 * 86_400_000;
const SECTION: &str = "## End a session with what it came to";

#[derive(Debug, Clone)]
struct HandClock(Arc<AtomicU64>);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// Returns the commands of the section, block by block.
fn blocks() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/memories.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once(SECTION).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|it| it.split("```").next().unwrap().to_owned()).collect()
}

/// Memories have the days of their sessions, and the third session finds what the first ones knew.
#[test]
fn three_sessions_in_two_weeks_hand_on_what_they_know() {
    let home = tempfile::tempdir().unwrap();
    let clock = HandClock(Arc::new(AtomicU64::new(MONDAY)));
    let runtime = Runtime::new().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut options = ServerOptions::new(home.path().join("data"), address);
    options.clock = Arc::new(clock.clone());
    let server = runtime.block_on(Server::start(options)).unwrap();
    let run = |script: &str| -> String {
        let program = format!("shared-context() {{ '{}' \"$@\"; }}\n", program::path().display());
        let shell = program::command("bash".as_ref())
            .args(["-euo", "pipefail", "-c", &(program + script)])
            .current_dir(home.path())
            .env("HOME", home.path())
            .env("SHARED_CONTEXT_URL", server.url())
            .env("SHARED_CONTEXT_ADMIN_KEY", server.admin_key())
            .output()
            .unwrap();
        let [out, err] = [shell.stdout, shell.stderr].map(|it| String::from_utf8(it).unwrap());
        assert!(shell.status.success(), "{script}\n{out}\n{err}");
        out
    };
    let blocks = blocks();
    assert_eq!(blocks.len(), 3, "a block a session");
    let mut printed = Vec::new();
    for block in &blocks {
        printed.push(run(block));
        clock.0.fetch_add(WEEK, Ordering::SeqCst);
    }
    let all = printed.concat();
    for part in ["✓ DEC-2026-03-02-001", "DEC-2026-03-09-001", "✓ DEC-2026-03-16-001"] {
        assert!(all.contains(part), "{part} is not in {all}");
    }
    let told = run("shared-context memory rehydrate shop --as orchestrator --in shop-3");
    for part in ["Never log card numbers.", "60 connections", "runs dry"] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    // The last decision has no named author, so it is less important and found by its words.
    let found = run("shared-context memory search shop archive --as orchestrator --in shop-3");
    assert!(found.contains("Keep the archive."), "{found}");
    // Whoever repeats the last step adds nothing.
    let again = run("shared-context session close shop-3 --remember || true");
    assert!(!again.contains(" added, revision"), "{again}");
    // With a clock that stands still a graceful stop did not end.
    drop(server);
    runtime.shutdown_background();
}
