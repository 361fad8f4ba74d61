//! Tests the links of a decision.

use shared_context_core::{
    handoffs::{Link, Trace},
    memories::MemorySource,
};

use super::*;

fn trace(host: &TestHost, who: &str, id: MemoryRef) -> Trace {
    match ask(host, who, HandoffsCommand::Trace(id)) {
        HandoffsReply::Traced(it) => *it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_decision_is_followed_over_sessions() {
    let host = project();
    let source = MemorySource::new("decisions_made", None).ok();
    let old = NewMemory { source, ..decision("Use MySQL") };
    let old = add(&host, "orchestrator in s1", old);
    let new = NewMemory { supersedes: vec![by_id(&old)], ..decision("Use PostgreSQL") };
    let new = add(&host, "orchestrator in s2", new);
    let made = make(&host, "subagent:a in s3", complete()).handoff;
    accept(&host, "subagent:b in s4", made.id);
    let it = trace(&host, ORCHESTRATOR, by_id(&old));
    let links: Vec<_> = it.steps.iter().map(|it| (it.id, it.link, it.from)).collect();
    let first = (old.id, Link::Asked, None);
    assert_eq!(links, [first, (new.id, Link::SupersededBy, Some(old.id))]);
    let place = it.steps[0].memory.as_ref().unwrap().source.as_ref().unwrap().place.clone();
    assert_eq!(place.as_str(), "decisions_made");
    assert_eq!(it.handoffs.len(), 1, "the handoff that carried the decision");
    assert_eq!(it.sessions, ["s1", "s2", "s3", "s4"]);
    assert!(!it.is_truncated);
    let back = trace(&host, THIRD, by_id(&new));
    assert_eq!(back.steps[1].link, Link::Supersedes);
    assert_eq!(back.handoffs, [], "a handoff between others is not shown");
    assert_eq!(back.sessions, ["s1", "s2"]);
}

#[test]
fn the_links_of_packets_are_followed_over_sessions() {
    let host = project();
    let carry = |who: &str, packet: String| {
        make(&host, who, OfferHandoff { packet: Some(packet), ..complete() }).handoff.id
    };
    let first = carry("subagent:a in s1", package::linked_packet("s1", "PKT-1", &[]));
    let other = carry("subagent:a in s1", package::linked_packet("s1", "PKT-2", &[]));
    let links = [("s1", "PKT-1"), ("s8", "PKT-4")];
    let second = carry("subagent:a in s2", package::linked_packet("s2", "PKT-5", &links));
    let decided = add(&host, "orchestrator in s3", decision("Use PostgreSQL"));
    let links = [("s2", "PKT-5"), ("s2", "PKT-5")];
    let third = carry("subagent:a in s3", package::linked_packet("s3", "PKT-9", &links));
    let it = trace(&host, ORCHESTRATOR, by_id(&decided));
    let ids: Vec<_> = it.handoffs.iter().map(|it| it.id).collect();
    assert_eq!(ids, [first, second, third], "not {other:?}, whose packet nothing links with");
    assert_eq!(it.sessions, ["s1", "s2", "s3", "s8"]);
    assert!(!it.is_truncated);
}

#[test]
fn a_decision_that_is_not_there_is_not_found() {
    let host = project();
    let unknown = MemoryRef::parse("DEC-2026-02-20-001").unwrap();
    assert_eq!(refused(&host, AGENT, HandoffsCommand::Trace(unknown)), Code::MemoryNotFound);
}
