//! What a digest has of what people say: with what limits or names it, and by whom.

use shared_context_core::item::ListedKind;

use super::{compacted, item};

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

/// `You must delete the logs.` stayed, and `Not the audit logs` behind it went; so did what a pronoun
/// pointed at.
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
