//! What stands in the place of a redacted value: that it was, its digest, why.

use crate::{digest, key::Line};

/// What is stored instead of `value`: a JSON object.
pub fn placeholder(value: &str, reason: &Line) -> String {
    let mut shown = String::new();
    for c in reason.as_str().chars() {
        if matches!(c, '"' | '\\') {
            shown.push('\\');
        }
        shown.push(c);
    }
    let digest = digest::sha256(value);
    format!(r#"{{"redacted":true,"digest":"{digest}","reason":"{shown}"}}"#)
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
