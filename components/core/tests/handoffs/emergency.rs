//! An agent fails, and the orchestrator takes its work over.

use shared_context_core::handoffs::HandoffState;

use super::*;

#[test]
fn an_emergency_is_settled_with_its_offer() {
    let host = project();
    let made = make(&host, AGENT, offer(HandoffKind::Emergency, OTHER)).handoff;
    assert_eq!((made.state, made.is_takeover), (HandoffState::Accepted, false));
    assert!(made.memory.is_some());
    assert_eq!(refused(&host, OTHER, HandoffsCommand::Accept(made.id)), Code::HandoffSettled);
    assert!(read(&host, OTHER, made.id).package.is_some());
}

#[test]
fn the_orchestrator_takes_over_without_the_former_agent() {
    let host = project();
    add(&host, AGENT, state("Payment service"));
    let pending = make(&host, AGENT, complete()).handoff.id;
    let over = OfferHandoff {
        from: Some(party(AGENT)),
        summary: "The agent does not answer.".to_owned(),
        ..offer(HandoffKind::Emergency, THIRD)
    };
    let taken = make(&host, ORCHESTRATOR, over);
    let handoff = &taken.handoff;
    assert_eq!((handoff.state, handoff.is_takeover), (HandoffState::Accepted, true));
    assert_eq!((&handoff.from, &handoff.to), (&party(AGENT), &party(THIRD)));
    assert_eq!(handoff.settled.as_ref().unwrap().1, party(ORCHESTRATOR));
    let package = document(&read(&host, THIRD, handoff.id));
    assert_eq!(package["handoff_metadata"]["reason"], "failure");
    assert_eq!(package["context_summary"]["current_task_state"][0]["title"], "Payment service");
    assert_eq!(package["work_products"]["completed"][0], "login");
    assert_eq!(package["next_actions"]["immediate"][0], "call the bank");
    // An offer without sections is still open: nothing that it transfers was taken.
    accept(&host, OTHER, pending);
    let actions: Vec<_> = host.log.borrow().iter().map(|it| it.action.as_str()).collect();
    assert!(actions.contains(&"take_over"), "{actions:?}");
}
