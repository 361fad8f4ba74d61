//! The rules by which memories are archived and removed, each at its last millisecond.

use shared_context_core::memories::{
    Added, LifecycleAction, Mark, NewMemory, RULES, Severity, Status, UpdateMemory,
};

use crate::{
    AGENT, DAY, ORCHESTRATOR, START, TestHost, add, ask, at, change, decision, important, issue,
    learning, maintain, mark, project, read, state, supersede, update,
};

/// Returns what maintenance would do at `ms` after the start: memory and rule.
fn due(host: &TestHost, ms: u64) -> Vec<(u64, &'static str)> {
    host.now.set(START + ms);
    let found = maintain(host, true);
    assert!(found.is_dry_run);
    found.actions.iter().map(|it| (it.id.number(), it.rule.name)).collect()
}

/// Asserts that `rule` applies to `it` more than `days` after the start, and before that no rule.
#[track_caller]
fn check(host: &TestHost, it: &Added, rule: &'static str, days: u64) {
    let number = it.id.number();
    let rules = |ms: u64| {
        let mut due = due(host, ms);
        due.retain(|it| it.0 == number);
        due
    };
    let limit = days * DAY;
    assert_eq!(rules(limit), [], "at the limit");
    assert_eq!(rules(limit.saturating_sub(1)), [], "before it");
    assert_eq!(rules(limit + 1), [(number, rule)], "after it");
}

/// Asserts that no rule ever applies to `it`.
#[track_caller]
fn check_kept(host: &TestHost, it: &Added) {
    for days in [1, 7, 8, 30, 31, 90, 91, 180, 181, 365, 366, 3_650] {
        let due = due(host, days * DAY + 1);
        assert!(due.iter().all(|one| one.0 != it.id.number()), "{days}: {due:?}");
    }
}

#[test]
fn decisions_of_little_importance_are_archived_after_90_days() {
    for importance in [3, 5] {
        let host = project();
        let it = add(&host, ORCHESTRATOR, important(importance, decision("A", "Use it")));
        check(&host, &it, "old_decision", 90);
    }
    for importance in [6, 7, 8, 10] {
        let host = project();
        let it = add(&host, ORCHESTRATOR, important(importance, decision("A", "Use it")));
        check_kept(&host, &it);
    }
}

#[test]
fn unimportant_archived_decisions_go_after_a_year() {
    let archived = |importance: u8| {
        let host = project();
        let it = add(&host, ORCHESTRATOR, important(importance, decision("A", "Use it")));
        ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Archived));
        (host, it)
    };
    for importance in [1, 3] {
        let (host, it) = archived(importance);
        check(&host, &it, "unimportant_decision", 365);
    }
    for importance in [4, 5, 8] {
        let (host, it) = archived(importance);
        check_kept(&host, &it);
    }
}

#[test]
fn replaced_decisions_are_archived_and_go_after_a_year() {
    let host = project();
    let old = add(&host, ORCHESTRATOR, important(2, decision("A", "Use it")));
    let new = add(&host, ORCHESTRATOR, important(8, decision("B", "Use the other")));
    ask(&host, ORCHESTRATOR, supersede(old.id, new.id));
    check(&host, &old, "unimportant_decision", 365);
    check_kept(&host, &new);
}

#[test]
fn resolved_issues_are_archived_and_go_180_days_later() {
    for importance in [3, 5, 7] {
        let host = project();
        let new = NewMemory { status: Some(Status::Resolved), ..issue("A", Severity::High) };
        let it = add(&host, ORCHESTRATOR, important(importance, new.clone()));
        check(&host, &it, "resolved_issue", 30);
        host.now.set(START);
        ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Archived));
        check(&host, &it, "old_resolved_issue", 180);
    }
    for (importance, status) in [(8, Status::Resolved), (1, Status::Open)] {
        let host = project();
        let new = NewMemory { status: Some(status), ..issue("A", Severity::Low) };
        let it = add(&host, ORCHESTRATOR, important(importance, new));
        check_kept(&host, &it);
    }
}

#[test]
fn a_state_is_archived_once_there_is_a_newer_one() {
    for (importance, days) in [(3, 7), (4, 7), (5, 30), (7, 30)] {
        let host = project();
        let old = add(&host, ORCHESTRATOR, important(importance, state("A", 1)));
        let new = add(&host, ORCHESTRATOR, important(importance, state("B", 2)));
        check(&host, &old, "superseded_state", days);
        check_kept(&host, &new);
    }
    let host = project();
    let old = add(&host, ORCHESTRATOR, important(8, state("A", 1)));
    add(&host, ORCHESTRATOR, state("B", 2));
    check_kept(&host, &old);
}

#[test]
fn a_state_that_was_replaced_is_removed_after_90_days() {
    for importance in [3, 7] {
        let host = project();
        let old = add(&host, ORCHESTRATOR, important(importance, state("A", 1)));
        let new = add(&host, ORCHESTRATOR, state("B", 2));
        ask(&host, ORCHESTRATOR, supersede(old.id, new.id));
        check(&host, &old, "old_superseded_state", 90);
    }
}

#[test]
fn the_newest_state_is_the_one_that_happened_last() {
    let host = project();
    let new = add(&host, ORCHESTRATOR, important(3, state("A", 1)));
    let earlier = NewMemory { at: at(START - DAY), ..important(3, state("B", 2)) };
    let old = add(&host, ORCHESTRATOR, earlier);
    check_kept(&host, &new);
    check(&host, &old, "superseded_state", 7);
}

/// A state that was marked for deletion still replaced those before it: one run removed it and
/// archived them, and no state was left. An unverified state of a third party had the same effect.
#[test]
fn a_state_that_does_not_count_replaces_no_other() {
    use shared_context_core::item::Authority;
    for is_marked in [true, false] {
        let host = project();
        let old = add(&host, ORCHESTRATOR, important(3, state("A", 1)));
        let authority = if is_marked { Authority::User } else { Authority::ToolExternal };
        let new = NewMemory { authority, ..important(3, state("B", 2)) };
        let new = add(&host, ORCHESTRATOR, new);
        if is_marked {
            ask(&host, ORCHESTRATOR, mark(&[new.id], Mark::Deleted));
        }
        check_kept(&host, &old);
        let mark_it = if is_marked { Mark::Active } else { Mark::Verified };
        host.now.set(START);
        ask(&host, ORCHESTRATOR, mark(&[new.id], mark_it));
        check(&host, &old, "superseded_state", 7);
    }
}

#[test]
fn learnings_that_nobody_read_are_archived_and_go() {
    for importance in [3, 5, 7] {
        let host = project();
        let it = add(&host, ORCHESTRATOR, important(importance, learning("A", "It rained")));
        check(&host, &it, "unread_learning", 180);
        host.now.set(START);
        ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Archived));
        check(&host, &it, "never_read_learning", 365);
    }
    let host = project();
    let it = add(&host, ORCHESTRATOR, important(8, learning("A", "It rained")));
    check_kept(&host, &it);
    let read_once = add(&host, ORCHESTRATOR, important(1, learning("B", "It snowed")));
    read(&host, AGENT, read_once.id);
    check_kept(&host, &read_once);
}

#[test]
fn what_somebody_said_is_done_at_any_importance() {
    let host = project();
    let marked = add(&host, ORCHESTRATOR, important(10, decision("A", "Use it")));
    let expiring = NewMemory { expires_at: at(START + 5), ..important(10, learning("B", "c")) };
    let expiring = add(&host, ORCHESTRATOR, expiring);
    assert_eq!(due(&host, 4), []);
    assert_eq!(due(&host, 5), [(expiring.id.number(), "expired")]);
    ask(&host, ORCHESTRATOR, mark(&[marked.id], Mark::Deleted));
    assert_eq!(due(&host, 5), [(1, "marked"), (2, "expired")]);
}

#[test]
fn a_new_version_and_a_restoration_make_a_memory_young() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, important(3, decision("A", "Use it")));
    host.now.set(START + 50 * DAY);
    let new = UpdateMemory { title: Some("B".to_owned()), ..update(it.id) };
    ask(&host, ORCHESTRATOR, change(new));
    check(&host, &it, "old_decision", 140);
    host.now.set(START + 141 * DAY);
    assert_eq!(maintain(&host, false).actions[0].action, LifecycleAction::Archived);
    ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Active));
    check(&host, &it, "old_decision", 231);
}

#[test]
fn a_rule_has_a_name_of_its_own() {
    let names = crate::set(RULES.iter().map(|it| it.name));
    assert_eq!(names.len(), RULES.len());
}
