//! Relations between the words of a sentence, as far as a few words in it say them: bounds, order,
//! direction, what is counted, and what is negated. A summary with all words of a fact may have
//! exchanged them.

use crate::extract::{
    claim::{After, Token, TokenKind, names_same, order_of},
    unit_of,
};

/// A relation of a word to the rest of its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    AtMost,
    AtLeast,
    Before,
    Behind,
    From,
    To,
}

impl Relation {
    fn opposite(self) -> Self {
        match self {
            Self::AtMost => Self::AtLeast,
            Self::AtLeast => Self::AtMost,
            Self::Before => Self::Behind,
            Self::Behind => Self::Before,
            Self::From => Self::To,
            Self::To => Self::From,
        }
    }

    fn is_order(self) -> bool {
        matches!(self, Self::Before | Self::Behind)
    }
}

/// Words of a sentence that revokes what stands before them.
const REVOKED: [&str; 11] = [
    "dropped",
    "rejected",
    "revoked",
    "cancelled",
    "canceled",
    "lifted",
    "withdrawn",
    "abandoned",
    "scrapped",
    "overruled",
    "repealed",
];
/// The words that are looked at behind one that states a relation.
const NEAR: usize = 3;

/// Returns true if `said` exchanges or turns a relation of `claim`: a bound, an order, a direction, or
/// what a number counts. `is_turned` says whether the order differs as far as the words alone say it.
pub(super) fn turns(claim: &[&Token], said: &[&Token], is_turned: bool) -> bool {
    let (own, other) = (relations(claim), relations(said));
    let has_order = own.iter().any(|it| it.0.is_order());
    let mut is_known = false;
    let is_exchanged = own.iter().any(|(relation, objects)| {
        let of = |relation: Relation| -> Vec<&Token> {
            let same = other.iter().filter(|it| it.0 == relation);
            same.flat_map(|it| it.1.iter().copied()).collect()
        };
        let (same, turned) = (of(*relation), of(relation.opposite()));
        let is_claimed = |it: &&&Token| is_in(it, claim);
        if shares(objects, &same) {
            is_known |= relation.is_order();
            return false;
        }
        if shares(objects, &turned) {
            return true;
        }
        // `A before B` is `B after A`.
        is_known |= relation.is_order() && turned.iter().any(|it| is_claimed(&it));
        same.iter().any(|it| is_claimed(&it))
    });
    is_exchanged || is_turned && !(has_order && is_known) || recounts(claim, said)
}

/// Returns the words that are related, each list with its relation.
fn relations<'a>(tokens: &[&'a Token]) -> Vec<(Relation, Vec<&'a Token>)> {
    let mut found = Vec::new();
    let mut is_negated = false;
    for (place, token) in tokens.iter().enumerate() {
        let behind = tokens.iter().skip(place.saturating_add(1));
        let relation = match token.kind {
            TokenKind::AtMost => Some(Relation::AtMost),
            TokenKind::AtLeast => Some(Relation::AtLeast),
            _ => order_of(token).map(|it| if it { Relation::Before } else { Relation::Behind }),
        };
        if let Some(relation) = relation {
            let relation = if is_negated { relation.opposite() } else { relation };
            let near: Vec<&Token> =
                behind.take_while(|it| is_content(it)).take(NEAR).copied().collect();
            let objects = if relation.is_order() {
                near.into_iter().take(2).collect()
            } else {
                named_first(&near)
            };
            found.push((relation, objects));
        } else if is_content(token) {
            let near = std::iter::once(token).chain(behind.take_while(|it| it.after.is_none()));
            let near: Vec<&Token> =
                near.take_while(|it| is_content(it)).take(NEAR).copied().collect();
            let object = named_first(&near);
            let is_named = object.iter().all(|it| it.kind == TokenKind::Hard);
            match token.after {
                Some(After::From) => found.push((Relation::From, object)),
                // `to migrate` has no direction.
                Some(After::To) if is_named => found.push((Relation::To, object)),
                _ => {}
            }
        }
        is_negated = token.kind == TokenKind::Negation;
    }
    found
}

/// Returns the first number, id or name of some words, or else the first word.
fn named_first<'a>(near: &[&'a Token]) -> Vec<&'a Token> {
    let named = near.iter().find(|it| it.kind == TokenKind::Hard).or(near.first());
    named.into_iter().copied().collect()
}

/// Returns true if `said` counts with a number of `claim` what another number of it counts.
fn recounts(claim: &[&Token], said: &[&Token]) -> bool {
    let own = counted(claim);
    let others = counted(said);
    own.iter().any(|(number, noun)| {
        let is_it = |it: &&(&Token, &Token)| names_same(number, it.0);
        let is_right = others.iter().filter(is_it).any(|it| names_same(noun, it.1));
        let is_other =
            |noun: &Token| own.iter().any(|it| !names_same(number, it.0) && names_same(noun, it.1));
        !is_right && others.iter().filter(is_it).any(|it| is_other(it.1))
    })
}

/// Returns each number with the word behind it.
fn counted<'a>(tokens: &[&'a Token]) -> Vec<(&'a Token, &'a Token)> {
    let pairs = tokens.iter().copied().zip(tokens.iter().copied().skip(1));
    let is_number = |it: &Token| it.form.starts_with(|c: char| c.is_ascii_digit());
    pairs.filter(|(a, b)| is_number(a) && b.kind == TokenKind::Word).collect()
}

/// Returns true if `said` is of a part of what `claim` is of, no longer of it alone, or in another
/// unit, revokes it, or exchanges what goes where.
pub(super) fn changes(claim: &[&Token], said: &[&Token]) -> bool {
    const ALONE: [&str; 5] = ["alone", "restricted", "limited", "nobody", "everyone"];
    let has = |list: &[&Token], kind| list.iter().any(|it| it.kind == kind);
    let is_alone = |it: &&Token| {
        matches!(it.kind, TokenKind::Only | TokenKind::Negation)
            || ALONE.contains(&it.form.as_str())
    };
    let pairs = || said.iter().zip(said.iter().skip(1));
    // `Some requests must be signed` is no `requests must be signed`.
    let is_part = !has(claim, TokenKind::Some)
        && pairs().any(|(a, b)| a.kind == TokenKind::Some && is_in(b, claim));
    let is_revoked = pairs()
        .any(|(a, b)| REVOKED.contains(&b.form.as_str()) && is_in(a, claim) && !is_in(b, claim));
    has(claim, TokenKind::Only) && !said.iter().any(is_alone)
        || is_part
        || is_revoked
        || lacks_unit(claim, said) && lacks_unit(said, claim)
        || crosses(claim, said)
}

/// Returns true if some tokens have a unit that others have not: `per month`
fn lacks_unit(own: &[&Token], other: &[&Token]) -> bool {
    let is_unit = |it: &&&Token| it.kind == TokenKind::Word && unit_of(&it.form) != 0;
    own.iter()
        .filter(is_unit)
        .any(|one| !other.iter().filter(is_unit).any(|it| unit_of(&it.form) == unit_of(&one.form)))
}

/// Returns true if `said` moves to one place what `claim` moves to another: `Reads go to the
/// primary, writes to the replica.`
fn crosses(claim: &[&Token], said: &[&Token]) -> bool {
    let (own, others) = (moved(claim), moved(said));
    own.iter().filter(|it| !it.0.is_empty()).any(|(what, place)| {
        let to = others.iter().filter(|it| names_same(it.1, place));
        let mut wrong = to.filter(|it| !shares(&it.0, what));
        wrong.any(|it| own.iter().any(|one| !names_same(one.1, place) && shares(&it.0, &one.0)))
    })
}

/// Returns each place that something goes to or comes from, with the words before it.
fn moved<'a>(tokens: &[&'a Token]) -> Vec<(Vec<&'a Token>, &'a Token)> {
    let mut found = Vec::new();
    let mut what = Vec::new();
    for token in tokens.iter().copied().filter(|it| is_content(it)) {
        if matches!(token.after, Some(After::From | After::To)) {
            found.push((std::mem::take(&mut what), token));
        } else {
            what.push(token);
        }
    }
    found
}

/// Returns true for a word that says how others are related, and nothing by itself.
pub(super) fn links(token: &Token) -> bool {
    ["between", "among", "during", "per", "via"].contains(&token.form.as_str())
}

/// Returns true if `said` negates other words of `claim`, or more of them. A sentence with a word of
/// `behind` may negate the words before it, so that nothing is known of it.
pub(super) fn negates_other(claim: &[&Token], said: &[&Token], behind: &[&str]) -> bool {
    if said.iter().any(|it| behind.contains(&it.form.as_str())) {
        return false;
    }
    let own = negated(claim, claim);
    let other = negated(said, claim);
    let all: Vec<&Token> = own.iter().flatten().copied().collect();
    let is_first = |it: &Vec<&Token>| it.first().is_some_and(|it| !is_in(it, &all));
    let shared = other.iter().any(|it| shares(it, &all));
    !all.is_empty() && !other.is_empty() && !shared
        || other.len() > own.len() && other.iter().any(is_first)
}

/// Returns for each negation that has one the words of `claim` close behind it.
pub(super) fn negated<'a>(tokens: &[&'a Token], claim: &[&Token]) -> Vec<Vec<&'a Token>> {
    let negations = tokens.iter().enumerate().filter(|it| it.1.kind == TokenKind::Negation);
    let near = negations.map(|(place, _)| {
        let next = tokens.iter().skip(place.saturating_add(1)).take(NEAR);
        next.copied().filter(|it| is_content(it) && !links(it) && is_in(it, claim)).collect()
    });
    near.filter(|it: &Vec<&Token>| !it.is_empty()).collect()
}

fn is_content(token: &Token) -> bool {
    matches!(token.kind, TokenKind::Hard | TokenKind::Word)
        && token.stem != 0
        && order_of(token).is_none()
}

fn is_in(token: &Token, list: &[&Token]) -> bool {
    list.iter().any(|it| names_same(token, it))
}

fn shares(list: &[&Token], other: &[&Token]) -> bool {
    list.iter().any(|it| is_in(it, other))
}
