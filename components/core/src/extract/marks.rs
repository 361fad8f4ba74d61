//! The table of phrases by which facts are found, and how a line is compared with it.

use super::{
    claim::NUMERALS,
    fact::{Class, Severity},
    line::SPEAKER_BYTES_MAX,
};
use crate::{item::Authority, text::char_at};

/// Labels: the text before a colon at the start of a line or sentence.
const LABELS: &[(Class, &[&str])] = &[
    (Class::Decision, &["decision", "decisions", "decided", "final decision"]),
    (
        Class::Constraint,
        &[
            "constraint",
            "constraints",
            "hard constraint",
            "rule",
            "policy",
            "requirement",
            "safety",
            "safety rule",
        ],
    ),
    (Class::Preference, &["preference", "user preference"]),
    (
        Class::Goal,
        &["goal", "task", "objective", "acceptance criteria", "success criteria", "done when"],
    ),
    (
        Class::Issue,
        &["blocker", "blockers", "blocked by", "error", "fatal", "panic", "issue", "bug"],
    ),
    (Class::Critical, &["critical", "security", "invariant", "perf", "performance", "note well"]),
    (
        Class::State,
        &["progress", "next actions", "next steps", "next step", "goal state", "status"],
    ),
    (Class::Modification, &["modified", "created", "deleted", "renamed"]),
    (Class::Failure, &["tried", "dead end", "failure"]),
    (Class::Learning, &["lesson", "lessons", "lesson learned", "learned", "learning", "note"]),
    (Class::Question, &["open question", "open questions", "tbd", "todo", "fixme"]),
    (Class::Fact, &["fact", "facts"]),
    (Class::Pattern, &["pattern", "convention", "anti-pattern", "avoid"]),
    (Class::Prune, &["prune"]),
];

/// Phrases at the start of a sentence, by class.
const STARTS: &[(Class, &[&str])] = &[
    (
        Class::Constraint,
        &[
            "we will not",
            "we won't",
            "i will not",
            "we must",
            "you must",
            "do not",
            "don't",
            "please do not",
            "please don't",
            "never",
            "always",
            "please never",
            "please always",
            "you can't",
            "you cannot",
            "you may not",
            "you shouldn't",
            "you should not",
            "you mustn't",
            "only",
            "make sure",
            "please make sure",
            "be sure to",
            "no more than",
            "we never",
            "we always",
        ],
    ),
    (
        Class::Decision,
        &[
            "decided",
            "we decided",
            "i decided",
            "i have decided",
            "we have decided",
            "we will",
            "we'll",
            "we are going with",
            "we're going with",
            "i'm going with",
            "going with",
            "let's use",
            "let's go with",
            "let's stick with",
            "adopt",
            "adopted",
            "selected",
            "we selected",
            "chose",
            "we chose",
            "i chose",
            "switched to",
            "we switched to",
            "we agreed",
            "agreed to",
            "the plan is to",
            "we use",
            "we are using",
            "we settled on",
            "i went with",
            "we went with",
            "let's take",
            "let's not use",
            "let's not go with",
            "scrap",
            "forget",
            "i changed my mind",
            "i've changed my mind",
            "we changed our mind",
        ],
    ),
    (
        Class::Preference,
        &[
            "prefer",
            "i prefer",
            "we prefer",
            "i want",
            "i would rather",
            "i'd rather",
            "i'd prefer",
            "i would prefer",
            "i'd like",
            "i would like",
            "please use",
        ],
    ),
    (
        Class::Goal,
        &[
            "done when",
            "the goal is",
            "our goal is",
            "my goal is",
            "the task is",
            "we need to",
            "i need to",
        ],
    ),
    (Class::Issue, &["blocked by"]),
    (Class::Question, &["tbd"]),
    (Class::Pattern, &["avoid"]),
    (Class::Failure, &["i tried", "we tried"]),
    (Class::Learning, &["lesson learned", "learned that", "it turns out", "turns out"]),
    (Class::Modification, &["i modified", "i created", "i renamed", "i deleted"]),
];

/// Reactions that may stand before a mark.
const REACTIONS: &[&str] =
    &["actually,", "actually", "no,", "ok,", "okay,", "agreed,", "well,", "right,", "so,"];

/// Phrases of a rule that begins in the middle of a sentence, behind the words that may stand before it.
const CLAUSES: &[&str] = &[
    "never",
    "always",
    "do not",
    "don't",
    "make sure",
    "be sure to",
    "you can't",
    "you cannot",
    "you may not",
];
const BEFORE: &[&str] =
    &["and", "but", "so", "then", "also", "or", "please", "ok", "okay", "yes", "yeah", "plus"];
/// Subjects of sentences that report, and command nothing.
const TOLD: &[&str] =
    &["i", "i'm", "i've", "it", "it's", "he", "she", "they", "this", "that", "there"];

/// Phrases anywhere in a sentence, by class.
const WITHIN: &[(Class, &[&str])] = &[
    (
        Class::Constraint,
        &[
            "must",
            "must never",
            "should never",
            "should always",
            "may only",
            "shall not",
            "is forbidden",
            "are forbidden",
            "not allowed",
            "isn't allowed",
            "aren't allowed",
            "is mandatory",
            "is required",
            "are required",
            "cannot exceed",
            "must not exceed",
            "user preference",
        ],
    ),
    (
        Class::Failure,
        &[
            "failed because",
            "doesn't work",
            "does not work",
            "didn't work",
            "did not work",
            "dead end",
            "abandoned",
            "reverted",
        ],
    ),
    (Class::Learning, &["turns out", "turned out"]),
    (Class::Pattern, &["anti-pattern"]),
];

/// Bounds: constraints if a number follows.
const BOUNDS: &[&str] = &["at most", "at least", "no more than", "no less than", "no later than"];
/// Phrases that say that something is done, or that it is no longer.
const SETTLES: &[&str] = &[
    "fixed",
    "resolved",
    "closed",
    "solved",
    "passes now",
    "pass now",
    "works now",
    "reopen",
    "reopened",
    "came back",
    "comes back",
    "is back",
];
/// Phrases of a message that contains nothing to keep.
const NOISE: &[&str] =
    &["saved successfully", "tests passed", "build completed", "test passed", "all tests pass"];

/// Labels of parts of a fact.
pub(super) const PARTS: &[&str] = &[
    "rationale",
    "alternatives",
    "impact",
    "validated",
    "validation",
    "agent",
    "because",
    "repro",
    "reproduction",
    "status",
    "attempted",
    "next",
    "implementation",
    "query pattern",
    "changes",
    "change",
    "reason",
    "related",
    "progress",
    "next actions",
    "next steps",
    "blockers",
    "acceptance criteria",
    "severity",
    "context",
    "trade-offs",
];
/// Returns the class of a label, in lower case and without the colon.
pub(super) fn label(text: &str) -> Option<Class> {
    let of = |text: &str| LABELS.iter().find(|(_, labels)| labels.contains(&text)).map(|it| it.0);
    of(text).or_else(|| of(text.strip_suffix('s')?))
}

/// A sentence in lower case, and where its words start, apart from those of URLs: each mark is looked
/// for there.
#[derive(Debug)]
pub(super) struct Sentence<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// A bit for each byte that a word starts with, by its last five bits.
    initials: u32,
}

impl<'a> Sentence<'a> {
    /// Reads a sentence in lower case.
    pub(super) fn new(lower: &'a str) -> Self {
        let mut starts = Vec::new();
        let (mut is_within, mut is_url) = (false, false);
        for start in 0..lower.len() {
            let Some(c) = char_at(lower, start) else { continue };
            let is_word = c.is_alphanumeric() || matches!(c, '_' | '\'');
            let begins_url = c == ':' && lower.get(start..).is_some_and(|it| it.starts_with("://"));
            is_url = (is_url || begins_url) && !c.is_whitespace();
            if is_word && !is_within && !is_url {
                starts.push(start);
            }
            is_within = is_word;
        }
        let initial = |it: &usize| bit(lower.as_bytes().get(*it));
        let initials = starts.iter().fold(0, |all, it| all | initial(it));
        Self { text: lower, starts, initials }
    }

    /// Returns the class of the sentence, if a mark announces one. `skipped` bytes at its start are
    /// bullets and the like.
    pub(super) fn class(&self, skipped: usize) -> Option<Class> {
        let opening = self.text.get(skipped..).unwrap_or_default();
        // `lena (SRE): never …`
        let colon = opening.bytes().take(SPEAKER_BYTES_MAX).position(|it| it == b':');
        let said = colon.and_then(|it| opening.split_at_checked(it));
        let said = said.filter(|it| it.1.starts_with(": ") && it.0.split(' ').take(4).count() < 4);
        let opening = said.map_or(opening, |it| it.1.trim_start_matches([':', ' ']));
        // `Actually, let's use Kafka.`
        let reacts = REACTIONS.iter().find_map(|it| opening.strip_prefix(it));
        let opening = reacts.map_or(opening, str::trim_start);
        let opens = |marks: &&(Class, &[&str])| marks.1.iter().any(|it| starts_with(opening, it));
        if let Some((class, _)) = STARTS.iter().find(opens) {
            let is_bare = *class == Class::Constraint && starts_with(opening, "only");
            let is_rule = !is_bare || self.has_any(&["allowed", "may", "use"]);
            // `We never got an answer.`
            let is_told = starts_with(opening, "we") && is_past(opening.split(' ').nth(2));
            if is_rule && !is_told && !is_small_talk(opening) {
                return Some(*class);
            }
        }
        let found = WITHIN.iter().find(|(_, marks)| self.has_any(marks)).map(|it| it.0);
        if let Some(class) = found
            && !(class == Class::Constraint && (self.is_guess() || self.is_denied(opening)))
        {
            return Some(class);
        }
        let is_bound = BOUNDS.iter().any(|it| {
            let after = self.find(it).and_then(|at| self.text.get(at.saturating_add(it.len())..));
            let word = after.and_then(|it| it.split_ascii_whitespace().next()).unwrap_or_default();
            // `At least one of them works.`
            word.starts_with(|c: char| c.is_ascii_digit())
                || NUMERALS.contains(&word) && (*it != "at least" || word != "one")
        });
        if is_bound || self.has("only") && self.has("allowed") || self.has_rule(opening) {
            return Some(Class::Constraint);
        }
        if self.has("tried") && self.has("but") {
            return Some(Class::Failure);
        }
        self.has_any(NOISE).then_some(Class::Noise)
    }

    /// Returns true if the sentence may say that something is done, or no longer done.
    pub(super) fn may_settle(&self) -> bool {
        self.has_any(SETTLES)
    }

    /// Returns true if a rule begins in the middle of the sentence: `Use first names and never say sorry`.
    fn has_rule(&self, opening: &str) -> bool {
        let initials = CLAUSES.iter().fold(0, |all, it| all | bit(it.as_bytes().first()));
        let begins = |start: &usize| {
            if bit(self.text.as_bytes().get(*start)) & initials == 0 {
                return false;
            }
            let (before, rest) = self.text.split_at_checked(*start).unwrap_or_default();
            if !CLAUSES.iter().any(|it| starts_with(rest, it)) {
                return false;
            }
            let before = before.trim_end();
            let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
            let is_apart = before.ends_with([',', ';', ':', '.', '—', '–', '-']);
            let is_named = word.len() == before.len() && word.starts_with('@');
            (is_apart || is_named || BEFORE.contains(&word)) && !is_small_talk(rest)
        };
        let mut first = opening.split([' ', ',']).take(2);
        self.initials & initials != 0
            && self.starts.iter().skip(1).any(begins)
            && !first.any(|it| TOLD.contains(&it))
    }

    /// Returns true for a choice such as `Agreed, Postgres it is.`
    pub(super) fn chooses(&self) -> bool {
        const NAMES_NONE: [&str; 9] =
            ["as", "what", "how", "that", "where", "who", "like", "and", "but"];
        let text = self.text.trim_end().trim_end_matches(['.', '!']);
        let word = text.strip_suffix(" it is").and_then(|it| it.rsplit(' ').next());
        word.is_some_and(|it| !NAMES_NONE.contains(&it))
    }

    /// Returns true for a guess such as `it must have been` or `you must be tired`.
    fn is_guess(&self) -> bool {
        const GUESSES: [&str; 12] = [
            "must be so",
            "must be hard",
            "must feel",
            "you must be",
            "that must be the",
            "that must be a",
            "must be the reason",
            "must be the cause",
            "must be why",
            "must be because",
            "must be a mistake",
            "must be a typo",
        ];
        // `Every endpoint must have a test` is a rule.
        let had = self.find("must have").and_then(|it| self.text.get(it..)?.split(' ').nth(2));
        (self.has_any(&GUESSES) || is_past(had)) && !self.has_any(&["must not", "must be at"])
    }

    /// Returns true for a rule that is called off: `You no longer must use tabs.`
    fn is_denied(&self, opening: &str) -> bool {
        const DENIALS: [&str; 5] = [
            "it's not true",
            "it is not true",
            "it isn't true",
            "it's not the case",
            "nobody says",
        ];
        self.has_any(&["no longer must", "not that you must"])
            || DENIALS.iter().any(|it| starts_with(opening, it))
    }

    fn has_any(&self, marks: &[&str]) -> bool {
        marks.iter().any(|it| self.has(it))
    }

    fn has(&self, mark: &str) -> bool {
        self.find(mark).is_some()
    }

    #[inline]
    fn find(&self, mark: &str) -> Option<usize> {
        // Most sentences have no word that begins like the mark.
        let may_have = self.initials & bit(mark.as_bytes().first()) != 0;
        if may_have { self.find_word(mark) } else { None }
    }

    #[inline(never)]
    fn find_word(&self, mark: &str) -> Option<usize> {
        let is_it = |start: &usize| self.text.get(*start..).is_some_and(|it| starts_with(it, mark));
        self.starts.iter().copied().find(is_it)
    }
}

/// Returns true for a verb in the past or its participle, as far as its form says so.
fn is_past(word: Option<&str>) -> bool {
    const PAST: [&str; 16] = [
        "been", "gone", "had", "got", "done", "made", "said", "seen", "saw", "did", "found",
        "lost", "knew", "thought", "heard", "went",
    ];
    let word = word.unwrap_or_default().trim_end_matches(|c: char| !c.is_alphanumeric());
    PAST.contains(&word) || word.ends_with("ed") && !word.ends_with("eed")
}

/// Returns the bit of a first byte in `Sentence::initials`.
fn bit(byte: Option<&u8>) -> u32 {
    byte.map_or(0, |it| 1 << (it & 31))
}

/// Sources that a sentence may quote, and the verbs of a quotation.
const QUOTED: &[&str] = &[
    "page",
    "site",
    "website",
    "readme",
    "file",
    "document",
    "documentation",
    "docs",
    "output",
    "tool",
    "result",
    "article",
    "comment",
    "email",
    "mail",
    "log",
    "response",
    "text",
    "ticket",
];
const QUOTES: &[&str] = &[
    "says", "said", "say", "states", "claims", "tells", "told", "asks", "wants", "reads", "demands",
];

/// Returns true if a sentence in lower case quotes a page, a file or an output.
pub(crate) fn is_quotation(lower: &str) -> bool {
    const NEAR: usize = 12;
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty());
    let mut words = words.take(NEAR);
    let is_rule = |it: &&str| !["must", "should", "never", "always", "not", "will"].contains(it);
    let begins = starts_with(lower, "according to");
    words.any(|it| QUOTED.contains(&it))
        && (begins || words.take_while(is_rule).any(|it| QUOTES.contains(&it)))
}

/// Returns the name of an author, unless it is that of a role: who has which authority, no text says.
pub(super) fn author(name: &str) -> Option<&str> {
    const ROLES: [&str; 8] =
        ["human", "system", "admin", "owner", "orchestrator", "developer", "assistant", "root"];
    let is_role = |word: &str| {
        let is = |it: &str| it.eq_ignore_ascii_case(word);
        ROLES.iter().any(|it| is(it)) || Authority::ALL.iter().any(|it| is(it.as_str()))
    };
    let mut words = name.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    (!words.any(is_role)).then_some(name)
}

/// Returns true for sentences such as `Don't worry` and `I want to thank you`.
fn is_small_talk(lower: &str) -> bool {
    const TALK: [&str; 14] = [
        "don't worry",
        "don't know",
        "don't think",
        "don't forget to have",
        "always a",
        "never mind",
        "do not know",
        "do not think",
        "we will see",
        "we'll see",
        "always happy",
        "never a",
        "forget it",
        "forget that",
    ];
    TALK.iter().any(|it| starts_with(lower, it))
}

/// Returns true if a sentence in lower case says that its speaker is not certain of it.
pub(super) fn is_hedged(lower: &str) -> bool {
    const HEDGES: [&str; 8] = [
        "if i remember",
        "as far as i remember",
        "as far as i know",
        "i guess",
        "i believe",
        "i'm not sure",
        "not sure if",
        "probably",
    ];
    HEDGES.iter().any(|it| lower.contains(it))
}

/// Returns true if a sentence in lower case corrects what was decided before.
pub(super) fn corrects(lower: &str) -> bool {
    const STARTS: [&str; 7] = [
        "actually",
        "no,",
        "scrap",
        "forget",
        "i changed my mind",
        "i've changed",
        "on second thought",
    ];
    let text = lower.trim_end().trim_end_matches(['.', '!']);
    STARTS.iter().any(|it| lower.starts_with(it))
        || [" instead", " after all"].iter().any(|it| text.ends_with(it))
}

/// Returns the severity that stands alone between brackets or colons of a text.
pub(super) fn severity(text: &str) -> Option<Severity> {
    let mut parts = text.split(['[', ']', '(', ')', ':']).skip(1);
    parts.find_map(severity_named)
}

/// Returns the severity of this name.
pub(super) fn severity_named(name: &str) -> Option<Severity> {
    let is_it = |it: &&Severity| it.as_str().eq_ignore_ascii_case(name.trim());
    Severity::ALL.iter().find(is_it).copied()
}

/// Returns true if `text` starts with the words of `mark`.
#[inline]
fn starts_with(text: &str, mark: &str) -> bool {
    // Most marks differ in the first two bytes.
    let (text_bytes, mark_bytes) = (text.as_bytes(), mark.as_bytes());
    text_bytes.first() == mark_bytes.first()
        && text_bytes.get(1) == mark_bytes.get(1)
        && starts_with_all(text, mark)
}

#[inline(never)]
fn starts_with_all(text: &str, mark: &str) -> bool {
    text.strip_prefix(mark).is_some_and(ends_word)
}

fn ends_word(rest: &str) -> bool {
    rest.chars().next().is_none_or(|it| !it.is_alphanumeric() && it != '_')
}
