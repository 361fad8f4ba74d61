//! Finds the facts that a later one replaces.
//!
//! A fact replaces an earlier one of its class in another item if it says the same of the same
//! subject with another value: all other words are the same, apart from words on one side such as
//! `now`. Of its numbers, ids and names exactly one differs, and that one is a value (`value`) and
//! does not name the subject: `port 22` and `port 80` are two. `the production database` and `the
//! staging database` differ in a word of the subject on both sides, so both stay.
//!
//! A third party never replaces a statement of the team.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    claim::{Token, TokenKind, names_same, polarity, tokens},
    digest,
    fact::{Class, Fact, Status},
    form::is_state,
    marks, unlabelled,
    value::is_value,
};
use crate::{
    item::Authority,
    order::sorted,
    text::{
        repetitions_where,
        words::{Reader, Word},
    },
};

/// The most earlier facts with a common word that a fact is compared with.
const COMPARED_MAX: usize = 32;
/// Two statements are of one subject if they share this many percent of their words.
const SHARED_PERCENT: usize = 70;
/// Verbs that divide a subject from its predicate.
const VERBS: &[&str] = &[
    " is ", " are ", " has ", " have ", " was ", " must ", " may ", " should ", " will ", " can ",
];
/// Phrases before a choice that is left.
const LEFT: [&str; 8] = [
    "instead of ",
    "rather than ",
    "forget about ",
    "forget ",
    "scrap ",
    "let's not use ",
    "let's not go with ",
    "no longer use ",
];
/// Words of a choice that are not of its subject.
const CHOOSING: &str = "use using take go going run keep let choose adopt switch change mind \
    instead actually after all";
/// Two statements of one subject share at least this many words.
const SHARED_MIN: usize = 2;

/// The statement of a fact: words of its subject, and values.
#[derive(Debug, Default)]
struct Statement {
    words: Vec<Word>,
    values: Vec<Token>,
    /// The text in lower case.
    lower: String,
    /// True if it is a line of a checklist. Such lines are of different things.
    is_listed: bool,
    /// True if it defines its subject, as `the cutover is on Friday` does and `use Kafka` does not.
    is_definition: bool,
    /// True if it negates, as `do not use port 80` does.
    negates: bool,
    /// The number of values before its verb: they name the subject.
    of_subject: usize,
}

/// Marks the facts that a later one of the list replaces.
pub(super) fn supersede(facts: &mut [Fact]) {
    let mut reader = Reader::default();
    let choosing = reader.distinct(CHOOSING);
    // The latest facts of each class that have a word, newest last.
    let mut having: BTreeMap<(Class, Word), Vec<usize>> = BTreeMap::new();
    let mut statements: Vec<Statement> = Vec::with_capacity(facts.len());
    for place in 0..facts.len() {
        let Some(fact) = facts.get(place) else { break };
        let class = fact.class;
        if !can_be_replaced(class) {
            statements.push(Statement::default());
            continue;
        }
        let own = statement(&mut reader, fact);
        // Only a decision is left for another.
        let left = (class == Class::Decision).then(|| pivot(&mut reader, &fact.text)).flatten();
        let mut replaced: Vec<usize> = Vec::new();
        for earlier in candidates(&having, class, &own) {
            let Some((other, before)) = facts.get(earlier).zip(statements.get(earlier)) else {
                continue;
            };
            let is_repeated = is_repeated(fact, other);
            let is_elsewhere = other.place.item != fact.place.item;
            let is_left =
                left.as_ref().is_some_and(|it| before.values.iter().any(|one| names_same(one, it)));
            // Two issues with ids of their own are two, however alike they read.
            if other.superseded_by.is_none()
                && other.id == fact.id
                && may_replace(fact, other)
                && (is_repeated
                    || is_left
                    || is_elsewhere
                        && (restates(&own, before) || corrects(&own, before, &choosing)))
            {
                replaced.push(earlier);
            }
        }
        for word in own.words.iter().chain(own.values.iter().map(|it| &it.stem)) {
            having.entry((class, *word)).or_default().push(place);
        }
        statements.push(own);
        for earlier in replaced {
            if let Some(it) = facts.get_mut(earlier) {
                it.superseded_by = Some(place);
                it.status = Status::Superseded;
            }
        }
    }
}

/// Returns true if `new` may replace `old`: it has no less authority, or it is of the team and
/// has no lower score.
fn may_replace(new: &Fact, old: &Fact) -> bool {
    new.authority <= old.authority || is_of_team(new.authority) && new.score >= old.score
}

/// Returns true for everyone but third parties.
fn is_of_team(authority: Authority) -> bool {
    authority < Authority::ToolExternal
}

/// Returns true if a fact has the words of an earlier one. An issue may be found again after it was
/// settled, so it repeats the line of a digest, too.
pub(crate) fn is_repeated(new: &Fact, old: &Fact) -> bool {
    let is_same = || unsourced(&new.text) == unsourced(&old.text);
    new.digest == old.digest || new.class == Class::Issue && is_same()
}

/// Returns a line of a digest without its source, as in `Use Kafka [m4:1] (model)`.
fn unsourced(text: &str) -> &str {
    let (line, _) = digest::marked(text);
    let source = line.strip_suffix(']').and_then(|it| it.rsplit_once(" ["));
    let is_place = |it: &str| {
        let number = it.rsplit_once(':').map(|it| it.1);
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()))
    };
    source.filter(|it| is_place(it.1)).map_or(text, |it| it.0)
}

/// Returns true if a statement claims all that another does: it has its numbers and names in their
/// order, and the same negations and bounds. Then it may say the same, whatever other words it has.
fn claims_all(own: &[Token], other: &[Token]) -> bool {
    let is_hard = |it: &&Token| it.kind == TokenKind::Hard;
    let bounds = |all: &[Token]| {
        let kinds = all.iter().map(|it| it.kind);
        kinds.filter(|it| !matches!(it, TokenKind::Hard | TokenKind::Word)).collect::<Vec<_>>()
    };
    let mut hard = own.iter().filter(is_hard);
    bounds(own) == bounds(other)
        && other.iter().filter(is_hard).all(|one| hard.any(|it| names_same(one, it)))
}

/// Returns for each text the place of the one that it repeats: as
/// [`repetitions`](crate::text::repetitions), but one that is only like another repeats it only if
/// that claims all that it does, or if both are outputs of programs.
pub(crate) fn repeated(texts: &[&str], is_output: &dyn Fn(usize) -> bool) -> Vec<Option<usize>> {
    let claims = vec![OnceCell::new(); texts.len()];
    let tokens = |nth: usize| -> &[Token] {
        let read = || tokens(&mut Reader::default(), texts.get(nth).unwrap_or(&""));
        claims.get(nth).map_or(&[], |it: &OnceCell<Vec<Token>>| it.get_or_init(read).as_slice())
    };
    repetitions_where(texts, &|a, b| {
        is_output(a) && is_output(b) || claims_all(tokens(b), tokens(a))
    })
}

fn can_be_replaced(class: Class) -> bool {
    matches!(
        class,
        Class::Goal
            | Class::Constraint
            | Class::Preference
            | Class::Decision
            | Class::Critical
            | Class::State
            | Class::Fact
            | Class::Issue
            | Class::Modification
    )
}

/// Returns earlier facts that share a word with a statement: those that share its rarest words, the
/// latest first. Words that most facts have say little about the subject.
fn candidates(
    having: &BTreeMap<(Class, Word), Vec<usize>>,
    class: Class,
    own: &Statement,
) -> BTreeSet<usize> {
    let words = own.words.iter().chain(own.values.iter().map(|it| &it.stem));
    let places = words.filter_map(|it| having.get(&(class, *it))).collect();
    let rarest_first = sorted(places, |a: &&Vec<usize>, b| a.len().cmp(&b.len()));
    let mut found = BTreeSet::new();
    for place in rarest_first.into_iter().flat_map(|it| it.iter().rev().take(COMPARED_MAX)) {
        if found.len() >= COMPARED_MAX {
            break;
        }
        found.insert(*place);
    }
    found
}

/// Reads the statement of a fact, without its labelled parts.
fn statement(reader: &mut Reader, fact: &Fact) -> Statement {
    let first = fact.details.first().and_then(|it| fact.text.find(it.text.as_str()));
    let text = first.filter(|it| *it > 0).and_then(|it| fact.text.get(..it));
    let text = unsourced(text.unwrap_or(&fact.text).lines().next().unwrap_or_default());
    // `BUG-7: …` is of BUG-7.
    let bare = if fact.id.is_none() { unlabelled(text) } else { text };
    let text = if bare.trim().is_empty() { text } else { bare };
    let lower = text.to_lowercase();
    let is_definition = [" is ", " are ", " has ", " have "].iter().any(|it| lower.contains(it));
    let verb = VERBS.iter().filter_map(|it| lower.find(it)).min();
    // Bytes of the lower case are those of the text where the words are ASCII.
    let subject = verb.and_then(|it| text.get(..it)).unwrap_or_default();
    let of_subject =
        tokens(reader, subject).into_iter().filter(|it| it.kind == TokenKind::Hard).count();
    let tokens = tokens(reader, text);
    let negates = polarity(&tokens).1;
    let is_listed = is_state(text);
    let (words, values) = (Vec::new(), Vec::new());
    let mut statement =
        Statement { words, values, lower, is_listed, is_definition, negates, of_subject };
    for token in tokens {
        match token.kind {
            TokenKind::Hard => statement.values.push(token),
            TokenKind::Word if !statement.words.contains(&token.stem) => {
                statement.words.push(token.stem);
            }
            _ => {}
        }
    }
    statement
}

/// Returns true if `new` states other values of the same subject as `old`.
fn restates(new: &Statement, old: &Statement) -> bool {
    let only =
        |a: &Statement, b: &Statement| a.words.iter().filter(|it| !b.words.contains(it)).count();
    let (added, gone) = (only(new, old), only(old, new));
    let shared = new.words.len().saturating_sub(added);
    let of_both = new.words.len().saturating_add(old.words.len());
    let is_like = shared.saturating_mul(200) >= of_both.saturating_mul(SHARED_PERCENT);
    let pairs = new.values.iter().zip(&old.values);
    let same = |(one, other): &(&Token, &Token)| names_same(one, other);
    let kept = pairs.clone().filter(same).count();
    let differs_at = pairs.clone().position(|it| !same(&it)).unwrap_or(usize::MAX);
    // Names that both have are of the subject, too: `Python 3.8` and `Python 3.9`.
    let is_defined = new.is_definition && old.is_definition && shared > 0;
    let is_same = shared.saturating_add(kept) >= SHARED_MIN || is_defined;
    // Where two values differ, one may be of the subject: `use port 80 for part 1`, `… 81 for part 2`.
    let is_other = |it: &Statement| it.values.len() == kept.saturating_add(1);
    // `Team Payments must …` and `Team Search must …` are of two subjects.
    let may_change = |it: &Statement| {
        let value = it.values.get(differs_at);
        !it.is_listed && value.is_some_and(|value| is_value(&it.lower, value.start))
    };
    differs_at >= new.of_subject.max(old.of_subject)
        && new.negates == old.negates
        && is_same
        && is_like
        && (added == 0 || gone == 0)
        && is_other(new)
        && is_other(old)
        && may_change(new)
        && may_change(old)
}

/// Returns true if `new` says of itself that it corrects, and chooses another name or number for a
/// subject of `old`: `Actually, let's use Postgres for the queue.`
fn corrects(new: &Statement, old: &Statement, choosing: &[Word]) -> bool {
    let is_subject = |it: &&Word| old.words.contains(it) && !choosing.contains(it);
    let values = new.values.first().zip(old.values.first());
    marks::corrects(&new.lower)
        && new.values.len() == 1
        && old.values.len() == 1
        && values.is_some_and(|(a, b)| !names_same(a, b))
        && new.words.iter().any(|it| is_subject(&it))
}

/// Returns the choice that a sentence abandons: Y in `Switched to X from Y` and `X instead of Y`.
fn pivot(reader: &mut Reader, text: &str) -> Option<Token> {
    let lower = text.to_lowercase();
    let behind = |mark: &str| Some(lower.find(mark)?.saturating_add(mark.len()));
    let is_pivot = lower.contains("switched to") || lower.contains("switch to");
    let after = if is_pivot { behind(" from ") } else { None };
    let after = after.or_else(|| LEFT.iter().find_map(|it| behind(it)))?;
    // Both texts have the same bytes where the words are ASCII.
    let rest = text.get(after..)?;
    tokens(reader, &format!("- {rest}")).into_iter().find(|it| it.stem != 0)
}

/// Returns for each fact the place of the one that holds in its place: its own if none replaces it.
pub(crate) fn holders(facts: &[Fact]) -> Vec<usize> {
    let mut holders: Vec<usize> = (0..facts.len()).collect();
    // A fact is replaced by a later one, whose holder is known.
    for (place, fact) in facts.iter().enumerate().rev() {
        let by = fact.superseded_by.and_then(|it| holders.get(it)).copied();
        if let (Some(by), Some(it)) = (by, holders.get_mut(place)) {
            *it = by;
        }
    }
    holders
}
