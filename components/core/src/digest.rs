//! The digest that identifies a value without revealing it.
//!
//! Anyone who has the value can prove that it matches the digest. Nobody can recover the
//! value from the digest, unless the value can be guessed.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `value` as `sha256:` and 64 hexadecimal digits.
pub fn sha256(value: impl AsRef<[u8]>) -> String {
    hex_text(&Sha256::digest(value))
}

/// Returns true if `text` has the form of a digest: `sha256:` and 64 of `0-9` and `a-f`.
pub(crate) fn is_sha256(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(is_digit)
}

fn hex_text(digest: &[u8]) -> String {
    let digit = |it: u8| if it < 10 { b'0' | it } else { (b'a' - 10).wrapping_add(it) };
    let mut text = b"sha256:".to_vec();
    text.reserve(64);
    for byte in digest {
        for nibble in [byte >> 4, byte & 15] {
            text.push(digit(nibble));
        }
    }
    String::from_utf8(text).unwrap_or_default()
}
