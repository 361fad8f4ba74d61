//! Tests of queries: states, deltas by path, convergence, the change feed.

use serde_json::json;
use shared_context_core::{
    CloseRound, Code, Command, ReadDeltas, Reply, RequestId, RoundsCommand, RoundsReply,
    audit::AuditAction,
    participant::Participant,
    rounds::{Clip, Plan, ROUNDS_KEPT, Reported, SentPath, Why},
};

use crate::{
    ORCHESTRATOR, close, code, deltas, open, page, plan, play, propose, read, session, state,
};

const A: &str = "subagent:a";
const B: &str = "subagent:b";

#[test]
fn the_history_of_a_path_has_all_its_deltas() {
    let host = session();
    play(
        &host,
        plan(&[(A, 0.5), (B, 0.2)], &[]),
        &[
            (A, r#"add $.bindings.customer "c:1""#),
            (B, r#"add $.bindings {"customer":"c:2","order":"o:1"}"#),
            (B, r#"add $.bindings.item "i:1""#),
        ],
    );
    open(&host, Plan::default());
    propose(&host, "orchestrator", "remove $.bindings.customer").unwrap();
    let all = deltas(&host, Some("$.bindings.customer"));
    let all: Vec<_> = all
        .iter()
        .map(|it| {
            let outcome = it.outcome.as_ref().map_or("waits", |it| it.status.as_str());
            (
                it.round,
                it.delta.sequence,
                it.delta.participant.as_str(),
                it.weight.as_f64(),
                outcome,
            )
        })
        .collect();
    assert_eq!(
        all,
        [
            (1, 1, A, 0.5, "applied"),
            (1, 2, B, 0.2, "applied"),
            (2, 1, "orchestrator", 1.0, "waits"),
        ]
    );
    let second = deltas(&host, Some("$.bindings.customer")).remove(1);
    let loss = &second.outcome.unwrap().losses[0];
    assert_eq!((loss.path.to_string().as_str(), loss.to), ("$['bindings']['customer']", 1));
    assert_eq!(loss.by.as_str(), A);
    assert_eq!(deltas(&host, Some("$.bindings")).len(), 4);
    assert_eq!(deltas(&host, Some("$.entities")).len(), 0);
    close(&host);
    // The term may be bound again after the orchestrator removed the binding.
    play(&host, Plan::default(), &[(A, r#"add $.bindings.customer "c:2""#)]);
    assert_eq!(state(&host)["bindings"]["customer"], "c:2");
}

/// The orchestrator needed two rounds to correct a concept: one to remove it, one to bind it anew.
#[test]
fn the_orchestrator_binds_a_term_anew_in_one_round() {
    let host = session();
    play(&host, Plan::default(), &[(A, r#"add $.bindings.customer "c:1""#)]);
    open(&host, Plan::default());
    for who in [A, B] {
        let error = propose(&host, who, r#"modify $.bindings.customer "c:2""#).unwrap_err();
        assert!(error.to_string().contains("the orchestrator"), "{error}");
    }
    for wrong in [r#"add $.bindings.customer "c:2""#, "modify $.bindings.customer 7"] {
        propose(&host, ORCHESTRATOR, wrong).unwrap_err();
    }
    propose(&host, ORCHESTRATOR, r#"modify $.bindings.customer "c:2""#).unwrap();
    // Others may say that it is right as it is; the weights decide.
    propose(&host, A, r#"add $.bindings.customer "c:1""#).unwrap();
    close(&host);
    assert_eq!(state(&host)["bindings"]["customer"], "c:2");
}

/// The orchestrator had to read all deltas to see what its decision had cost.
#[test]
fn a_close_returns_what_lost_and_why() {
    let host = session();
    open(&host, Plan::default());
    for (who, value) in [(A, "c:1"), (B, "c:2")] {
        propose(&host, who, &format!("add $.bindings.customer \"{value}\"")).unwrap();
    }
    let request_id = Some(RequestId::parse("close-1").unwrap());
    let close = CloseRound { request_id, ..CloseRound::default() };
    let ask = || {
        let command = Command::Rounds(RoundsCommand::Close(close.clone()));
        match host.ask(ORCHESTRATOR, &command).unwrap().reply {
            Reply::Rounds(RoundsReply::Closed(closed)) => *closed,
            reply => panic!("{reply:?}"),
        }
    };
    let closed = ask();
    let [lost] = &closed.losses[..] else { panic!("{closed:?}") };
    assert_eq!((lost.sequence, lost.participant.as_str(), lost.loss.to), (2, B, 1));
    assert_eq!((lost.loss.by.as_str(), lost.loss.why), (A, Why::Tie));
    assert!(lost.loss.why.rule().unwrap().contains("first in the alphabet"));
    assert_eq!(closed.more_losses, 0);
    // A repetition is answered as the first time.
    assert_eq!(ask(), closed);
}

/// A page once had as many deltas as requested, of any size: everything retained of
/// rounds at once, 4 MiB and more.
#[test]
fn a_page_of_deltas_ends_when_it_is_large() {
    let host = session();
    let large = format!("add $.rules [\"{}\"]", "x".repeat(40_000));
    open(&host, Plan::default());
    for _ in 0..6 {
        propose(&host, A, &large).unwrap();
    }
    let (mut after, mut all) = (None, Vec::new());
    loop {
        let page = page(&host, ReadDeltas { after, limit: 1_000, ..ReadDeltas::default() });
        assert!((1..=3).contains(&page.deltas.len()), "{}", page.deltas.len());
        all.extend(page.deltas.iter().map(|it| it.delta.sequence));
        after = page.next_after;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(all, (1..=6).collect::<Vec<_>>());
}

#[test]
fn pages_of_deltas_have_no_gaps_or_duplicates() {
    let host = session();
    for _ in 0..3 {
        let deltas = [(A, "add $.rules [1]"); 7];
        play(&host, Plan::default(), &deltas);
    }
    let all = deltas(&host, None);
    for limit in [1, 3, 7, 20, 21, 22] {
        let (mut after, mut paged) = (None, Vec::new());
        loop {
            let page = page(&host, ReadDeltas { after, limit, ..ReadDeltas::default() });
            paged.extend(page.deltas);
            after = page.next_after;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(paged, all, "{limit} at a time");
    }
    let second = page(&host, ReadDeltas { round: Some(2), limit: 100, ..ReadDeltas::default() });
    assert!(second.deltas.len() == 7 && second.deltas.iter().all(|it| it.round == 2));
}

#[test]
fn every_retained_state_can_be_read() {
    let host = session();
    let rounds = ROUNDS_KEPT + 6;
    for nth in 1..=rounds {
        play(&host, Plan::default(), &[(A, &format!(r#"modify $.query "{nth}""#))]);
    }
    let query = |round| {
        let document = read(&host, Some(round)).document;
        serde_json::from_str::<serde_json::Value>(document.as_str()).unwrap()["query"].clone()
    };
    for round in rounds - ROUNDS_KEPT + 1..=rounds {
        assert_eq!(query(round), json!(round.to_string()));
    }
    for round in [0, rounds - ROUNDS_KEPT, rounds + 1, u64::MAX] {
        let result = host.ask(A, &Command::Rounds(RoundsCommand::ReadState { round: Some(round) }));
        assert_eq!(code(result), Code::RoundNotFound, "{round}");
    }
    assert_eq!(deltas(&host, None).len(), usize::try_from(ROUNDS_KEPT).unwrap());
    let rows = host.rows("r/").len();
    play(&host, Plan::default(), &[(A, "add $.rules [1]")]);
    assert_eq!(host.rows("r/").len(), rows, "each new round replaces an old one");
}

/// On storage that keeps a session in one value (Spin's), every write rewrites all of it;
/// and an export is one document.
#[test]
fn fewer_large_rounds_are_retained() {
    let host = session();
    let mut counts = Vec::new();
    for letter in 'a'..='l' {
        open(&host, crate::clipping(Clip::Reject, 262_144));
        for who in 0..9 {
            let query = letter.to_string().repeat(45_000);
            propose(&host, &format!("subagent:{who}"), &format!("modify $.query {query:?}"))
                .unwrap();
        }
        close(&host);
        let bytes: usize = host.rows("r/").iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes < 4_200_000, "{bytes} after round {letter}");
        counts.push(host.rows("r/s/").len());
    }
    assert_eq!((counts[0], counts.iter().max().unwrap()), (1, counts.last().unwrap()));
    assert!((4..10).contains(counts.last().unwrap()), "{counts:?}");
    let oldest = deltas(&host, None)[0].round;
    assert_eq!(usize::try_from(12 - oldest).unwrap() + 1, *counts.last().unwrap());
    let result =
        host.ask(A, &Command::Rounds(RoundsCommand::ReadState { round: Some(oldest - 1) }));
    assert_eq!(code(result), Code::RoundNotFound);
    // Many small rounds are retained again.
    for _ in 0..70 {
        play(&host, Plan::default(), &[(A, r#"modify $.query "small""#)]);
    }
    assert_eq!(host.rows("r/s/").len(), usize::try_from(ROUNDS_KEPT).unwrap());
}

#[test]
fn the_first_state_can_be_read_before_any_round() {
    let host = session();
    let read = read(&host, None);
    assert_eq!((read.round, read.bytes_max, read.open), (0, 50_000, None));
    assert_eq!(state(&host), json!({"query":"","bindings":{},"entities":[],"rules":[]}));
    assert!(deltas(&host, None).is_empty());
}

#[test]
fn convergence_is_the_share_of_unchanged_single_values() {
    let host = session();
    let convergence = || {
        let result = host.ask(A, &Command::Rounds(RoundsCommand::ReadConvergence)).unwrap();
        let Reply::Rounds(RoundsReply::Convergence(rounds)) = result.reply else { panic!() };
        let all = rounds.into_iter().map(|it| it.ended.unwrap().convergence);
        all.map(|it| (it.unchanged, it.paths)).collect::<Vec<_>>()
    };
    assert_eq!(convergence(), []);
    // The state before has the query and three empty members.
    play(&host, Plan::default(), &[(A, r#"add $.bindings {"a":"1","b":"2"}"#)]);
    assert_eq!(convergence(), [(3, 6)], "two values replace an empty object");
    play(&host, Plan::default(), &[]);
    play(&host, Plan::default(), &[(A, r#"modify $.query "q""#)]);
    assert_eq!(convergence()[1..], [(5, 5), (4, 5)]);
}

#[test]
fn the_feed_reports_rounds_without_their_contents() {
    let host = session();
    play(&host, Plan::default(), &[(A, r#"add $.bindings.a "secret""#)]);
    let changes = Command::Changes { since: None, limit: 100, keys: None, except_own: false };
    let Reply::Changes(page) = host.ask(B, &changes).unwrap().reply else { panic!() };
    let all: Vec<_> =
        page.changes[1..].iter().map(|it| (it.action, it.participant.as_str(), it.round)).collect();
    assert_eq!(
        all,
        [
            (AuditAction::OpenRound, "orchestrator", Some(1)),
            (AuditAction::ProposeDeltas, A, Some(1)),
            (AuditAction::CloseRound, "orchestrator", Some(1)),
        ]
    );
    assert!(!format!("{:?}", host.log.borrow()).contains("secret"));
    let log = host.log.borrow();
    assert_eq!(log[1..], page.changes[1..], "the log has the same records");
}

#[test]
fn deleting_a_session_deletes_its_rounds() {
    let host = session();
    play(&host, Plan::default(), &[(A, "add $.rules [1]")]);
    host.ask("admin", &Command::DeleteSession).unwrap();
    assert_eq!(host.rows("r/"), []);
}

#[test]
fn a_queried_path_is_resolved_in_the_current_state() {
    let host = session();
    play(&host, Plan::default(), &[(A, "add $.entities [1,2,3]")]);
    let path = Some(SentPath::parse("$.entities[-4]").unwrap());
    let result = host.ask(
        A,
        &Command::Rounds(RoundsCommand::ReadDeltas(ReadDeltas {
            path,
            limit: 1,
            ..ReadDeltas::default()
        })),
    );
    assert_eq!(code(result), Code::PathNotFound);
}

#[test]
fn deltas_are_filtered_by_participant_and_outcome() {
    let host = session();
    let bind = |concept| format!("add $.bindings.order {concept:?}");
    let bound = ["o:1", "o:2"].map(bind);
    let deltas = [(A, bound[0].as_str()), (B, &bound[1]), (B, "add $.rules [1]")];
    play(&host, Plan::default(), &deltas);
    open(&host, Plan::default());
    propose(&host, B, "add $.rules [2]").unwrap();
    let read = |who: Option<&str>, outcome: Option<&str>, limit| {
        let participant = who.map(|it| Participant::parse(it).unwrap());
        let outcome = outcome.map(|it| Reported::parse(it).unwrap());
        let page = page(&host, ReadDeltas { participant, outcome, limit, ..ReadDeltas::default() });
        let deltas = page.deltas.iter().map(|it| (it.round, it.delta.sequence));
        (deltas.collect::<Vec<_>>(), page.next_after)
    };
    assert_eq!(read(Some(B), None, 9).0, [(1, 2), (1, 3), (2, 1)]);
    assert_eq!(read(Some(B), None, 2), (vec![(1, 2), (1, 3)], Some((1, 3))));
    assert_eq!(read(Some(B), Some("lost"), 9).0, [(1, 2)]);
    assert_eq!(read(None, Some("applied"), 9).0, [(1, 1), (1, 3)]);
    assert_eq!(read(None, Some("pending"), 9).0, [(2, 1)]);
    assert_eq!(read(Some("subagent:c"), None, 9), (vec![], None));
    assert_eq!(read(None, Some("refused"), 9).0, []);
    assert!(Reported::parse("won").unwrap_err().to_string().contains("pending, applied, lost"));
}
