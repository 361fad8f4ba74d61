//! Requests that are rejected, and change nothing.

use super::*;

fn offered(it: OfferHandoff) -> HandoffsCommand {
    HandoffsCommand::Offer(Box::new(it))
}

#[test]
fn what_nobody_may_do_is_rejected() {
    let host = project();
    let id = make(&host, AGENT, complete()).handoff.id;
    assert_eq!(refused(&host, THIRD, HandoffsCommand::Accept(id)), Code::HandoffNotFound);
    assert_eq!(refused(&host, ORCHESTRATOR, HandoffsCommand::Accept(id)), Code::Forbidden);
    assert_eq!(refused(&host, AGENT, HandoffsCommand::Accept(id)), Code::Forbidden);
    for it in [HandoffsCommand::Accept(id), decline(id), offered(complete())] {
        assert_eq!(refused(&host, "admin", it), Code::Forbidden, "the operator owns no work");
    }
    let missing = HandoffId(9);
    assert_eq!(refused(&host, OTHER, HandoffsCommand::Accept(missing)), Code::HandoffNotFound);
    assert_eq!(refused(&host, OTHER, HandoffsCommand::Read(missing)), Code::HandoffNotFound);
    let over = OfferHandoff { from: Some(party(OTHER)), ..offer(HandoffKind::Emergency, THIRD) };
    assert_eq!(refused(&host, AGENT, offered(over)), Code::Forbidden);
}

#[test]
fn work_is_not_handed_to_the_agent_that_has_it() {
    let host = project();
    let to_self = offered(offer(HandoffKind::Complete, AGENT));
    assert_eq!(refused(&host, AGENT, to_self.clone()), Code::MalformedRequest);
    assert_eq!(refused(&host, "subagent:a in s1", to_self), Code::MalformedRequest);
}

#[test]
fn an_archived_project_takes_no_answer_to_an_offer() {
    let host = project();
    let id = make(&host, AGENT, complete()).handoff.id;
    host.ask_project("admin", &Command::Project(ProjectCommand::Archive)).unwrap();
    for it in [HandoffsCommand::Accept(id), decline(id)] {
        assert_eq!(refused(&host, OTHER, it), Code::ProjectArchived);
    }
    assert_eq!(refused(&host, AGENT, offered(complete())), Code::ProjectArchived);
    assert!(read(&host, OTHER, id).package.is_some(), "what is there can be read");
}

#[test]
fn an_offer_that_is_out_of_bounds_is_malformed() {
    let long = |bytes: usize| "x".repeat(bytes);
    let with = |change: &dyn Fn(&mut OfferHandoff)| {
        let mut it = complete();
        change(&mut it);
        it.check().map_err(|it| it.code())
    };
    assert_eq!(with(&|_| ()), Ok(()));
    assert_eq!(with(&|it| it.summary = long(4_000)), Ok(()));
    assert_eq!(with(&|it| it.budget = Tokens(1_000)), Ok(()));
    let bad: [&dyn Fn(&mut OfferHandoff); 14] = [
        &|it| it.to = party("admin"),
        &|it| it.summary = " ".to_owned(),
        &|it| it.summary = long(4_001),
        &|it| it.task = Some(String::new()),
        &|it| it.sections = vec!["§2.1".to_owned(); 65],
        &|it| it.required_skills = vec![long(101)],
        &|it| it.capabilities = vec![String::new()],
        &|it| it.texts[3] = vec!["a".to_owned(); 51],
        &|it| it.texts[9] = vec![long(2_001)],
        &|it| it.packet = Some("{}".to_owned()),
        &|it| it.budget = Tokens(999),
        &|it| it.budget = Tokens(25_001),
        &|it| it.seconds = 59,
        &|it| it.seconds = 604_801,
    ];
    for (nth, change) in bad.into_iter().enumerate() {
        assert_eq!(with(change), Err(Code::MalformedRequest), "{nth}");
    }
    let altered = r#"{"checksum":"sha256:00","context":{},"format":"shared-context/packet/1"}"#;
    assert_eq!(with(&|it| it.packet = Some(altered.to_owned())), Err(Code::DocumentAltered));
}

#[test]
fn an_id_has_one_form() {
    assert_eq!(HandoffId::parse("HND-12"), Ok(HandoffId(12)));
    for text in ["", "HND-", "HND-0", "HND-01", "hnd-1", "HND-+1", "HND-1 ", "1"] {
        assert!(HandoffId::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_failed_commit_changes_nothing() {
    let host = project();
    let id = make(&host, AGENT, complete()).handoff.id;
    let before = host.project_rows("");
    host.fail_next.set(Some(support::Failure::Unchanged));
    let accept = command(HandoffsCommand::Accept(id));
    assert_eq!(host.ask_project(OTHER, &accept).unwrap_err().code(), Code::StorageUnavailable);
    assert_eq!(host.project_rows(""), before);
    host.fail_next.set(Some(support::Failure::Conflict));
    host.ask_project(OTHER, &accept).unwrap();
}
