//! Checks summaries that were written in other words: 30 faithful ones, of which none may be
//! reported, and 30 with one planted loss each, of which all must be reported (spec 17.4).
#![expect(clippy::print_stdout, clippy::indexing_slicing, reason = "a test that prints a table")]

mod sessions;

use sessions::{SESSIONS, Session};
use shared_context_core::{
    compact::{SummaryCheck, VerdictKind, check_summary, repair},
    extract::{Extraction, Position, extract},
    item::{Authority, Item, Kind, ListedKind},
    tokens::{Tokens, approximate},
};

fn conversation(session: &Session) -> Extraction {
    let item = |(nth, text): (usize, &&str)| {
        let kind = Kind::Listed(ListedKind::UserMessage);
        let mut item = Item::inline(format!("turn-{nth}"), kind, *text);
        item.source.authority = Authority::User;
        item
    };
    let items: Vec<Item> = session.turns.iter().enumerate().map(item).collect();
    extract(&items, Position::default())
}

/// Writes a summary of the sentences, in one of three styles.
fn summary(style: usize, sentences: &[&str]) -> String {
    match style % 3 {
        0 => sentences.join(" "),
        1 => format!("# Summary\n\n- {}\n", sentences.join("\n- ")),
        _ => {
            let reversed: Vec<&str> = sentences.iter().rev().copied().collect();
            format!("What matters so far:\n{}\n", reversed.join("\n\n"))
        }
    }
}

/// Returns the `nth` faithful summary of a session.
fn faithful(session: &Session, nth: usize) -> String {
    let said = session.facts.iter().enumerate();
    let sentences = said.map(|(place, fact)| fact.said[(nth + place) % fact.said.len()]);
    let sentences: Vec<&str> = sentences.chain([session.also]).collect();
    summary(nth, &sentences)
}

/// Returns the `nth` faithful summary with the loss of the `nth` fact planted.
fn damaged(session: &Session, nth: usize) -> String {
    let said = session.facts.iter().enumerate();
    let sentences: Vec<&str> =
        said.map(|(place, fact)| {
            if place == nth { fact.damaged } else { fact.said[(nth + place) % fact.said.len()] }
        })
        .chain([session.also])
        .filter(|it| !it.is_empty())
        .collect();
    summary(nth, &sentences)
}

/// Returns the facts that a check reports, by what they begin with.
fn reported(extraction: &Extraction, check: &SummaryCheck) -> Vec<(String, VerdictKind)> {
    let bad = check.verdicts.iter().filter(|it| it.kind != VerdictKind::Present);
    bad.map(|it| (extraction.facts[it.fact].text.clone(), it.kind)).collect()
}

#[test]
fn losses_are_found_and_faithful_summaries_pass() {
    let (mut alarms, mut found) = (Vec::new(), 0);
    println!("session        faithful: alarms   damaged: found, others");
    for session in SESSIONS {
        let facts = conversation(session);
        let (mut false_alarms, mut planted, mut others) = (0, 0, 0);
        for nth in 0..5 {
            let text = faithful(session, nth);
            let bad = reported(&facts, &check_summary(&facts.facts, &text));
            false_alarms += bad.len();
            alarms.extend(
                bad.into_iter().map(|it| format!("{}/{nth}: {it:?}\n{text}", session.name)),
            );
            let text = damaged(session, nth);
            let bad = reported(&facts, &check_summary(&facts.facts, &text));
            let fact = &session.facts[nth];
            let is_it = |it: &&(String, VerdictKind)| {
                it.0.contains(fact.holds) && (it.1 == VerdictKind::Outdated) == fact.is_outdated
            };
            let hits = bad.iter().filter(is_it).count();
            if hits == 0 {
                alarms.push(format!(
                    "{}/{nth}: not found: {}\n{text}\n{bad:?}",
                    session.name, fact.holds
                ));
            }
            planted += hits;
            others += bad.len() - hits;
        }
        println!("{:14} {false_alarms:16} {planted:16} {others:7}", session.name);
        found += planted;
    }
    assert!(alarms.is_empty(), "{}", alarms.join("\n\n"));
    assert_eq!(found, 30);
}

#[test]
fn a_repaired_summary_has_every_fact() {
    for session in SESSIONS {
        let facts = conversation(session).facts;
        for nth in 0..5 {
            let text = damaged(session, nth);
            let check = check_summary(&facts, &text);
            let count = |text: &str| Ok(approximate(text));
            let repaired = repair(&facts, &check, &text, Tokens(10_000), &count).unwrap();
            assert!(repaired.left_out.is_empty() && !repaired.appended.is_empty());
            for fact in &repaired.appended {
                assert!(repaired.text.contains(&facts[*fact].text), "byte for byte");
            }
            assert_eq!(repaired.tokens, approximate(&repaired.text));
            let again = check_summary(&facts, &repaired.text);
            let bad = again.verdicts.iter().filter(|it| it.kind != VerdictKind::Present);
            assert_eq!(bad.count(), 0, "{}", repaired.text);
        }
    }
}

#[test]
fn a_repair_keeps_to_its_limit() {
    let facts = conversation(&SESSIONS[0]).facts;
    let check = check_summary(&facts, "Nothing.");
    let count = |text: &str| Ok(approximate(text));
    for max in 0..200 {
        let repaired = repair(&facts, &check, "Nothing.", Tokens(max), &count).unwrap();
        assert_eq!(repaired.appended.len() + repaired.left_out.len(), check.verdicts.len());
        assert!(repaired.tokens.0 <= max.max(2), "{max}: {repaired:?}");
    }
}

#[test]
fn summaries_of_any_size_are_checked() {
    let facts = conversation(&SESSIONS[0]).facts;
    let verdicts = |text: &str| check_summary(&facts, text).verdicts;
    assert!(verdicts("").iter().all(|it| it.kind == VerdictKind::Missing && it.line.is_none()));
    let long = format!("{}\n{}", "lorem ipsum dolor ".repeat(55_000), faithful(&SESSIONS[0], 1));
    assert!(verdicts(&long).iter().all(|it| it.kind == VerdictKind::Present));
    let one_line = "x".repeat(1 << 20);
    assert!(verdicts(&one_line).iter().all(|it| it.kind == VerdictKind::Missing));
    assert!(check_summary(&[], "anything").verdicts.is_empty());
}

/// Returns the verdict on the only fact of a text of the user.
fn verdict(fact: &str, summary: &str) -> VerdictKind {
    let mut item = Item::inline("1", Kind::Listed(ListedKind::SessionHistory), fact);
    item.source.authority = Authority::Model;
    let facts = extract(&[item], Position::default()).facts;
    let check = check_summary(&facts, summary);
    assert_eq!(check.verdicts.len(), 1, "{fact}: {facts:?}");
    check.verdicts[0].kind
}

/// A fact without a word of its own was never present, so that a repair never ended.
#[test]
fn a_fact_without_words_is_present_in_its_own() {
    for fact in [
        "Never!",
        "We will not.",
        "Goal: it",
        "[ ] all of it",
        "Never do it.",
        "CRITICAL: 😀",
        "Goal: it\nStatus: all of it",
    ] {
        assert_eq!(verdict(fact, "Something else."), VerdictKind::Missing, "{fact}");
        for summary in [format!("- {fact}\n"), format!("So it goes. {fact}")] {
            assert_eq!(verdict(fact, &summary), VerdictKind::Present, "{summary}");
        }
    }
}

/// Sentences that say the opposite were once reported as present.
#[test]
fn the_opposite_of_a_fact_is_not_present() {
    for (fact, same, opposite) in [
        ("Rule: refund within 30 days.", "Refunds: within 30 days.", "Refund after 30 days."),
        (
            "We must deploy before Friday.",
            "The deploy comes before Friday.",
            "We must deploy after Friday.",
        ),
        ("The timeout must be 5 s.", "Timeout: 5 seconds.", "The timeout must be 5 minutes."),
        (
            "Do not deploy on Friday.",
            "Deploying on Friday is not allowed.",
            "Deploy on Friday, do not wait.",
        ),
    ] {
        assert_eq!(verdict(fact, same), VerdictKind::Present, "{fact} / {same}");
        assert_eq!(verdict(fact, opposite), VerdictKind::Missing, "{fact} / {opposite}");
    }
}

/// Sentences with all words of a fact, of which two were exchanged or one was turned, were once
/// reported as present.
#[test]
fn an_exchanged_relation_is_not_present() {
    for (fact, same, exchanged) in [
        (
            "The upload must be smaller than 5 MB.",
            "Uploads must be below 5 MB.",
            "The upload must be larger than 5 MB.",
        ),
        (
            "Constraint: Keep at most 5 backups for 30 days.",
            "For 30 days at most 5 backups are kept.",
            "Keep at most 30 backups for 5 days.",
        ),
        (
            "You must use at least 5 replicas and at most 3 nodes.",
            "At most 3 nodes and at least 5 replicas are used.",
            "At least 3 replicas, at most 5 nodes are used.",
        ),
        (
            "You must run the migration before the deployment.",
            "The deployment runs after the migration.",
            "You must run the deployment before the migration.",
        ),
        (
            "We will use Postgres instead of MySQL.",
            "Postgres is used, not MySQL.",
            "We will use MySQL instead of Postgres.",
        ),
        (
            "We will use Postgres instead of MySQL.",
            "We use Postgres rather than MySQL.",
            "We will not use Postgres instead of MySQL.",
        ),
        (
            "We will use MySQL, not Postgres.",
            "MySQL is used instead of Postgres.",
            "We will use Postgres, not MySQL.",
        ),
        (
            "We will migrate from MySQL to Postgres.",
            "The migration to Postgres from MySQL is planned.",
            "We will migrate from Postgres to MySQL.",
        ),
        (
            "We will migrate from MySQL to Postgres.",
            "Migrate from the old MySQL to Postgres.",
            "We decided against migrating from MySQL to Postgres.",
        ),
        (
            "The service must be available without login.",
            "Without login the service must be available.",
            "The service must not be available without login.",
        ),
        (
            "We will deploy after the review, and never on Friday.",
            "Never deploy on Friday; deploy after the review.",
            "Never deploy after the review, but on Friday.",
        ),
        (
            "Never touch the production database.",
            "The production database must never be touched.",
            "Never touch it. The production database is dropped.",
        ),
        (
            "You must let only admins see the audit log.",
            "Only admins see the audit log.",
            "Everyone except admins must see the audit log.",
        ),
        (
            "We will use Redis because it is fast, and never Memcached.",
            "Use Redis, never Memcached.",
            "We will use Redis.",
        ),
        (
            "We will use JWT because cookies fail, but tokens must expire after 1 hour.",
            "We use JWT, whose tokens expire after 1 hour.",
            "We will use JWT.",
        ),
    ] {
        assert_eq!(verdict(fact, same), VerdictKind::Present, "{fact} / {same}");
        assert_eq!(verdict(fact, exchanged), VerdictKind::Missing, "{fact} / {exchanged}");
    }
}

/// Sentences with the words of a fact were reported as present although they said less, more, or
/// that it holds no more.
#[test]
fn another_unit_part_or_sign_is_not_present() {
    for (fact, same, other) in [
        (
            "The cache must never be shared between tenants.",
            "Tenants never share the cache between them.",
            "The cache must be shared between tenants, never between users.",
        ),
        (
            "The price must be 5 € per month.",
            "Price: 5 € a month.",
            "The price must be 5 € per year.",
        ),
        (
            "Send at most 5 mails per day.",
            "At most 5 mails a day are sent.",
            "Send at most 5 mails per hour.",
        ),
        (
            "Reads must go to the replica, writes to the primary.",
            "Writes go to the primary, reads to the replica.",
            "Reads must go to the primary, writes to the replica.",
        ),
        ("The offset must be -2 hours.", "Offset: -2 hours.", "The offset must be +2 hours."),
        (
            "All requests must be signed.",
            "Requests are signed, some of them twice.",
            "Some requests must be signed.",
        ),
        (
            "We must let only Tom change the model.",
            "Nobody but Tom changes the model.",
            "Tom must change the model.",
        ),
        (
            "Never deploy on Fridays.",
            "The plan was dropped to ever deploy on Fridays: never deploy on Fridays.",
            "The rule to never deploy on Fridays was dropped.",
        ),
        (
            "We will use Postgres for the queue.",
            "Postgres is used for the queue, MySQL was rejected.",
            "It was proposed to use Postgres for the queue, and rejected.",
        ),
    ] {
        assert_eq!(verdict(fact, same), VerdictKind::Present, "{fact} / {same}");
        assert_eq!(verdict(fact, other), VerdictKind::Missing, "{fact} / {other}");
    }
}

/// A summary that named the present value as what was, and the earlier one as what is, had the fact.
#[test]
fn a_value_that_was_is_outdated() {
    let said = |id: &str, text: &str| Item::inline(id, Kind::Listed(ListedKind::UserMessage), text);
    let items = [said("1", "The retry limit must be 3."), said("2", "The retry limit must be 5.")];
    let facts = extract(&items, Position::default()).facts;
    for (summary, expected) in [
        ("The retry limit was 5, now it must be 3.", VerdictKind::Outdated),
        ("The retry limit must be 3 instead of 5.", VerdictKind::Outdated),
        ("The retry limit was 3, now it must be 5.", VerdictKind::Present),
        ("The retry limit must be 5, up from 3.", VerdictKind::Present),
        ("The retry limit was raised from 3 to 5.", VerdictKind::Present),
    ] {
        let check = check_summary(&facts, summary);
        let kinds: Vec<VerdictKind> = check.verdicts.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [expected], "{summary}");
    }
}
