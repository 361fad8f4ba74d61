//! What a digest has of what people say: with what limits or names it, and by whom.

use shared_context_core::{
    compact::{Aim, Outcome},
    item::{Item, ListedKind},
    tokens::Tokens,
};

use super::{compacted, has, item, outcome, tokens};

const FILLER: &str = "This is a sentence that says nothing of any use to anybody who reads it. ";

/// Returns the digest of a conversation whose second message has some sentences and much else.
fn digest(by: ListedKind, said: &str) -> String {
    let filler = FILLER.repeat(12);
    let items = [
        item("m0", ListedKind::UserMessage, "Clean up."),
        item("m1", by, &format!("{filler}\n{said} {filler}")),
        item("m2", ListedKind::SessionHistory, "OK then."),
        item("m3", ListedKind::UserMessage, "go on"),
    ];
    compacted(&items, 90).digest.map(|it| it.text).unwrap_or_default()
}

/// `You must delete the logs.` stayed, and `Not the audit logs` behind it went; so did what a
/// pronoun pointed at.
#[test]
fn a_sentence_stays_with_what_limits_or_names_it() {
    let user = ListedKind::UserMessage;
    for said in [
        "You must delete the logs. Not the audit logs, of course.",
        "Always use tabs in the Makefile. No wait, that is wrong, spaces.",
        "Always use tabs in the Makefile. No wait. Spaces.",
        "We will delete the logs. But only if Legal agrees.",
        "There is a database called billing-prod. Never touch it.",
        "The worker reads queue_a and queue_b. You must not purge them.",
    ] {
        let found = digest(user, said);
        assert!(found.contains(&format!("- {said} [m1:2]")), "{found}");
    }
    for (said, expected) in [
        ("You must delete the logs. Nothing else is urgent.", "You must delete the logs."),
        ("The queue is slow. Never touch the database.", "Never touch the database."),
        ("We will use Kafka. Notes follow next week.", "We will use Kafka."),
    ] {
        let found = digest(user, said);
        assert!(found.contains(&format!("- {expected} [m1:2]")), "{found}");
    }
}

/// Two people contradicted each other, and the digest did not say who said what.
#[test]
fn a_line_of_a_digest_names_its_speaker() {
    let found =
        digest(ListedKind::SessionHistory, "Tom: We will use Kafka.\nAnn: We must not use Kafka.");
    for line in
        ["- Tom: We will use Kafka. [m1:2] (model)", "- Ann: We must not use Kafka. [m1:3] (model)"]
    {
        assert!(found.contains(line), "{found}");
    }
    let found = digest(ListedKind::UserMessage, "Redis: We must not use it.");
    assert!(found.contains("We must not use it."), "{found}");
}

/// Returns the texts of the result of a compaction to the least number of tokens that suffices.
fn least(talk: &[(ListedKind, &str)]) -> String {
    let items = talk.iter().enumerate();
    let items: Vec<_> =
        items.map(|(nth, (by, text))| item(&format!("m{nth}"), *by, text)).collect();
    let made = (1..200).find_map(|target| match outcome(&items, Aim::Tokens(Tokens(target))) {
        Outcome::Compacted(it) => Some(it),
        Outcome::Unreachable { .. } => None,
    });
    let result = made.unwrap().items(&items);
    result.iter().filter_map(Item::text).collect::<Vec<_>>().join("\n")
}

/// The decision stayed, and what the user said against it went, without a word in the reply.
#[test]
fn what_was_reversed_does_not_stay_alone() {
    let (user, model) = (ListedKind::UserMessage, ListedKind::SessionHistory);
    let found = least(&[
        (user, "Fix the queue."),
        (user, "We will use Redis."),
        (user, "Forget Redis, we take Postgres."),
        (user, "go on"),
    ]);
    assert!(found.contains("Forget Redis") && !found.contains("We will use Redis."), "{found}");
    let found = least(&[
        (user, "Fix the queue."),
        (user, "We will use Redis."),
        (model, "Redis loses keys."),
        (user, "Agreed, Postgres it is."),
        (model, "OK."),
        (user, "go on"),
    ]);
    assert!(found.contains("Postgres it is."), "{found}");
    // A guess of a model is no rule.
    let found = least(&[
        (user, "Plan the sequences."),
        (model, "invoice_number_seq must not have gaps, if I remember the law right."),
        (user, "Gaps are ok as long as they're documented, we asked the auditor."),
        (model, "OK."),
        (user, "What is next?"),
    ]);
    assert!(!found.contains("must not have gaps"), "{found}");
    let found = least(&[
        (user, "Plan the sequences."),
        (model, "invoice_number_seq must not have gaps."),
        (user, "What is next?"),
    ]);
    assert!(found.contains("must not have gaps"), "{found}");
}

/// The first value stayed, with a higher score, and its correction went; and an answer stayed
/// without its question.
#[test]
fn values_go_before_corrections_and_answers_with_questions() {
    let (user, model) = (ListedKind::UserMessage, ListedKind::SessionHistory);
    let long = FILLER.repeat(4);
    let question = format!("Should we encrypt the disk with a key of our own? {long}");
    for (talk, alone, with) in [
        (
            &[
                (user, "We need an export of the invoices."),
                (user, "The link expires after 7 days."),
                (model, "OK."),
                (user, "The link shall be valid for 48 hours only."),
                (model, "Changed."),
                (user, "What is next?"),
            ][..],
            "7 days",
            "48 hours",
        ),
        (
            &[
                (user, "Implement the retry queue."),
                (model, "We have a sidecar now."),
                (user, "Two replicas."),
                (
                    user,
                    "Three replicas in the end, because the SRE people want to have one of them in \
                        each zone.",
                ),
                (user, "Next is a load test."),
            ],
            "Two replicas",
            "Three replicas",
        ),
        (
            &[
                (user, "Plan the database of the shop."),
                (model, &question),
                (user, "yes absolutely, good catch"),
                (model, "OK."),
                (user, "What is next?"),
            ],
            "good catch",
            "a key of our own?",
        ),
    ] {
        let items = talk.iter().enumerate();
        let items: Vec<_> =
            items.map(|(nth, (by, text))| item(&format!("m{nth}"), *by, text)).collect();
        let mut is_seen = false;
        for target in 1..tokens(&items) {
            let Outcome::Compacted(made) = outcome(&items, Aim::Tokens(Tokens(target))) else {
                continue;
            };
            let result = made.items(&items);
            assert!(!has(&result, alone) || has(&result, with), "{target}: {result:?}");
            is_seen |= has(&result, with);
        }
        assert!(is_seen, "{with}");
    }
}
