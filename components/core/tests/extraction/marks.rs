//! Where marks stand, and sentences that look like a rule and are none.

use shared_context_core::{
    extract::{Class, Position, Severity, Status, extract},
    item::{Authority, Item, Kind, ListedKind},
};

use super::{item, of, only};

/// A decision behind `I changed my mind:` was no fact, so that the one before it still held.
#[test]
fn a_label_in_capitals_may_stand_within_a_sentence() {
    for (text, class, expected) in [
        ("After the call, DECISION: cart in Redis.", Class::Decision, "DECISION: cart in Redis."),
        (
            "I changed my mind: DECISION: Job queue is RabbitMQ.",
            Class::Decision,
            "DECISION: Job queue is RabbitMQ.",
        ),
        ("Legal called — RULE: keep invoices.", Class::Constraint, "RULE: keep invoices."),
        ("We found BUG-5: stock goes negative.", Class::Issue, "BUG-5: stock goes negative."),
        ("The pool is dry [CRITICAL].", Class::Issue, "The pool is dry [CRITICAL]."),
    ] {
        let fact = only(text);
        assert_eq!((fact.class, fact.score, fact.text.as_str()), (class, 100, expected));
    }
    let facts = of(&[
        "DECISION: Job queue is a Postgres table.",
        "I changed my mind: DECISION: Job queue is RabbitMQ.",
    ])
    .facts;
    assert_eq!(facts[0].status, Status::Superseded);
    // In quotation marks, in lower case, or without anything before it that ends a clause, it is
    // none.
    for text in [
        "He wrote, \"DECISION: cart in Redis\" on it.",
        "For the record, the decision: it depends.",
        "See the heading DECISION: there.",
        "The pool is dry [critical path].",
        "Good news, BUG-5: fixed.",
    ] {
        let found = of(&["TASK: go on", text]).facts;
        assert_eq!(found.len(), 1, "{found:?}");
    }
    // A program may print it a thousand times.
    let log = Item::inline(
        "log",
        Kind::Listed(ListedKind::ToolResult),
        "worker 7, CRITICAL: pool is dry [HIGH]",
    );
    let found = extract(&[log], Position::default()).facts;
    assert!(found.is_empty(), "{found:?}");
}

/// `BUG-5 (critical): …` was no issue, and `BUG-5: critical: …` was one without a severity.
#[test]
fn the_severity_of_an_issue_may_be_written_in_several_ways() {
    for (text, expected) in [
        ("BUG-5 (critical): stock goes negative.", Some(Severity::Critical)),
        ("BUG-5 [HIGH]: stock goes negative.", Some(Severity::High)),
        ("BUG-5: critical: stock goes negative.", Some(Severity::Critical)),
        ("ISSUE [CRITICAL]: pool dry.", Some(Severity::Critical)),
        ("Bug: the pool is dry.", None),
        ("BUG-5: the critical path is slow (see above).", None),
    ] {
        let fact = only(text);
        assert_eq!((fact.class, fact.severity), (Class::Issue, expected), "{text}");
    }
}

/// Common rules were no facts at all: `must have` was a guess, and `ten` was no number.
#[test]
fn common_rules_are_found() {
    for text in [
        "Every endpoint must have a test.",
        "The worker must have 2 replicas.",
        "Downtime at most ten minutes.",
        "Send no more than one mail.",
        "We never show -k in docs.",
        "We always ask before a deploy.",
        "Negative amounts aren't allowed.",
        "Guests must no longer use v1.",
        "The id must be a number.",
    ] {
        let fact = only(text);
        assert_eq!((fact.class, fact.score), (Class::Constraint, 100), "{text}");
    }
}

/// Rules that were called off, and guesses, were kept as rules.
#[test]
fn what_is_called_off_or_guessed_is_no_rule() {
    for text in [
        "You no longer must use tabs.",
        "It's not true that you must always squash.",
        "That must be the reason.",
        "It must have been the cache.",
        "It must have crashed at night.",
        "We never got an answer.",
        "At least one of them works.",
    ] {
        let found = of(&["TASK: go on", text]).facts;
        let is_rule = found.iter().any(|it| it.class == Class::Constraint);
        assert!(!is_rule, "{text}: {found:?}");
    }
}

/// `We will run 3 replicas` left `We will run 2 replicas` open.
#[test]
fn a_number_of_things_that_run_is_a_value() {
    let user = Authority::User;
    for (one, other, is_replaced) in [
        ("We will run 2 replicas of the worker.", "We will run 3 replicas of the worker.", true),
        ("We will start 2 nodes at night.", "We will start 4 nodes at night.", true),
        ("We will run step 2 of the plan.", "We will run step 3 of the plan.", false),
    ] {
        let items = [item(0, user, "Goal: go on"), item(1, user, one), item(2, user, other)];
        let facts = extract(&items, Position::default()).facts;
        assert_eq!(facts[1].status == Status::Superseded, is_replaced, "{facts:?}");
    }
}
