//! Placeholders, which replace redacted values: a note of the redaction, the digest, the
//! reason.

use crate::{Error, digest, key::Line};

/// The shortest text that a reason may not contain anywhere, in characters, as in rounds.
/// Shorter texts are parts of many words by chance.
const REPEATED_CHARS_MIN: usize = 4;
/// The shortest word that may be a secret by itself, in bytes.
const CODE_BYTES_MIN: usize = 6;
/// The least digits of a number that may be one: a date has fewer.
const NUMBER_DIGITS_MIN: usize = 9;

/// Rejects a `reason` that contains `text`, the text to redact: a short one only as a word
/// of its own. Surrounding white space of the text is ignored. Also rejects one that has a word
/// of the text that may be a secret by itself.
///
/// # Errors
///
/// [`Error::Malformed`].
pub fn check_reason(reason: &Line, text: &str) -> Result<(), Error> {
    let (text, reason) = (text.trim(), reason.as_str());
    let is_long = text.chars().count() >= REPEATED_CHARS_MIN;
    let is_letter = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
    let is_repeated = |(at, it): (usize, &str)| {
        let (before, rest) = reason.split_at(at);
        let after = rest.chars().nth(it.chars().count());
        is_long || !(is_letter(before.chars().next_back()) || is_letter(after))
    };
    if !text.is_empty() && reason.match_indices(text).any(is_repeated) {
        return Err(Error::malformed(
            "the reason has the text in it that is to go, and everyone is told the reason; say what \
             it was without repeating it",
        ));
    }
    let codes: Vec<&str> = words(text).filter(|it| is_code(it)).collect();
    if words(reason).any(|it| codes.contains(&it)) {
        return Err(Error::malformed(
            "the reason has a code or a number of the text that is to go, and everyone is told the \
             reason; say what it was without repeating it",
        ));
    }
    Ok(())
}

/// Returns the words of a text, without the marks around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_inside = |c: char| c.is_alphanumeric();
    text.split(|c: char| c.is_whitespace() || ",;\"'`()[]{}<>=".contains(c))
        .map(move |it| it.trim_matches(|c| !is_inside(c)))
}

/// Returns true for a word that may be a secret by itself: of letters and digits, or a long number.
fn is_code(word: &str) -> bool {
    let count = |is_meant: fn(char) -> bool| word.chars().filter(|it| is_meant(*it)).count();
    let digits = count(|it| it.is_ascii_digit());
    let has_letter = count(char::is_alphabetic) > 0;
    digits > 0 && word.len() >= CODE_BYTES_MIN && (has_letter || digits >= NUMBER_DIGITS_MIN)
}

/// Returns the placeholder for `value`: a JSON object. It has no reason if there is no
/// room for one.
pub fn placeholder(value: &str, reason: Option<&Line>) -> String {
    placeholder_of(&digest::sha256(value), reason)
}

/// Returns true if `text` is the placeholder of some value.
pub fn is_placeholder(text: &str) -> bool {
    let rest = text.strip_prefix(r#"{"redacted":true,"digest":""#);
    let Some((digest, rest)) = rest.and_then(|it| it.split_once('"')) else { return false };
    let shown = rest.strip_prefix(r#","reason":""#).and_then(|it| it.strip_suffix(r#""}"#));
    let reason = shown.and_then(|shown| {
        let (mut reason, mut is_escaped) = (String::new(), false);
        for c in shown.chars() {
            is_escaped = c == '\\' && !is_escaped;
            if !is_escaped {
                reason.push(c);
            }
        }
        Line::parse("reason", &reason).ok()
    });
    // The parsed parts are written again, so a text that differs anywhere is not a placeholder.
    digest::is_sha256(digest) && placeholder_of(digest, reason.as_ref()) == text
}

fn placeholder_of(digest: &str, reason: Option<&Line>) -> String {
    let Some(reason) = reason else {
        return format!(r#"{{"redacted":true,"digest":"{digest}"}}"#);
    };
    let mut shown = String::new();
    for c in reason.as_str().chars() {
        if matches!(c, '"' | '\\') {
            shown.push('\\');
        }
        shown.push(c);
    }
    format!(r#"{{"redacted":true,"digest":"{digest}","reason":"{shown}"}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_does_not_repeat_the_text() {
        let reason = Line::parse("reason", "the password hunter2 was in it").unwrap();
        for text in ["hunter2", "hunter2\n", "hunt", "the password hunter2 was in it"] {
            assert!(check_reason(&reason, text).is_err(), "{text:?}");
        }
        for text in ["", " ", "2", "hunter3", "The password of the shop was in it."] {
            assert!(check_reason(&reason, text).is_ok(), "{text:?}");
        }
    }

    /// A reason could repeat the one word that was secret, if the text had others.
    #[test]
    fn a_reason_has_no_code_of_the_text() {
        let text = "The Postmark password is \"hunter2-1\", for order 4711 of 2026-03-02, call \
                    491701234567 (key=AKIA99).";
        for reason in ["password hunter2-1", "it had (hunter2-1)!", "491701234567", "key AKIA99"] {
            let reason = Line::parse("reason", reason).unwrap();
            assert!(check_reason(&reason, text).is_err(), "{reason:?}");
        }
        for reason in ["held a password", "order 4711", "of 2026-03-02", "hunter2-12", "AKIA9"] {
            let reason = Line::parse("reason", reason).unwrap();
            assert!(check_reason(&reason, text).is_ok(), "{reason:?}");
        }
    }

    /// A reason could once repeat a value of up to three characters, such as a PIN.
    #[test]
    fn a_reason_does_not_have_a_short_text_as_a_word() {
        for reason in ["123", "the PIN 123", "x123 or PIN=123.", "\u{e9}123 (123)"] {
            let reason = Line::parse("reason", reason).unwrap();
            assert!(check_reason(&reason, " 123\n").is_err(), "{reason:?}");
        }
        for reason in ["a PIN", "1234", "\u{e9}123", "123a 0123"] {
            let reason = Line::parse("reason", reason).unwrap();
            assert!(check_reason(&reason, "123").is_ok(), "{reason:?}");
        }
    }

    #[test]
    fn a_placeholder_has_only_the_digest_and_the_reason() {
        let reason = Line::parse("reason", r#"a "key" in C:\x"#).unwrap();
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(
            placeholder("abc", Some(&reason)),
            format!(
                r#"{{"redacted":true,"digest":"sha256:{of_abc}","reason":"a \"key\" in C:\\x"}}"#
            )
        );
        for text in [placeholder("abc", Some(&reason)), placeholder("abc", None)] {
            assert!(is_placeholder(&text), "{text}");
            assert!(!is_placeholder(&text.replace(',', ", ")), "{text}");
            assert!(!is_placeholder(&text.replace("ba78", "secret")), "{text}");
            assert!(!is_placeholder(&text.replace('}', r#","more":"secret"}"#)), "{text}");
        }
        assert!(!is_placeholder("secret") && !is_placeholder("{}"));
    }
}
