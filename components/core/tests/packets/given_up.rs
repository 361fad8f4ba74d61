//! What was given up, and rules that stand with what they are about.

use super::said::{Case, check};

/// A rule or choice that was given up stood beside its correction, in a part of its own.
#[test]
fn what_was_given_up_is_not_shown_beside_its_correction() {
    check(&[
        Case {
            talk: &[
                ('u', "Fix the webhooks of the release."),
                ('u', "Keep the order of the webhooks per customer."),
                (
                    'u',
                    "No, that would be worse. Order of the webhooks per order id then, not per \
                        customer.",
                ),
            ],
            has: &["per order id then"],
            lacks: &["keep the order"],
        },
        Case {
            talk: &[
                ('u', "Plan the links of the release."),
                ('u', "The link shall expire after 7 days."),
                ('a', "Noted."),
                ('u', "One change: the link shall only be valid for 48 hours."),
            ],
            has: &["48 hours"],
            lacks: &["7 days"],
        },
        Case {
            talk: &[
                ('u', "Fix the queue of the release."),
                ('u', "Let's go with the Redis stream."),
                ('a', "That Redis evicts keys."),
                ('u', "Oh. That kills it."),
                ('a', "Then a Postgres table for the queue."),
                ('u', "Agreed, Postgres it is."),
            ],
            has: &["postgres table"],
            lacks: &["redis stream"],
        },
        // Another subject stays.
        Case {
            talk: &[
                ('u', "Plan the mails of the release."),
                ('u', "Mails for admins must have a footer."),
                ('u', "Send the mails to customers then, not admins."),
            ],
            has: &["footer", "to customers"],
            lacks: &[],
        },
        Case {
            talk: &[
                ('u', "Fix the queue of the release."),
                ('u', "Let's go with the Redis stream."),
                ('a', "The mail server drops attachments."),
                ('u', "That kills it."),
            ],
            has: &["redis stream"],
            lacks: &[],
        },
    ]);
}

/// `Don't touch it.` was a constraint, and nothing said what `it` is; and a rule stood behind what
/// a model said to have done.
#[test]
fn a_rule_stands_with_what_it_is_about() {
    check(&[
        Case {
            talk: &[
                ('u', "Plan the replication of the release."),
                ('a', "The slots are all used. There is an abandoned one called debezium_old."),
                ('u', "That's not abandoned, the warehouse uses it. Don't touch it."),
            ],
            has: &["debezium_old. — don't touch it."],
            lacks: &["\n- [user] don't touch it."],
        },
        Case {
            talk: &[
                ('u', "Plan the release."),
                ('u', "There is a database called billing-prod. Never delete it."),
            ],
            has: &["billing-prod. — never delete it."],
            lacks: &[],
        },
        Case {
            talk: &[
                ('u', "Plan the logs of the release."),
                ('a', "Done, alias/billing."),
                (
                    'u',
                    "Hold on. So no S3 archive for the audit log, we must bring it over after all.",
                ),
            ],
            has: &["[user] so no s3 archive for the audit log"],
            lacks: &["alias/billing. —"],
        },
        Case {
            talk: &[
                ('u', "Plan the release."),
                ('a', "The database is billing-prod."),
                ('u', "Never touch the backups of the release."),
            ],
            has: &["- [user] never touch the backups"],
            lacks: &[],
        },
    ]);
}
