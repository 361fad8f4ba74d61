//! Offered, accepted, declined, expired: every transition, once.

use serde_json::json;
use shared_context_core::{
    Command, ProjectCommand, handoffs::HandoffState, kv::Revision, memories::Kind,
    reply::ChangesPage,
};

use super::*;

fn changes(host: &TestHost, since: Revision) -> ChangesPage {
    let changes = ProjectCommand::Changes { since: Some(since), limit: 100 };
    match host.ask_project(AGENT, &Command::Project(changes)).unwrap().reply {
        Reply::Changes(it) => it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_offer_is_open_until_it_is_accepted() {
    let host = project();
    let made = make(&host, AGENT, complete());
    assert_eq!(made.handoff.id.to_string(), "HND-1");
    assert_eq!((made.handoff.state, made.package.is_none()), (HandoffState::Offered, true));
    let accepted = accept(&host, OTHER, made.handoff.id);
    assert_eq!(accepted.handoff.state, HandoffState::Accepted);
    assert_eq!(document(&accepted)["digest"], made.handoff.digest);
    assert_eq!(read(&host, OTHER, made.handoff.id).package, accepted.package);
}

#[test]
fn an_acceptance_is_one_commit_with_its_memory() {
    let host = project();
    let made = make(&host, "subagent:a in s1", complete());
    let done =
        host.ask_project("subagent:b in s2", &command(HandoffsCommand::Accept(made.handoff.id)));
    let revision = done.unwrap().revision;
    let page = changes(&host, Revision(revision.0 - 1));
    let actions: Vec<&str> = page.changes.iter().map(|it| it.action.as_str()).collect();
    assert_eq!(actions, ["add_memory", "accept_handoff"]);
    assert!(page.changes.iter().all(|it| it.revision == revision));
    let told = &page.changes[1];
    assert_eq!(told.label.as_ref().unwrap().as_str(), "HND-1");
    assert_eq!(told.reason.as_ref().unwrap().as_str(), "from subagent:a to subagent:b");
    let handoff = read(&host, OTHER, made.handoff.id).handoff;
    assert_eq!(handoff.to, party("subagent:b in s2"));
    let memory = MemoriesCommand::Search(Box::new(shared_context_core::memories::SearchMemories {
        query: None,
        kind: Some(Kind::Handoff),
        tags: Vec::new(),
        importance_min: None,
        after: None,
        before: None,
        status: None,
        is_archived: false,
        session: None,
        participant: None,
        sort: None,
        limit: 10,
        cursor: None,
    }));
    let found = host.ask_project(AGENT, &Command::Project(ProjectCommand::Memories(memory)));
    let Reply::Memories(MemoriesReply::Found(found)) = found.unwrap().reply else { panic!() };
    assert_eq!(found.found[0].memory.title, "HND-1: subagent:a to subagent:b");
    assert_eq!(Some(found.found[0].memory.number()), handoff.memory);
}

#[test]
fn a_settled_handoff_stays_as_it_is() {
    use HandoffState::{Accepted, Declined, Expired};

    let host = project();
    let accepted = make(&host, AGENT, complete()).handoff.id;
    accept(&host, OTHER, accepted);
    let declined = make(&host, AGENT, complete()).handoff.id;
    ask(&host, OTHER, decline(declined));
    let expired = make(&host, AGENT, complete()).handoff.id;
    later(&host, OFFER_SECONDS_DEFAULT);
    for id in [accepted, declined, expired] {
        assert_eq!(refused(&host, OTHER, HandoffsCommand::Accept(id)), Code::HandoffSettled);
        assert_eq!(refused(&host, OTHER, decline(id)), Code::HandoffSettled);
    }
    let states: Vec<HandoffState> = list(&host, AGENT).iter().map(|it| it.state).collect();
    assert_eq!(states, [Expired, Declined, Accepted], "the newest first");
}

#[test]
fn an_offer_expires_at_its_instant() {
    let host = project();
    let id = make(&host, AGENT, OfferHandoff { seconds: 60, ..complete() }).handoff.id;
    host.now.set(START + 59_999);
    assert_eq!(read(&host, OTHER, id).handoff.state, HandoffState::Offered);
    host.now.set(START + 60_000);
    assert_eq!(read(&host, OTHER, id).handoff.state, HandoffState::Expired);
    assert_eq!(refused(&host, OTHER, HandoffsCommand::Accept(id)), Code::HandoffSettled);
}

#[test]
fn an_offer_is_withdrawn_by_its_agent_or_orchestrator() {
    let host = project();
    for who in [AGENT, ORCHESTRATOR] {
        let id = make(&host, AGENT, complete()).handoff.id;
        let settled = handoff_of(ask(&host, who, decline(id))).handoff;
        assert_eq!(settled.settled.unwrap().1, party(who));
        assert_eq!(settled.note.unwrap().as_str(), "no time");
    }
}

#[test]
fn a_retried_request_is_performed_once() {
    let host = project();
    let offer = named("r1", HandoffsCommand::Offer(Box::new(complete())));
    let first = host.ask_project(AGENT, &offer).unwrap();
    let again = host.ask_project(AGENT, &offer).unwrap();
    assert_eq!((first.revision, &first.reply), (again.revision, &again.reply));
    assert_eq!(list(&host, AGENT).len(), 1);
    let other = OfferHandoff { summary: "Another".to_owned(), ..complete() };
    let reused = named("r1", HandoffsCommand::Offer(Box::new(other)));
    assert_eq!(host.ask_project(AGENT, &reused).unwrap_err().code(), Code::RequestIdReused);
    let accept = named("r2", HandoffsCommand::Accept(HandoffId(1)));
    let first = host.ask_project(OTHER, &accept).unwrap();
    assert_eq!(host.ask_project(OTHER, &accept).unwrap().reply, first.reply);
}

#[test]
fn handoffs_of_others_are_not_shown_to_agents() {
    let host = project();
    let id = make(&host, AGENT, complete()).handoff.id;
    assert_eq!(list(&host, THIRD), []);
    assert_eq!(refused(&host, THIRD, HandoffsCommand::Read(id)), Code::HandoffNotFound);
    for who in [AGENT, OTHER, ORCHESTRATOR, "admin"] {
        assert_eq!(list(&host, who).len(), 1, "{who}");
        assert!(read(&host, who, id).package.is_some(), "{who}");
    }
}

#[test]
fn a_receiver_may_be_named_with_its_session() {
    let host = project();
    let to = offer(HandoffKind::Continuation, "subagent:a in s2");
    let id = make(&host, "subagent:a in s1", to).handoff.id;
    let other = "subagent:a in s3";
    assert_eq!(refused(&host, other, HandoffsCommand::Accept(id)), Code::HandoffNotFound);
    assert_eq!(refused(&host, "subagent:a in s1", HandoffsCommand::Accept(id)), Code::Forbidden);
    accept(&host, "subagent:a in s2", id);
}

#[test]
fn the_chain_names_the_handoffs_before() {
    let host = project();
    let first = make(&host, AGENT, complete());
    accept(&host, OTHER, first.handoff.id);
    let second = make(&host, OTHER, offer(HandoffKind::Specialist, THIRD));
    assert_eq!(second.handoff.previous.as_ref(), Some(&first.handoff.digest));
    accept(&host, THIRD, second.handoff.id);
    let third = make(&host, THIRD, offer(HandoffKind::Complete, ORCHESTRATOR));
    let chain: Vec<u64> = third.chain.iter().map(|it| it.0).collect();
    assert_eq!(chain, [2, 1]);
    let package = document(&read(&host, ORCHESTRATOR, third.handoff.id));
    assert_eq!(package["previous"], second.handoff.digest);
    let fresh = make(&host, AGENT, complete());
    assert_eq!((fresh.handoff.previous, fresh.chain), (None, Vec::new()));
}

#[test]
fn the_oldest_settled_handoff_makes_room() {
    let host = project();
    for _ in 0..99 {
        make(&host, AGENT, complete());
    }
    ask(&host, OTHER, decline(HandoffId(7)));
    make(&host, AGENT, complete());
    let last = make(&host, AGENT, complete()).handoff.id;
    assert_eq!((last.0, list(&host, AGENT).len()), (101, 100));
    assert_eq!(refused(&host, AGENT, HandoffsCommand::Read(HandoffId(7))), Code::HandoffNotFound);
    let full = refused(&host, AGENT, HandoffsCommand::Offer(Box::new(complete())));
    assert_eq!(full, Code::MemoryLimit, "all of them are open");
}

#[test]
fn a_redacted_package_leaves_its_digest() {
    let host = project();
    let secret = add(&host, ORCHESTRATOR, decision("The password is swordfish"));
    let made = make(&host, AGENT, complete()).handoff;
    let reason = Line::parse("reason", "held a password").unwrap();
    let redact = HandoffsCommand::Redact { id: made.id, reason: reason.clone() };
    assert_eq!(refused(&host, AGENT, redact.clone()), Code::Forbidden);
    // The redaction of a memory redacts the packages that have it.
    let memory = MemoriesCommand::Redact { id: by_id(&secret), reason };
    host.ask_project(ORCHESTRATOR, &Command::Project(ProjectCommand::Memories(memory))).unwrap();
    let rows = host.project_rows("");
    let has = |row: &[u8]| row.windows(9).any(|it| it == b"swordfish");
    assert!(!rows.iter().any(|it| has(&it.1)), "no row has the text");
    let shown = read(&host, OTHER, made.id);
    assert_eq!((shown.package, &shown.handoff.digest), (None, &made.digest));
    let second = make(&host, AGENT, complete()).handoff;
    let reason = Line::parse("reason", "by mistake").unwrap();
    ask(&host, ORCHESTRATOR, HandoffsCommand::Redact { id: second.id, reason });
    let accepted = accept(&host, OTHER, second.id);
    assert_eq!(accepted.handoff.redacted.unwrap().as_str(), "by mistake");
    assert_eq!(host.project_rows("yd/").len(), 0);
}

/// A state that did not fit into a package left its steps there, and its redaction missed them.
#[test]
fn a_redaction_reaches_the_steps_of_a_state() {
    let host = project();
    for nth in 0..24 {
        let given =
            [("decision", text(&format!("{nth}: {}", "the bank pays refunds ".repeat(90))))];
        add(&host, ORCHESTRATOR, memory(Kind::Decision, &format!("Decision {nth}"), &given));
    }
    let list = |it: &str| Given::Texts(vec![it.to_owned()]);
    let given = [
        ("task_description", text(&"refunds by the bank ".repeat(90))),
        ("completion_percentage", Given::Number(40)),
        ("substeps_completed", list("the password is swordfish")),
    ];
    let state = add(&host, ORCHESTRATOR, memory(Kind::State, "How far it is", &given));
    let budget = HandoffKind::Emergency.budget().0;
    let it = OfferHandoff { budget, ..offer(HandoffKind::Emergency, OTHER) };
    let made = make(&host, AGENT, it);
    let package = document(&read(&host, OTHER, made.handoff.id));
    assert_eq!(package["context_summary"]["current_task_state"], json!([]), "it does not fit");
    assert_eq!(package["work_products"]["completed"], json!(["the password is swordfish"]));
    let reason = Line::parse("reason", "held a password").unwrap();
    let memory = MemoriesCommand::Redact { id: by_id(&state), reason };
    host.ask_project(ORCHESTRATOR, &Command::Project(ProjectCommand::Memories(memory))).unwrap();
    assert_eq!(read(&host, OTHER, made.handoff.id).package, None);
}

/// The reason of a refusal stayed after the redaction, and a reason could repeat what it redacted.
#[test]
fn a_redaction_leaves_no_text_of_the_package_or_refusal() {
    let host = project();
    let texts = {
        let mut all = vec![Vec::new(); 10];
        all[0] = vec!["the door code is 5561".to_owned()];
        all
    };
    let made = make(&host, AGENT, OfferHandoff { texts, ..complete() }).handoff;
    let reason = Line::parse("reason", "hunter2 is no task of mine").unwrap();
    ask(&host, OTHER, HandoffsCommand::Decline { id: made.id, reason });
    let redact = |reason: &str| HandoffsCommand::Redact {
        id: made.id,
        reason: Line::parse("reason", reason).unwrap(),
    };
    for repeats in [
        "it said: Login works; refunds are next.",
        "it said that the door code is 5561",
        "hunter2 is no task of mine, it said",
    ] {
        assert_eq!(refused(&host, ORCHESTRATOR, redact(repeats)), Code::MalformedRequest);
    }
    // What identifies a handoff may be in the reason.
    let because = "HND-1 of type complete from subagent:a";
    let left = handoff_of(ask(&host, ORCHESTRATOR, redact(because))).handoff;
    assert_eq!((left.note, left.redacted.unwrap().as_str()), (None, because));
    assert_eq!(left.state, HandoffState::Declined);
    let has = |row: &[u8], text: &str| String::from_utf8_lossy(row).contains(text);
    for (row, bytes) in host.project_rows("") {
        assert!(!has(&bytes, "hunter2") && !has(&bytes, "5561"), "{row}");
    }
}

/// The acceptance of a handoff adds a memory that repeats its package. It stayed in clear when the
/// handoff was redacted, and was found, read and exported.
#[test]
fn a_redaction_reaches_the_memory_of_the_handoff() {
    let host = project();
    let mut texts = vec![Vec::new(); 10];
    texts[0] = vec!["the door code is 5561".to_owned()];
    let summary = "The password is swordfish".to_owned();
    let made = make(&host, AGENT, OfferHandoff { texts, summary, ..complete() }).handoff;
    let number = accept(&host, OTHER, made.id).handoff.memory.unwrap();
    let redact = |reason: &str| HandoffsCommand::Redact {
        id: made.id,
        reason: Line::parse("reason", reason).unwrap(),
    };
    let repeats = redact("it said: The password is swordfish");
    assert_eq!(refused(&host, ORCHESTRATOR, repeats), Code::MalformedRequest);
    let revision = host.ask_project(ORCHESTRATOR, &command(redact("a secret of subagent:a")));
    let revision = revision.unwrap().revision;
    let page = changes(&host, Revision(revision.0 - 1));
    let actions: Vec<&str> = page.changes.iter().map(|it| it.action.as_str()).collect();
    assert_eq!(actions, ["redact_memory", "redact_handoff"], "in one commit");
    for (row, bytes) in host.project_rows("") {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("swordfish") && !text.contains("5561"), "{row}");
    }
    assert_eq!(read(&host, OTHER, made.id).handoff.memory, Some(number), "it still names it");
    // A second redaction has nothing left to redact.
    ask(&host, ORCHESTRATOR, redact("once more"));
}

/// The steps of a state stand in for lists that the agent does not send, and the memory of the handoff
/// repeats them: the redaction of the state did not reach it.
#[test]
fn the_redaction_of_a_state_reaches_the_memory_of_the_handoff() {
    let host = project();
    let secret = add(&host, AGENT, state("Payments"));
    let id = make(&host, AGENT, complete()).handoff.id;
    accept(&host, OTHER, id);
    let has = |host: &TestHost| {
        let rows = host.project_rows("");
        rows.iter().any(|it| String::from_utf8_lossy(&it.1).contains("call the bank"))
    };
    assert!(has(&host));
    let reason = Line::parse("reason", "it named a person").unwrap();
    let redact = MemoriesCommand::Redact { id: by_id(&secret), reason };
    host.ask_project(ORCHESTRATOR, &Command::Project(ProjectCommand::Memories(redact))).unwrap();
    assert!(!has(&host));
}
