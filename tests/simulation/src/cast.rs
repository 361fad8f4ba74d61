//! Who and what there is in a world.

use shared_context_core::{Key, Label};

/// The sessions.
pub const SESSIONS: [&str; 3] = ["alpha", "beta", "gamma"];
/// Everyone who asks, and the keys that they are limited to.
pub const ASKERS: [(&str, &[&str]); 7] = [
    ("admin", &[]),
    ("orchestrator", &[]),
    ("subagent:a", &[]),
    ("subagent:a:2", &[]),
    ("subagent:b", &[]),
    ("subagent:a", &["key_0", "inv:*"]),
    ("subagent:a:2", &["closed_*", "plan_a", "key_1"]),
];
/// Every key there can be: one that only the orchestrator writes where there are
/// rules, and one that `subagent:b` never sees.
pub const KEYS: [&str; 6] = ["key_0", "key_1", "inv:key_0", "plan_a", "closed_a", "inv:b"];
/// The labels of snapshots; one more than there may be.
pub const LABELS: [&str; 4] = ["A", "b.2", "c-3", "d"];
/// Lists of participants.
pub const LISTS: [&[&str]; 5] = [
    &["*"],
    &["orchestrator"],
    &["subagent:a*"],
    &["subagent:a:*", "orchestrator"],
    &["subagent:b", "subagent:a"],
];
/// What every value has in it, and nothing else.
pub const MARK: &str = "zq";
/// The beginning: 2026-02-20T14:00:00Z.
pub const BEGINNING_MS: u64 = 1_771_596_000_000;

/// Returns the nth key.
pub fn key(nth: usize) -> Key {
    Key::parse(KEYS[nth]).unwrap()
}

/// Returns the nth label.
pub fn label(nth: usize) -> Label {
    Label::parse(LABELS[nth]).unwrap()
}
