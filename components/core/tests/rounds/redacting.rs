//! Tests of redaction in rounds: the text is removed everywhere, and nothing else
//! changes.

use proptest::prelude::*;
use serde_json::{Value, json};
use shared_context_core::{
    CloseRound, Code, Command, Line, OpenRound, Proposal, RedactRounds, Reply, RoundsCommand,
    RoundsReply,
    audit::AuditAction,
    rounds::{Clip, Plan, RoundsRedacted, SentDelta},
};

use crate::{
    ORCHESTRATOR, clipping, close, code, deltas, open, plan, play,
    properties::{
        PARTICIPANTS, Proposed, Settings, proposed, session_with_state, settings, written,
    },
    propose, read,
    reference::Step,
    request_id, session, state, steering,
    support::TestHost,
};

const A: &str = "subagent:a";
const SECRET: &str = "s3cr3t";

fn redact_command(text: &str) -> Command {
    let reason = Line::parse("reason", "an API key").unwrap();
    Command::Rounds(RoundsCommand::Redact(RedactRounds::new(text, reason).unwrap()))
}

pub(crate) fn redact(host: &TestHost, who: &str) -> RoundsRedacted {
    let Reply::Rounds(RoundsReply::Redacted(redacted)) =
        host.ask(who, &redact_command(SECRET)).unwrap().reply
    else {
        panic!()
    };
    redacted
}

/// Returns the names of the rows that contain the secret.
fn leaks(host: &TestHost) -> Vec<String> {
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
    host.rows("").into_iter().filter(|(_, bytes)| has(bytes)).map(|(row, _)| row).collect()
}

/// Returns a session whose rounds contain the secret wherever a string can be: two closed
/// rounds and an open one.
pub(crate) fn session_with_secret() -> TestHost {
    let host = session();
    let plan = plan(
        &[(A, 0.5), ("subagent:b", 0.2)],
        &[("$.entities[*].s3cr3t", "union"), ("$..b", "majority-vote")],
    );
    let open_it = Command::Rounds(RoundsCommand::Open(Box::new(OpenRound {
        plan: Plan { bytes_max: Some(1_000), clip: Clip::LargestFirst, ..plan.clone() },
        query: Some("Who has s3cr3t?".to_owned()),
        request_id: Some(request_id("open")),
    })));
    host.ask(ORCHESTRATOR, &open_it).unwrap();
    for (who, delta) in [
        (A, r#"add $.bindings {"is s3cr3t":"c:1","plain":"s3cr3t"}"#.to_owned()),
        ("subagent:b", r#"add $.bindings {"plain":"c:2"}"#.to_owned()),
        (A, r#"add $.entities [{"s3cr3t":["s3cr3t"],"b":1},"plain"]"#.to_owned()),
        // It is clipped: the round and the delta both store its path.
        (A, format!(r#"add $.bindings {{"clipped s3cr3t":"{}"}}"#, "x".repeat(900))),
    ] {
        propose(&host, who, &delta).unwrap();
    }
    let why = SentDelta::new("add", "$.rules", Some("1"), "Read s3cr3t in a file").unwrap();
    let proposal = Proposal::new(vec![why], None).unwrap();
    host.ask(A, &Command::Rounds(RoundsCommand::Propose(proposal))).unwrap();
    let request_id = Some(request_id("close"));
    let close_it =
        Command::Rounds(RoundsCommand::Close(CloseRound { request_id, ..CloseRound::default() }));
    host.ask(ORCHESTRATOR, &close_it).unwrap();
    play(&host, Plan::default(), &[(A, r#"modify $.query "asked""#)]);
    open(&host, plan);
    propose(&host, A, r#"add $.entities[0].s3cr3t "and s3cr3t again""#).unwrap();
    propose(&host, A, "add $.rules [2]").unwrap();
    steering::reject(&host, &[2], "it holds s3cr3t").unwrap();
    host
}

#[test]
fn one_commit_redacts_a_secret_in_every_row() {
    let host = session_with_secret();
    let rows: Vec<String> = leaks(&host).iter().map(|it| it[..3].to_owned()).collect();
    for kind in ["r/s", "r/d", "r/c", "r/h", "r/o", "q/o"] {
        assert!(rows.contains(&kind.to_owned()), "{kind} has it: {rows:?}");
    }
    let before = (read(&host, None), host.log.borrow().len());
    let redacted = redact(&host, ORCHESTRATOR);
    assert_eq!(leaks(&host), [""; 0]);
    assert!(redacted.places > 20, "{redacted:?}");
    let marker = "redacted:4e738ca5563c06cf";
    assert!(redacted.markers.contains(&marker.to_owned()), "{redacted:?}");
    let after = state(&host);
    assert_eq!(after["bindings"]["plain"], marker);
    assert_eq!(after["entities"][0], json!({marker: [marker], "b": 1}));
    assert_eq!((&after["query"], &after["entities"][1]), (&json!("asked"), &json!("plain")));

    // One commit, with the reason but not the text.
    let log = host.log.borrow();
    let [record] = &log[before.1..] else { panic!("{log:?}") };
    assert_eq!(
        (record.action, record.participant.as_str()),
        (AuditAction::RedactRounds, ORCHESTRATOR)
    );
    assert_eq!(record.reason.as_ref().map(Line::as_str), Some("an API key"));
    drop(log);

    // Reported sizes are those of the redacted documents.
    let bytes = read(&host, Some(2)).document.bytes();
    let Reply::Rounds(RoundsReply::Convergence(rounds)) =
        host.ask(A, &Command::Rounds(RoundsCommand::ReadConvergence)).unwrap().reply
    else {
        panic!()
    };
    assert_eq!(usize::try_from(rounds[1].ended.as_ref().unwrap().bytes).unwrap(), bytes);

    // A second redaction changes nothing.
    let rows = host.rows("");
    assert_eq!((redact(&host, "admin").places, host.rows("")), (0, rows));
}

/// Both the member of the state and the delta's path now have a redacted name.
#[test]
fn an_open_round_continues_after_a_redaction() {
    let host = session_with_secret();
    redact(&host, ORCHESTRATOR);
    let ended = close(&host).ended.unwrap();
    assert_eq!((ended.counts.applied, ended.counts.lost), (1, 0));
    let items = state(&host)["entities"][0]["redacted:4e738ca5563c06cf"].clone();
    assert_eq!(items.as_array().map(Vec::len), Some(2));
    assert_eq!(deltas(&host, Some("$.bindings.plain")).len(), 2, "the history can be queried");
}

#[test]
fn only_the_orchestrator_and_the_admin_redact() {
    let host = session_with_secret();
    let rows = host.rows("");
    assert_eq!(code(host.ask(A, &redact_command(SECRET))), Code::Forbidden);
    assert_eq!(host.rows(""), rows);
    host.ask("admin", &Command::ArchiveSession).unwrap();
    assert_eq!(code(host.ask(ORCHESTRATOR, &redact_command(SECRET))), Code::SessionArchived);
    assert!(
        redact(&host, "admin").places > 0,
        "a secret can be found after the session is archived"
    );
    let reason = Line::parse("reason", "it was s3cr3t").unwrap();
    assert_eq!(code(RedactRounds::new(SECRET, reason)), Code::MalformedRequest);
}

/// A marker is longer than a short name: a pattern of maximum length was once stored in a
/// form that could not be parsed again.
#[test]
fn a_redacted_pattern_may_exceed_the_length_limit() {
    let host = session();
    let pattern = format!("$.entities[*]{}", ".s3cr3t".repeat(30));
    let strategies = [(pattern.as_str(), "union")];
    open(&host, plan(&[], &strategies));
    assert_eq!(redact(&host, ORCHESTRATOR).places, 30);
    assert!(read(&host, None).open.unwrap().plan.strategies[0].paths.as_str().len() > 512);
    close(&host);
}

/// A marker is longer than a short secret: the state may then exceed its limit, and the
/// next round clips it.
#[test]
fn a_state_over_its_limit_after_a_redaction_is_clipped() {
    let host = session();
    let items: Vec<String> = (0..80).map(|it| format!(r#""s3cr3t{it}""#)).collect();
    let items = items.join(",");
    play(&host, clipping(Clip::OldestFirst, 1_000), &[(A, &format!("add $.entities [{items}]"))]);
    redact(&host, ORCHESTRATOR);
    assert!(read(&host, None).document.bytes() > 1_000);
    let ended = play(&host, Plan::default(), &[]).ended.unwrap();
    assert!(ended.bytes <= 1_000 && !ended.clipped.is_empty(), "{ended:?}");
}

/// Adds the secret to some of the names and strings.
fn add_secret(value: Value) -> Value {
    match value {
        Value::String(text) if text == "x" || text == "c:2" => json!(format!("{text} s3cr3t")),
        Value::Array(items) => items.into_iter().map(add_secret).collect(),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, it)| (name_with_secret(name), add_secret(it)))
                .collect(),
        ),
        _ => value,
    }
}

fn name_with_secret(name: String) -> String {
    if name == "b" { "b_s3cr3t".to_owned() } else { name }
}

fn with_secret((who, operation, path, value): Proposed) -> Proposed {
    let step = |it| match it {
        Step::Name(name) => Step::Name(name_with_secret(name)),
        Step::Index(_) => it,
    };
    (who, operation, path.into_iter().map(step).collect(), add_secret(value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A redaction changes texts but not the result: redacting before or after the close
    /// gives the same state.
    #[test]
    fn a_redaction_does_not_change_the_result_of_a_round(
        settings in settings(),
        all in proptest::collection::vec(proposed().prop_map(with_secret), 0..14),
    ) {
        // The text decides tied votes.
        let strategies = settings.strategies.map(|it| if it == "majority-vote" { "union" } else { it });
        let settings = Settings { strategies, ..settings };
        let play = |redacts_first: bool| {
            let host = session_with_state();
            let change = r#"modify $.entities[0] {"b_s3cr3t":{"a":"x s3cr3t","c":[1,2]}}"#;
            play(&host, Plan::default(), &[(A, change)]);
            open(&host, settings.plan());
            for it in &all {
                let _ = propose(&host, PARTICIPANTS[it.0], &written(it));
            }
            if redacts_first {
                redact(&host, ORCHESTRATOR);
            }
            close(&host);
            redact(&host, ORCHESTRATOR);
            prop_assert_eq!(leaks(&host), [""; 0]);
            Ok((state(&host), deltas(&host, None), host.ask(A, &Command::Rounds(RoundsCommand::ReadConvergence)).unwrap().reply))
        };
        let (first, then) = (play(true)?, play(false)?);
        prop_assert_eq!(first, then);
    }
}

/// A close repeated under its request id once answered the size of the redacted state.
#[test]
fn a_repeated_close_has_its_first_size_after_a_redaction() {
    let host = session();
    open(&host, Plan::default());
    propose(&host, A, r#"add $.bindings.customer "s3cr3t""#).unwrap();
    let request_id = Some(request_id("close"));
    let close_it =
        Command::Rounds(RoundsCommand::Close(CloseRound { request_id, ..CloseRound::default() }));
    let first = host.ask(ORCHESTRATOR, &close_it).unwrap();
    redact(&host, ORCHESTRATOR);
    let again = host.ask(ORCHESTRATOR, &close_it).unwrap();
    assert_eq!((again.reply, again.revision), (first.reply, first.revision));
}
