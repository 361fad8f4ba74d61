//! What a sentence says of the words in it: whether it negates, bounds from above or below, or
//! orders.

use super::claim::{Token, TokenKind};

/// Words of statements that something is earlier, and of those that it is later.
pub(super) const EARLIER: [&str; 3] = ["before", "until", "within"];
pub(super) const LATER: [&str; 2] = ["after", "since"];
/// The direction of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    AtMost,
    AtLeast,
}

/// Returns the bound of a sentence, if it has one, and true if it negates something else than a
/// comparison: `no more than 5` bounds, and does not negate.
pub(crate) fn polarity(tokens: &[Token]) -> (Option<Bound>, bool) {
    let (mut bound, mut negates) = (None, false);
    let mut is_pending = false;
    for token in tokens {
        let side = match token.kind {
            TokenKind::AtMost => Some(Bound::AtMost),
            TokenKind::AtLeast => Some(Bound::AtLeast),
            _ => None,
        };
        if let Some(side) = side {
            let turned = match side {
                Bound::AtMost => Bound::AtLeast,
                Bound::AtLeast => Bound::AtMost,
            };
            bound.get_or_insert(if is_pending { turned } else { side });
            is_pending = false;
        } else {
            negates |= std::mem::replace(&mut is_pending, token.kind == TokenKind::Negation);
        }
    }
    (bound, negates || is_pending)
}

/// Returns true if a sentence says that something happens before another, false for after, and
/// `None` if it says neither or both. `not before` is after.
pub(crate) fn is_earlier(tokens: &[Token]) -> Option<bool> {
    let mut found = None;
    let mut is_negated = false;
    for token in tokens {
        if let Some(is_earlier) = order_of(token) {
            let is_earlier = is_earlier != is_negated;
            if found.is_some_and(|it| it != is_earlier) {
                return None;
            }
            found = Some(is_earlier);
        }
        is_negated = token.kind == TokenKind::Negation;
    }
    found
}

/// Returns true for a word that says that something is earlier, false for one that says that it is
/// later, and `None` for others.
pub(crate) fn order_of(token: &Token) -> Option<bool> {
    let is_in = |list: &[&str]| list.contains(&token.form.as_str());
    if is_in(&EARLIER) { Some(true) } else { is_in(&LATER).then_some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{extract::claim::tokens, text::words::Reader};

    #[test]
    fn comparisons_bound_and_do_not_negate() {
        let of = |sentence: &str| polarity(&tokens(&mut Reader::default(), sentence));
        for (sentence, expected) in [
            ("no more than 5 retries", (Some(Bound::AtMost), false)),
            ("at most 5 retries", (Some(Bound::AtMost), false)),
            ("not less than 5", (Some(Bound::AtLeast), false)),
            ("at least 5, never on Friday", (Some(Bound::AtLeast), true)),
            ("do not deploy", (None, true)),
            ("I can’t", (None, true)),
            ("deploy", (None, false)),
        ] {
            assert_eq!(of(sentence), expected, "{sentence}");
        }
    }
}
