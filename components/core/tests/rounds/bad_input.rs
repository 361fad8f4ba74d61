//! What is refused: with which code, and that nothing has changed.

use shared_context_core::{
    CloseRound, Code, Command, Error, OpenRound, Proposal, ReadDeltas, Reply, RoundsCommand,
    RoundsReply,
    rounds::{Clip, DELTAS_MAX, Plan, SentDelta, Strategy, Weight},
};

use crate::{
    CHIEF, at, clipping, close, code, deltas, open, plan, play, propose, propose_all, read,
    request_id, round, sent, session, state, support::TestHost,
};

const A: &str = "subagent:a";

/// Returns a session with a state, and a round that is open.
fn begun() -> TestHost {
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
fn what_does_not_fit_the_state_is_refused_when_it_is_proposed() {
    use Code::{
        Forbidden, IdentityConflict, InvalidPath, MalformedRequest, PathExists, PathNotFound,
    };
    let host = begun();
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

/// What is malformed was rejected as a round that is open: who mended that found the
/// next error, against the order of `Code::ALL`.
#[test]
fn a_query_for_a_later_round_is_malformed_before_all() {
    let host = begun();
    let open = OpenRound { query: Some("again".to_owned()), ..OpenRound::default() };
    let open = Command::Rounds(RoundsCommand::Open(Box::new(open)));
    assert_eq!(code(host.ask(CHIEF, &open)), Code::MalformedRequest);
}

#[test]
fn what_is_there_already_may_be_said_again() {
    let host = begun();
    for delta in [
        r#"add $.bindings.customer "c:1""#,
        r#"modify $.bindings {"customer":"c:1"}"#,
        r#"add $.entities[0] {"name":"x"}"#,
        r#"add $.query """#,
    ] {
        propose(&host, A, delta).unwrap();
    }
    let before = state(&host);
    assert_eq!(close(&host).ended.unwrap().applied, 4);
    assert_eq!(state(&host), before);
}

#[test]
fn a_proposal_happens_whole_or_not_at_all_and_names_the_delta_that_is_wrong() {
    let host = begun();
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
fn a_change_without_a_reason_is_none() {
    for provenance in ["", " \n ", "\u{7}", &"x".repeat(1_001)] {
        let delta = SentDelta::new("remove", "$.entities[0]", None, provenance);
        assert_eq!(code(delta), Code::MalformedRequest, "{provenance:?}");
    }
    SentDelta::new("remove", "$.entities[0]", None, "Seen twice:\n\tsee line 3").unwrap();
}

#[test]
fn weights_are_shares_and_strategies_known() {
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
fn one_round_is_open_at_a_time_and_numbers_only_rise() {
    let host = session();
    assert_eq!(code(propose(&host, A, "add $.rules [1]")), Code::RoundNotOpen);
    let close_it = Command::Rounds(RoundsCommand::Close(CloseRound::default()));
    assert_eq!(code(host.ask(CHIEF, &close_it)), Code::RoundNotOpen);
    let open_it = Command::Rounds(RoundsCommand::Open(Box::default()));
    assert_eq!(code(host.ask(A, &open_it)), Code::Forbidden);
    assert_eq!(code(host.ask("admin", &open_it)), Code::Forbidden);
    assert_eq!(open(&host, Plan::default()), 1);
    assert_eq!(code(host.ask(CHIEF, &open_it)), Code::RoundOpen);
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
fn the_query_is_given_once_and_changed_by_deltas() {
    let host = session();
    let ask = |query: &str| {
        let open = OpenRound { query: Some(query.to_owned()), ..OpenRound::default() };
        host.ask(CHIEF, &Command::Rounds(RoundsCommand::Open(Box::new(open))))
    };
    assert_eq!(code(ask(&"why ".repeat(15_000))), Code::StateTooLarge, "more than a state holds");
    ask("Which customers churned?").unwrap();
    assert_eq!(at(&host, "/query"), "Which customers churned?");
    propose(&host, A, r#"modify $.query "Which customers churned in May?""#).unwrap();
    close(&host);
    assert_eq!(at(&host, "/query"), "Which customers churned in May?");
    assert_eq!(code(ask("Another?")), Code::MalformedRequest);
}

/// One that is alone in a round.
fn one_of(nth: usize) -> String {
    format!("subagent:{nth}")
}

#[test]
fn a_round_takes_two_thousand_deltas_and_a_megabyte() {
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
    assert_eq!((round.deltas, round.ended.unwrap().applied), (DELTAS_MAX, DELTAS_MAX));
    open(&host, Plan::default());
    let large = format!("add $.rules [{:?}]", "x".repeat(130_000));
    for nth in 0..8 {
        propose(&host, &one_of(nth / 2), &large).unwrap();
    }
    assert_eq!(code(propose(&host, A, &large)), Code::RoundFull);
}

/// Ten requests of one subagent filled a round, and nobody else could say anything until
/// it was closed. Each has a quarter of it now, the orchestrator too.
#[test]
fn nobody_fills_a_round_alone() {
    for (who, nth) in [(A, 0), (CHIEF, 1)] {
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
        // The next round is another one.
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

/// A few bytes could speak of thousands of places; wherever they lost, to whom and why
/// was kept. Half a megabyte of objects that ten participants disagree about, with long
/// names, left fifty. So places count, and the worst that a round takes leaves less
/// than twice as much.
#[test]
fn what_is_kept_of_a_round_is_little_more_than_it_took_whatever_its_deltas_say() {
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
        assert!(ended.lost > 0, "{ended:?}");
        let largest = host.rows("").iter().map(|(_, bytes)| bytes.len()).max().unwrap();
        worst = worst.max(largest);
        let discard = CloseRound { discards: true, ..CloseRound::default() };
        open(&host, Plan::default());
        host.ask(CHIEF, &Command::Rounds(RoundsCommand::Close(discard))).unwrap();
    }
    assert!((200_000..2_000_000).contains(&worst), "{worst} bytes");
}

/// Ten thousand, two hundred at a time: what does not fit is refused, what was
/// taken stays.
#[test]
fn of_ten_thousand_deltas_the_first_two_thousand_are_taken() {
    let host = session();
    open(&host, Plan::default());
    let all = ["add $.rules [1]"; 200];
    let answers: Vec<bool> =
        (0..50).map(|nth| propose_all(&host, &one_of(nth % 5), &all).is_ok()).collect();
    assert_eq!(answers.iter().filter(|it| **it).count(), 10);
    assert_eq!(deltas(&host, None).len(), 2_000);
}

#[test]
fn a_retry_is_answered_as_the_first_time_and_another_request_refused() {
    let host = session();
    let open_it = Command::Rounds(RoundsCommand::Open(Box::new(OpenRound {
        plan: plan(&[("*", 0.5)], &[("$.bindings", "expert-override:subagent:a")]),
        query: Some("q".to_owned()),
        request_id: Some(request_id("open")),
    })));
    let first = host.ask(CHIEF, &open_it).unwrap();
    assert_eq!(host.ask(CHIEF, &open_it).unwrap(), first);
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
    let first = host.ask(CHIEF, &close_it).unwrap();
    assert_eq!(host.ask(CHIEF, &close_it).unwrap(), first);
    // The answer to a proposal stays what it was, though its round has ended.
    let Reply::Rounds(RoundsReply::Proposed(again)) =
        host.ask(A, &proposal("add $.rules [1]")).unwrap().reply
    else {
        panic!()
    };
    assert_eq!((again.round, again.first, again.count), (1, 1, 1));
}

#[test]
fn a_round_can_be_discarded_and_says_so_of_every_delta() {
    let host = begun();
    propose(&host, A, r#"add $.bindings.order "o:1""#).unwrap();
    let before = state(&host);
    let discard = CloseRound { discards: true, ..CloseRound::default() };
    let it = round(host.ask(CHIEF, &Command::Rounds(RoundsCommand::Close(discard))).unwrap().reply);
    let ended = it.ended.unwrap();
    assert!(ended.is_discarded && ended.refused == 1 && ended.applied == 0);
    assert_eq!(state(&host), before);
    assert_eq!(read(&host, None).round, it.number);
    assert_eq!(crate::fates(&host), ["discarded"]);
}

#[test]
fn a_round_whose_state_would_be_too_large_stays_open_where_nothing_may_be_clipped() {
    let host = session();
    open(&host, clipping(Clip::Reject, 1_000));
    propose(&host, A, &format!("add $.entities [{:?},1]", "x".repeat(2_000))).unwrap();
    let before = host.rows("");
    let refused = host.ask(CHIEF, &Command::Rounds(RoundsCommand::Close(CloseRound::default())));
    let Err(Error::Round(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.code(), Code::StateTooLarge);
    assert!(error.to_string().contains("$['entities'][0]"), "{error}");
    assert_eq!(host.rows(""), before);
    let clip = Some(Clip::LargestFirst);
    let close_it =
        Command::Rounds(RoundsCommand::Close(CloseRound { clip, ..CloseRound::default() }));
    let ended = round(host.ask(CHIEF, &close_it).unwrap().reply).ended.unwrap();
    assert_eq!(ended.clipped.len(), 1);
    assert_eq!(at(&host, "/entities"), serde_json::json!([1]));
}

/// A credential that is limited to some keys opens nothing besides them.
#[test]
fn who_is_limited_to_some_keys_takes_no_part_and_sees_nothing() {
    let host = begun();
    let limited = "subagent:a only inv_*";
    assert_eq!(code(propose(&host, limited, "add $.rules [1]")), Code::Forbidden);
    for read in [
        Command::Rounds(RoundsCommand::ReadState { round: None }),
        Command::Rounds(RoundsCommand::ReadConvergence),
        Command::Rounds(RoundsCommand::ReadDeltas(ReadDeltas {
            path: None,
            round: None,
            after: None,
            limit: 1,
        })),
    ] {
        assert_eq!(code(host.ask(limited, &read)), Code::Forbidden);
    }
}
