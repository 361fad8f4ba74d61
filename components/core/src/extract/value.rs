//! Distinguishes the number, id or name that is the value of a statement from those that name its
//! subject.
//!
//! A value may be restated: `The limit is 3`, `at most 5`, `5 replicas`. What stands behind a noun
//! names one of several things that all may hold: `port 22`, `table T1`, `Python 3.8`. In doubt it
//! names: two facts that are kept cost a few tokens, and a rule that is lost costs more.

use super::claim::unit_of;

/// Verbs and signs that define.
const DEFINES: &[&str] = &[" is ", " are ", " was ", " has ", " have ", " be ", " = "];
/// Words that may stand between a verb that defines and the value, or before a quantity.
const BETWEEN: &[&str] = &[
    "a",
    "an",
    "the",
    "now",
    "still",
    "currently",
    "only",
    "exactly",
    "about",
    "due",
    "set",
    "moved",
    "changed",
    "raised",
    "lowered",
    "up",
    "on",
    "at",
    "in",
    "to",
    "by",
    "from",
    "of",
    "for",
    "with",
    "than",
    "most",
    "least",
    "under",
    "over",
    "below",
    "above",
    "within",
    "and",
    "or",
];
/// Words after which a number is a bound or an amount.
const BOUNDS: &[&str] = &[
    "most", "least", "than", "within", "under", "over", "below", "above", "exactly", "of", "max",
    "min", "maximum", "minimum",
];
/// Phrases before a number that is a decision.
const SETTLES: &[&str] =
    &["decided on", "settled on", "agreed on", "set to", "changed to", "raised to", "lowered to"];
/// Verbs of an instruction that sets a number.
const SETS: &[&str] = &["set ", "raise ", "lower ", "increase ", "reduce ", "change "];
/// Verbs that have a quantity as their object.
const COUNTS: &[&str] = &[
    "use", "keep", "need", "needs", "allow", "take", "takes", "spend", "wait", "store", "hold",
    "want", "run", "start", "deploy", "create",
];

/// Returns true if the number, id or name that begins at `start` is a value of the statement, which
/// is in lower case.
pub(super) fn is_value(lower: &str, start: usize) -> bool {
    let Some((before, rest)) = lower.split_at_checked(start) else { return false };
    let is_sign = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | '*');
    let before = before.trim_end_matches(is_sign);
    let negates =
        ["never ", "not ", "do not ", "don't ", "no "].iter().any(|it| before.starts_with(it));
    let is_amount = rest.starts_with(['$', '€', '£']);
    let is_number = is_amount || rest.starts_with(|c: char| c.is_ascii_digit());
    if before.ends_with(['=', '→']) || before.ends_with(':') && !negates {
        return true;
    }
    // A verb at the end has lost its space.
    let padded = [before, " "].concat();
    let end_of = |verb: &&str| Some(padded.rfind(*verb)?.saturating_add(verb.len()));
    let defined = DEFINES.iter().filter_map(end_of);
    let is_between =
        |word: &str| BETWEEN.contains(&word) || word.starts_with(|c: char| c.is_ascii_digit());
    if let Some(end) = defined.max()
        && before.get(end..).unwrap_or_default().split_ascii_whitespace().all(is_between)
    {
        return true;
    }
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_counted = word.is_empty() || BETWEEN.contains(&word) || COUNTS.contains(&word);
    let is_set = word == "to" && SETS.iter().any(|it| before.starts_with(it));
    is_number
        && (BOUNDS.contains(&word)
            || is_set
            || SETTLES.iter().any(|it| before.ends_with(it))
            || is_counted && (is_amount || is_quantity(rest)))
}

/// Returns true if a number with what follows is a quantity: `5 ms`, `80 %`, `5 replicas`.
fn is_quantity(rest: &str) -> bool {
    let mut words = rest.split_ascii_whitespace();
    let own = words.next().unwrap_or_default();
    let unit = own.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-'));
    let unit = unit.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
    if unit == "%" || unit_of(unit) != 0 {
        return true;
    }
    let next = words.next().unwrap_or_default();
    let next = next.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
    let is_plural =
        next.len() > 3 && next.ends_with('s') && next.bytes().all(|it| it.is_ascii_lowercase());
    !own.ends_with(['.', ',', ';', ':']) && (next == "%" || unit_of(next) != 0 || is_plural)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_from_names() {
        for (sentence, value, expected) in [
            ("the retry limit is 3", "3", true),
            ("the cutover is on friday", "friday", true),
            ("the report is due on 12 march", "march", true),
            ("the pool has 20 connections", "20", true),
            ("retry limit = 5", "5", true),
            ("we decided on 5 replicas", "5", true),
            ("spend at most 300 dollars", "300", true),
            ("budget of 500 usd", "500", true),
            ("use 5 workers", "5", true),
            ("set the limit to 3", "3", true),
            ("never use port 22", "22", false),
            ("do not touch table t1", "t1", false),
            ("we will support python 3.8", "3.8", false),
            ("the database is in zone 2", "2", false),
            ("backups are stored in dublin", "dublin", false),
            ("we must keep v1 compatible", "v1", false),
            ("test 5 failed", "5", false),
            ("support firefox 120", "firefox", false),
            ("never open: 22", "22", false),
        ] {
            let start = sentence.find(value).unwrap_or(0);
            assert_eq!(is_value(sentence, start), expected, "{sentence}");
        }
    }
}
