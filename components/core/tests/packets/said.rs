//! Tests what a packet has of short conversations without any label, at the depth `deep`, where
//! nothing lacks room: what people say holds, whatever they say it after, and what they withdrew or
//! refused does not.

use shared_context_core::packets::{Depth, Form, GeneratePacket, Part, Sources};

use super::{conversation, generated, request};

/// A conversation, and what its packet must have and must not have, in lower case.
pub(super) struct Case {
    pub(super) talk: &'static [(char, &'static str)],
    pub(super) has: &'static [&'static str],
    pub(super) lacks: &'static [&'static str],
}

pub(super) fn packet(talk: &[(char, &str)]) -> String {
    let request = GeneratePacket {
        depth: Some(Depth::Deep),
        ..request("Plan the release", conversation(talk))
    };
    generated(&request, &Sources::default()).packet.render(Form::Markdown)
}

pub(super) fn check(cases: &[Case]) {
    let mut faults = Vec::new();
    for Case { talk, has, lacks } in cases {
        let text = packet(talk);
        // The head of a packet names the task.
        let body = text.split_once("```\n").unwrap().1.to_lowercase();
        let lacking = has.iter().filter(|it| !body.contains(**it)).map(|it| format!("lacks {it}"));
        let wrong = lacks.iter().filter(|it| body.contains(**it)).map(|it| format!("has {it}"));
        let all: Vec<String> = lacking.chain(wrong).collect();
        if !all.is_empty() {
            faults.push(format!("{talk:?}\n{all:?}\n{body}"));
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

/// Nothing that a user said after another message of a user, or in a second paragraph of the first
/// one, was in the packet, in what it left out, or found by a question, unless it had a word of the
/// task or a label: the rules of a first message `… Rules:` with a list below were all lost.
#[test]
fn what_a_user_says_counts_whatever_it_follows() {
    check(&[
        Case {
            talk: &[('u', "We ship a release."), ('u', "Never touch daily.ts.")],
            has: &["constraints:\n- [user] never touch daily.ts."],
            lacks: &[],
        },
        Case {
            talk: &[
                (
                    'u',
                    "We need logins for the new release. Rules:\n\n- You must use the existing \
                        User model.\n- Never commit a private key.\n- Tokens must expire after 24 hours.",
                ),
                ('a', "OK."),
                ('u', "Start please."),
            ],
            has: &["existing user model", "private key", "24 hours"],
            lacks: &["start please"],
        },
        Case {
            talk: &[
                ('u', "We need logins for the new release."),
                ('a', "OK."),
                ('u', "Tokens must expire after 24 hours."),
                ('u', "Never commit a private key."),
            ],
            has: &["24 hours", "private key"],
            lacks: &[],
        },
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('a', "ok"),
                ('u', "Fine, go on."),
                ('t', "42 rows"),
                ('u', "You must never touch daily.ts."),
                ('a', "ok"),
            ],
            has: &["daily.ts"],
            lacks: &["- ok"],
        },
        Case {
            talk: &[
                ('u', "We need a template for the answers of the release team."),
                ('a', "How long may it be?"),
                ('u', "short, people read it on the bus"),
                ('u', "max 80 words btw"),
            ],
            has: &["80 words"],
            lacks: &[],
        },
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('a', "I could send these users an email automatically."),
                ('u', "absolutely not, last time we mailed people by accident it was on the news"),
                ('u', "yeah no mails"),
            ],
            has: &["no mails"],
            lacks: &[],
        },
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('a', "ok"),
                ('u', "Use 5 retries."),
                ('u', "Sorry, make it 7."),
                ('a', "ok"),
            ],
            has: &["make it 7"],
            lacks: &["- [user] use 5 retries.\n"],
        },
    ]);
}

/// A question about what a rule names found nothing.
#[test]
fn a_rule_that_does_not_fit_can_be_asked_for() {
    let talk = [('u', "We ship a release."), ('u', "Never touch daily.ts.")];
    let request = GeneratePacket {
        depth: Some(Depth::Deep),
        ..request("Plan the release", conversation(&talk))
    };
    let made = generated(&request, &Sources::default());
    assert_eq!(made.packet.of(Part::Constraint).count(), 1);
    let included = made.candidates.iter().filter(|it| it.is_included).count();
    assert_eq!(included + made.omitted.len(), made.candidates.len());
}

const CORRECTIONS: &[Case] = &[
    Case {
        talk: &[
            ('u', "We need alerts for the release."),
            ('a', "ok"),
            ('u', "use a pool of 20 connections"),
            ('a', "ok"),
            ('u', "the log level is 3, make it 4"),
        ],
        has: &[
            "- [user] use a pool of 20 connections\n",
            "- [user] the log level is 3, make it 4\n",
        ],
        lacks: &[],
    },
    Case {
        talk: &[
            ('u', "We need alerts for the release."),
            ('a', "ok"),
            ('u', "page when the oldest message is older than 15 minutes"),
            ('a', "ok"),
            ('u', "error rate 2% will page constantly, make it 5 %"),
        ],
        has: &["15 minutes", "make it 5 %"],
        lacks: &[],
    },
    Case {
        talk: &[
            ('u', "We need alerts for the release."),
            ('a', "ok"),
            ('u', "Lena: use a pool of 20 connections"),
            ('a', "ok"),
            ('u', "Lena: the log level is 3, make it 4"),
        ],
        has: &["lena: use a pool of 20", "lena: the log level is 3, make it 4"],
        lacks: &[],
    },
    Case {
        talk: &[
            ('u', "We need alerts for the release."),
            ('a', "ok"),
            ('u', "lena (SRE): the label of the alerts is team=payments"),
            ('a', "ok"),
            ('u', "lena (SRE): runbooks live in docs/run, make it docs/runbooks"),
        ],
        has: &["team=payments", "docs/runbooks"],
        lacks: &[],
    },
    Case {
        talk: &[
            ('u', "We need alerts for the release."),
            ('a', "ok"),
            ('u', "Lena: the label of the alerts is team=payments"),
            ('a', "ok"),
            ('u', "Lena: runbooks live in docs/run, make it docs/runbooks"),
        ],
        has: &["team=payments", "docs/runbooks"],
        lacks: &[],
    },
    Case {
        talk: &[
            ('u', "I want a save system for the release."),
            ('a', "ok"),
            ('u', "keep the last 20 saves"),
            ('a', "OK"),
            ('u', "make it 50"),
        ],
        has: &["- [user] keep the last 20 saves — make it 50\n"],
        lacks: &["…"],
    },
    // Numbers of files are not corrected by those of bytes, nor times by shares.
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('u', "Max file size is 10 MB."),
            ('a', "ok"),
            ('u', "And max 20 files."),
            ('a', "ok"),
            ('u', "let's say 25 MB"),
        ],
        has: &["- [user] max file size is 10 mb. — let's say 25 mb\n", "max 20 files.\n"],
        lacks: &[],
    },
    Case {
        talk: &[
            ('u', "Deploy the release on Tuesday at 9."),
            ('u', "Never alone."),
            ('u', "No wait, at 10."),
        ],
        has: &["never alone.\n", "no wait, at 10.\n"],
        lacks: &["alone. —"],
    },
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('u', "Tom: the timeout is 30 seconds"),
            ('u', "Timeout: 60 seconds"),
        ],
        has: &["timeout: 60 seconds"],
        lacks: &["30 seconds"],
    },
];

/// `the log level is 3, make it 4` removed an earlier number, whatever it was of, and was written
/// behind the words before it. With the name of the speaker before both, a statement removed any
/// other: the name was taken for the subject.
#[test]
fn a_correction_replaces_what_it_corrects_alone() {
    check(CORRECTIONS);
}

const WITHDRAWALS: &[Case] = &[
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('a', "I propose Redis for the release."),
            ('u', "Fine with me."),
            ('a', "ok"),
            ('u', "hmm I changed my mind about Redis, use Memcached"),
        ],
        has: &["use memcached"],
        lacks: &["propose redis"],
    },
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('a', "I propose Redis."),
            ('u', "Fine with me."),
            ('u', "On second thought, no."),
        ],
        has: &[],
        lacks: &["propose redis.\n"],
    },
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('a', "Should we use Redis?"),
            ('u', "yes"),
            ('a', "done"),
            ('u', "we dropped Redis, it is Memcached now"),
        ],
        has: &["memcached"],
        lacks: &["— yes"],
    },
    Case {
        talk: &[
            ('u', "Build a CSV export of invoices for the release."),
            ('a', "For the delimiter: semicolon or comma?"),
            ('u', "semicolon"),
            ('a', "OK."),
            ('u', "Change of plan: the delimiter is a comma."),
        ],
        has: &["is a comma"],
        lacks: &["— semicolon"],
    },
    Case {
        talk: &[
            ('u', "Build a CSV export of invoices for the release."),
            ('a', "Amounts as cents or as decimals?"),
            ('u', "decimals, with a comma. 1234,50 not 1234.50"),
            ('a', "OK."),
            ('u', "sorry, decimals with a dot, the import tool needs it"),
        ],
        has: &["with a dot"],
        lacks: &["with a comma", "- [user] 1234,50"],
    },
    Case {
        talk: &[
            ('u', "We move the users table for the release."),
            ('a', "I propose batches of 5000 rows with COPY."),
            ('u', "ok, but 5000 feels low, make it 20000"),
            ('a', "With 20000 the replica lag is 90 s, with 8000 it is 5 s."),
            ('u', "8000 then"),
        ],
        has: &["copy", "— 8000 then"],
        lacks: &["copy.\n", "make it 20000\n"],
    },
    Case {
        talk: &[
            ('u', "We migrate the users table for the release."),
            ('a', "What about md5 passwords?"),
            ('u', "those are dropped, users reset them"),
            ('a', "ok"),
            ('u', "no, wrap them with bcrypt instead"),
        ],
        has: &["bcrypt"],
        lacks: &["reset them\n"],
    },
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('a', "ok"),
            ('u', "Never deploy on Friday."),
            ('a', "ok"),
            ('u', "OK you may deploy on Friday if the tests pass"),
        ],
        has: &["you may deploy on friday if"],
        lacks: &["never deploy"],
    },
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('a', "Which day?"),
            ('u', "Tuesday"),
            ('a', "ok"),
            ('u', "Thursday works better after all"),
        ],
        has: &["which day? — thursday works better after all"],
        lacks: &["tuesday"],
    },
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('a', "How many replicas?"),
            ('u', "3"),
            ('a', "ok"),
            ('u', "sorry I meant 5"),
        ],
        has: &["replicas? — sorry i meant 5"],
        lacks: &["— 3"],
    },
    Case {
        talk: &[
            ('u', "We ship a release."),
            ('a', "Should I delete the old logs?"),
            ('u', "no"),
            ('a', "ok"),
            ('u', "hm, yes, delete them after all"),
        ],
        has: &["logs? — hm, yes, delete them after all"],
        lacks: &["— no\n"],
    },
];

/// The new statement stood beside the withdrawn one, and both looked current.
#[test]
fn what_was_withdrawn_is_not_shown_as_current() {
    check(WITHDRAWALS);
}

/// What makes a correction of one statement, as in `you can log the number of tokens` or `3 instead of
/// 2`, took others with it while replacements were widened.
#[test]
fn what_only_looks_like_a_correction_replaces_nothing() {
    check(&[
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('u', "Never log tokens."),
                ('a', "ok"),
                ('u', "You can log the number of tokens."),
            ],
            has: &["never log tokens", "number of tokens"],
            lacks: &[],
        },
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('u', "Retries: 3 at most."),
                ('a', "ok"),
                ('u', "Actually the pool has 20 connections."),
            ],
            has: &["retries: 3 at most", "20 connections"],
            lacks: &[],
        },
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('a', "How many workers?"),
                ('u', "4"),
                ('a', "ok"),
                ('u', "Also the log level is 3 instead of 2"),
            ],
            has: &["workers? — 4\n", "- [user] also the log level"],
            lacks: &[],
        },
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('a', "Postgres or MySQL?"),
                ('u', "Postgres"),
                ('a', "ok"),
                ('u', "Use MySQL for the reports instead of Excel"),
            ],
            has: &["— postgres\n", "instead of excel"],
            lacks: &[],
        },
    ]);
}

/// One rule had three lines: with and without the name before it, and as it was said again.
#[test]
fn a_rule_that_is_said_again_is_shown_once() {
    let once = |talk: &[(char, &str)], rule: &str| {
        let text = packet(talk).to_lowercase();
        assert_eq!(text.matches(rule).count(), 1, "{text}");
    };
    let fridays = [
        ('u', "We ship a release."),
        ('a', "ok"),
        ('u', "Never deploy on Fridays."),
        ('a', "ok"),
        ('u', "Again: never deploy on fridays!!"),
    ];
    once(&fridays, "never deploy on fridays");
    let names = [
        ('u', "We ship a release."),
        ('a', "ok"),
        ('u', "Tom: never use pgloader."),
        ('a', "ok"),
        ('u', "Priya: never use DMS."),
    ];
    once(&names, "never use pgloader");
    once(&names, "never use dms");
    let agreed = [
        ('u', "We ship a release."),
        ('u', "Tom: never deploy on Fridays"),
        ('u', "Priya: yes, never deploy on Fridays!"),
    ];
    once(&agreed, "never deploy on fridays");
}

/// `Hi!` was the goal of the conversation, so that the packet had none.
#[test]
fn a_greeting_is_no_goal() {
    check(&[
        Case {
            talk: &[
                ('u', "Hi!"),
                ('a', "Hello, how can I help?"),
                ('u', "I need a CSV export of the invoices of the release for the accountants."),
                ('a', "Sure."),
                ('u', "Use semicolons."),
            ],
            has: &["goal: [user] i need a csv export", "use semicolons"],
            lacks: &["how can i help"],
        },
        Case {
            talk: &[
                ('u', "Hello there"),
                ('u', "I need a CSV export of the invoices of the release for the accountants."),
                ('a', "Sure."),
            ],
            has: &["goal: [user] i need a csv export"],
            lacks: &[],
        },
    ]);
}

/// A nod, a face and `maybe` were decisions, and a bug lost its number.
#[test]
fn chatter_decides_nothing() {
    check(&[
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('a', "ok"),
                ('u', "Fine, go on."),
                ('a', "ok"),
                ('u', "deadline got extended!! \\o/"),
            ],
            has: &[],
            lacks: &["- ok", "\\o/"],
        },
        Case {
            talk: &[
                ('u', "We need a mail template for the release."),
                ('a', "ok"),
                ('u', "I need to know the delay"),
                ('a', "The status page lists delays in Bavaria of 2 days."),
                ('u', "good to know. my mother lives there, she's waiting for a parcel too haha"),
            ],
            has: &[],
            lacks: &["bavaria", "my mother"],
        },
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('a', "Should we use Redis for the cache?"),
                ('u', "maybe"),
                ('a', "Should I write tests?"),
                ('u', "let me think about it"),
            ],
            has: &["open questions:\n- [user] should we use redis for the cache? — maybe"],
            lacks: &["decisions:"],
        },
        Case {
            talk: &[
                ('u', "We ship a release."),
                ('a', "ok"),
                ('u', "BUG-7 [HIGH]: leak in the release"),
            ],
            has: &["bug-7 [high]: leak"],
            lacks: &[],
        },
    ]);
}
