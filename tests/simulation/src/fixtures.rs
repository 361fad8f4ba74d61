//! Names of sessions, callers, keys, labels and access lists in every world.

use shared_context_core::{Key, Label};

/// Session ids.
pub const SESSIONS: [&str; 3] = ["alpha", "beta", "gamma"];
/// The callers: a participant, and the keys its credential is limited to.
pub const CALLERS: [(&str, &[&str]); 7] = [
    ("admin", &[]),
    ("orchestrator", &[]),
    ("subagent:a", &[]),
    ("subagent:a:2", &[]),
    ("subagent:b", &[]),
    ("subagent:a", &["key_0", "inv:*"]),
    ("subagent:a:2", &["closed_*", "plan_a", "key_1"]),
];
/// All keys. With access rules, only the orchestrator writes one of them and `subagent:b` cannot
/// see another.
pub const KEYS: [&str; 6] = ["key_0", "key_1", "inv:key_0", "plan_a", "closed_a", "inv:b"];
/// The labels of snapshots: one more than a session may have.
pub const LABELS: [&str; 4] = ["A", "b.2", "c-3", "d"];
/// Participant lists for access rules.
pub const PARTICIPANT_LISTS: [&[&str]; 5] = [
    &["*"],
    &["orchestrator"],
    &["subagent:a*"],
    &["subagent:a:*", "orchestrator"],
    &["subagent:b", "subagent:a"],
];
/// The addresses of packets.
pub const ADDRESSES: [&str; 5] =
    ["shared", "subagent:a", "subagent:b", "subagent:a:*", "orchestrator"];
/// Text that every value contains, and nothing else does.
pub const VALUE_MARKER: &str = "zq";
/// Start of the clock: 2026-02-20T14:00:00Z.
pub const START_MS: u64 = 1_771_596_000_000;

/// Returns the nth key.
pub fn key(nth: usize) -> Key {
    Key::parse(KEYS[nth]).unwrap()
}

/// Returns the nth label.
pub fn label(nth: usize) -> Label {
    Label::parse(LABELS[nth]).unwrap()
}
