//! Tests of the context pipeline with a credential for some keys.

use shared_context_core::{
    CloseRound, Code, Command, Config, ContextCommand, ContextReply, Reply, RequestId,
    RoundsCommand,
    context::{
        AnswerMissing, AssembleContext, RecordInjection, ReportMissing,
        assembly::Rules,
        kept::{Content, KeptId},
        kinds::{MissingKind, Place, Target},
    },
    pattern::KeyPattern,
};

use crate::{ORCHESTRATOR, ask, error_code, session, write};

/// A subagent with a credential for all keys.
const WHOLE: &str = "subagent:a";
/// The same participant with a credential for one key.
const LIMITED: &str = "subagent:a only scope";

fn named(command: ContextCommand) -> Command {
    let request_id = RequestId::parse("r").unwrap();
    Command::Named { request_id, command: Box::new(Command::Context(command)) }
}

/// A credential for some keys may not read rounds. Once it read the state of a round in the
/// evidence of an envelope that the same participant had kept with a credential for all keys, and
/// in the answer to a retry of that assembly.
#[test]
fn a_limited_credential_gets_no_state_of_a_round() {
    let host = session(Config::default());
    ask(&host, ORCHESTRATOR, &Command::Rounds(RoundsCommand::Open(Box::default())));
    let close = RoundsCommand::Close(CloseRound::default());
    ask(&host, ORCHESTRATOR, &Command::Rounds(close));
    let assemble = named(ContextCommand::Assemble(Box::new(AssembleContext {
        task: String::new(),
        items: Vec::new(),
        uncounted: Vec::new(),
        entries: None,
        has_round_state: true,
        rules: Rules::default(),
        previous: None,
        keeps: true,
    })));
    let first = ask(&host, WHOLE, &assemble);
    assert_eq!(ask(&host, WHOLE, &assemble).reply, first.reply);
    assert_eq!(error_code(&host, LIMITED, &assemble), Code::Forbidden);

    let export = Command::Context(ContextCommand::ExportEvidence(KeptId::envelope(1)));
    let content = |who: &str| {
        let Reply::Context(ContextReply::Evidence(it)) = ask(&host, who, &export).reply else {
            panic!()
        };
        it.envelope.parts[0].content.clone()
    };
    assert!(matches!(content(WHOLE), Content::Text(text) if text.contains("bindings")));
    assert_eq!(content(LIMITED), Content::Withheld);
}

/// A credential for some keys sees its own reports only. Once it got the text of another's by
/// repeating an answer that the same participant had given with a credential for all keys.
#[test]
fn a_limited_credential_gets_no_report_of_another_by_a_retry() {
    let host = session(Config::default());
    let text = "What is the secret?".to_owned();
    let report = ReportMissing { kind: MissingKind::Question, text, envelope: None };
    ask(&host, ORCHESTRATOR, &Command::Context(ContextCommand::ReportMissing(report)));
    let (missing, answer) = (KeptId::missing(1), "Nobody knows.".to_owned());
    let answer = named(ContextCommand::AnswerMissing(AnswerMissing { missing, answer }));
    let first = ask(&host, WHOLE, &answer);
    assert_eq!(ask(&host, WHOLE, &answer).reply, first.reply);
    assert_eq!(error_code(&host, LIMITED, &answer), Code::MissingNotFound);
}

/// A credential for some keys once saw the ids, tokens and digests of all entries in an envelope that
/// the same participant had kept with a credential for all keys.
#[test]
fn an_envelope_with_a_hidden_entry_does_not_exist() {
    let host = session(Config::default());
    write(&host, "scope", "The retry limit.");
    let assemble = |entries: &str| {
        ContextCommand::Assemble(Box::new(AssembleContext {
            task: "lunch?".to_owned(),
            items: Vec::new(),
            uncounted: Vec::new(),
            entries: Some(KeyPattern::parse(entries).unwrap()),
            has_round_state: false,
            rules: Rules::default(),
            previous: None,
            keeps: true,
        }))
    };
    ask(&host, WHOLE, &Command::Context(assemble("*")));
    write(&host, "secret_plan", "Retry for ever.");
    ask(&host, WHOLE, &Command::Context(assemble("*")));

    let (visible, hidden) = (KeptId::envelope(1), KeptId::envelope(2));
    let reads = |envelope| {
        let injection = RecordInjection { envelope, place: Place::UiPanel, target: Target::Model };
        let report = ReportMissing {
            kind: MissingKind::Question,
            text: "Why?".to_owned(),
            envelope: Some(envelope),
        };
        let ContextCommand::Assemble(mut after) = assemble("scope") else { panic!() };
        after.previous = Some(envelope);
        [
            ContextCommand::ReadEnvelope(envelope),
            ContextCommand::ExportEvidence(envelope),
            ContextCommand::RecordInjection(injection),
            ContextCommand::ReportMissing(report),
            ContextCommand::Assemble(after),
        ]
    };
    for command in reads(hidden) {
        let command = Command::Context(command);
        assert_eq!(error_code(&host, LIMITED, &command), Code::EnvelopeNotFound, "{command:?}");
        ask(&host, WHOLE, &command);
    }
    for command in reads(visible) {
        ask(&host, LIMITED, &Command::Context(command));
    }
}
