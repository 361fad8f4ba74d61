//! Texts of errors that need more than one sentence.

use std::fmt;

use super::StoreLimit;
use crate::{
    key::{self, Key},
    tokens::Tokens,
};

/// Writes why `key` is none, and the key that it most likely means.
pub(super) fn invalid_key(f: &mut fmt::Formatter<'_>, key: &str, has_prefix: bool) -> fmt::Result {
    if has_prefix {
        return write!(
            f,
            "key {key:?} has a prefix, which this session does not allow; \
             write it without, as in {:?}",
            key.replace(':', "_")
        );
    }
    let shown: String = key.chars().take(80).collect();
    write!(f, "key {shown:?} must be 1 to 64 of a-z, 0-9 and _")?;
    match key::similar(key) {
        Some(similar) => write!(f, "; write it as {similar}"),
        None => f.write_str(" (for example open_questions)"),
    }
}

/// Writes that no `kind` with this `id` exists.
pub(super) fn absent(f: &mut fmt::Formatter<'_>, kind: &str, id: &str) -> fmt::Result {
    let shown: String = id.chars().take(140).collect();
    write!(f, "there is no {kind} {shown:?}; ask the operator to create it")
}

/// Writes that a packet was altered, and where.
pub(super) fn altered(f: &mut fmt::Formatter<'_>, differences: &[String]) -> fmt::Result {
    f.write_str("the packet is not what its checksum says")?;
    for (nth, pointer) in differences.iter().take(10).enumerate() {
        let shown: String = pointer.chars().take(200).collect();
        write!(f, "{}{shown}", if nth == 0 { ": it differs at " } else { ", " })?;
    }
    f.write_str("; read it again with context_read")
}

/// Writes which limit the store would exceed, and which entries are the largest.
pub(super) fn full(
    f: &mut fmt::Formatter<'_>,
    over: &StoreLimit,
    largest: &[(Key, Tokens)],
) -> fmt::Result {
    match over {
        StoreLimit::Tokens { tokens, tokens_max } => {
            write!(f, "the store would have {tokens}, it holds at most {}", tokens_max.0)?;
        }
        StoreLimit::Keys { keys, keys_max } => {
            write!(f, "the store would have {keys} keys, it holds at most {keys_max}")?;
        }
        StoreLimit::Document { bytes, bytes_max } => {
            return write!(
                f,
                "the session would take {bytes} bytes to export, at most {bytes_max} can be \
                 imported again; delete a snapshot or entries first, or shorten access lists"
            );
        }
    }
    f.write_str("; delete or distill entries first")?;
    for (nth, (key, tokens)) in largest.iter().enumerate() {
        let lead = if nth == 0 { ", the largest are " } else { ", " };
        write!(f, "{lead}{key} ({tokens})")?;
    }
    Ok(())
}
