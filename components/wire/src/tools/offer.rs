//! What of the codec's actions a tool offers to whom, and how it says so.
//!
//! Leaves out the words that teach their use. Invariant: an action is offered to
//! those who may ask for it, with members that suffice.

use serde_json::{Value, json};
use shared_context_codec::{ActionInfo, System};
use shared_context_core::Role;

use super::schema::{Arguments, Kind, Member, Needed, Optional};

/// Taken by the wire from the arguments of every tool.
pub(super) const SESSION: Member =
    Member { name: "session", kind: Kind::Session, about: "needed by operators" };

/// Returns the actions of `system` that are offered to `role`, of those that `fit`, and
/// what of `members` they take.
pub(super) fn of(
    system: System,
    role: Role,
    fits: impl Fn(&str) -> bool,
    members: &[Member],
) -> (Vec<&'static ActionInfo>, Vec<Member>) {
    let is_offered =
        |it: &&ActionInfo| it.system == system && it.roles.contains(&role) && fits(it.name);
    let actions: Vec<&ActionInfo> = shared_context_codec::actions().filter(is_offered).collect();
    let is_taken = |it: &&Member| actions.iter().any(|action| action.takes(it.name));
    let members = members.iter().filter(is_taken).copied().collect();
    (actions, members)
}

/// Returns the arguments of a tool that offers `actions` and `members`.
pub(super) fn arguments(
    actions: &[&ActionInfo],
    members: &[Member],
    session: Option<Member>,
    how: Optional,
) -> Arguments {
    let calls: Vec<String> = actions.iter().map(|it| call(it, members)).collect();
    let action = Needed {
        name: "action",
        one_of: actions.iter().map(|it| it.name).collect(),
        about: calls.join(" "),
    };
    Arguments::new(action, members.iter().copied().chain(session), how)
}

/// Returns how `action` is called: its name and those of `members` it takes, such as
/// `read_snapshot(label, key?)`.
fn call(action: &ActionInfo, members: &[Member]) -> String {
    let is_offered = |name: &&&str| {
        // Here `keys` is a list; of `changes` it would be a pattern.
        let is_pattern = action.name == "changes" && **name == "keys";
        !is_pattern && members.iter().any(|it| it.name == **name)
    };
    let required = action.required.iter().map(|it| (*it).to_owned());
    let optional = action.optional.iter().filter(is_offered).map(|it| format!("{it}?"));
    let taken: Vec<String> = required.chain(optional).collect();
    format!("{}({})", action.name, taken.join(", "))
}

/// Returns what is true of all replies, and of refusals: which members they have differs
/// from action to action.
pub(super) fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"revision": {"type": "integer"}, "error": error_schema()},
    })
}

/// Returns the schema of a refusal's `error`.
pub(super) fn error_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    })
}
