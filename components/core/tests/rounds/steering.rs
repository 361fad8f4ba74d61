//! Tests of steering an open round: deltas are withdrawn or rejected, and the reply to a proposal
//! reports its effect and the deltas that outweigh it.

use proptest::prelude::*;
use shared_context_core::{
    CloseRound, Code, Command, Error, ExcludeDeltas, Line, OpenRound, Proposal, ReadDeltas, Reply,
    RoundsCommand, RoundsReply,
    audit::AuditAction,
    rounds::{
        Closed, DeltaLoss, Effect, ExclusionResult, KeptRound, Loss, Plan, Proposed, ProposedDelta,
        Reported, RoundError, Status, Why,
    },
};

use crate::{
    ORCHESTRATOR,
    carrying::{export, import},
    close, code, deltas, open, outcomes, page, plan, play,
    properties::{PARTICIPANTS, proposed, session_with_state, settings, written},
    propose, propose_all, redacting, request_id, sent, session, state,
    support::TestHost,
};

const A: &str = "subagent:a";
const B: &str = "subagent:b";

fn exclusion(sequences: &[u32], reason: Option<&str>, id: Option<&str>) -> Result<Command, Error> {
    let reason = reason.map(|it| Line::parse("reason", it)).transpose()?;
    let exclude = ExcludeDeltas::new(sequences.to_vec(), reason, id.map(request_id))?;
    Ok(Command::Rounds(RoundsCommand::Exclude(exclude)))
}

fn exclude(host: &TestHost, who: &str, command: &Command) -> Result<ExclusionResult, Error> {
    let Reply::Rounds(RoundsReply::Excluded(it)) = host.ask(who, command)?.reply else { panic!() };
    Ok(it)
}

pub(crate) fn withdraw(
    host: &TestHost,
    who: &str,
    sequences: &[u32],
) -> Result<ExclusionResult, Error> {
    exclude(host, who, &exclusion(sequences, None, None)?)
}

pub(crate) fn reject(
    host: &TestHost,
    sequences: &[u32],
    reason: &str,
) -> Result<ExclusionResult, Error> {
    exclude(host, ORCHESTRATOR, &exclusion(sequences, Some(reason), None)?)
}

/// Opens a round in which two participants disagree about a term, and one adds rules.
fn disputed_round() -> TestHost {
    let host = session();
    open(&host, plan(&[(A, 0.9), (B, 0.2)], &[]));
    propose(&host, A, r#"add $.bindings.customer "c:1""#).unwrap();
    propose(&host, B, r#"add $.bindings.customer "c:2""#).unwrap();
    propose_all(&host, A, &["add $.rules [1]", "add $.rules [2]"]).unwrap();
    host
}

#[test]
fn a_withdrawn_delta_is_not_merged() {
    let host = disputed_round();
    let done = withdraw(&host, A, &[4, 1]).unwrap();
    assert_eq!((done.round, done.status), (1, Status::Withdrawn));
    assert_eq!((done.sequences, done.unchanged), (vec![1, 4], vec![]));
    let ended = close(&host).ended.unwrap();
    assert_eq!(outcomes(&host), ["withdrawn", "applied", "applied", "withdrawn"]);
    assert_eq!((ended.counts.applied, ended.counts.withdrawn, ended.counts.rejected), (2, 2, 0));
    assert_eq!(state(&host)["bindings"]["customer"], "c:2");
    assert_eq!(state(&host)["rules"].to_string(), "[1]");
}

#[test]
fn a_rejected_delta_shows_the_reason() {
    let host = disputed_round();
    let reason = |host: &TestHost| {
        let rejected =
            ReadDeltas { outcome: Some(Reported::Rejected), limit: 9, ..Default::default() };
        let all = page(host, rejected).deltas;
        assert_eq!(all.iter().map(|it| it.delta.sequence).collect::<Vec<_>>(), [1, 3]);
        all.into_iter().map(|it| it.outcome.unwrap().reason.unwrap().as_str().to_owned()).next()
    };
    reject(&host, &[1, 3], "out of scope").unwrap();
    assert_eq!(reason(&host).as_deref(), Some("out of scope"));
    let pending = ReadDeltas { outcome: Some(Reported::Pending), limit: 9, ..Default::default() };
    assert_eq!(page(&host, pending).deltas.len(), 2);
    let ended = close(&host).ended.unwrap();
    assert_eq!((ended.counts.applied, ended.counts.rejected), (2, 2));
    assert_eq!(reason(&host).as_deref(), Some("out of scope"));
    assert_eq!(state(&host)["bindings"]["customer"], "c:2");
}

/// An exclusion is final: the first reason stays.
#[test]
fn a_delta_is_withdrawn_or_rejected_once() {
    let host = disputed_round();
    withdraw(&host, A, &[1]).unwrap();
    reject(&host, &[2], "out of scope").unwrap();
    let done = reject(&host, &[3, 2, 1], "doubtful").unwrap();
    assert_eq!((done.sequences, done.unchanged), (vec![3], vec![1, 2]));
    let before = host.rows("");
    let done = withdraw(&host, A, &[3, 1]).unwrap();
    assert_eq!((done.sequences, done.unchanged), (vec![], vec![1, 3]));
    assert_eq!(host.rows(""), before);
    close(&host);
    assert_eq!(outcomes(&host), ["withdrawn", "rejected", "rejected", "applied"]);
}

#[test]
fn a_discarded_round_keeps_its_withdrawn_deltas() {
    let host = disputed_round();
    withdraw(&host, A, &[1]).unwrap();
    let discard = CloseRound { discards: true, ..CloseRound::default() };
    host.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Close(discard))).unwrap();
    assert_eq!(outcomes(&host), ["withdrawn", "discarded", "discarded", "discarded"]);
}

#[test]
fn invalid_exclusions_change_nothing() {
    let host = disputed_round();
    let before = host.rows("");
    let forbidden = withdraw(&host, B, &[2, 1]).unwrap_err();
    assert_eq!(forbidden.code(), Code::Forbidden);
    assert!(forbidden.to_string().contains("only the proposer may"), "{forbidden}");
    // It once named two ways around.
    assert!(!forbidden.to_string().contains("orchestrator"), "{forbidden}");
    assert!(!forbidden.to_string().contains("against"), "{forbidden}");
    let unknown =
        |sequence| Error::from(RoundError::DeltaNotFound { round: 1, sequence, deltas: 4 });
    assert_eq!(withdraw(&host, A, &[1, 5]).unwrap_err(), unknown(5));
    assert_eq!(reject(&host, &[1, 0], "no").unwrap_err(), unknown(0));
    let by_agent = exclusion(&[1], Some("no"), None).unwrap();
    for (who, command) in
        [(A, &by_agent), ("admin", &by_agent), ("admin", &exclusion(&[1], None, None).unwrap())]
    {
        assert_eq!(code(exclude(&host, who, command)), Code::Forbidden);
    }
    let many: Vec<u32> = (1..=201).collect();
    for wrong in [&[][..], &[2, 1, 2], &many] {
        assert_eq!(code(exclusion(wrong, None, None)), Code::MalformedRequest);
    }
    assert_eq!(host.rows(""), before);
    close(&host);
    assert_eq!(code(withdraw(&host, A, &[1])), Code::RoundNotOpen);
    assert_eq!(code(reject(&host, &[1], "no")), Code::RoundNotOpen);
    open(&host, Plan::default());
    let empty = withdraw(&host, A, &[1]).unwrap_err();
    assert!(empty.to_string().contains("round 2 has no deltas yet"), "{empty}");
}

#[test]
fn an_exclusion_is_one_commit_with_a_safe_retry() {
    let host = disputed_round();
    let command = exclusion(&[4, 1], None, Some("w")).unwrap();
    let first = host.ask(A, &command).unwrap();
    let before = host.rows("");
    withdraw(&host, A, &[3]).unwrap();
    assert_eq!(host.ask(A, &command).unwrap().reply, first.reply);
    let other = exclusion(&[4], None, Some("w")).unwrap();
    assert_eq!(code(exclude(&host, A, &other)), Code::RequestIdReused);
    assert!(before.iter().any(|(row, _)| row == "r/o/0000000000000001"));
    let rejected = exclusion(&[2], Some("no"), None).unwrap();
    host.ask(ORCHESTRATOR, &rejected).unwrap();
    let log = host.log.borrow();
    let last: Vec<_> = log.iter().rev().take(3).map(|it| (it.action, it.round)).collect();
    let withdrawal = (AuditAction::WithdrawDeltas, Some(1));
    assert_eq!(last, [(AuditAction::RejectDeltas, Some(1)), withdrawal, withdrawal]);
    assert!(log.iter().all(|it| it.reason.is_none()));
}

/// Returns the effect of each delta, and the deltas that would win over it.
fn previews(it: &Proposed) -> Vec<(Effect, Vec<u32>)> {
    assert!(it.has_losses);
    let wins = |it: &ProposedDelta| it.losses.iter().map(|it| it.to).collect();
    it.deltas.iter().map(|it| (it.effect, wins(it))).collect()
}

#[test]
fn a_proposal_returns_effects_and_what_outweighs_it() {
    use Effect::{Appends, Merges, Nothing, Removes, Sets};
    let host = session();
    play(&host, plan(&[], &[]), &[(A, r#"add $.entities [{"id":1,"tags":["x"]}]"#)]);
    open(&host, plan(&[(A, 0.9), (B, 0.2)], &[("$.rules", "union")]));
    let many = [
        r#"add $.bindings.customer "c:1""#,
        r#"add $.bindings {"order":"o:1","item":"i:1"}"#,
        "add $.rules [1]",
        "add $.entities[0].tags []",
        r#"add $.entities[0] {"id":1}"#,
        r#"add $.entities[0] {"name":"n"}"#,
        r#"modify $.entities[0].tags ["y"]"#,
        r#"modify $.query """#,
        "remove $.entities[0].id",
    ];
    let it = propose_all(&host, A, &many).unwrap();
    let effects: Vec<_> = previews(&it).into_iter().map(|it| it.0).collect();
    assert_eq!(effects, [Sets, Merges, Appends, Nothing, Nothing, Merges, Sets, Nothing, Removes]);
    assert_eq!(it.deltas[0].path.to_string(), "$['bindings']['customer']");
    assert_eq!((it.first, it.last(), it.deltas[8].sequence), (1, 9, 9));

    let losing = [r#"add $.bindings {"customer":"c:2","partner":"p:1"}"#, "add $.rules [1]"];
    let it = propose_all(&host, B, &losing).unwrap();
    assert_eq!(previews(&it), [(Merges, vec![1]), (Appends, vec![])]);
    assert_eq!(it.deltas[0].losses[0].by.as_str(), A);
    withdraw(&host, A, &[1]).unwrap();
    let it = propose(&host, B, r#"add $.bindings.customer "c:2""#).unwrap();
    assert_eq!(previews(&it), [(Sets, vec![])]);
}

#[test]
fn a_repeated_proposal_has_the_same_reply() {
    let host = disputed_round();
    let proposal = |id: &str, delta: &str| {
        let deltas = vec![sent(delta).unwrap()];
        Command::Rounds(RoundsCommand::Propose(
            Proposal::new(deltas, Some(request_id(id))).unwrap(),
        ))
    };
    let lost = proposal("lost", r#"add $.bindings.customer "c:3""#);
    let first = host.ask(B, &lost).unwrap();
    withdraw(&host, A, &[1]).unwrap();
    let won = proposal("won", r#"add $.bindings.customer "c:4""#);
    let second = host.ask(B, &won).unwrap();
    assert_ne!(first.reply, second.reply);
    propose(&host, A, r#"add $.bindings.customer "c:5""#).unwrap();
    withdraw(&host, B, &[5]).unwrap();
    for _ in 0..70 {
        assert_eq!(host.ask(B, &lost).unwrap().reply, first.reply);
        assert_eq!(host.ask(B, &won).unwrap().reply, second.reply);
        close(&host);
        open(&host, Plan::default());
    }
}

/// A remembered reply has the paths of its deltas.
#[test]
fn a_repeated_proposal_has_a_redacted_reply() {
    let host = disputed_round();
    let deltas = vec![sent(r#"add $.bindings {"customer":"c:3","is s3cr3t":"c:1"}"#).unwrap()];
    let proposal = Proposal::new(deltas, Some(request_id("p"))).unwrap();
    let proposal = Command::Rounds(RoundsCommand::Propose(proposal));
    propose(&host, A, r#"add $.bindings.is_s3cr3t "c:1""#).unwrap();
    let own = vec![sent(r#"add $.bindings.is_s3cr3t "c:2""#).unwrap()];
    let own = Proposal::new(own, Some(request_id("own"))).unwrap();
    let own = Command::Rounds(RoundsCommand::Propose(own));
    let shown = |command: &Command| format!("{:?}", host.ask(B, command).unwrap().reply);
    let first = (shown(&proposal), shown(&own));
    assert!(first.1.contains("s3cr3t"), "{first:?}");
    redacting::redact(&host, ORCHESTRATOR);
    assert_eq!(shown(&proposal), first.0);
    let redacted = shown(&own);
    assert!(redacted.contains("redacted:") && !redacted.contains("s3cr3t"), "{redacted}");
}

/// The work of a proposal is bounded: the losses in a large round are left to its close.
#[test]
fn the_losses_in_a_large_round_are_not_computed() {
    let host = session();
    open(&host, Plan::default());
    let hundred = vec!["add $.rules [1]"; 100];
    for who in [A, A, A, B] {
        assert!(propose_all(&host, who, &hundred).unwrap().has_losses);
    }
    assert!(propose_all(&host, B, &hundred).unwrap().has_losses);
    let it = propose(&host, B, "add $.rules [1]").unwrap();
    assert!(!it.has_losses && it.deltas.len() == 1 && it.deltas[0].losses.is_empty());
    // A list that would be far too long is cut.
    open_anew(&host);
    let terms: Vec<String> = (0..150).map(|it| format!(r#"add $.bindings.t{it} "c:1""#)).collect();
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    propose_all(&host, A, &terms).unwrap();
    let others: Vec<String> = terms.iter().map(|it| it.replace("c:1", "c:2")).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let it = propose_all(&host, B, &others).unwrap();
    let listed: usize = it.deltas.iter().map(|it| it.losses.len()).sum();
    assert_eq!((listed, it.more_losses), (100, 50));
}

fn open_anew(host: &TestHost) {
    close(host);
    open(host, Plan::default());
}

fn closed(host: &TestHost) -> Closed {
    let command = Command::Rounds(RoundsCommand::Close(CloseRound::default()));
    let Reply::Rounds(RoundsReply::Closed(it)) = host.ask(ORCHESTRATOR, &command).unwrap().reply
    else {
        panic!()
    };
    *it
}

/// The document of a session has the outcomes of its open round.
#[test]
fn an_exported_open_round_keeps_its_exclusions() {
    let here = disputed_round();
    withdraw(&here, A, &[4]).unwrap();
    reject(&here, &[1], "out of scope").unwrap();
    let there = import(export(&here)).unwrap();
    assert_eq!(export(&there), export(&here));
    assert_eq!(deltas(&there, None), deltas(&here, None));
    for host in [&here, &there] {
        close(host);
    }
    let there = import(export(&here)).unwrap();
    assert_eq!(deltas(&there, None), deltas(&here, None));
    assert_eq!(outcomes(&there), ["rejected", "applied", "applied", "withdrawn"]);
}

type Forged = fn(&mut Vec<KeptRound>);

#[test]
fn impossible_exclusions_are_rejected() {
    let host = disputed_round();
    withdraw(&host, A, &[4]).unwrap();
    reject(&host, &[1], "out of scope").unwrap();
    close(&host);
    open(&host, plan(&[], &[]));
    propose_all(&host, A, &["add $.rules [3]", "add $.rules [4]"]).unwrap();
    withdraw(&host, A, &[1, 2]).unwrap();
    let forgeries: &[(&str, Forged)] = &[
        ("a rejection without a reason", |it| it[0].outcomes[0].reason = None),
        ("a withdrawal with a reason", |it| {
            it[1].outcomes[0].reason = it[0].outcomes[0].reason.clone();
        }),
        ("a merged delta with a reason", |it| {
            it[0].outcomes[1].reason = it[0].outcomes[0].reason.clone();
        }),
        ("an outcome of an open round", |it| it[1].outcomes[0].status = Status::Applied),
        ("an exclusion of no delta", |it| it[1].outcomes[1].sequence = 3),
        ("exclusions out of order", |it| it[1].outcomes.swap(0, 1)),
        ("a loss of a withdrawn delta", |it| {
            it[0].outcomes[3].losses = it[0].outcomes[1].losses.clone();
            let by = it[0].deltas[1].participant.clone();
            let path = it[0].deltas[1].path.clone();
            it[0].outcomes[3].losses.push(Loss { path, to: 2, by, why: Why::Tie });
        }),
        ("a loss to a rejected delta", |it| {
            let (by, path) = (it[0].deltas[0].participant.clone(), it[0].deltas[0].path.clone());
            it[0].outcomes[1].losses.push(Loss { path, to: 1, by, why: Why::Outweighed });
        }),
        ("a count that is not theirs", |it| {
            it[0].round.ended.as_mut().unwrap().counts.withdrawn = 0;
        }),
    ];
    let document = export(&host);
    for (forgery, forge) in forgeries {
        let mut forged = document.clone();
        forge(&mut forged.rounds.rounds);
        assert_eq!(code(import(forged).map(drop)), Code::MalformedRequest, "{forgery}");
    }
    import(document).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The preview of a proposal equals the result of closing the round at once. Deltas that were
    /// withdrawn or rejected have no effect.
    #[test]
    fn a_preview_is_what_closing_at_once_reports(
        settings in settings(),
        all in proptest::collection::vec((proposed(), 0..4_u8), 1..8),
        last in proposed(),
    ) {
        let (here, there) = (session_with_state(), session_with_state());
        for host in [&here, &there] {
            let open = OpenRound { plan: settings.plan(), ..OpenRound::default() };
            host.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Open(Box::new(open)))).unwrap();
        }
        for (it, fate) in &all {
            let Ok(done) = propose(&here, PARTICIPANTS[it.0], &written(it)) else { continue };
            match fate {
                0 => drop(withdraw(&here, PARTICIPANTS[it.0], &[done.first]).unwrap()),
                1 => drop(reject(&here, &[done.first], "no").unwrap()),
                _ => drop(propose(&there, PARTICIPANTS[it.0], &written(it)).unwrap()),
            }
        }
        let Ok(done) = propose(&here, PARTICIPANTS[last.0], &written(&last)) else { return Ok(()) };
        propose(&there, PARTICIPANTS[last.0], &written(&last)).unwrap();
        let (closed, other) = (closed(&here), closed(&there));
        let is_last = |it: &&DeltaLoss| it.sequence == done.first;
        let losses: Vec<_> = closed.losses.iter().filter(is_last).map(|it| it.loss.clone()).collect();
        prop_assert_eq!(&losses, &done.deltas[0].losses);
        prop_assert_eq!(state(&here), state(&there));
        prop_assert_eq!(closed.losses.len(), other.losses.len());
        prop_assert_eq!(closed.round.deltas as usize, deltas(&here, None).iter().filter(|it| it.round == closed.round.number).count());
    }
}
