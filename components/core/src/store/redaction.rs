//! What stands in the place of a redacted value: that it was, its digest, why.
//!
//! The digest lets anyone who has the value prove that it was this one; nobody
//! gets the value back from it, unless it can be guessed.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::key::Line;

/// The digest of `value`: `sha256:` and 64 hexadecimal digits.
pub fn digest(value: impl AsRef<[u8]>) -> String {
    told(&Sha256::digest(value))
}

fn told(digest: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in digest {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What is stored instead of `value`: a JSON object.
pub fn placeholder(value: &str, reason: &Line) -> String {
    let mut shown = String::new();
    for c in reason.as_str().chars() {
        if matches!(c, '"' | '\\') {
            shown.push('\\');
        }
        shown.push(c);
    }
    format!(r#"{{"redacted":true,"digest":"{}","reason":"{shown}"}}"#, digest(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_keeps_the_digest_and_the_reason_and_nothing_else() {
        let reason = Line::parse("reason", r#"a "key" in C:\x"#).unwrap();
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(
            placeholder("abc", &reason),
            format!(
                r#"{{"redacted":true,"digest":"sha256:{of_abc}","reason":"a \"key\" in C:\\x"}}"#
            )
        );
    }
}
