//! Settles issues: reads which sentences say that something is done or came back, and finds the issues
//! that they are about.
//!
//! A sentence settles only what it plainly says is done: `BUG-7 is fixed`, `I fixed it`. What is said
//! under a condition, of the future, or with a doubt settles nothing: in doubt an issue stays open.

use std::collections::BTreeMap;

use super::fact::{Class, Fact, Place, Settlement, Status};
use crate::{
    item::Authority,
    order::map,
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
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) place: Place,
    /// The authority of its source.
    pub(super) by: Authority,
    /// True if it is a line of a digest.
    pub(super) is_digested: bool,
    /// False if it says that issues came back.
    pub(super) is_done: bool,
    /// The ids of the issues.
    pub(super) ids: Vec<String>,
    /// Without ids, the words of what is done; none if it is any issue before.
    pub(super) subject: Vec<Word>,
}

/// Reads a sentence in lower case: whether it says that something is done, or came back.
pub(super) fn report(reader: &mut Option<Reader>, lower: &str) -> Option<Report> {
    let words = words(lower);
    let is_doubted = words.iter().any(|it| is_doubt(it));
    let came_back = || {
        let marks = words.iter().zip(words.iter().skip(1));
        let is_back = |(verb, it): (&&str, &&str)| {
            *it != "back" && REOPENED.contains(it)
                || *it == "back" && ["came", "comes", "is"].contains(verb)
                || DONE.contains(it) && (*verb == "not" || verb.ends_with("n't"))
        };
        let ids = ids_of(&words);
        let is_it = !ids.is_empty() && marks.into_iter().any(is_back);
        is_it.then(|| Report { ids, ..Report::default() })
    };
    if is_doubted {
        return came_back();
    }
    let at = words.iter().position(|it| DONE.contains(it));
    let at = at.or_else(|| {
        let mut pairs = words.iter().zip(words.iter().skip(1));
        pairs.position(|(it, next)| DONE_NOW.contains(it) && *next == "now")
    });
    let Some(at) = at else { return came_back() };
    let (before, after) = words.split_at_checked(at)?;
    let after = after.get(1..).unwrap_or_default();
    let is_now = words.get(at).is_some_and(|it| DONE_NOW.contains(it));
    let adverbs = before.iter().rev().take_while(|it| ADVERBS.contains(it));
    let (count, has_been) = adverbs.fold((0_usize, false), |(count, has_been), it| {
        (count.saturating_add(1), has_been || *it == "been")
    });
    let verb_at = before.len().saturating_sub(count).checked_sub(1);
    let verb = verb_at.and_then(|it| before.get(it)).copied().unwrap_or(",");
    let starts = |words: &[&str]| words.first().is_some_and(|it| is_id(it));
    let (subject, ids) = if is_now || has_been || PASSIVE.contains(&verb) {
        let end = if is_now { before.len() } else { verb_at.unwrap_or(0) };
        let clause = before.get(..end).unwrap_or_default();
        let from = clause.iter().rposition(|it| *it == ",").map_or(0, |it| it.saturating_add(1));
        let clause = clause.get(from..).unwrap_or_default();
        let own = clause.iter().rev().skip_while(|it| !is_id(it));
        let is_pronoun = ["it", "this", "that", "they", "these", "those"];
        let is_it = verb.contains('\'') || clause.last().is_some_and(|it| is_pronoun.contains(it));
        (if is_it { &[] } else { clause }, listed(own.copied()))
    } else if ACTIVE.contains(&verb) || starts(after) && !verb.ends_with("ly") {
        let is_titled = verb == "," && after.first() == Some(&",");
        let after = if is_titled { after.get(1..).unwrap_or_default() } else { after };
        let end = after.iter().position(|it| ENDS.contains(it) || *it == "and");
        let object = end.and_then(|it| after.get(..it)).unwrap_or(after);
        let own = after.iter().skip_while(|it| !is_id(it));
        let has_id = object.iter().any(|it| is_id(it));
        (object, if has_id { listed(own.copied()) } else { Vec::new() })
    } else {
        return None;
    };
    let mut stems = Vec::new();
    let is_any = |it: &str| ADVERBS.contains(&it) || ISSUES.iter().any(|own| it.starts_with(own));
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
    DOUBTS.contains(&word) || word.ends_with("n't")
}

fn is_id(word: &str) -> bool {
    !super::form::ids(word).is_empty()
}

fn ids_of(words: &[&str]) -> Vec<String> {
    words.iter().flat_map(|it| super::form::ids(it)).collect()
}

/// Returns the ids with which some words begin: `BUG-7, BUG-8 and BUG-9`.
fn listed<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let is_between = |it: &str| [",", "and", "bug", "issue"].contains(&it);
    let own: Vec<&str> = words.take_while(|it| is_id(it) || is_between(it)).collect();
    ids_of(&own)
}

/// What was reported of a fact.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Reported {
    /// The place of the report that settled it or opened it again.
    by: Option<usize>,
    /// True if the opposite was reported between.
    is_again: bool,
    /// True if something was reported before it.
    is_before: bool,
}

/// The reports about one id, in the order of their items, each with the start of the run of reports
/// that say the same.
type Runs = Vec<(usize, usize)>;

/// Settles issues by what was said later, and returns what was reported of each fact. By its id only
/// the team settles an issue of the team.
pub(super) fn settle(facts: &mut [Fact], reports: &[Report], last: usize) -> Vec<Reported> {
    const BACK_MAX: usize = 20;
    const KEPT_FOR: usize = 10;
    let key = |it: &Report| (it.place.item, it.place.start);
    let key_of = |it: usize| reports.get(it).map_or((0, 0), key);
    let mut by_id: BTreeMap<(&str, bool), Runs> = BTreeMap::new();
    // Reports without an id, by a word of what is done. Without a word it is any issue.
    let mut by_word: BTreeMap<Word, Vec<usize>> = BTreeMap::new();
    for (place, report) in reports.iter().enumerate() {
        for id in &report.ids {
            for is_of_team in [false, true] {
                if is_of_team && report.by >= Authority::ToolExternal {
                    continue;
                }
                let runs = by_id.entry((id.as_str(), is_of_team)).or_default();
                let before = runs
                    .last()
                    .filter(|it| reports.get(it.0).is_some_and(|it| it.is_done == report.is_done));
                let start = before.map_or(runs.len(), |it| it.1);
                runs.push((place, start));
            }
        }
        let any = report.subject.is_empty().then_some(0);
        let words = any.into_iter().chain(report.subject.iter().copied());
        for word in words.filter(|_| report.ids.is_empty() && report.is_done) {
            let of = by_word.entry(word).or_default();
            if of.last().is_none_or(|it| key_of(*it) != key(report)) {
                of.push(place);
            }
        }
    }
    let mut reader = Reader::default();
    let mut reported = vec![Reported::default(); facts.len()];
    let issues = facts.iter_mut().zip(&mut reported).filter(|it| it.0.class == Class::Issue);
    for (fact, reported) in issues {
        let from = fact.place.item;
        let is_of_team = fact.authority < Authority::ToolExternal;
        match &fact.id {
            Some(id) => {
                let runs = by_id.get(&(id.as_str(), is_of_team)).map_or(&[][..], |it| it);
                let first = runs.partition_point(|it| key_of(it.0) < (from, fact.place.start));
                let start = runs.last().map_or(0, |it| it.1).max(first);
                let found = runs.get(start).map(|it| it.0);
                // What was never done did not come back.
                let is_done = |it: &usize| reports.get(*it).is_some_and(|it| it.is_done);
                reported.by = found.filter(|it| is_done(it) || start > first);
                reported.is_again = start > first;
                reported.is_before = first > 0;
            }
            None if by_word.is_empty() => {}
            None => {
                let mut words = reader.distinct(&fact.text);
                words.push(0);
                let behind = (from, fact.place.start.saturating_add(1));
                for places in words.iter().filter_map(|it| by_word.get(it)) {
                    let first = places.partition_point(|it| key_of(*it) < behind);
                    reported.is_before |= first > 0;
                    let found = places.get(first).copied().into_iter().chain(reported.by).min();
                    let is_near = |it: &usize| key_of(*it).0.saturating_sub(from) <= BACK_MAX;
                    reported.by = found.filter(is_near);
                }
            }
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

/// Returns the reports that settled a fact or opened it again, in their order, and for each fact the
/// place of its own, and whether something was reported before it.
pub(super) fn settlements(
    reports: &[Report],
    reported: &[Reported],
) -> (Vec<Settlement>, Vec<(Option<usize>, bool)>) {
    // Of a digest all, so that those that settle nothing any more are known.
    let digested = reports.iter().enumerate().filter(|it| it.1.is_digested);
    let mut places: BTreeMap<usize, bool> = map(digested.map(|it| (it.0, false)));
    for (by, is_again) in reported.iter().filter_map(|it| Some((it.by?, it.is_again))) {
        *places.entry(by).or_default() |= is_again;
    }
    let found = places.iter().filter_map(|(place, is_again)| {
        let Report { place, by, .. } = *reports.get(*place)?;
        Some(Settlement { place, authority: by, is_again: *is_again })
    });
    let nth: BTreeMap<usize, usize> = map(places.keys().copied().zip(0..));
    let of = |it: &Reported| (it.by.and_then(|it| nth.get(&it).copied()), it.is_before);
    (found.collect(), reported.iter().map(of).collect())
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
