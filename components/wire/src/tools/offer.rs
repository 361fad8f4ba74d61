//! Selection of the codec's actions that a tool offers to a role, and its schema.
//!
//! Invariant: an action is offered to every role that may request it, with sufficient members. The
//! texts that teach its use are defined elsewhere.

use serde_json::{Value, json};
use shared_context_codec::{ActionInfo, System};
use shared_context_core::Role;

use super::schema::{Arguments, Kind, Member, Optional, RequiredMember};

/// Argument of every tool that the wire itself uses.
pub(super) const SESSION: Member =
    Member { name: "session", kind: Kind::Session, about: "needed by operators" };

/// Returns the actions of `system` that `role` may request and that `fits` accepts, and the
/// `members` that they take.
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
    let action = RequiredMember {
        name: "action",
        one_of: actions.iter().map(|it| it.name).collect(),
        about: calls.join(" "),
    };
    Arguments::new(action, members.iter().copied().chain(session), how)
}

/// Returns the signature of `action`: its name and its offered `members`, such as
/// `read_snapshot(label, key?)`.
fn call(action: &ActionInfo, members: &[Member]) -> String {
    let is_offered = |name: &&&str| {
        // `keys` is a list here, but a pattern in `changes`.
        let is_pattern = action.name == "changes" && **name == "keys";
        !is_pattern && members.iter().any(|it| it.name == **name)
    };
    let required = action.required.iter().map(|it| (*it).to_owned());
    let optional = action.optional.iter().filter(is_offered).map(|it| format!("{it}?"));
    let taken: Vec<String> = required.chain(optional).collect();
    format!("{}({})", action.name, taken.join(", "))
}

/// Returns the schema common to all replies and errors; their other members differ between actions.
pub(super) fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"revision": {"type": "integer"}, "error": error_schema()},
    })
}

/// Returns the schema of the member `error`.
pub(super) fn error_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    })
}
