//! Sections change hands with a handoff.

use shared_context_core::{
    Line,
    memories::Mark,
    outline::{Marker, NewSection},
    ownership::{self, PutSection},
};

use super::*;

fn put(marker: &str, content: &str) -> Command {
    let section = NewSection {
        marker: Marker::parse(marker).unwrap(),
        title: Some("Payment".to_owned()),
        content: Some(content.to_owned()),
        summary: None,
        status: None,
        progress: None,
        shortcuts: None,
        file: None,
        readers: None,
    };
    let put = PutSection { section, if_version: None, change: None };
    Command::Project(ProjectCommand::Outline(ownership::Command::Put(Box::new(put))))
}

fn details(marker: &str) -> Command {
    put(marker, &"Payments go to the bank. ".repeat(40))
}

fn write_as(host: &TestHost, who: &str, command: &Command) -> Result<(), Code> {
    host.ask_project(who, command).map(drop).map_err(|it| it.code())
}

fn with_section(kind: HandoffKind, to: &str) -> OfferHandoff {
    OfferHandoff { sections: vec!["§3.1".to_owned()], ..offer(kind, to) }
}

#[test]
fn the_receiver_owns_the_sections_after_it_accepted() {
    let host = project();
    write_as(&host, AGENT, &details("§3.1")).unwrap();
    let made = make(&host, AGENT, with_section(HandoffKind::Complete, OTHER)).handoff;
    assert_eq!(write_as(&host, OTHER, &details("§3.1")), Err(Code::NotOwner));
    write_as(&host, AGENT, &details("§3.1")).unwrap();
    let package = document(&accept(&host, OTHER, made.id));
    assert_eq!(package["ownership_transfers"][0]["section_id"], "§3.1");
    assert_eq!(package["ownership_transfers"][0]["previous_owner"], "subagent:a");
    assert!(package["compacted_context"].to_string().contains("section §3.1"), "{package}");
    write_as(&host, OTHER, &details("§3.1")).unwrap();
    assert_eq!(write_as(&host, AGENT, &details("§3.1")), Err(Code::NotOwner));
}

/// A handoff once named its sections as they were sent, so that `3.1` and `§3.1` were two.
#[test]
fn a_section_is_named_once_and_with_its_sign() {
    let host = project();
    write_as(&host, AGENT, &details("§3.1")).unwrap();
    let sections = ["3.1", "§3.1"].map(str::to_owned).to_vec();
    let it = OfferHandoff { sections, ..with_section(HandoffKind::Complete, OTHER) };
    let made = make(&host, AGENT, it).handoff;
    assert_eq!(made.sections, ["§3.1"]);
    let package = document(&accept(&host, OTHER, made.id));
    assert_eq!(package["ownership_transfers"].as_array().unwrap().len(), 1, "{package}");
}

/// The tool once said "all if absent", and took nothing. Nor could a section be taken over that its
/// owner shared.
#[test]
fn a_takeover_that_names_no_section_takes_all() {
    let host = project();
    let long = format!("§4.{}.{}", "a".repeat(60), "b".repeat(60));
    for marker in ["§3.1", "§3.2", long.as_str()] {
        write_as(&host, AGENT, &details(marker)).unwrap();
    }
    let shared = ownership::Acquire {
        marker: Marker::parse("§3.2").unwrap(),
        kind: ownership::Ownership::SharedWrite,
        ttl_ms: ownership::LEASE_MS_DEFAULT,
        reason: None,
    };
    let shared = Command::Project(ProjectCommand::Outline(ownership::Command::Acquire(shared)));
    write_as(&host, AGENT, &shared).unwrap();
    let over = OfferHandoff { from: Some(party(AGENT)), ..offer(HandoffKind::Emergency, THIRD) };
    let made = make(&host, ORCHESTRATOR, over).handoff;
    assert_eq!(made.sections, ["§3.1", "§3.2", long.as_str()]);
    assert_eq!(write_as(&host, AGENT, &details("§3.1")), Err(Code::LeaseExpired));
    for marker in ["§3.1", long.as_str()] {
        assert_eq!(write_as(&host, AGENT, &details(marker)), Err(Code::NotOwner));
        write_as(&host, THIRD, &details(marker)).unwrap();
    }
    let named = OfferHandoff { sections: vec![long], ..offer(HandoffKind::Complete, AGENT) };
    make(&host, THIRD, named);
}

#[test]
fn only_owned_sections_are_handed_over() {
    let host = project();
    let it = HandoffsCommand::Offer(Box::new(with_section(HandoffKind::Complete, THIRD)));
    assert_eq!(refused(&host, AGENT, it.clone()), Code::SectionNotFound);
    write_as(&host, OTHER, &details("§3.1")).unwrap();
    assert_eq!(refused(&host, AGENT, it.clone()), Code::NotOwner);
    let id = make(&host, OTHER, with_section(HandoffKind::Complete, THIRD)).handoff.id;
    // The lease of 30 minutes ends before the offer does.
    later(&host, 1_801);
    assert_eq!(refused(&host, THIRD, HandoffsCommand::Accept(id)), Code::NotOwner);
    assert_eq!(refused(&host, OTHER, it), Code::NotOwner, "nobody owns it any more");
}

#[test]
fn a_former_owner_that_comes_late_is_rejected_by_name() {
    let host = project();
    write_as(&host, AGENT, &details("§3.1")).unwrap();
    let pending = make(&host, AGENT, with_section(HandoffKind::Complete, OTHER)).handoff.id;
    let over = |from: &str| OfferHandoff {
        from: Some(party(from)),
        ..with_section(HandoffKind::Emergency, THIRD)
    };
    let of_another = HandoffsCommand::Offer(Box::new(over(OTHER)));
    assert_eq!(refused(&host, ORCHESTRATOR, of_another), Code::NotOwner);
    make(&host, ORCHESTRATOR, over(AGENT));
    assert_eq!(write_as(&host, AGENT, &details("§3.1")), Err(Code::LeaseExpired), "told once");
    let error = host.ask_project(AGENT, &details("§3.1")).unwrap_err();
    assert_eq!(error.code(), Code::NotOwner);
    assert!(error.to_string().contains(THIRD), "{error}");
    assert_eq!(refused(&host, OTHER, HandoffsCommand::Accept(pending)), Code::NotOwner);
    write_as(&host, THIRD, &details("§3.1")).unwrap();
}

#[test]
fn who_takes_over_owns_the_sections_in_its_session() {
    let host = project();
    let (from, lead) = ("subagent:a in s1", "orchestrator in s2");
    write_as(&host, from, &details("§3.1")).unwrap();
    let over = OfferHandoff {
        from: Some(party(from)),
        ..with_section(HandoffKind::Emergency, ORCHESTRATOR)
    };
    let taken = make(&host, lead, over).handoff;
    assert_eq!(taken.to, party(lead), "the session of the caller, if none is named");
    write_as(&host, lead, &details("§3.1")).unwrap();
    // The orchestrator of another session is another participant.
    let back = OfferHandoff {
        from: Some(party(lead)),
        ..with_section(HandoffKind::Emergency, ORCHESTRATOR)
    };
    make(&host, "orchestrator in s1", back);
    assert_eq!(write_as(&host, lead, &details("§3.1")), Err(Code::LeaseExpired));
    write_as(&host, "orchestrator in s1", &details("§3.1")).unwrap();
    make(&host, "orchestrator in s1", with_section(HandoffKind::Emergency, THIRD));
    write_as(&host, "subagent:c in s1", &details("§3.1")).unwrap();
}

#[test]
fn a_redacted_section_is_in_no_package() {
    let redact = |of: &str| {
        let reason = Line::parse("reason", "a password").unwrap();
        let marker = Marker::parse(of).unwrap();
        Command::Project(ProjectCommand::Outline(ownership::Command::Redact { marker, reason }))
    };
    for of in ["§1.0", "§3.1"] {
        let host = project();
        write_as(&host, ORCHESTRATOR, &put(of, "The password is swordfish. ")).unwrap();
        write_as(&host, ORCHESTRATOR, &put("§3.2", "Nothing to hide.")).unwrap();
        let made = make(
            &host,
            ORCHESTRATOR,
            OfferHandoff {
                sections: if of == "§3.1" { vec![of.to_owned()] } else { Vec::new() },
                ..offer(HandoffKind::Complete, OTHER)
            },
        );
        let has = |it: &str| it.contains("swordfish");
        assert!(has(read(&host, OTHER, made.handoff.id).package.as_deref().unwrap()), "{of}");
        write_as(&host, ORCHESTRATOR, &redact("§3.2")).unwrap();
        assert!(read(&host, OTHER, made.handoff.id).package.is_some(), "it is of another section");
        write_as(&host, ORCHESTRATOR, &redact(of)).unwrap();
        let rows = host.project_rows("");
        assert!(!rows.iter().any(|it| has(&String::from_utf8_lossy(&it.1))), "{of}");
        let shown = read(&host, OTHER, made.handoff.id);
        assert_eq!((shown.package, shown.handoff.digest), (None, made.handoff.digest), "{of}");
    }
}

/// Of a memory that was removed, and of a section that was deleted, packages kept the words, and
/// nothing but the number of the handoff led to them.
#[test]
fn what_is_gone_is_still_redacted_in_packages() {
    let host = project();
    let secret = add(&host, ORCHESTRATOR, decision("The password is swordfish"));
    let write = |command| host.ask_project(ORCHESTRATOR, &Command::Project(command)).unwrap();
    write_as(&host, ORCHESTRATOR, &put("§1.0", "The password is swordfish.")).unwrap();
    let made = make(&host, AGENT, complete()).handoff;
    let (ids, mark) = (vec![by_id(&secret)], Mark::Deleted);
    write(ProjectCommand::Memories(MemoriesCommand::Mark { ids, mark }));
    write(ProjectCommand::Memories(MemoriesCommand::Maintain { is_dry_run: false }));
    let marker = Marker::parse("§1.0").unwrap();
    let delete = ownership::Command::Delete { marker: marker.clone(), if_version: Some(1) };
    write(ProjectCommand::Outline(delete));
    assert!(read(&host, OTHER, made.id).package.unwrap().contains("swordfish"));
    let reason = Line::parse("reason", "held a password").unwrap();
    let memory = MemoriesCommand::Redact { id: by_id(&secret), reason: reason.clone() };
    write(ProjectCommand::Memories(memory.clone()));
    assert_eq!(read(&host, OTHER, made.id).package, None);
    let again = host.ask_project(ORCHESTRATOR, &Command::Project(ProjectCommand::Memories(memory)));
    assert_eq!(again.unwrap_err().code(), Code::MemoryNotFound, "no package has it any more");

    write_as(&host, ORCHESTRATOR, &put("§1.1", "The password is swordfish.")).unwrap();
    let made = make(&host, AGENT, complete()).handoff;
    let marker = Marker::parse("§1.1").unwrap();
    let delete = ownership::Command::Delete { marker: marker.clone(), if_version: Some(1) };
    write(ProjectCommand::Outline(delete));
    write(ProjectCommand::Outline(ownership::Command::Redact { marker, reason }));
    assert_eq!(read(&host, OTHER, made.id).package, None);
}

#[test]
fn a_prompt_has_the_summary_the_index_and_the_focus() {
    let host = project();
    let goal = "**Goal**: Build the shop. ```not a fence";
    write_as(&host, ORCHESTRATOR, &put("§1.0", goal)).unwrap();
    write_as(&host, ORCHESTRATOR, &put("§2.1", &"Refunds are paid by the bank. ".repeat(30)))
        .unwrap();
    write_as(&host, AGENT, &details("§3.1")).unwrap();
    let written = |it: PromptRequest| match ask(&host, THIRD, HandoffsCommand::Prompt(Box::new(it)))
    {
        HandoffsReply::Prompt(it) => *it,
        other => panic!("{other:?}"),
    };
    let it = written(PromptRequest { task: Some("Pay refunds".to_owned()), ..prompt(8_000) });
    let parts: Vec<&str> = it.parts.iter().map(|it| it.part.as_str()).collect();
    assert_eq!(parts, ["project_summary", "resource_index", "current_focus", "success_criteria"]);
    assert_eq!(it.parts[2].ids, ["§2.1"], "the summary that the task has words in common with");
    assert!(it.text.contains("§1.0 by orchestrator\n````\n**Goal**"), "{}", it.text);
    let hidden = PromptRequest { focus: vec!["§3.1".to_owned()], ..prompt(8_000) };
    let it = HandoffsCommand::Prompt(Box::new(hidden));
    assert_eq!(refused(&host, THIRD, it), Code::SectionNotFound);
}

fn acquire(marker: &str, kind: ownership::Ownership) -> Command {
    let marker = Marker::parse(marker).unwrap();
    let it = ownership::Acquire { marker, kind, ttl_ms: 60_000, reason: None };
    Command::Project(ProjectCommand::Outline(ownership::Command::Acquire(it)))
}

/// Returns the text of a rejection.
fn rejected(host: &TestHost, who: &str, it: &Command) -> String {
    host.ask_project(who, it).unwrap_err().to_string()
}

/// The error advised the receiver to acquire the section, or to ask its owner, who could then not
/// accept either. And it advised the owner of a shared section to ask the owner.
#[test]
fn the_advice_about_a_section_is_for_the_caller() {
    let host = project();
    write_as(&host, AGENT, &details("§3.1")).unwrap();
    let offered =
        command(HandoffsCommand::Offer(Box::new(with_section(HandoffKind::Complete, OTHER))));
    for kind in [ownership::Ownership::SharedWrite, ownership::Ownership::ReadOnly] {
        write_as(&host, AGENT, &acquire("§3.1", kind)).unwrap();
        let error = rejected(&host, AGENT, &offered);
        assert!(error.contains("you own section §3.1") && error.contains("exclusive"), "{error}");
    }
    assert_eq!(write_as(&host, AGENT, &details("§3.1")), Err(Code::NotOwner));
    assert!(rejected(&host, AGENT, &details("§3.1")).starts_with("you own section"));
    write_as(&host, AGENT, &acquire("§3.1", ownership::Ownership::Exclusive)).unwrap();
    let id = make(&host, AGENT, with_section(HandoffKind::Complete, OTHER)).handoff.id;
    let accept = command(HandoffsCommand::Accept(id));
    later(&host, 60);
    for now_of in ["nobody", OTHER, THIRD] {
        if now_of != "nobody" {
            write_as(&host, ORCHESTRATOR, &take(now_of)).unwrap();
        }
        let error = rejected(&host, OTHER, &accept);
        assert!(error.starts_with("subagent:a offered HND-1"), "{now_of}: {error}");
        assert!(error.contains("decline the handoff"), "{error}");
        assert_eq!(refused(&host, OTHER, HandoffsCommand::Accept(id)), Code::NotOwner);
    }
    ask(&host, OTHER, decline(id));
}

/// Returns the transfer of the section to an agent.
fn take(to: &str) -> Command {
    let to = party(to);
    let to =
        shared_context_core::outline::Owner { participant: to.participant, session: to.session };
    let marker = Marker::parse("§3.1").unwrap();
    let it = ownership::Transfer { marker, to, ttl_ms: 60_000, reason: None };
    Command::Project(ProjectCommand::Outline(ownership::Command::Transfer(it)))
}

/// The error advised the offering agent to release sections when the receiver had too many.
#[test]
fn a_receiver_that_owns_64_sections_takes_no_more() {
    let host = project();
    for nth in 0..ownership::LEASES_MAX {
        write_as(&host, OTHER, &details(&format!("§3.{}", nth + 2))).unwrap();
    }
    write_as(&host, AGENT, &details("§3.1")).unwrap();
    let error = rejected(&host, AGENT, &take(OTHER));
    assert!(error.starts_with("the receiver owns 64 sections"), "{error}");
    let id = make(&host, AGENT, with_section(HandoffKind::Complete, OTHER)).handoff.id;
    let error = rejected(&host, OTHER, &command(HandoffsCommand::Accept(id)));
    assert!(error.starts_with("you own 64 sections"), "{error}");
}
