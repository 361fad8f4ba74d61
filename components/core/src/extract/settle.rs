//! Settles issues: reads which sentences say that something is done or came back, and finds the issues
//! that they are about.
//!
//! A sentence settles an issue only if it plainly says that it is done: `BUG-7 is fixed`, `I fixed it`.
//! A condition, the future or a doubt settles nothing: in doubt an issue stays open.

use std::collections::BTreeMap;

use super::fact::{Class, Fact, Place, Status};
use crate::{
    item::Authority,
    text::words::{Reader, Word},
};

/// Words that say that something is done. After some of them `now` must follow.
const DONE: [&str; 4] = ["fixed", "resolved", "closed", "solved"];
const DONE_NOW: [&str; 3] = ["passes", "pass", "works"];
/// Words that say that something is not done any more.
const REOPENED: [&str; 3] = ["reopened", "reopen", "back"];
/// Words that may stand between a verb and the word that something is done.
const ADVERBS: [&str; 10] =
    ["now", "already", "finally", "just", "all", "both", "been", "fully", "completely", "also"];
/// Verbs after which something was done to a subject.
const PASSIVE: [&str; 8] = ["is", "are", "was", "were", "it's", "that's", "been", "they're"];
/// Subjects and verbs after which somebody did something to an object.
const ACTIVE: [&str; 8] = ["i", "we", "has", "have", "i've", "we've", "and", ","];
/// Words that say of what is done that it will be, may be or is not done.
const DOUBTS: [&str; 42] = [
    "if",
    "when",
    "once",
    "until",
    "unless",
    "whether",
    "after",
    "before",
    "soon",
    "later",
    "tomorrow",
    "nobody",
    "none",
    "no",
    "not",
    "never",
    "neither",
    "cannot",
    "without",
    "will",
    "would",
    "should",
    "must",
    "may",
    "might",
    "could",
    "can",
    "thought",
    "think",
    "believe",
    "hope",
    "hoped",
    "assume",
    "maybe",
    "perhaps",
    "supposed",
    "partly",
    "partially",
    "but",
    "however",
    "mistake",
    "reopened",
];
/// Words for any issue, by their beginnings.
const ISSUES: [&str; 9] =
    ["error", "issue", "bug", "problem", "fail", "test", "build", "everything", "crash"];
/// Words that end the object of a verb.
const ENDS: [&str; 12] =
    ["in", "by", "with", "on", "at", "to", "for", "from", "since", "because", "so", ","];

/// A sentence that says that issues are done, or that they came back.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) place: Place,
    /// The authority of its source.
    pub(crate) by: Authority,
    /// True if it settled a fact or opened it again, or is a line of a digest.
    pub(crate) is_known: bool,
    /// True if the opposite was reported before of the same issue.
    pub(crate) is_again: bool,
    /// False if it says that issues came back.
    pub(super) is_done: bool,
    /// The ids of the issues.
    pub(super) ids: Vec<String>,
    /// Without ids, the words of what is done; none if it is any issue before.
    pub(super) subject: Vec<Word>,
}

/// Returns true if a word is one of a list.
#[inline(never)]
fn is(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}

/// Reads a sentence in lower case: whether it says that something is done, or came back.
pub(super) fn report(reader: &mut Option<Reader>, lower: &str) -> Option<Report> {
    let words = words(lower);
    let is_doubted = words.iter().any(|it| is_doubt(it));
    let came_back = || {
        let marks = words.iter().zip(words.iter().skip(1));
        let is_back = |(verb, it): (&&str, &&str)| {
            *it != "back" && is(it, &REOPENED)
                || *it == "back" && is(verb, &["came", "comes", "is"])
                || is(it, &DONE) && (*verb == "not" || verb.ends_with("n't"))
        };
        let ids = ids_of(&words);
        let is_it = !ids.is_empty() && marks.into_iter().any(is_back);
        is_it.then(|| Report { ids, ..Report::default() })
    };
    if is_doubted {
        return came_back();
    }
    let at = words.iter().position(|it| is(it, &DONE));
    let at = at.or_else(|| {
        let mut pairs = words.iter().zip(words.iter().skip(1));
        pairs.position(|(it, next)| is(it, &DONE_NOW) && *next == "now")
    });
    let Some(at) = at else { return came_back() };
    let (before, after) = words.split_at_checked(at)?;
    let after = after.get(1..).unwrap_or_default();
    let is_now = words.get(at).is_some_and(|it| is(it, &DONE_NOW));
    let adverbs = before.iter().rev().take_while(|it| is(it, &ADVERBS));
    let (count, has_been) = adverbs.fold((0_usize, false), |(count, has_been), it| {
        (count.saturating_add(1), has_been || *it == "been")
    });
    let verb_at = before.len().saturating_sub(count).checked_sub(1);
    let verb = verb_at.and_then(|it| before.get(it)).copied().unwrap_or(",");
    let starts = |words: &[&str]| words.first().is_some_and(|it| is_id(it));
    let (subject, ids) = if is_now || has_been || is(verb, &PASSIVE) {
        let end = if is_now { before.len() } else { verb_at.unwrap_or(0) };
        let clause = before.get(..end).unwrap_or_default();
        let from = clause.iter().rposition(|it| *it == ",").map_or(0, |it| it.saturating_add(1));
        let clause = clause.get(from..).unwrap_or_default();
        let own = clause.iter().rev().skip_while(|it| !is_id(it));
        let is_pronoun = ["it", "this", "that", "they", "these", "those"];
        let is_it = verb.contains('\'') || clause.last().is_some_and(|it| is(it, &is_pronoun));
        (if is_it { &[] } else { clause }, listed(own.copied()))
    } else if is(verb, &ACTIVE) || starts(after) && !verb.ends_with("ly") {
        let is_titled = verb == "," && after.first() == Some(&",");
        let after = if is_titled { after.get(1..).unwrap_or_default() } else { after };
        let end = after.iter().position(|it| is(it, &ENDS) || *it == "and");
        let object = end.and_then(|it| after.get(..it)).unwrap_or(after);
        let own = after.iter().skip_while(|it| !is_id(it));
        let has_id = object.iter().any(|it| is_id(it));
        (object, if has_id { listed(own.copied()) } else { Vec::new() })
    } else {
        return None;
    };
    let mut stems = Vec::new();
    let is_any = |it: &str| is(it, &ADVERBS) || ISSUES.iter().any(|own| it.starts_with(own));
    for word in subject.iter().filter(|it| !is_any(it)) {
        reader.get_or_insert_default().read(word, &mut stems);
    }
    stems.retain(|it| *it != 0);
    Some(Report { is_done: true, ids, subject: stems, ..Report::default() })
}

/// Returns true if a text in lower case says that something is done: `fixed in v2`.
pub(super) fn is_done(lower: &str) -> bool {
    report(&mut None, lower).is_some_and(|it| it.is_done)
}

/// Returns the words of a sentence; a comma stands for each sign between its clauses.
fn words(lower: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for raw in lower.split_whitespace() {
        let word = raw.trim_matches(|c: char| !(c.is_alphanumeric() || c == '#'));
        words.extend((!word.is_empty()).then_some(word));
        if raw.ends_with([',', ';', ':', '.', '!', '—', '–']) {
            words.push(",");
        }
    }
    words
}

fn is_doubt(word: &str) -> bool {
    is(word, &DOUBTS) || word.ends_with("n't")
}

fn is_id(word: &str) -> bool {
    !super::form::ids(word).is_empty()
}

fn ids_of(words: &[&str]) -> Vec<String> {
    words.iter().flat_map(|it| super::form::ids(it)).collect()
}

/// Returns the ids with which some words begin: `BUG-7, BUG-8 and BUG-9`.
fn listed<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let is_between = |it: &str| is(it, &[",", "and", "bug", "issue"]);
    let own: Vec<&str> = words.take_while(|it| is_id(it) || is_between(it)).collect();
    ids_of(&own)
}

/// The reports about a fact.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reported {
    /// The place of the report that settled it or opened it again.
    pub(crate) by: Option<usize>,
    /// True if something was reported of such an issue before it.
    pub(crate) is_before: bool,
}

/// The most reports that say the same of one issue, and are looked at.
const RUN_MAX: usize = 64;

/// Returns the word by which the reports about an id are found, apart from those of third parties.
fn word_of(id: &str, is_of_team: bool) -> Word {
    let digest = |it: Word, byte: u8| it.wrapping_mul(0x0100_0000_01B3) ^ Word::from(byte);
    id.bytes().fold(Word::from(is_of_team).wrapping_add(7), digest)
}

/// Settles issues by what was said later, and returns what was reported of each fact. By its id only
/// the team settles an issue of the team.
pub(super) fn settle(facts: &mut [Fact], reports: &mut [Report], last: usize) -> Vec<Reported> {
    const BACK_MAX: usize = 20;
    const KEPT_FOR: usize = 10;
    // Reports by their ids, or by a word of what is done; 0 if it is any issue.
    let mut about: BTreeMap<Word, Vec<usize>> = BTreeMap::new();
    for (place, report) in reports.iter().enumerate() {
        let mut words = report.subject.clone();
        if !report.ids.is_empty() {
            words = report.ids.iter().map(|it| word_of(it, false)).collect();
            let of_team = report.ids.iter().filter(|_| report.by < Authority::ToolExternal);
            words.extend(of_team.map(|it| word_of(it, true)));
        } else if words.is_empty() {
            words.push(0);
        }
        for word in words {
            about.entry(word).or_default().push(place);
        }
    }
    let mut reader = None;
    let mut reported = vec![Reported::default(); facts.len()];
    if about.is_empty() {
        return reported;
    }
    for (fact, reported) in facts.iter_mut().zip(&mut reported) {
        if fact.class != Class::Issue {
            continue;
        }
        let own = (fact.place.item, fact.place.start);
        let from = fact.place.item;
        let is_own_before =
            |it: &usize| reports.get(*it).is_some_and(|it| (it.place.item, it.place.start) <= own);
        let is_done = |it: &usize| reports.get(*it).is_some_and(|it| it.is_done);
        let mut is_again = false;
        let words = if let Some(id) = &fact.id {
            vec![word_of(id, fact.authority < Authority::ToolExternal)]
        } else {
            let reader: &mut Reader = reader.get_or_insert_default();
            let mut words = reader.distinct(&fact.text);
            words.push(0);
            words
        };
        for places in words.iter().filter_map(|it| about.get(it)) {
            let first = places.partition_point(is_own_before);
            reported.is_before |= first > 0;
            let behind = places.get(first..).unwrap_or_default();
            let Some(end) = behind.last() else { continue };
            let mut found = behind.first().copied();
            if fact.id.is_some() {
                // The first of those that say the same at last.
                let run = behind.iter().rev().take(RUN_MAX);
                let run = run.take_while(|it| is_done(it) == is_done(end)).count();
                is_again = run < behind.len();
                found = behind.get(behind.len().saturating_sub(run)).copied();
                // An issue that was never done did not come back.
                found = found.filter(|it| is_done(it) || is_again);
            }
            let is_near = |it: &usize| {
                let item = reports.get(*it).map_or(0, |it| it.place.item);
                fact.id.is_some() || item.saturating_sub(from) <= BACK_MAX
            };
            let found = found.filter(is_near);
            reported.by = match (found, reported.by) {
                (Some(found), Some(other)) => Some(found.min(other)),
                (found, other) => found.or(other),
            };
        }
        if let Some(it) = reported.by.and_then(|it| reports.get_mut(it)) {
            it.is_known = true;
            it.is_again |= is_again;
        }
        let by = reported.by.and_then(|it| reports.get(it)).filter(|it| it.is_done);
        if by.is_some() && fact.status == Status::Open {
            fact.status = Status::Resolved;
        }
        let done_in = by.map_or(from, |it| it.place.item);
        if fact.status == Status::Resolved && last.saturating_sub(done_in) > KEPT_FOR {
            fact.score = 20;
        }
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_plainly_done_is_done() {
        let of = |text: &str| {
            let it = report(&mut None, text)?;
            Some((it.is_done, it.ids.join(" "), it.subject.len()))
        };
        let done = |ids: &str, words| Some((true, ids.to_owned(), words));
        for (text, expected) in [
            ("bug-7 is fixed.", done("BUG-7", 0)),
            ("bug-7 and bug-8 have been fixed in v2", done("BUG-8 BUG-7", 0)),
            ("bug-8 remains, bug-7 is now closed", done("BUG-7", 0)),
            ("tom fixed bug-7 and found bug-8", done("BUG-7", 0)),
            ("fixed: bug-7, bug-8", done("BUG-7 BUG-8", 0)),
            ("fixed in v2", done("", 0)),
            ("it passes now", done("", 0)),
            ("we fixed it by adding a queue", done("", 0)),
            ("the pool error is fixed", done("", 1)),
            ("we closed the office on friday", done("", 1)),
            ("bug-7 was reopened; it was closed by mistake.", Some((false, "BUG-7".to_owned(), 0))),
            ("i thought bug-7 was fixed, but it came back", Some((false, "BUG-7".to_owned(), 0))),
            ("please get bug-7 fixed", None),
            ("bug-7 is only partly fixed", None),
            ("once bug-7 is resolved, tell me", None),
            ("bug-7 is to be closed", None),
            ("the table has a fixed width", None),
            ("", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
