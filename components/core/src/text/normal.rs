//! The normal form of a text, in which repetitions are equal: without case, accents, white space and
//! timestamps.
//!
//! Unlike the words of `words`, it keeps every word and sign, because `-5` does not repeat `5`.

use super::{
    char_at,
    fold::{Class, class, fold},
    words::{DIGEST_OF_NOTHING, digest_with},
};

/// Passes the tokens of `text` to `push`, as digests: words, single characters of scripts without
/// spaces, and single signs.
pub(super) fn tokens(text: &str, mut push: impl FnMut(u64)) {
    let bytes = text.as_bytes();
    let mut word = None;
    let mut at: usize = 0;
    while let Some(byte) = bytes.get(at).copied() {
        if word.is_none() && byte.is_ascii_digit() {
            let length = timestamp(bytes.get(at..).unwrap_or_default());
            if length > 0 {
                at = at.saturating_add(length);
                continue;
            }
        }
        // Most characters are ASCII letters: a run of them is read at once.
        if byte.is_ascii_alphanumeric() {
            let mut digest = word.unwrap_or(DIGEST_OF_NOTHING);
            let mut letter = byte;
            while letter.is_ascii_alphanumeric() {
                digest = digest_with(digest, letter.to_ascii_lowercase());
                at = at.saturating_add(1);
                letter = bytes.get(at).copied().unwrap_or(0);
            }
            word = Some(digest);
            continue;
        }
        let Some(c) = char_at(text, at) else { break };
        at = at.saturating_add(c.len_utf8());
        let class = if c.is_ascii() { Class::Break } else { class(c) };
        match class {
            Class::Letter => word = Some(with(word.unwrap_or(DIGEST_OF_NOTHING), c)),
            Class::Mark => {}
            Class::Pair | Class::Break => {
                word.take().into_iter().for_each(&mut push);
                if !c.is_whitespace() {
                    push(with(DIGEST_OF_NOTHING, c));
                }
            }
        }
    }
    word.into_iter().for_each(push);
}

/// Returns `digest` with `c`, folded.
fn with(digest: u64, c: char) -> u64 {
    let mut digest = digest;
    fold(c, |it| {
        digest = it.encode_utf8(&mut [0; 4]).bytes().fold(digest, digest_with);
    });
    digest
}

/// Returns the length of the timestamp that `text` begins with, or 0: a date with a time, or a time
/// with seconds. A date alone is content.
fn timestamp(text: &[u8]) -> usize {
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return 0;
    }
    let dated = [b"0000-00-00T00:00".as_slice(), b"0000-00-00 00:00"];
    let length = match dated.iter().find(|it| has_shape(text, it)) {
        Some(shape) => {
            let length = shape.len();
            let rest = text.get(length..).unwrap_or_default();
            length.saturating_add(if has_shape(rest, b":00") { 3 } else { 0 })
        }
        None if has_shape(text, b"00:00:00") => 8,
        None => return 0,
    };
    let rest = text.get(length..).unwrap_or_default();
    let fraction = match rest {
        [b'.' | b',', digits @ ..] => digits.iter().take_while(|it| it.is_ascii_digit()).count(),
        _ => 0,
    };
    let length = length.saturating_add(if fraction > 0 { fraction.saturating_add(1) } else { 0 });
    let rest = text.get(length..).unwrap_or_default();
    let zones = [b"Z".as_slice(), b"+00:00", b"-00:00", b"+0000", b"-0000"];
    let zone = zones.iter().find(|it| has_shape(rest, it)).map_or(0, |it| it.len());
    let length = length.saturating_add(zone);
    let is_end = text.get(length).is_none_or(|it| !it.is_ascii_alphanumeric());
    if is_end { length } else { 0 }
}

/// Returns true if `text` begins with `shape`, in which `0` matches any digit.
fn has_shape(text: &[u8], shape: &[u8]) -> bool {
    let alike =
        |(it, shape): (&u8, &u8)| if *shape == b'0' { it.is_ascii_digit() } else { it == shape };
    text.len() >= shape.len() && text.iter().zip(shape).all(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> Vec<u64> {
        let mut found = Vec::new();
        tokens(text, |it| found.push(it));
        found
    }

    #[test]
    fn repetitions_have_one_normal_form() {
        for (a, b) in [
            ("Done  in\t2 s\r\n", "done in 2 s"),
            ("[2025-11-04T14:23:00Z] started", "[2026-01-01T00:00:59.123+01:00] started"),
            ("2025-11-04 14:23 started", "started"),
            ("12:00:01,5 ok", "ok"),
            ("Café", "CAFE\u{301}"),
            ("", " \n"),
        ] {
            assert_eq!(normal(a), normal(b), "{a}");
        }
    }

    #[test]
    fn what_differs_has_another_normal_form() {
        for (a, b) in [
            ("due 2025-11-04", "due 2025-11-05"),
            ("at 14:23", "at 14:24"),
            ("x > 5", "x < 5"),
            ("-5", "5"),
            ("id 12:00:01a", "id 12:00:02a"),
            ("東京", "京東"),
            ("👍", "👎"),
        ] {
            assert_ne!(normal(a), normal(b), "{a}");
        }
    }
}
