//! Texts of errors that need more than one sentence.

use std::fmt;

use super::StoreLimit;
use crate::{
    key::{self, Key},
    time::Timestamp,
    tokens::Tokens,
};

/// Writes why `key` is invalid, and the valid key that was most likely meant.
pub(super) fn invalid_key(f: &mut fmt::Formatter<'_>, key: &str, has_prefix: bool) -> fmt::Result {
    if has_prefix {
        if key.split_once(':').is_none_or(|(_, rest)| rest.is_empty()) {
            return write!(
                f,
                "prefix {key:?} is of no key, because this session allows no prefixes; leave \
                 prefix out to list all keys"
            );
        }
        return write!(
            f,
            "key {key:?} has a prefix, which this session does not allow; \
             write it without, as in {:?}",
            key.replace(':', "_")
        );
    }
    let shown: String = key.chars().take(80).collect();
    write!(f, "key {shown:?} must be 1 to 64 of a-z, 0-9 and _")?;
    if key.contains('*') {
        return f.write_str("; this takes no patterns: list the keys, and name those you mean");
    }
    match key::similar(key) {
        Some(similar) => write!(f, "; write it as {similar}")?,
        None => return f.write_str(" (for example open_questions)"),
    }
    // The session may allow prefixes or not; that is not known here.
    if let Some((prefix, rest)) = key.split_once(':')
        && let (Some(prefix), Some(rest)) = (own_or_similar(prefix), own_or_similar(rest))
    {
        write!(f, ", or as {prefix}:{rest} if the session allows prefixes")?;
    }
    Ok(())
}

/// Returns `part` of a key if it is valid, else the valid one that was most likely meant.
fn own_or_similar(part: &str) -> Option<String> {
    if part.contains(':') {
        return None;
    }
    Key::parse(part).map(|it| it.to_string()).ok().or_else(|| key::similar(part))
}

/// Writes that not even the task of a packet fits its budget, and what would fit.
pub(super) fn packet_too_small(
    f: &mut fmt::Formatter<'_>,
    budget: Tokens,
    needed: Tokens,
    form: &str,
    fits: Option<(&str, &str)>,
) -> fmt::Result {
    let (needed, budget) = (needed.0, budget.0);
    write!(
        f,
        "the task and its goal need a budget of {needed} or more as {form}, the packet has {budget}; \
         raise max_tokens"
    )?;
    if let Some((form, depth)) = fits {
        write!(f, ", generate it with form {form} and depth {depth}")?;
    }
    f.write_str(", or say the task in fewer words")
}

/// Writes that no `kind` with this `id` exists.
pub(super) fn absent(f: &mut fmt::Formatter<'_>, kind: &str, id: &str) -> fmt::Result {
    let shown: String = id.chars().take(140).collect();
    write!(f, "there is no {kind} {shown:?}; ask the operator to create it")
}

/// Writes that the content of a section exceeds the limit of its level.
pub(super) fn section_too_large(
    f: &mut fmt::Formatter<'_>,
    level: u8,
    tokens: Tokens,
    bytes: usize,
) -> fmt::Result {
    match level {
        1 => {
            write!(f, "the content has {tokens}, level 1 has at most 1000; move details to level 2")
        }
        2 => {
            write!(f, "the content has {tokens}, level 2 has at most 500; move details to level 3")
        }
        3 => write!(
            f,
            "the content has {tokens}, level 3 has at most 3000; split it, as in §3.1.1 and §3.1.2"
        ),
        _ => write!(
            f,
            "the content has {bytes} bytes, level 4 has at most 65536 inline; refer to the file with \
             file, or split it"
        ),
    }
}

/// Writes that the caller does not own a section, and its owner.
pub(super) fn not_owner(
    f: &mut fmt::Formatter<'_>,
    marker: &str,
    owner: Option<&(String, &'static str, String, Timestamp)>,
) -> fmt::Result {
    let Some((owner, kind, reason, expires_at)) = owner else {
        return write!(f, "nobody owns section {marker}; acquire it first");
    };
    write!(f, "section {marker} is owned by {owner} ({kind}) until {expires_at}")?;
    if !reason.is_empty() {
        write!(f, ", for: {reason}")?;
    }
    f.write_str(
        "; wait until then, ask the owner to release it, or let the orchestrator transfer it",
    )
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

/// Writes which limit the store would exceed, and which entries are the largest. A caller that
/// `is_limited` to some keys may not be able to make room.
pub(super) fn full(
    f: &mut fmt::Formatter<'_>,
    over: &StoreLimit,
    is_limited: bool,
    largest: &[(Key, Tokens)],
) -> fmt::Result {
    match over {
        StoreLimit::Tokens { tokens, tokens_max } if is_limited => write!(
            f,
            "the store would exceed its limit of {} tokens, with {tokens} in your keys",
            tokens_max.0
        )?,
        StoreLimit::Keys { keys, keys_max } if is_limited => {
            write!(f, "the store would exceed its limit of {keys_max} keys, with {keys} of yours")?;
        }
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
    f.write_str(if is_limited {
        "; ask the orchestrator to make room, or delete or distill entries first"
    } else {
        "; delete or distill entries first"
    })?;
    for (nth, (key, tokens)) in largest.iter().enumerate() {
        let lead = if nth == 0 { ", the largest are " } else { ", " };
        write!(f, "{lead}{key} ({tokens})")?;
    }
    Ok(())
}
