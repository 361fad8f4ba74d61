//! The known name that a wrong one most likely means.

/// Least similarity, from 0 to 1, of two names of which one is a typo of the other.
const ALIKE: f64 = 0.6;
/// Longest name that is compared, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Names that agents use for ours, as language models write them: theirs, then ours in the order of
/// preference.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["get", "fetch", "load", "view", "show", "get_value", "read_key", "query"], &["read"]),
    (&["get_many", "read_many", "read_all", "get_all", "multi_get"], &["read_batch"]),
    (
        &["add", "set", "put", "update", "create", "save", "store", "insert", "upsert", "append"],
        &["write"],
    ),
    (&["remove", "del", "rm", "erase", "clear", "unset"], &["delete"]),
    (&["list", "ls", "keys", "list_entries", "index", "search"], &["list_keys"]),
    (&["history", "versions", "log"], &["read_history"]),
    (&["watch", "wait", "poll", "subscribe", "since"], &["changes"]),
    (&["propose", "propose_delta", "add_delta", "suggest"], &["propose_deltas"]),
    (&["withdraw", "withdraw_delta", "retract", "take_back"], &["withdraw_deltas"]),
    (&["reject", "reject_delta", "decline", "refuse"], &["reject_deltas"]),
    (&["sequence", "deltas", "delta", "ids"], &["sequences"]),
    (&["state", "get_state"], &["read_state"]),
    (&["subagent", "invite", "mint", "spawn", "create_subagent"], &["add_subagent"]),
    (&["restore", "rollback", "revert"], &["restore_snapshot"]),
    (&["diff", "compare"], &["diff_snapshots"]),
    (&["access", "share", "permit", "grant"], &["set_access"]),
    (&["content", "text", "data", "body", "val", "contents", "message"], &["value", "text"]),
    (&["ttl", "expires_in", "expiry", "lifetime", "expires"], &["ttl_seconds"]),
    (&["keys", "name", "id", "path", "entry", "field", "title"], &["key", "keys"]),
    (&["key", "names", "entries", "patterns"], &["keys", "key"]),
    (&["version", "expected_version", "base_version", "if_match"], &["if_version"]),
    (&["revision", "after", "from_revision", "cursor", "last_revision"], &["since", "if_revision"]),
    (&["timeout", "wait", "timeout_seconds", "wait_ms", "seconds"], &["wait_seconds", "wait"]),
    (&["readers", "read_by", "visible_to", "access"], &["readable_by"]),
    (&["writers", "write_by", "editable_by"], &["writable_by"]),
    (&["name", "snapshot", "tag", "snapshot_label"], &["label"]),
    (&["op", "type", "action"], &["operation"]),
    (&["why", "because", "justification", "source", "rationale"], &["reason", "provenance"]),
    (&["items", "changes", "proposals", "delta", "operations"], &["deltas", "writes"]),
];

/// Returns the one of `candidates` that `name` most likely means: by its usual meaning, or as a
/// typo. Returns `None` if none is near.
pub fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let name = &name.trim().to_ascii_lowercase().replace(['-', ' ', '.'], "_");
    let candidates: Vec<&str> = candidates.collect();
    let has = |wanted: &str| candidates.iter().copied().find(|it| *it == wanted);
    let meant = SYNONYMS.iter().filter(|(theirs, _)| theirs.contains(&name.as_str()));
    has(name)
        .or_else(|| meant.flat_map(|(_, ours)| ours.iter()).find_map(|it| has(it)))
        .or_else(|| most_similar(name, &candidates))
}

/// Returns what an error about the unknown `name` ends with: a question for the [nearest] of
/// `candidates`, or `otherwise`.
pub fn did_you_mean<'c>(
    name: &str,
    candidates: impl Iterator<Item = &'c str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(name, candidates).map_or_else(otherwise, |it| format!("did you mean {it}?"))
}

/// Returns the candidate most similar to `name`, if it is similar enough.
fn most_similar<'c>(name: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let alike = |it: &str| strsim::normalized_damerau_levenshtein(name, it);
    let rated = candidates.iter().map(|it| (alike(it), *it));
    let (likeness, nearest) = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness >= ALIKE).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_mistakes_are_recognized() {
        let actions = || ["list_keys", "read", "write", "delete", "read_batch", "changes"];
        let members = || ["key", "value", "if_version", "ttl_seconds", "readable_by"];
        for (wrong, right) in [
            ("get", Some("read")),
            ("set", Some("write")),
            ("Update", Some("write")),
            ("list-keys", Some("list_keys")),
            ("list_key", Some("list_keys")),
            ("raed", Some("read")),
            ("snapshot", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, actions().into_iter()), right, "{wrong}");
        }
        for (wrong, right) in [
            ("content", Some("value")),
            ("text", Some("value")),
            ("ttl", Some("ttl_seconds")),
            ("name", Some("key")),
            ("vlaue", Some("value")),
            ("session", None),
            (&"v".repeat(65), None),
        ] {
            assert_eq!(nearest(wrong, members().into_iter()), right, "{wrong}");
        }
    }

    /// A synonym leads to a name that exists somewhere; otherwise it could never be used.
    #[test]
    fn every_synonym_means_an_existing_name() {
        let is_known = |name: &str| {
            ["add_subagent", "wait_seconds", "wait", "operation", "provenance"].contains(&name)
                || crate::actions().any(|it| it.name == name || it.takes(name))
        };
        for (theirs, ours) in SYNONYMS {
            assert!(ours.iter().all(|it| is_known(it)), "{ours:?}");
            assert!(!theirs.is_empty());
        }
    }
}
