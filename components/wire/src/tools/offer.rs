//! Selection of the codec's actions that the strict forms offer to a role, and their schema.
//!
//! Invariant: an action is offered only to roles that may request it, with sufficient members. The
//! texts that teach its use are defined elsewhere.

use shared_context_codec::{ActionInfo, System};
use shared_context_core::Role;

use super::schema::{ActionMember, Arguments, Member, Optional};

/// Returns the schema of the actions of `system` that `role` may request and that `fits` accepts,
/// with the `members` that they take.
pub(super) fn arguments(
    system: System,
    role: Role,
    fits: impl Fn(&str) -> bool,
    members: &[Member],
    how: Optional,
) -> Arguments {
    let is_offered =
        |it: &&ActionInfo| it.system == system && it.roles.contains(&role) && fits(it.name);
    let actions: Vec<&ActionInfo> = shared_context_codec::actions().filter(is_offered).collect();
    let is_taken = |it: &&Member| actions.iter().any(|action| action.takes(it.name));
    let members: Vec<Member> = members.iter().filter(is_taken).copied().collect();
    let calls: Vec<String> = actions.iter().map(|it| call(it, &members)).collect();
    let action =
        ActionMember { one_of: actions.iter().map(|it| it.name).collect(), about: calls.join(" ") };
    Arguments::new(Some(action), members, &[], how)
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
