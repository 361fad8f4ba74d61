//! What a redaction takes out of rounds, and what it leaves as it was.

use proptest::prelude::*;
use serde_json::{Value, json};
use shared_context_core::{
    CloseRound, Code, Command, Line, OpenRound, Proposal, RedactRounds, Reply, RoundsCommand,
    RoundsReply,
    audit::AuditAction,
    rounds::{Clip, Plan, RoundsRedacted, SentDelta},
};

use crate::{
    CHIEF, clipping, close, code, deltas, open, plan, play,
    properties::{Agreed, PARTICIPANTS, Proposed, agreed, begun, proposed, written},
    propose, read,
    reference::Step,
    request_id, session, state,
    support::TestHost,
};

const A: &str = "subagent:a";
const SECRET: &str = "s3cr3t";

fn asking(text: &str) -> Command {
    let reason = Line::parse("reason", "an API key").unwrap();
    Command::Rounds(RoundsCommand::Redact(RedactRounds::new(text, reason).unwrap()))
}

pub(crate) fn redact(host: &TestHost, who: &str) -> RoundsRedacted {
    let Reply::Rounds(RoundsReply::Redacted(redacted)) =
        host.ask(who, &asking(SECRET)).unwrap().reply
    else {
        panic!()
    };
    redacted
}

/// Returns the rows that have the secret in them.
fn leaks(host: &TestHost) -> Vec<String> {
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
    host.rows("").into_iter().filter(|(_, bytes)| has(bytes)).map(|(row, _)| row).collect()
}

/// Returns a session whose rounds have the secret wherever a text can be: of two that ended
/// and one that is open.
pub(crate) fn leaking() -> TestHost {
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
    host.ask(CHIEF, &open_it).unwrap();
    for (who, delta) in [
        (A, r#"add $.bindings {"is s3cr3t":"c:1","plain":"s3cr3t"}"#.to_owned()),
        ("subagent:b", r#"add $.bindings {"plain":"c:2"}"#.to_owned()),
        (A, r#"add $.entities [{"s3cr3t":["s3cr3t"],"b":1},"plain"]"#.to_owned()),
        // Clipped: the round that made it, and it, keep where it was.
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
    host.ask(CHIEF, &close_it).unwrap();
    play(&host, Plan::default(), &[(A, r#"modify $.query "asked""#)]);
    open(&host, plan);
    propose(&host, A, r#"add $.entities[0].s3cr3t "and s3cr3t again""#).unwrap();
    host
}

#[test]
fn a_secret_goes_from_every_row_in_one_commit() {
    let host = leaking();
    let rows: Vec<String> = leaks(&host).iter().map(|it| it[..3].to_owned()).collect();
    for kind in ["r/s", "r/d", "r/c", "r/h", "q/o"] {
        assert!(rows.contains(&kind.to_owned()), "{kind} has it: {rows:?}");
    }
    let before = (read(&host, None), host.log.borrow().len());
    let redacted = redact(&host, CHIEF);
    assert_eq!(leaks(&host), [""; 0]);
    assert!(redacted.places > 20, "{redacted:?}");
    let marker = "redacted:4e738ca5563c06cf";
    assert!(redacted.markers.contains(&marker.to_owned()), "{redacted:?}");
    let after = state(&host);
    assert_eq!(after["bindings"]["plain"], marker);
    assert_eq!(after["entities"][0], json!({marker: [marker], "b": 1}));
    assert_eq!((&after["query"], &after["entities"][1]), (&json!("asked"), &json!("plain")));

    // One commit, which says why and nothing of what it was.
    let log = host.log.borrow();
    let [record] = &log[before.1..] else { panic!("{log:?}") };
    assert_eq!((record.action, record.participant.as_str()), (AuditAction::RedactRounds, CHIEF));
    assert_eq!(record.reason.as_ref().map(Line::as_str), Some("an API key"));
    drop(log);

    // What is told of sizes is told of what is there.
    let told = read(&host, Some(2)).document.bytes();
    let Reply::Rounds(RoundsReply::Convergence(rounds)) =
        host.ask(A, &Command::Rounds(RoundsCommand::ReadConvergence)).unwrap().reply
    else {
        panic!()
    };
    assert_eq!(usize::try_from(rounds[1].ended.as_ref().unwrap().bytes).unwrap(), told);

    // Again there is nothing to do, and nothing is done.
    let rows = host.rows("");
    assert_eq!((redact(&host, "admin").places, host.rows("")), (0, rows));
}

/// The place it is for has another name now, and so has the delta's path.
#[test]
fn an_open_round_goes_on_as_if_nothing_had_happened() {
    let host = leaking();
    redact(&host, CHIEF);
    let ended = close(&host).ended.unwrap();
    assert_eq!((ended.applied, ended.lost), (1, 0));
    let items = state(&host)["entities"][0]["redacted:4e738ca5563c06cf"].clone();
    assert_eq!(items.as_array().map(Vec::len), Some(2));
    assert_eq!(deltas(&host, Some("$.bindings.plain")).len(), 2, "the history can be asked for");
}

#[test]
fn who_redacts_is_the_orchestrator_or_the_admin() {
    let host = leaking();
    let rows = host.rows("");
    assert_eq!(code(host.ask(A, &asking(SECRET))), Code::Forbidden);
    assert_eq!(host.rows(""), rows);
    host.ask("admin", &Command::ArchiveSession).unwrap();
    assert_eq!(code(host.ask(CHIEF, &asking(SECRET))), Code::SessionArchived);
    assert!(redact(&host, "admin").places > 0, "a secret can turn up when the session is over");
    let reason = Line::parse("reason", "it was s3cr3t").unwrap();
    assert_eq!(code(RedactRounds::new(SECRET, reason)), Code::MalformedRequest);
}

/// A marker is longer than a short name: a pattern as long as one can be was stored as
/// one that could not be read again.
#[test]
fn a_pattern_may_become_longer_than_any_that_can_be_sent() {
    let host = session();
    let pattern = format!("$.entities[*]{}", ".s3cr3t".repeat(30));
    let strategies = [(pattern.as_str(), "union")];
    open(&host, plan(&[], &strategies));
    assert_eq!(redact(&host, CHIEF).places, 30);
    assert!(read(&host, None).open.unwrap().plan.strategies[0].paths.as_str().len() > 512);
    close(&host);
}

/// What takes its place is longer than a short secret: the state may be over its
/// limit then, and the next round makes it fit.
#[test]
fn a_state_that_a_redaction_made_too_large_is_clipped_by_the_next_round() {
    let host = session();
    let items = vec![r#""s3cr3t""#; 100].join(",");
    play(&host, clipping(Clip::OldestFirst, 1_000), &[(A, &format!("add $.entities [{items}]"))]);
    redact(&host, CHIEF);
    assert!(read(&host, None).document.bytes() > 1_000);
    let ended = play(&host, Plan::default(), &[]).ended.unwrap();
    assert!(ended.bytes <= 1_000 && !ended.clipped.is_empty(), "{ended:?}");
}

/// Returns some of the names and texts get the secret into them.
fn leak(value: Value) -> Value {
    match value {
        Value::String(text) if text == "x" || text == "c:2" => json!(format!("{text} s3cr3t")),
        Value::Array(items) => items.into_iter().map(leak).collect(),
        Value::Object(members) => Value::Object(
            members.into_iter().map(|(name, it)| (leaked_name(name), leak(it))).collect(),
        ),
        _ => value,
    }
}

fn leaked_name(name: String) -> String {
    if name == "b" { "b_s3cr3t".to_owned() } else { name }
}

fn leaked((who, operation, path, value): Proposed) -> Proposed {
    let step = |it| match it {
        Step::Name(name) => Step::Name(leaked_name(name)),
        Step::Index(_) => it,
    };
    (who, operation, path.into_iter().map(step).collect(), leak(value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A redaction changes texts, and nothing of what was agreed: whether it comes
    /// before the close or after it, the same is there in the end.
    #[test]
    fn it_makes_no_difference_to_what_a_round_settles(
        agreed in agreed(),
        all in proptest::collection::vec(proposed().prop_map(leaked), 0..14),
    ) {
        // Even votes are settled by the text.
        let strategies = agreed.strategies.map(|it| if it == "majority-vote" { "union" } else { it });
        let agreed = Agreed { strategies, ..agreed };
        let play = |redacts_first: bool| {
            let host = begun();
            let change = r#"modify $.entities[0] {"b_s3cr3t":{"a":"x s3cr3t","c":[1,2]}}"#;
            play(&host, Plan::default(), &[(A, change)]);
            open(&host, agreed.plan());
            for it in &all {
                let _ = propose(&host, PARTICIPANTS[it.0], &written(it));
            }
            if redacts_first {
                redact(&host, CHIEF);
            }
            close(&host);
            redact(&host, CHIEF);
            prop_assert_eq!(leaks(&host), [""; 0]);
            Ok((state(&host), deltas(&host, None), host.ask(A, &Command::Rounds(RoundsCommand::ReadConvergence)).unwrap().reply))
        };
        let (first, then) = (play(true)?, play(false)?);
        prop_assert_eq!(first, then);
    }
}
