//! Tests of rounds in exported documents: an imported session has the same rounds and can
//! continue them; impossible ones are rejected.

use proptest::prelude::*;
use shared_context_core::{
    Code, Command, Error, Line, Participant, RedactRounds, Reply, RoundsCommand,
    portable::Portable,
    rounds::{Clip, KeptRound, Mark, Marks, Operation, Plan, State, Status, Weight},
    time::Timestamp,
};

use crate::{
    ORCHESTRATOR, clipping, close, code, deltas, golden, open, plan, play,
    properties::{PARTICIPANTS, Settings, proposed, session_with_state, settings, written},
    propose, read, redacting, session, state,
    support::TestHost,
};

const A: &str = "subagent:a";
const B: &str = "subagent:b";

pub(crate) fn export(host: &TestHost) -> Portable {
    let Reply::Portable(it) = host.ask("admin", &Command::Export).unwrap().reply else { panic!() };
    *it
}

pub(crate) fn import(it: Portable) -> Result<TestHost, Error> {
    let host = TestHost::default();
    host.now.set(1_000_000);
    host.ask("admin", &Command::Import(Box::new(it)))?;
    Ok(host)
}

fn restored(document: &str, marks: Marks) -> State {
    let Marks { bindings, entities, rules } = marks;
    State::restore(document, bindings.into_values().collect(), entities, rules).unwrap()
}

/// Returns everything that can be read of rounds.
fn all_rounds(host: &TestHost) -> impl PartialEq + std::fmt::Debug + use<> {
    let convergence = host.ask(A, &Command::Rounds(RoundsCommand::ReadConvergence)).unwrap().reply;
    let last = read(host, None);
    let states: Vec<_> = (0..=last.round)
        .filter_map(|it| {
            host.ask(A, &Command::Rounds(RoundsCommand::ReadState { round: Some(it) }))
                .ok()
                .map(|it| it.reply)
        })
        .collect();
    (last, deltas(host, None), convergence, states)
}

/// Returns a session with two closed rounds, with a loss and a clipped part, and an open
/// one.
fn session_with_rounds() -> TestHost {
    let host = session();
    let weights = || plan(&[(A, 0.9), (B, 0.2)], &[("$.rules", "expert-override:subagent:b")]);
    let light = format!("add $.entities {:?}", "x".repeat(900));
    let settings = weights();
    let settings = Plan { bytes_max: Some(1_000), ..settings };
    play(
        &host,
        settings,
        &[
            (A, r#"add $.bindings {"customer":"c:1"}"#),
            (B, r#"add $.bindings {"customer":"c:2","order":"o:1"}"#),
            (A, r#"add $.entities [{"name":"x"}]"#),
            (B, &light),
        ],
    );
    play(&host, weights(), &[(A, r#"modify $.query "q""#), (B, "add $.rules [1,2]")]);
    open(&host, weights());
    propose(&host, A, r#"add $.entities[0].seen ["a"]"#).unwrap();
    propose(&host, ORCHESTRATOR, "remove $.bindings.order").unwrap();
    host
}

#[test]
fn imported_rounds_are_the_same_and_can_continue() {
    let here = session_with_rounds();
    let document = export(&here);
    assert_eq!(document.rounds.rounds.len(), 3);
    let there = import(document.clone()).unwrap();
    assert_eq!(all_rounds(&there), all_rounds(&here));
    assert_eq!(export(&there), document);
    for host in [&here, &there] {
        host.now.set(2_000_000);
        propose(host, B, "add $.rules [3]").unwrap();
        close(host);
    }
    assert_eq!(all_rounds(&there), all_rounds(&here));
    // A session without rounds has no rows of rounds.
    let none = import(export(&session())).unwrap();
    assert_eq!(none.rows("r/"), []);
}

/// `golden/rounds-2.txt` has the rows of the same rounds as stored by the first version
/// with rounds. It did not record their sizes.
#[test]
fn rounds_stored_by_the_first_version_can_continue() {
    let (old, new) = (golden::host_with("rounds-2", 14), session_with_rounds());
    old.now.set(1_000_000);
    assert_eq!(all_rounds(&old), all_rounds(&new));
    assert_eq!(export(&old).rounds, export(&new).rounds);
    assert_eq!(close(&old), close(&new));
    redacting::redact(&old, ORCHESTRATOR);
    for _ in 0..70 {
        play(&old, Plan::default(), &[(A, "add $.rules [1]")]);
    }
    assert_eq!(old.rows("r/s/").len(), 64);
}

/// The oldest retained rounds have no predecessors.
#[test]
fn rounds_without_their_predecessors_can_be_imported() {
    let here = session();
    for _ in 0..70 {
        play(&here, Plan::default(), &[(A, "add $.rules [1]")]);
    }
    open(&here, Plan::default());
    propose(&here, A, "remove $.rules[0]").unwrap();
    let there = import(export(&here)).unwrap();
    assert_eq!(all_rounds(&there), all_rounds(&here));
    let rows = |host: &TestHost| host.rows("r/").len();
    for host in [&here, &there] {
        close(host);
        play(host, Plan::default(), &[]);
    }
    assert_eq!((all_rounds(&there), rows(&there)), (all_rounds(&here), rows(&here)));
}

/// 65 rounds were once retained instead of 64.
#[test]
fn only_the_last_64_rounds_are_retained() {
    let here = session();
    for number in 1..=70_usize {
        play(&here, Plan::default(), &[(A, "add $.rules [1]")]);
        assert_eq!(here.rows("r/c/").len(), number.min(64));
        // The state before the first round is an additional row.
        assert_eq!(deltas(&here, None).len(), number.min(64));
    }
}

/// A number of four digits becomes a marker of 27 bytes, and a redacted round was once
/// larger than the import limit.
#[test]
fn rounds_with_redacted_numbers_can_be_imported() {
    let here = session();
    let numbers = format!("add $.rules [[{}1]]", "1234,".repeat(50_000));
    open(&here, clipping(Clip::Reject, 262_144));
    propose(&here, A, &numbers).unwrap();
    close(&here);
    let text = RedactRounds::new("1234", Line::parse("reason", "a PIN").unwrap()).unwrap();
    here.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Redact(text))).unwrap();
    let there = import(export(&here)).unwrap();
    assert_eq!(all_rounds(&there), all_rounds(&here));
}

#[test]
fn redacted_rounds_can_be_imported() {
    let here = redacting::session_with_secret();
    redacting::redact(&here, ORCHESTRATOR);
    let there = import(export(&here)).unwrap();
    assert_eq!(all_rounds(&there), all_rounds(&here));
    assert_eq!(close(&there), close(&here));
}

/// The forged documents; each differs from a valid one in one defect.
#[test]
fn impossible_rounds_are_rejected() {
    type Forged = fn(&mut Vec<KeptRound>);
    let forgeries: &[(&str, Forged)] = &[
        ("a number twice", |it| it[1].round.number = 1),
        ("a number left out", |it| it[2].round.number = 4),
        ("a first round of no number", |it| {
            for round in it {
                round.round.number -= 1;
            }
        }),
        ("numbers after which none comes", |it| {
            for round in it {
                round.round.number += u64::MAX - 3;
            }
        }),
        ("a round without its state", |it| it[0].state = None),
        ("a round that is closed and open", |it| it[1].round.ended = None),
        ("an open round that has outcomes", |it| it[2].outcomes = it[0].outcomes[..2].to_vec()),
        ("an open round in the middle", |it| {
            (it[1].state, it[1].round.ended) = (None, None);
            it[1].outcomes.clear();
        }),
        ("a delta less", |it| drop(it[0].deltas.pop())),
        ("a delta out of its place", |it| it[0].deltas.swap(0, 1)),
        ("a delta more than it says", |it| it[2].round.deltas += 1),
        ("a delta without its value", |it| it[0].deltas[0].value = None),
        ("a delta of the admin", |it| {
            it[0].deltas[0].participant = Participant::parse("admin").unwrap();
        }),
        ("a outcome less", |it| drop(it[0].outcomes.pop())),
        ("a outcome of another delta", |it| it[0].outcomes[0].sequence = 2),
        ("a loss to nobody", |it| it[0].outcomes[1].losses[0].to = 99),
        ("a loss to someone else", |it| {
            it[0].outcomes[1].losses[0].by = Participant::parse("subagent:z").unwrap();
        }),
        ("a outcome that is not counted", |it| it[0].outcomes[0].status = Status::Lost),
        ("a outcome of a round that was discarded", |it| {
            it[0].outcomes[0].status = Status::Discarded;
        }),
        ("a state of another size", |it| it[0].round.ended.as_mut().unwrap().bytes += 1),
        ("another state of the same size", |it| {
            let document = it[1].state.as_ref().unwrap().text().as_str().replace('q', "r");
            let document = document.replace("ruery", "query");
            it[1].state = Some(restored(&document, it[1].state.as_ref().unwrap().marks().clone()));
            it[1].round.ended.as_mut().unwrap().convergence.unchanged += 1;
        }),
        ("a part of a later round", |it| {
            let mark = Mark { round: 9, weight: Weight::DEFAULT };
            let state = it[1].state.as_ref().unwrap();
            let mut marks = state.marks().clone();
            marks.entities[0] = mark;
            let document = state.text().as_str().to_owned();
            it[1].state = Some(restored(&document, marks));
        }),
        ("an opening by a subagent", |it| {
            it[1].round.opened_by = Participant::parse(B).unwrap();
        }),
        ("a closing by a subagent", |it| {
            it[1].round.ended.as_mut().unwrap().by = Participant::parse(B).unwrap();
        }),
        ("an end before its beginning", |it| {
            it[1].round.ended.as_mut().unwrap().at = Timestamp(1);
        }),
        ("a limit that none can have", |it| it[1].round.bytes_max = 1),
        ("an invalid plan", |it| it[1].round.plan.bytes_max = Some(1)),
        ("a time to come", |it| it[2].round.opened_at = Timestamp(1_000_000_000_000)),
        ("a delta that does not fit", |it| {
            it[2].deltas[0].operation = Operation::Modify;
        }),
        ("an unbinding by a subagent", |it| {
            it[2].deltas[1].participant = Participant::parse(B).unwrap();
        }),
    ];
    let document = export(&session_with_rounds());
    assert_eq!(document.rounds.rounds[0].outcomes[1].losses[0].by.as_str(), A);
    for (forgery, forge) in forgeries {
        let mut forged = document.clone();
        forge(&mut forged.rounds.rounds);
        match import(forged) {
            Err(error) => {
                assert_eq!(error.code(), Code::MalformedRequest, "{forgery}");
                assert!(error.to_string().contains("invalid document: "), "{forgery}: {error}");
            }
            Ok(_) => panic!("{forgery} was taken"),
        }
    }
    let mut forged = export(&session());
    forged.rounds.query = Some("of no round".to_owned());
    assert_eq!(code(import(forged).map(drop)), Code::MalformedRequest);
    import(document).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_rounds_can_be_imported_and_continued(
        settings in settings(),
        rounds in proptest::collection::vec(proptest::collection::vec(proposed(), 0..8), 1..4),
        is_open in any::<bool>(),
    ) {
        let here = session_with_state();
        let (last, before) = rounds.split_last().unwrap();
        let propose_all = |host: &TestHost, settings: &Settings| {
            open(host, settings.plan());
            for it in last {
                let _ = propose(host, PARTICIPANTS[it.0], &written(it));
            }
        };
        for all in before {
            open(&here, clipping(Clip::LargestFirst, 1_000));
            for it in all {
                let _ = propose(&here, PARTICIPANTS[it.0], &written(it));
            }
            close(&here);
        }
        if is_open {
            propose_all(&here, &settings);
        }
        let document = export(&here);
        let there = import(document.clone()).unwrap();
        prop_assert_eq!(all_rounds(&there), all_rounds(&here));
        prop_assert_eq!(&export(&there), &document);
        for host in [&here, &there] {
            if !is_open {
                propose_all(host, &settings);
            }
            close(host);
        }
        prop_assert_eq!(state(&there), state(&here));
        prop_assert_eq!(all_rounds(&there), all_rounds(&here));
    }
}
