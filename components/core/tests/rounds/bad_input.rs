//! Tests of rejected requests: the error code, and that nothing has changed.

use shared_context_core::{
    CloseRound, Code, Command, Error, OpenRound, Proposal, ReadDeltas, Reply, RoundsCommand,
    RoundsReply,
    rounds::{Clip, DELTAS_MAX, Plan, SentDelta, Strategy, Weight},
};

use crate::{
    ORCHESTRATOR, at, clipping, close, code, deltas, open, plan, play, propose, propose_all, read,
    request_id, round, sent, session, state, support::TestHost,
};

const A: &str = "subagent:a";

/// Returns a session with a state and an open round.
fn session_in_round() -> TestHost {
    let host = session();
    play(
        &host,
        Plan::default(),
        &[
            (A, r#"add $.bindings {"customer":"c:1"}"#),
            (A, r#"add $.entities [{"name":"x","tags":["t"]},7]"#),
        ],
    );
    open(&host, Plan::default());
    host
}

#[test]
fn a_delta_that_does_not_fit_is_rejected_when_proposed() {
    use Code::{
        Forbidden, IdentityConflict, InvalidPath, MalformedRequest, PathExists, PathNotFound,
    };
    let host = session_in_round();
    let before = host.rows("");
    let deep = format!("add $.entities {}1{}", "[".repeat(32), "]".repeat(32));
    for (delta, expected) in [
        (r#"add $.bindings.customer "c:2""#, IdentityConflict),
        (r#"modify $.bindings.customer "c:2""#, IdentityConflict),
        (r#"modify $.bindings {"order":"o:1","customer":"c:2"}"#, IdentityConflict),
        ("remove $.bindings.customer", Forbidden),
        ("modify $.bindings.order \"o\"", PathNotFound),
        ("modify $.entities[2] 1", PathNotFound),
        ("remove $.entities[2]", PathNotFound),
        ("add $.entities[2] 1", PathNotFound),
        ("add $.entities[-3] 1", PathNotFound),
        ("add $.entities[0].a.b 1", PathNotFound),
        ("add $.entities[1].a 1", PathNotFound),
        ("add $.query.a 1", PathNotFound),
        (r#"add $.entities[0].name "y""#, PathExists),
        (r#"add $.entities[0] {"more":1,"name":"y"}"#, PathExists),
        (r#"add $.query "x""#, PathExists),
        ("modify $.query 1", MalformedRequest),
        ("add $.bindings.order 1", MalformedRequest),
        (r#"add $.bindings.order """#, MalformedRequest),
        (r#"add $.bindings.order ["o:1","o:2"]"#, MalformedRequest),
        (r#"add $.bindings.order {"now":"o:1"}"#, MalformedRequest),
        (r#"add $.bindings {"order":["o:1"]}"#, MalformedRequest),
        (r#"add $.bindings {"order":{"now":"o:1"}}"#, MalformedRequest),
        (r#"add $.bindings.customer ["c:1"]"#, MalformedRequest),
        ("add $.entities 1e16", MalformedRequest),
        ("add $.bindings []", MalformedRequest),
        ("modify $.entities {}", MalformedRequest),
        ("modify $.rules 1", MalformedRequest),
        ("remove $.entities", MalformedRequest),
        ("remove $.query", MalformedRequest),
        ("remove $.entities[0] 1", MalformedRequest),
        ("add $.entities", MalformedRequest),
        ("add $.entities {", MalformedRequest),
        ("move $.entities 1", MalformedRequest),
        (&deep, MalformedRequest),
        ("add $.entities[*] 1", InvalidPath),
        ("add $..name 1", InvalidPath),
        ("add $.deltas 1", InvalidPath),
        ("add $ 1", InvalidPath),
    ] {
        let shown = delta.get(..60).unwrap_or(delta);
        assert_eq!(code(propose(&host, A, delta)), expected, "{shown}");
    }
    assert_eq!(host.rows(""), before, "nothing has changed");
}

/// A malformed request was once rejected with `ROUND_OPEN`: fixing that revealed the next
/// error, against the order of `Code::ALL`.
#[test]
fn a_query_for_a_later_round_is_malformed_first() {
    let host = session_in_round();
    let open = OpenRound { query: Some("again".to_owned()), ..OpenRound::default() };
    let open = Command::Rounds(RoundsCommand::Open(Box::new(open)));
    assert_eq!(code(host.ask(ORCHESTRATOR, &open)), Code::MalformedRequest);
}

#[test]
fn an_existing_value_may_be_proposed_again() {
    let host = session_in_round();
    for delta in [
        r#"add $.bindings.customer "c:1""#,
        r#"modify $.bindings {"customer":"c:1"}"#,
        r#"add $.entities[0] {"name":"x"}"#,
        r#"add $.query """#,
    ] {
        propose(&host, A, delta).unwrap();
    }
    let before = state(&host);
    assert_eq!(close(&host).ended.unwrap().counts.applied, 4);
    assert_eq!(state(&host), before);
}

#[test]
fn a_proposal_is_atomic_and_its_error_names_the_delta() {
    let host = session_in_round();
    let before = host.rows("");
    let good = r#"add $.bindings.order "o:1""#;
    let error = propose_all(&host, A, &[good, "remove $.entities[9]", good]).unwrap_err();
    assert_eq!(error.code(), Code::PathNotFound);
    assert!(error.to_string().starts_with("delta 2: $['entities'][9]: "), "{error}");
    assert_eq!(host.rows(""), before);
    assert_eq!(code(Proposal::new(Vec::new(), None)), Code::MalformedRequest);
    let many = vec![sent(good).unwrap(); 201];
    assert_eq!(code(Proposal::new(many, None)), Code::MalformedRequest);
}

#[test]
fn a_delta_without_a_provenance_is_rejected() {
    for provenance in ["", " \n ", "\u{7}", &"x".repeat(1_001)] {
        let delta = SentDelta::new("remove", "$.entities[0]", None, provenance);
        assert_eq!(code(delta), Code::MalformedRequest, "{provenance:?}");
    }
    SentDelta::new("remove", "$.entities[0]", None, "Seen twice:\n\tsee line 3").unwrap();
}

#[test]
fn invalid_weights_and_strategies_are_rejected() {
    for weight in [-0.1, 1.000_000_1, f64::NAN, f64::INFINITY, -f64::MIN_POSITIVE] {
        assert_eq!(code(Weight::parse(weight)), Code::MalformedRequest, "{weight}");
    }
    for (weight, shown) in [(0.0, "0"), (1.0, "1"), (0.35, "0.35"), (1.0 / 3.0, "0.333333333")] {
        assert_eq!(Weight::parse(weight).unwrap().to_string(), shown);
    }
    for name in ["expert-override", "average", ""] {
        assert_eq!(code(Strategy::parse(name, None)), Code::MalformedRequest, "{name}");
    }
    for bytes_max in [0, 999, 262_145] {
        let plan = Plan { bytes_max: Some(bytes_max), ..Plan::default() };
        assert_eq!(code(plan.check()), Code::MalformedRequest);
    }
    assert_eq!(code(Clip::parse("random")), Code::MalformedRequest);
}

#[test]
fn only_one_round_is_open_and_numbers_only_rise() {
    let host = session();
    assert_eq!(code(propose(&host, A, "add $.rules [1]")), Code::RoundNotOpen);
    let close_it = Command::Rounds(RoundsCommand::Close(CloseRound::default()));
    assert_eq!(code(host.ask(ORCHESTRATOR, &close_it)), Code::RoundNotOpen);
    let open_it = Command::Rounds(RoundsCommand::Open(Box::default()));
    assert_eq!(code(host.ask(A, &open_it)), Code::Forbidden);
    assert_eq!(code(host.ask("admin", &open_it)), Code::Forbidden);
    assert_eq!(open(&host, Plan::default()), 1);
    assert_eq!(code(host.ask(ORCHESTRATOR, &open_it)), Code::RoundOpen);
    assert_eq!(code(host.ask(A, &close_it)), Code::Forbidden);
    assert_eq!(code(propose(&host, "admin", "add $.rules [1]")), Code::Forbidden);
    close(&host);
    assert_eq!(code(propose(&host, A, "add $.rules [1]")), Code::RoundNotOpen);
    assert_eq!(open(&host, Plan::default()), 2);
    host.ask("admin", &Command::ArchiveSession).unwrap();
    assert_eq!(code(propose(&host, A, "add $.rules [1]")), Code::SessionArchived);
    assert_eq!(read(&host, None).round, 1);
}

#[test]
fn the_query_is_set_once_and_changed_by_deltas() {
    let host = session();
    let ask = |query: &str| {
        let open = OpenRound { query: Some(query.to_owned()), ..OpenRound::default() };
        host.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Open(Box::new(open))))
    };
    assert_eq!(
        code(ask(&"why ".repeat(15_000))),
        Code::StateTooLarge,
        "larger than a state may be"
    );
    ask("Which customers churned?").unwrap();
    assert_eq!(at(&host, "/query"), "Which customers churned?");
    propose(&host, A, r#"modify $.query "Which customers churned in May?""#).unwrap();
    close(&host);
    assert_eq!(at(&host, "/query"), "Which customers churned in May?");
    assert_eq!(code(ask("Another?")), Code::MalformedRequest);
}

/// Returns the name of a participant.
fn one_of(nth: usize) -> String {
    format!("subagent:{nth}")
}

#[test]
fn a_round_is_limited_in_deltas_and_bytes() {
    let host = session();
    open(&host, Plan::default());
    let hundred = ["add $.rules [1]"; 100];
    for nth in 0..20 {
        propose_all(&host, &one_of(nth / 5), &hundred).unwrap();
    }
    let error = propose(&host, A, "add $.rules [1]").unwrap_err();
    assert_eq!(error.code(), Code::RoundFull);
    assert!(error.to_string().contains("2001 deltas, it takes at most 2000"), "{error}");
    let round = close(&host);
    assert_eq!((round.deltas, round.ended.unwrap().counts.applied), (DELTAS_MAX, DELTAS_MAX));
    open(&host, Plan::default());
    let large = format!("add $.rules [{:?}]", "x".repeat(130_000));
    for nth in 0..8 {
        propose(&host, &one_of(nth / 2), &large).unwrap();
    }
    assert_eq!(code(propose(&host, A, &large)), Code::RoundFull);
}

/// Ten requests of one subagent once filled a round, and no other participant could propose
/// anything until it was closed. Now each participant has a quarter of it, including the
/// orchestrator.
#[test]
fn nobody_fills_a_round_alone() {
    for (who, nth) in [(A, 0), (ORCHESTRATOR, 1)] {
        let host = session();
        open(&host, Plan::default());
        let many = ["add $.rules [1]"; 100];
        for _ in 0..5 {
            propose_all(&host, who, &many).unwrap();
        }
        let before = host.rows("");
        let error = propose(&host, who, "add $.rules [1]").unwrap_err();
        assert_eq!(error.code(), Code::RoundFull);
        assert!(error.to_string().contains("501 deltas of yours, it takes at most 500"), "{error}");
        assert_eq!(host.rows(""), before);
        propose_all(&host, &one_of(nth), &many).unwrap();
        close(&host);
        assert_eq!(host.rows("r/p/"), []);
        // The next round has its own shares.
        open(&host, Plan::default());
        let large = format!("add $.rules [{:?}]", "x".repeat(130_000));
        for _ in 0..2 {
            propose(&host, who, &large).unwrap();
        }
        let error = propose(&host, who, &large).unwrap_err();
        assert_eq!(error.code(), Code::RoundFull);
        assert!(error.to_string().contains("at most 262144 of each participant"), "{error}");
        propose(&host, &one_of(nth), &large).unwrap();
    }
}

/// A few bytes could claim thousands of paths, and for each lost claim the winner and
/// reason are stored. Half a megabyte of objects with long names, on which ten
/// participants disagreed, once left fifty megabytes. Now paths count, so the worst round
/// stores less than twice its size.
#[test]
fn a_round_stores_little_more_than_its_deltas() {
    let host = session();
    let members = |from: usize, name: &str, value: usize| {
        let members = (from..from + 400).map(|nth| format!(r#""{name}{nth}":{value}"#));
        format!("add $.entities[0] {{{}}}", members.collect::<Vec<_>>().join(","))
    };
    let mut worst = 0;
    for name in ["", &"long".repeat(50)] {
        play(&host, Plan::default(), &[(A, "add $.entities [{}]")]);
        open(&host, Plan { bytes_max: Some(262_144), ..Plan::default() });
        let mut taken = 0;
        for nth in 0..40 {
            let who = format!("subagent:{:0>55}", nth % 10);
            let proposed = propose(&host, &who, &members(nth / 10 * 400, name, nth));
            match proposed {
                Ok(_) => taken += 1,
                Err(error) => assert_eq!(error.code(), Code::RoundFull),
            }
        }
        assert!((2..40).contains(&taken), "{taken} of them");
        let ended = close(&host).ended.unwrap();
        assert!(ended.counts.lost > 0, "{ended:?}");
        let largest = host.rows("").iter().map(|(_, bytes)| bytes.len()).max().unwrap();
        worst = worst.max(largest);
        let discard = CloseRound { discards: true, ..CloseRound::default() };
        open(&host, Plan::default());
        host.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Close(discard))).unwrap();
    }
    assert!((200_000..2_000_000).contains(&worst), "{worst} bytes");
}

/// Ten thousand deltas, two hundred at a time: those that do not fit are rejected, those
/// accepted stay.
#[test]
fn the_first_two_thousand_of_many_deltas_are_accepted() {
    let host = session();
    open(&host, Plan::default());
    let all = ["add $.rules [1]"; 200];
    let answers: Vec<bool> =
        (0..50).map(|nth| propose_all(&host, &one_of(nth % 5), &all).is_ok()).collect();
    assert_eq!(answers.iter().filter(|it| **it).count(), 10);
    assert_eq!(deltas(&host, None).len(), 2_000);
}

#[test]
fn a_retry_gets_the_first_reply_and_a_reused_id_fails() {
    let host = session();
    let open_it = Command::Rounds(RoundsCommand::Open(Box::new(OpenRound {
        plan: plan(&[("*", 0.5)], &[("$.bindings", "expert-override:subagent:a")]),
        query: Some("q".to_owned()),
        request_id: Some(request_id("open")),
    })));
    let first = host.ask(ORCHESTRATOR, &open_it).unwrap();
    assert_eq!(host.ask(ORCHESTRATOR, &open_it).unwrap(), first);
    let proposal = |delta| {
        let deltas = vec![sent(delta).unwrap()];
        Command::Rounds(RoundsCommand::Propose(Proposal {
            deltas,
            request_id: Some(request_id("propose")),
        }))
    };
    let first = host.ask(A, &proposal("add $.rules [1]")).unwrap();
    assert_eq!(host.ask(A, &proposal("add $.rules [1]")).unwrap(), first);
    assert_eq!(code(host.ask(A, &proposal("add $.rules [2]"))), Code::RequestIdReused);
    assert_eq!(deltas(&host, None).len(), 1);
    let close_it = Command::Rounds(RoundsCommand::Close(CloseRound {
        request_id: Some(request_id("close")),
        ..CloseRound::default()
    }));
    let first = host.ask(ORCHESTRATOR, &close_it).unwrap();
    assert_eq!(host.ask(ORCHESTRATOR, &close_it).unwrap(), first);
    // The reply to a proposal stays the same after its round is closed.
    let Reply::Rounds(RoundsReply::Proposed(again)) =
        host.ask(A, &proposal("add $.rules [1]")).unwrap().reply
    else {
        panic!()
    };
    assert_eq!((again.round, again.first, again.count), (1, 1, 1));
}

#[test]
fn discarding_a_round_is_reported_for_every_delta() {
    let host = session_in_round();
    propose(&host, A, r#"add $.bindings.order "o:1""#).unwrap();
    let before = state(&host);
    let discard = CloseRound { discards: true, ..CloseRound::default() };
    let it = round(
        host.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Close(discard))).unwrap().reply,
    );
    let ended = it.ended.unwrap();
    assert!(ended.is_discarded && ended.counts.refused == 1 && ended.counts.applied == 0);
    assert_eq!(state(&host), before);
    assert_eq!(read(&host, None).round, it.number);
    assert_eq!(crate::outcomes(&host), ["discarded"]);
}

#[test]
fn a_round_that_may_not_be_clipped_stays_open() {
    let host = session();
    open(&host, clipping(Clip::Reject, 1_000));
    propose(&host, A, &format!("add $.entities [{:?},1]", "x".repeat(2_000))).unwrap();
    let before = host.rows("");
    let result =
        host.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Close(CloseRound::default())));
    let Err(Error::Round(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.code(), Code::StateTooLarge);
    assert!(error.to_string().contains("$['entities'][0]"), "{error}");
    assert_eq!(host.rows(""), before);
    let clip = Some(Clip::LargestFirst);
    let close_it =
        Command::Rounds(RoundsCommand::Close(CloseRound { clip, ..CloseRound::default() }));
    let ended = round(host.ask(ORCHESTRATOR, &close_it).unwrap().reply).ended.unwrap();
    assert_eq!(ended.clipped.len(), 1);
    assert_eq!(at(&host, "/entities"), serde_json::json!([1]));
}

/// A credential limited to some keys gives no access to rounds.
#[test]
fn a_limited_participant_has_no_access_to_rounds() {
    let host = session_in_round();
    let limited = "subagent:a only inv_*";
    assert_eq!(code(propose(&host, limited, "add $.rules [1]")), Code::Forbidden);
    for read in [
        Command::Rounds(RoundsCommand::ReadState { round: None }),
        Command::Rounds(RoundsCommand::ReadConvergence),
        Command::Rounds(RoundsCommand::ReadDeltas(ReadDeltas {
            limit: 1,
            ..ReadDeltas::default()
        })),
    ] {
        assert_eq!(code(host.ask(limited, &read)), Code::Forbidden);
    }
}
