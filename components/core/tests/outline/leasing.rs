//! Owning sections for a time (spec 20.6), and the coordination state (spec 20.7).

use shared_context_core::{
    Line, Participant,
    ownership::{
        Assignment, CoordinationChange, LEASE_MS_DEFAULT, LEASES_MAX, Resource, Transfer,
        check_seconds,
    },
    time::Timestamp,
};

use crate::*;

fn renew(of: &str) -> OutlineCommand {
    OutlineCommand::Renew { marker: marker(of), ttl_ms: MINUTE }
}

fn release(of: &str) -> OutlineCommand {
    OutlineCommand::Release(marker(of))
}

fn transfer(of: &str, to: &str) -> OutlineCommand {
    OutlineCommand::Transfer(Transfer {
        marker: marker(of),
        to: owner(to),
        ttl_ms: MINUTE,
        reason: None,
    })
}

fn feed(host: &TestHost) -> Vec<String> {
    let command = Command::Project(ProjectCommand::Changes { since: None, limit: 1_000 });
    let Reply::Changes(it) = host.ask_project("admin", &command).unwrap().reply else {
        panic!("changes")
    };
    it.changes.iter().map(|it| it.action.to_string()).collect()
}

#[test]
fn a_lease_lasts_a_minute_to_a_day() {
    assert_eq!(check_seconds(None).unwrap(), LEASE_MS_DEFAULT);
    for good in [60, 86_400] {
        assert_eq!(check_seconds(Some(good)).unwrap(), u64::from(good) * 1_000);
    }
    for bad in [0, 59, 86_401, u32::MAX] {
        assert_eq!(code(&check_seconds(Some(bad)).unwrap_err()), Code::MalformedRequest);
    }
}

#[test]
fn an_owner_is_named_to_others() {
    let host = project();
    put(&host, ORCHESTRATOR, "§2.1", "x");
    let reason = Some(Line::parse("reason", "Payment").unwrap());
    let kind = Ownership::Exclusive;
    let it = Acquire { marker: marker("§2.1"), kind, ttl_ms: MINUTE, reason };
    let got = held(ask(&host, AGENT, OutlineCommand::Acquire(it)));
    assert_eq!(got.lease.expires_at, Timestamp(START + MINUTE));
    for (who, it) in [
        (OTHER, acquire("§2.1", MINUTE)),
        (ORCHESTRATOR, put_of(new("§2.1", "t", "y"))),
        (OTHER, renew("§2.1")),
        (OTHER, release("§2.1")),
        (OTHER, transfer("§2.1", OTHER)),
        ("subagent:a in s2", release("§2.1")),
    ] {
        let error = refused(&host, who, it);
        assert_eq!(code(&error), Code::NotOwner);
        for part in ["subagent:a of s1", "exclusive", "Payment", "2026-02-20T14:31:00Z"] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
    }
    ask(&host, AGENT, release("§2.1"));
    assert_eq!(code(&refused(&host, AGENT, release("§2.1"))), Code::NotOwner);
    assert_eq!(code(&refused(&host, AGENT, acquire("§2.9", MINUTE))), Code::SectionNotFound);
}

#[test]
fn who_lost_a_lease_is_told_once() {
    let host = project();
    put(&host, AGENT, "§3.1", "x");
    later(&host, LEASE_MS_DEFAULT - 1);
    put(&host, AGENT, "§3.1", "still mine");
    later(&host, 1);
    let got = held(ask(&host, OTHER, acquire("§3.1", MINUTE)));
    assert_eq!(got.lease.previous, Some(owner(AGENT)));
    let error = try_ask(&host, AGENT, put_of(new("§3.1", "t", "late"))).unwrap_err();
    assert_eq!(code(&error), Code::LeaseExpired);
    assert!(error.to_string().contains("§3.1, now of subagent:b of s1"), "{error}");
    let error = refused(&host, AGENT, put_of(new("§3.1", "t", "late")));
    assert_eq!(code(&error), Code::NotOwner);
    assert!(feed(&host).iter().any(|it| it == "expire_lease"));
    assert_eq!(read(&host, ORCHESTRATOR, "§3.1").content.as_deref(), Some("still mine"));
}

#[test]
fn a_lease_cannot_be_renewed_after_its_end() {
    let host = project();
    put(&host, AGENT, "§3.1", "x");
    ask(&host, AGENT, renew("§3.1"));
    later(&host, MINUTE);
    assert_eq!(code(&try_ask(&host, AGENT, renew("§3.1")).unwrap_err()), Code::LeaseExpired);
    // A clock that steps back does not bring it back.
    host.now.set(START);
    assert_eq!(code(&refused(&host, AGENT, renew("§3.1"))), Code::NotOwner);
    ask(&host, AGENT, acquire("§3.1", MINUTE));
}

#[test]
fn a_clock_that_steps_back_leaves_a_lease_as_it_is() {
    let host = project();
    put(&host, AGENT, "§3.1", "x");
    ask(&host, AGENT, renew("§3.1"));
    host.now.set(START - MINUTE);
    assert_eq!(code(&refused(&host, OTHER, acquire("§3.1", MINUTE))), Code::NotOwner);
    put(&host, AGENT, "§3.1", "still mine");
    // No call noticed its end when the clock was ahead.
    host.now.set(START + MINUTE);
    assert_eq!(read(&host, OTHER, "§3.1").lease, None);
    host.now.set(START + MINUTE - 1);
    assert_eq!(code(&refused(&host, OTHER, acquire("§3.1", MINUTE))), Code::NotOwner);
    host.now.set(START + MINUTE);
    ask(&host, OTHER, acquire("§3.1", MINUTE));
    host.now.set(START);
    let error = try_ask(&host, AGENT, renew("§3.1")).unwrap_err();
    assert_eq!(code(&error), Code::LeaseExpired);
    assert_eq!(code(&refused(&host, AGENT, renew("§3.1"))), Code::NotOwner);
    put(&host, OTHER, "§3.1", "y");
}

#[test]
fn a_receiver_that_never_comes_owns_it_until_the_end() {
    let host = project();
    put(&host, AGENT, "§3.1", "x");
    ask(&host, AGENT, transfer("§3.1", "subagent:nobody in s9"));
    assert_eq!(code(&refused(&host, AGENT, acquire("§3.1", MINUTE))), Code::NotOwner);
    later(&host, MINUTE);
    put(&host, AGENT, "§3.1", "y");
}

#[test]
fn a_redaction_does_not_hide_what_its_caller_lost() {
    let host = project();
    put(&host, ORCHESTRATOR, "§2.1", "x");
    put(&host, ORCHESTRATOR, "§3.1", "x");
    later(&host, LEASE_MS_DEFAULT);
    let reason = Line::parse("reason", "a name").unwrap();
    ask(&host, ORCHESTRATOR, OutlineCommand::Redact { marker: marker("§2.1"), reason });
    let error = try_ask(&host, ORCHESTRATOR, put_of(new("§2.1", "t", "y"))).unwrap_err();
    assert_eq!(code(&error), Code::LeaseExpired);
    put(&host, ORCHESTRATOR, "§2.1", "y");
}

#[test]
fn a_request_that_was_told_of_a_lost_lease_is_retried() {
    let host = project();
    put(&host, AGENT, "§3.1", "x");
    later(&host, LEASE_MS_DEFAULT);
    let command = named("r1", put_of(new("§3.1", "t", "y")));
    assert_eq!(code(&host.ask_project(AGENT, &command).unwrap_err()), Code::LeaseExpired);
    let first = host.ask_project(AGENT, &command).unwrap();
    assert_eq!(host.ask_project(AGENT, &command).unwrap(), first);
    assert_eq!(read(&host, ORCHESTRATOR, "§3.1").section.version, 2);
}

#[test]
fn shared_sections_are_for_all_and_read_only_ones_for_none() {
    let host = project();
    put(&host, ORCHESTRATOR, "§2.1", "x");
    let own = |kind| {
        OutlineCommand::Acquire(Acquire {
            marker: marker("§2.1"),
            kind,
            ttl_ms: MINUTE,
            reason: None,
        })
    };
    ask(&host, AGENT, own(Ownership::SharedWrite));
    put(&host, OTHER, "§2.1", "y");
    ask(&host, AGENT, own(Ownership::ReadOnly));
    for who in [AGENT, OTHER, ORCHESTRATOR] {
        assert_eq!(code(&refused(&host, who, put_of(new("§2.1", "t", "z")))), Code::NotOwner);
    }
}

#[test]
fn ownership_is_handed_over() {
    let host = project();
    put(&host, AGENT, "§3.1", "x");
    let got = held(ask(&host, AGENT, transfer("§3.1", OTHER)));
    assert_eq!((got.lease.owner, got.lease.previous), (owner(OTHER), Some(owner(AGENT))));
    put(&host, OTHER, "§3.1", "y");
    // The orchestrator takes the section from an absent owner, who is notified.
    ask(&host, ORCHESTRATOR, transfer("§3.1", AGENT));
    let error = try_ask(&host, OTHER, put_of(new("§3.1", "t", "late"))).unwrap_err();
    assert_eq!(code(&error), Code::LeaseExpired);
    let to_admin = transfer("§3.1", "admin");
    assert_eq!(code(&refused(&host, AGENT, to_admin)), Code::MalformedRequest);
}

#[test]
fn a_participant_owns_at_most_64_sections() {
    let host = project();
    for nth in 0..LEASES_MAX {
        put(&host, AGENT, &format!("§3.{nth}"), "x");
    }
    let error = refused(&host, AGENT, put_of(new("§3.64", "t", "x")));
    assert_eq!(code(&error), Code::StoreFull);
    put(&host, OTHER, "§3.64", "x");
    ask(&host, AGENT, release("§3.0"));
    put(&host, AGENT, "§3.65", "x");
}

#[test]
fn the_coordination_state_has_a_version() {
    let host = project();
    put(&host, AGENT, "§3.1", "x");
    let change = |if_version, assignments| {
        let blockers = Some(vec![Line::parse("b", "PCI review").unwrap()]);
        let change = CoordinationChange { if_version, assignments, blockers, resources: None };
        OutlineCommand::Coordinate(Box::new(change.checked().unwrap()))
    };
    let OutlineReply::Coordination { state, leases, .. } = ask(&host, AGENT, change(0, None))
    else {
        panic!("coordination")
    };
    assert_eq!((state.version, leases.len(), state.blockers.len()), (1, 1, 1));
    assert_eq!(code(&refused(&host, AGENT, change(0, None))), Code::VersionConflict);
    let tasks = vec![Line::parse("t", "Payment").unwrap()];
    let participant = Participant::parse("subagent:a").unwrap();
    let assignments = Some(vec![Assignment { participant, tasks }]);
    let assign = change(1, assignments);
    assert_eq!(code(&refused(&host, AGENT, assign.clone())), Code::Forbidden);
    ask(&host, ORCHESTRATOR, assign);
    let OutlineReply::Coordination { state, .. } = ask(&host, OTHER, OutlineCommand::Coordination)
    else {
        panic!("coordination")
    };
    assert_eq!((state.version, state.assignments.len(), state.blockers.len()), (2, 1, 1));
}

/// Two resources of one name were stored, so it was unclear which one was valid.
#[test]
fn a_shared_resource_is_named_once() {
    let line = |text: &str| Line::parse("a test", text).unwrap();
    let resource = |name: &str, value: &str| Resource { name: line(name), value: line(value) };
    let change = |second: &str| CoordinationChange {
        if_version: 0,
        assignments: None,
        blockers: None,
        resources: Some(vec![resource("staging", "a"), resource(second, "b")]),
    };
    let error = change("staging").checked().unwrap_err();
    assert_eq!(code(&error), Code::MalformedRequest);
    assert!(error.to_string().contains("staging twice"), "{error}");
    change("board").checked().unwrap();
}
