//! Placeholders, which replace redacted values: a note of the redaction, the digest, the
//! reason.

use crate::{Error, digest, key::Line};

/// The shortest text that a reason may not repeat, in characters, as in rounds. Shorter
/// texts occur in many reasons by chance.
const REPEATED_CHARS_MIN: usize = 4;

/// Rejects a `reason` that contains `text`, the text to redact. Surrounding white space
/// of the text is ignored.
///
/// # Errors
///
/// [`Error::Malformed`].
pub fn check_reason(reason: &Line, text: &str) -> Result<(), Error> {
    let text = text.trim();
    if text.chars().count() < REPEATED_CHARS_MIN || !reason.as_str().contains(text) {
        return Ok(());
    }
    Err(Error::malformed(
        "the reason has the text in it that is to go, and everyone is told the reason; say what \
         it was without repeating it",
    ))
}

/// Returns the placeholder for `value`: a JSON object. It has no reason if there is no
/// room for one.
pub fn placeholder(value: &str, reason: Option<&Line>) -> String {
    let digest = digest::sha256(value);
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
        for text in ["", " ", "2", "hunter3", "the password hunter2 was in it."] {
            assert!(check_reason(&reason, text).is_ok(), "{text:?}");
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
    }
}
