//! The digest by which a value is known without being told.
//!
//! It lets anyone who has the value prove that it was this one; nobody gets the value
//! back from it, unless it can be guessed.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `value`: `sha256:` and 64 hexadecimal digits.
pub fn sha256(value: impl AsRef<[u8]>) -> String {
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
