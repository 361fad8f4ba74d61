//! The rows of the context pipeline: `golden/context-3.txt`.

use shared_context_core::{
    Command, ContextCommand, Key, Line, Outcome, RequestId,
    context::{
        AnswerMissing, AssembleContext, ListMissing, RecordInjection, ReportMissing,
        assembly::Rules,
        kept::KeptId,
        kinds::{MissingKind, Place},
    },
    item::{Item, Kind, ListedKind, Target, Visibility},
    pattern::KeyPattern,
    port::Revision,
};

use super::{ask, compare_with_golden, config, golden, support::TestHost, write};

const AGENT: &str = "subagent:a";
/// The revision of the bucket of the session in `context-3.txt`.
const REVISION: u64 = 7;

/// Returns `command` with a request id.
fn named(request_id: &str, command: ContextCommand) -> Command {
    let request_id = RequestId::parse(request_id).unwrap();
    Command::Named { request_id, command: Box::new(Command::Context(command)) }
}

/// Returns a request for an envelope of all entries and of items of every form.
fn assemble() -> Command {
    let file = |id: &str, text: &str| Item::inline(id, Kind::Listed(ListedKind::FileExcerpt), text);
    let mut hidden = file("hidden", "not for auditors");
    hidden.visibility = Visibility::of([Target::Model]);
    let command = AssembleContext {
        task: "What is the retry limit?".to_owned(),
        items: vec![file("pool.rs", "const RETRIES: u8 = 5; // retry limit"), hidden],
        uncounted: vec![0, 1],
        entries: Some(KeyPattern::parse("*").unwrap()),
        has_round_state: false,
        rules: Rules::default(),
        previous: None,
        keeps: true,
    };
    named("a1", ContextCommand::Assemble(Box::new(command)))
}

fn report() -> Command {
    let (kind, text) = (MissingKind::Question, "Is hunter2 still valid?".to_owned());
    let envelope = Some(KeptId::envelope(1));
    named("m1", ContextCommand::ReportMissing(ReportMissing { kind, text, envelope }))
}

/// Returns a session with a row of each kind, one of them redacted.
fn scripted() -> TestHost {
    let host = TestHost::default();
    host.now.set(1_771_597_800_000);
    ask(&host, "admin", &Command::CreateSession(Box::new(config())));
    ask(&host, AGENT, &Command::Write(write("scope", "hunter2")));
    ask(&host, AGENT, &assemble());
    let injection = RecordInjection {
        envelope: KeptId::envelope(1),
        place: Place::SystemPrompt,
        target: Target::Model,
    };
    ask(&host, AGENT, &Command::Context(ContextCommand::RecordInjection(injection)));
    ask(&host, AGENT, &report());
    let answer = AnswerMissing { missing: KeptId::missing(1), answer: "No.".to_owned() };
    ask(&host, "orchestrator", &Command::Context(ContextCommand::AnswerMissing(answer)));
    let reason = Line::parse("reason", "a password").unwrap();
    let redact = Command::Redact { key: Key::parse("scope").unwrap(), revision: None, reason };
    ask(&host, "admin", &redact);
    host
}

/// Returns everything that can be read of the context pipeline.
fn shown(host: &TestHost) -> Vec<Outcome> {
    let id = KeptId::envelope(1);
    let reads = [
        ContextCommand::ReadEnvelope(id),
        ContextCommand::ExportEvidence(id),
        ContextCommand::ListMissing(ListMissing::default()),
    ];
    let reads = reads.map(Command::Context).into_iter().chain([Command::Export]);
    reads.map(|it| ask(host, "admin", &it)).collect()
}

#[test]
fn the_same_assemblies_give_the_same_bytes() {
    compare_with_golden(&scripted(), "context-3");
}

#[test]
fn stored_envelopes_open_as_they_were_written() {
    let (new, old) = (scripted(), golden::host_with("context-3", REVISION));
    old.now.set(new.now.get());
    assert_eq!(shown(&old), shown(&new));
    for (command, revision) in [(assemble(), 3), (report(), 5)] {
        let again = ask(&old, AGENT, &command);
        assert_eq!(again.revision, Revision(revision), "the first answer");
        assert_eq!(again, ask(&new, AGENT, &command));
    }
}
