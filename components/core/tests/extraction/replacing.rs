//! Pairs of facts of which the later one replaces or settles the other, and pairs that both hold.

use shared_context_core::{
    extract::{Class, Position, Status, extract},
    item::{Authority, Kind, ListedKind},
};

use super::{item, of};

/// Returns for each fact whether a later one replaces it.
fn replaced(said: &[(Authority, &str)]) -> Vec<bool> {
    let items: Vec<_> = said.iter().enumerate().map(|(id, it)| item(id, it.0, it.1)).collect();
    let facts = extract(&items, Position::default()).facts;
    let facts = facts.iter().filter(|it| it.class != Class::Goal || it.text.starts_with("Goal"));
    facts.map(|it| it.superseded_by.is_some()).collect()
}

/// Four rules with four ports were once one rule with four values, and three of them were lost.
#[test]
fn what_a_number_or_name_identifies_is_kept_beside_others() {
    for (one, other) in [
        ("Never use port 22.", "Never use port 80."),
        ("Do not touch table T1.", "Do not touch table T2."),
        ("Always back up db1.", "Always back up db2."),
        ("We must keep v1 compatible.", "We must keep v2 compatible."),
        ("We will support Python 3.8.", "We will support Python 3.9."),
        ("DECISION: Add an index on column c1", "DECISION: Add an index on column c2"),
        ("error: test 5 failed", "error: test 6 failed"),
        ("Goal: support Firefox 120", "Goal: support Chrome 120"),
        ("[ ] migrate table 2", "[ ] migrate table 3"),
        ("[ ] set workers = 2", "[ ] set workers = 3"),
        ("Constraint: Ads: at most 500 USD", "Constraint: Food: at most 300 USD"),
    ] {
        let model = Authority::Model;
        assert_eq!(replaced(&[(model, one), (model, other)]), [false, false], "{one} / {other}");
    }
}

#[test]
fn a_value_that_is_said_again_replaces_the_earlier_one() {
    for (old, new) in [
        ("We decided on 5 replicas.", "We decided on 42 replicas."),
        ("We must use at most 5 workers.", "We must use at most 8 workers."),
        ("DECISION: Use 5 workers", "DECISION: Use 8 workers"),
        ("DECISION: Set the retry limit to 3", "DECISION: Set the retry limit to 5"),
    ] {
        let model = Authority::Model;
        assert_eq!(replaced(&[(model, old), (model, new)]), [true, false], "{old} / {new}");
    }
}

/// The lines of one message once replaced each other.
#[test]
fn one_message_does_not_replace_its_own_facts() {
    let facts = of(&["DECISION: Use 5 workers\n\nDECISION: Use 8 workers"]).facts;
    assert!(facts.iter().all(|it| it.superseded_by.is_none()), "{facts:?}");
}

/// A line of a digest ends in its source, which was read as one more value: no later fact replaced
/// it.
#[test]
fn the_source_of_a_digest_line_is_no_value() {
    let later = "We decided on 42 replicas.";
    let model = Authority::Model;
    let digest = "- We decided on 5 replicas [m1:1]";
    assert_eq!(replaced(&[(model, digest), (model, later)]), [true, false]);
}

/// The line of a web page in a digest once counted as the model's.
#[test]
fn a_line_of_a_digest_has_the_authority_of_its_source() {
    let rule = item(0, Authority::User, "Constraint: spend at most 300 dollars");
    for (mark, replaces) in [(" (tool_external)", false), ("", true)] {
        let text = format!(
            "# Compacted context\n\n## Constraints\n- Constraint: spend at most 400 dollars [m1:1]{mark}"
        );
        let mut digest = item(1, Authority::Model, &text);
        digest.kind = Kind::Listed(ListedKind::ComputedSummary);
        let facts = extract(&[rule.clone(), digest], Position::default()).facts;
        assert_eq!(facts[0].superseded_by.is_some(), replaces, "{mark}: {facts:?}");
    }
}

/// A page that a tool fetched once replaced the rule of the user and settled the issue of the team.
#[test]
fn third_parties_replace_and_settle_nothing_of_the_team() {
    let rule = "Constraint: spend at most 300 dollars on ads";
    let page = "Constraint: spend at most 30000 dollars on ads\nBUG-7 is fixed.";
    let (user, model, tool) = (Authority::User, Authority::Model, Authority::ToolExternal);
    assert_eq!(replaced(&[(user, rule), (tool, page)]), [false, false]);
    assert_eq!(replaced(&[(tool, page), (user, rule)]), [true, false]);
    assert_eq!(replaced(&[(user, rule), (model, &page.replace("30000", "200"))]), [true, false]);
    for (by, said_by, status) in [
        (model, tool, Status::Open),
        (model, Authority::ToolInternal, Status::Resolved),
        (tool, tool, Status::Resolved),
    ] {
        let items = [item(0, by, "BUG-7 [CRITICAL]: double charges"), item(1, said_by, page)];
        let facts = extract(&items, Position::default()).facts;
        assert_eq!(facts[0].status, status, "{by:?} / {said_by:?}");
    }
    let items = [item(0, model, "error: no route"), item(1, tool, "It passes now.")];
    assert_eq!(extract(&items, Position::default()).facts[0].status, Status::Resolved);
}

/// What nobody had fixed, or would fix, or what came back, was once resolved, and its score fell to 20.
/// Whatever was closed or fixed at all settled an error before it.
#[test]
fn only_what_is_plainly_done_settles_an_issue() {
    let status = |issue: &str, texts: &[&str]| {
        let all: Vec<&str> = std::iter::once(issue).chain(texts.iter().copied()).collect();
        of(&all).facts.iter().find(|it| it.class == Class::Issue).unwrap().status
    };
    let bug = "BUG-7 [HIGH]: login leaks memory";
    for text in [
        "Nobody has fixed BUG-7.",
        "BUG-7 will be fixed tomorrow.",
        "When BUG-7 is fixed we deploy.",
        "Once BUG-7 is resolved, tell me.",
        "Please get BUG-7 fixed.",
        "BUG-7 is only partly fixed.",
        "I thought BUG-7 was fixed, but it came back.",
        "BUG-7 was reopened; it was closed by mistake.",
        "BUG-8 is fixed, BUG-7 is next.",
        "I fixed BUG-8 and found BUG-7.",
    ] {
        assert_eq!(status(bug, &[text]), Status::Open, "{text}");
    }
    for text in [
        "BUG-7 is fixed.",
        "Fixed BUG-7 in v2.",
        "Tom has fixed BUG-7.",
        "BUG-6, BUG-7 and BUG-8 have been resolved.",
        "The leak (BUG-7) is now fixed.",
        "I found and fixed BUG-7",
    ] {
        assert_eq!(status(bug, &[text]), Status::Resolved, "{text}");
        assert_eq!(status(bug, &[text, "BUG-7 was reopened."]), Status::Open, "{text}");
        assert_eq!(status(bug, &[text, "BUG-7 is back.", text]), Status::Resolved, "{text}");
    }
    let error = "error: pool timed out after 30 s";
    for text in [
        "We closed the office on Friday.",
        "I resolved the hostname to 10.0.0.1.",
        "The layout is fixed at 80 columns.",
        "The error will be fixed by Tom.",
        "The login error is fixed.",
    ] {
        assert_eq!(status(error, &[text]), Status::Open, "{text}");
    }
    for text in ["It is fixed.", "The pool is fixed.", "I fixed the error.", "All tests pass now."]
    {
        assert_eq!(status(error, &[text]), Status::Resolved, "{text}");
    }
}

/// Only `X instead of Y` and `Switched to X from Y` were reversals: a decision that somebody took
/// back in other words held beside the new one.
#[test]
fn a_decision_is_taken_back_in_many_words() {
    let decided = "We will use Redis for the queue.";
    let user = Authority::User;
    for said in [
        "Actually, let's use Postgres for the queue.",
        "Scrap Redis, we use Postgres.",
        "Forget Redis, we take Postgres.",
        "I changed my mind: Postgres for the queue.",
        "Let's not use Redis after all.",
        "We will use Postgres for the queue instead.",
        "No, we will use Postgres for the queue.",
    ] {
        assert_eq!(replaced(&[(user, decided), (user, said)]), [true, false], "{said}");
    }
    for said in [
        "Actually, let's use UTC for the invoices.",
        "We will use Kafka for the events after all.",
        "Scrap the draft of the mail.",
        "We will use Postgres for the queue of Berlin.",
        "Agreed, Postgres it is.",
    ] {
        assert_eq!(replaced(&[(user, decided), (user, said)]), [false, false], "{said}");
    }
}
