//! The known name that a wrong one most likely means.

/// Least similarity, from 0 to 1, of two names of which one is a typo of the other.
const ALIKE: f64 = 0.6;
/// Longest name that is compared, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Names of what agents want to do, as language models write them: theirs, then our actions in the
/// order of preference. An action that removes, undoes or rejects is only there for names that ask
/// for that.
const ACTION_SYNONYMS: &[(&[&str], &[&str])] = &[
    (
        &[
            "get",
            "fetch",
            "load",
            "view",
            "show",
            "query",
            "get_value",
            "read_value",
            "read_key",
            "get_key",
            "read_entry",
            "get_entry",
        ],
        &["read", "read_batch"],
    ),
    (
        &["get_many", "read_many", "read_all", "get_all", "multi_get", "read_keys", "get_keys"],
        &["read_batch"],
    ),
    (
        &[
            "add",
            "set",
            "put",
            "update",
            "create",
            "save",
            "store",
            "insert",
            "upsert",
            "append",
            "write_key",
            "write_entry",
            "write_value",
            "set_key",
            "set_value",
            "set_entry",
            "put_key",
            "put_entry",
            "update_key",
            "update_entry",
            "create_key",
            "create_entry",
            "add_key",
            "add_entry",
            "save_key",
            "store_key",
        ],
        &["write"],
    ),
    (
        &[
            "remove",
            "del",
            "rm",
            "erase",
            "clear",
            "unset",
            "delete_key",
            "delete_entry",
            "remove_key",
            "remove_entry",
        ],
        &["delete"],
    ),
    (
        &[
            "list",
            "ls",
            "keys",
            "list_entries",
            "show_keys",
            "index",
            "search",
            "get_access",
            "show_access",
            "list_access",
            "read_access",
        ],
        &["list_keys"],
    ),
    (&["history", "versions", "log", "get_history", "show_history"], &["read_history"]),
    (&["watch", "wait", "poll", "subscribe", "since"], &["changes"]),
    (
        &["propose", "propose_delta", "add_delta", "add_deltas", "suggest", "suggest_deltas"],
        &["propose_deltas"],
    ),
    (
        &[
            "withdraw",
            "withdraw_delta",
            "retract",
            "retract_deltas",
            "take_back",
            "remove_deltas",
            "delete_deltas",
            "remove_delta",
            "delete_delta",
        ],
        &["withdraw_deltas"],
    ),
    (&["reject", "reject_delta", "decline", "decline_deltas", "refuse"], &["reject_deltas"]),
    (&["list_deltas", "get_deltas", "show_deltas", "read_proposals"], &["read_deltas"]),
    (
        &[
            "state",
            "get_state",
            "show_state",
            "read_round",
            "read_rounds",
            "get_round",
            "get_rounds",
            "show_round",
            "list_rounds",
        ],
        &["read_state"],
    ),
    (
        &["open", "start", "begin", "start_round", "begin_round", "new_round", "create_round"],
        &["open_round"],
    ),
    (
        &[
            "close",
            "end",
            "finish",
            "merge",
            "end_round",
            "finish_round",
            "complete_round",
            "stop_round",
            "merge_round",
        ],
        &["close_round"],
    ),
    (
        &[
            "subagent",
            "invite",
            "mint",
            "spawn",
            "create_subagent",
            "new_subagent",
            "invite_subagent",
            "spawn_subagent",
            "start_subagent",
            "add_agent",
            "create_agent",
            "spawn_agent",
            "create_credential",
            "mint_credential",
        ],
        &["add_subagent"],
    ),
    (
        &[
            "take_snapshot",
            "create_snapshot",
            "save_snapshot",
            "make_snapshot",
            "add_snapshot",
            "new_snapshot",
            "write_snapshot",
            "checkpoint",
            "backup",
        ],
        &["snapshot"],
    ),
    (&["snapshots", "show_snapshots", "get_snapshots", "read_snapshots"], &["list_snapshots"]),
    (
        &["get_snapshot", "show_snapshot", "view_snapshot", "load_snapshot", "fetch_snapshot"],
        &["read_snapshot"],
    ),
    (
        &[
            "restore",
            "rollback",
            "revert",
            "revert_snapshot",
            "rollback_snapshot",
            "revert_to_snapshot",
            "rollback_to_snapshot",
            "restore_from_snapshot",
        ],
        &["restore_snapshot"],
    ),
    (
        &["remove_snapshot", "drop_snapshot", "erase_snapshot", "discard_snapshot", "rm_snapshot"],
        &["delete_snapshot"],
    ),
    (
        &["diff", "compare", "compare_snapshots", "compare_snapshot", "snapshot_diff"],
        &["diff_snapshots"],
    ),
    (
        &["share", "permit", "grant", "grant_access", "update_access", "change_access"],
        &["set_access"],
    ),
];

/// Names of members, as language models write them: theirs, then ours in the order of preference.
const MEMBER_SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["query", "ask", "prompt"], &["question"]),
    (&["question", "search"], &["query"]),
    (&["agent", "subagent", "participant", "receiver"], &["address"]),
    (&["secret", "password", "phrase"], &["text"]),
    (&["content", "text", "data", "body", "val", "contents", "message"], &["value", "text"]),
    (&["ttl", "expires_in", "expiry", "lifetime", "expires"], &["ttl_seconds"]),
    // A name is a label or a task where there is one; where keys are, those mean something else.
    (&["name", "snapshot", "tag", "snapshot_label"], &["label"]),
    (&["name", "role", "subagent", "participant"], &["task"]),
    (&["keys", "name", "id", "path", "entry", "field", "title"], &["key", "keys"]),
    (&["key", "names", "entries", "patterns"], &["keys", "key"]),
    (&["version", "expected_version", "base_version", "if_match", "nx"], &["if_version"]),
    (
        &["revision", "after", "from_revision", "cursor", "last_revision"],
        &["since", "if_revision", "after"],
    ),
    (&["timeout", "wait", "timeout_seconds", "wait_ms", "seconds"], &["wait_seconds", "wait"]),
    (&["readers", "read_by", "visible_to", "access", "read"], &["readable_by"]),
    (&["writers", "write_by", "editable_by", "write"], &["writable_by"]),
    (&["op", "type", "action"], &["operation"]),
    (
        &["why", "because", "justification", "source", "rationale", "reason"],
        &["reason", "provenance"],
    ),
    (&["status", "result", "success"], &["outcome"]),
    (&["items", "changes", "proposals", "delta", "operations"], &["deltas", "writes"]),
    (&["sequence", "deltas", "delta", "ids"], &["sequences"]),
    // Replies name what an id is of; requests know it from the action.
    (&["handoff_id", "memory_id", "envelope_id", "missing_id"], &["id"]),
    (&["memory_ids", "memory_id"], &["ids"]),
];

/// Returns the one of `candidates`, members or values, that `name` most likely means: by its usual
/// meaning, or as a typo. Returns `None` if none is near.
pub fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    find(name, &candidates.collect::<Vec<_>>(), MEMBER_SYNONYMS, |_, _| true)
}

/// Returns the one of `candidates`, actions, that `name` most likely means; a verb alone means the
/// only action with it. A caller may perform it unseen, so no suggestion is better than a wrong one:
/// a name that only looks like an action is taken for a typo if its verb is that of the action, or
/// one typo away from it.
pub fn nearest_action<'c>(
    name: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    let candidates: Vec<&str> = candidates.collect();
    find(name, &candidates, ACTION_SYNONYMS, has_same_verb).or_else(|| with_verb(name, &candidates))
}

/// Returns the only one of `candidates`, actions, whose verb is `verb`: `list` is `list_packets` among
/// the actions of packets, and `read` is `context_read`.
fn with_verb<'c>(verb: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let verb_of = |it: &'c str| it.strip_prefix("context_").unwrap_or(it).split('_').next();
    let mut found = candidates.iter().copied().filter(|it| verb_of(it) == Some(verb));
    found.next().filter(|_| found.next().is_none())
}

fn find<'c>(
    name: &str,
    candidates: &[&'c str],
    synonyms: &[(&[&str], &[&str])],
    may_be: fn(&str, &str) -> bool,
) -> Option<&'c str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let name = &name.trim().to_ascii_lowercase().replace(['-', ' ', '.'], "_");
    let has = |wanted: &str| candidates.iter().copied().find(|it| *it == wanted);
    let meant = synonyms.iter().filter(|(theirs, _)| theirs.contains(&name.as_str()));
    let as_one_word = || candidates.iter().copied().find(|it| is_same_without_breaks(name, it));
    has(name)
        .or_else(|| meant.flat_map(|(_, ours)| ours.iter()).find_map(|it| has(it)))
        .or_else(as_one_word)
        .or_else(|| most_similar(name, candidates.iter().copied().filter(|it| may_be(name, it))))
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
fn most_similar<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let alike = |it: &str| strsim::normalized_damerau_levenshtein(name, it);
    let rated = candidates.map(|it| (alike(it), it));
    let (likeness, nearest) = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness >= ALIKE).then_some(nearest)
}

/// Returns true if two names differ in their underscores only, as `listkeys` does from `list_keys`.
fn is_same_without_breaks(a: &str, b: &str) -> bool {
    let letters = |it: &str| it.chars().filter(|it| *it != '_').collect::<String>();
    letters(a) == letters(b)
}

/// Returns true if the verb of `name` is that of `action` or a typo of it, and what follows is
/// alike: `get` is none of `set`, `store` none of `restore`, `update_snapshot` no `update_session`.
fn has_same_verb(name: &str, action: &str) -> bool {
    let (ours, our_noun) = action.split_once('_').unwrap_or((action, ""));
    let (theirs, their_noun) = name.split_once('_').unwrap_or((name, ""));
    if strsim::normalized_damerau_levenshtein(our_noun, their_noun) < ALIKE {
        return false;
    }
    let typos = match ours.len().min(theirs.len()) {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    };
    strsim::damerau_levenshtein(ours, theirs) <= typos
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
            ("listkeys", Some("list_keys")),
            ("raed", Some("read")),
            ("snapshot", None),
            ("", None),
        ] {
            assert_eq!(nearest_action(wrong, actions().into_iter()), right, "{wrong}");
        }
        for (wrong, right) in [
            ("content", Some("value")),
            ("text", Some("value")),
            ("ttl", Some("ttl_seconds")),
            ("ttlseconds", Some("ttl_seconds")),
            ("name", Some("key")),
            ("vlaue", Some("value")),
            ("session", None),
            (&"v".repeat(65), None),
        ] {
            assert_eq!(nearest(wrong, members().into_iter()), right, "{wrong}");
        }
    }

    /// Returns what is suggested for `name` among all actions.
    fn suggested(name: &str) -> Option<&'static str> {
        let actions = crate::actions().map(|it| it.name);
        nearest_action(name, actions.chain(["add_subagent"]))
    }

    /// `take_snapshot` was once answered with `read_snapshot`, `remove_snapshot` with
    /// `restore_snapshot`, `accept_deltas` with `reject_deltas`, and `start_round` with
    /// `redact_rounds`.
    #[test]
    fn a_suggestion_does_what_the_name_asks_for() {
        for (wrong, right) in [
            ("take_snapshot", Some("snapshot")),
            ("create_snapshot", Some("snapshot")),
            ("save_snapshot", Some("snapshot")),
            ("make_snapshot", Some("snapshot")),
            ("compare_snapshots", Some("diff_snapshots")),
            ("remove_snapshot", Some("delete_snapshot")),
            ("drop_snapshot", Some("delete_snapshot")),
            ("update_snapshot", None),
            ("delete_subagent", None),
            ("revoke_subagent", None),
            ("remove_subagent", None),
            ("get_access", Some("list_keys")),
            ("start_round", Some("open_round")),
            ("end_round", Some("close_round")),
            ("read_rounds", Some("read_state")),
            ("list_rounds", Some("read_state")),
            ("reopen_round", None),
            ("accept_deltas", None),
            ("store_snapshot", None),
            ("undelete", None),
            ("delte_snapshot", Some("delete_snapshot")),
            ("redact_round", Some("redact_rounds")),
            ("report", Some("report_missing")),
            ("read", Some("read")),
        ] {
            assert_eq!(suggested(wrong), right, "{wrong}");
        }
    }

    /// `handoff_id`, as replies name it, was once answered with the list of all members.
    #[test]
    fn an_id_may_be_named_as_in_replies() {
        for (wrong, right) in [("handoff_id", "id"), ("memory_id", "id"), ("memory_ids", "ids")] {
            assert_eq!(nearest(wrong, ["id", "ids", "reason"].into_iter()), Some(right), "{wrong}");
        }
        assert_eq!(nearest("memory_id", ["ids"].into_iter()), Some("ids"));
    }

    /// `read` in the tool of packets was once answered with the tool that reads entries.
    #[test]
    fn a_verb_means_the_only_action_with_it() {
        let of_packets = || ["context_read", "context_query", "context_feedback", "list_packets"];
        for (wrong, right) in [
            ("read", Some("context_read")),
            ("query", Some("context_query")),
            ("list", Some("list_packets")),
            ("packets", None),
        ] {
            assert_eq!(nearest_action(wrong, of_packets().into_iter()), right, "{wrong}");
        }
        let reads = ["read_state", "read_deltas", "convergence"];
        assert_eq!(nearest_action("read", reads.into_iter()), None);
    }

    /// Whatever noun follows, a verb that takes nothing away leads to no action that does, and one
    /// that takes something away leads to none that adds it.
    #[test]
    fn no_suggestion_turns_a_request_into_its_opposite() {
        const REMOVE: [&str; 9] = [
            "delete",
            "delete_snapshot",
            "delete_session",
            "delete_project",
            "restore_snapshot",
            "redact",
            "redact_rounds",
            "reject_deltas",
            "archive_session",
        ];
        const ADD: [&str; 7] = [
            "write",
            "add_subagent",
            "snapshot",
            "open_round",
            "propose_deltas",
            "create_session",
            "write_batch",
        ];
        let harmless = [
            "get", "list", "show", "read", "view", "take", "create", "make", "save", "store",
            "add", "put", "update", "compare", "start", "open", "begin", "accept", "approve",
            "keep", "load", "find", "count", "check", "reset", "reopen", "undelete", "unredact",
            "relate",
        ];
        let removing = ["remove", "delete", "drop", "revoke", "purge", "erase", "cancel", "undo"];
        let nouns = [
            "snapshot",
            "snapshots",
            "round",
            "rounds",
            "delta",
            "deltas",
            "key",
            "entry",
            "entries",
            "session",
            "subagent",
            "access",
            "state",
            "history",
            "project",
            "batch",
            "packet",
        ];
        let with_nouns = |verb: &'static str| {
            let named = nouns.iter().map(move |it| format!("{verb}_{it}"));
            named.chain([verb.to_owned()])
        };
        for name in harmless.into_iter().flat_map(with_nouns) {
            assert!(!suggested(&name).is_some_and(|it| REMOVE.contains(&it)), "{name}");
        }
        for name in removing.into_iter().flat_map(with_nouns) {
            assert!(!suggested(&name).is_some_and(|it| ADD.contains(&it)), "{name}");
        }
    }

    /// A synonym leads to a name that exists somewhere; otherwise it could never be used.
    #[test]
    fn every_synonym_means_an_existing_name() {
        let is_known = |name: &str| {
            ["add_subagent", "wait_seconds", "wait", "operation", "provenance", "task"]
                .contains(&name)
                || crate::actions().any(|it| it.name == name || it.takes(name))
        };
        for (theirs, ours) in ACTION_SYNONYMS.iter().chain(MEMBER_SYNONYMS) {
            assert!(ours.iter().all(|it| is_known(it)), "{ours:?}");
            assert!(!theirs.is_empty());
        }
    }
}
