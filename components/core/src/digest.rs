//! The digest that identifies a value without revealing it.
//!
//! Anyone who has the value can prove that it matches the digest. Nobody can recover the
//! value from the digest, unless the value can be guessed.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `value` as `sha256:` and 64 hexadecimal digits.
pub fn sha256(value: impl AsRef<[u8]>) -> String {
    hex_text(&Sha256::digest(value))
}

fn hex_text(digest: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in digest {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
