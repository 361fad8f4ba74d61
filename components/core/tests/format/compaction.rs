//! The rows of a compaction that is kept: `golden/compaction-3.txt`.

use shared_context_core::{
    Command, CompactionCommand, ContextCommand, Line, Outcome, RequestId,
    compact::{Aim, CompactItems, Weighting},
    context::kept::KeptId,
    item::{Authority, Body, Item, Kind, ListedKind, Target, Visibility},
    port::Revision,
    tokens::Tokens,
};

use super::{ask, compare_with_golden, config, golden, key, support::TestHost, write};

const AGENT: &str = "subagent:a";
/// The revision of the bucket of the session in `compaction-3.txt`.
const REVISION: u64 = 4;

/// Returns a request whose result has items of every form: whole, condensed, the digest, and a
/// reference.
fn compact() -> Command {
    let item = |id: &str, kind, authority, text: &str| {
        let mut item = Item::inline(id, Kind::Listed(kind), text);
        item.source.authority = authority;
        item
    };
    let search = |number: u32| {
        let files: Vec<String> = (0..12).map(|it| format!("- retry_{it}.rs")).collect();
        let text = format!("[Search {number}] Found 12 files\n{}", files.join("\n"));
        let id = format!("search{number}");
        item(&id, ListedKind::ToolResult, Authority::ToolInternal, &text)
    };
    let mut hidden = item("hidden", ListedKind::ManualNote, Authority::User, "not for auditors");
    hidden.visibility = Visibility::of([Target::Model]);
    let thoughts = format!("DECISION: Use a queue\n{}", "It was long and winding. ".repeat(20));
    let mut artifact = item("artifact", ListedKind::ArtifactRef, Authority::Model, "");
    artifact.body = Body::Reference { digest: format!("sha256:{}", "5a".repeat(32)) };
    artifact.tokens = Tokens(7);
    let items = vec![
        item("goal", ListedKind::UserMessage, Authority::User, "Never retry hunter2 again."),
        search(1),
        item("thoughts", ListedKind::SessionHistory, Authority::Model, &thoughts),
        search(2),
        hidden,
        artifact,
        item("next", ListedKind::UserMessage, Authority::User, "What is next?"),
    ];
    let uncounted = (0..5).chain([6]).collect();
    let command = CompactItems {
        items,
        uncounted,
        task: "What is the retry limit?".to_owned(),
        aim: Aim::Tokens(Tokens(150)),
        weighting: Weighting::Default,
        is_dry_run: false,
        keeps: true,
    };
    let command = Command::Compaction(CompactionCommand::Compact(Box::new(command)));
    let request_id = RequestId::parse("c1").unwrap();
    Command::Named { request_id, command: Box::new(command) }
}

/// Returns a session that keeps a compaction, one text of which is redacted.
fn scripted() -> TestHost {
    let host = TestHost::default();
    host.now.set(1_771_597_800_000);
    ask(&host, "admin", &Command::CreateSession(Box::new(config())));
    ask(&host, AGENT, &Command::Write(write("scope", "hunter2")));
    ask(&host, AGENT, &compact());
    let reason = Line::parse("reason", "a password").unwrap();
    ask(&host, "admin", &Command::Redact { key: key("scope"), revision: None, reason });
    host
}

/// Returns everything that can be read of the compaction.
fn shown(host: &TestHost) -> Vec<Outcome> {
    let id = KeptId::envelope(1);
    let reads = [ContextCommand::ReadEnvelope(id), ContextCommand::ExportEvidence(id)];
    let reads = reads.map(Command::Context).into_iter().chain([Command::Export]);
    reads.map(|it| ask(host, "admin", &it)).collect()
}

#[test]
fn the_same_compactions_give_the_same_bytes() {
    compare_with_golden(&scripted(), "compaction-3");
}

#[test]
fn a_stored_compaction_opens_as_it_was_written() {
    let (new, old) = (scripted(), golden::host_with("compaction-3", REVISION));
    old.now.set(new.now.get());
    assert_eq!(shown(&old), shown(&new));
    let again = ask(&old, AGENT, &compact());
    assert_eq!(again.revision, Revision(3), "the first answer");
    assert_eq!(again, ask(&new, AGENT, &compact()));
}
