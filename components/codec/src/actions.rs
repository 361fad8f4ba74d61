//! The list of all actions, and the dispatch of a request to its action.
//!
//! A member that an action does not take is rejected by name. The exception is a member of another
//! action that is `null`. Optional members may be `null`.

use shared_context_core::{Command, Error, Role, ScopeKind};

use crate::{
    action::{ActionInfo, Form, route::Published},
    compaction, context, form, handoffs,
    json::ParseError,
    memories,
    nearest::nearest_action,
    outline, packets, project,
    refusal::{malformed, malformed_in, shorten},
    rounds, session, store,
};

/// Returns every action, those of spec 3 first.
pub fn actions() -> impl Iterator<Item = &'static ActionInfo> {
    let systems = [
        store::entries::ACTIONS,
        store::snapshots::ACTIONS,
        rounds::ACTIONS,
        context::ACTIONS,
        compaction::ACTIONS,
        packets::ACTIONS,
        session::ACTIONS,
        project::ACTIONS,
        memories::ACTIONS,
        memories::summary::ACTIONS,
        outline::ACTIONS,
        handoffs::ACTIONS,
    ];
    systems.into_iter().flatten()
}

/// Returns every action with its form.
pub(crate) fn forms() -> impl Iterator<Item = (&'static ActionInfo, &'static Form)> {
    let forms = [
        store::entries::FORMS,
        store::snapshots::FORMS,
        rounds::FORMS,
        context::FORMS,
        compaction::FORMS,
        packets::FORMS,
        session::FORMS,
        project::FORMS,
        memories::FORMS,
        memories::summary::FORMS,
        outline::FORMS,
        handoffs::FORMS,
    ];
    actions().zip(forms.into_iter().flatten())
}

/// Returns every action with its published properties.
pub fn published() -> impl Iterator<Item = (&'static ActionInfo, &'static Published)> {
    let published = [
        store::entries::PUBLISHED,
        store::snapshots::PUBLISHED,
        rounds::PUBLISHED,
        context::PUBLISHED,
        compaction::PUBLISHED,
        packets::PUBLISHED,
        session::PUBLISHED,
        project::PUBLISHED,
        memories::PUBLISHED,
        memories::summary::PUBLISHED,
        outline::PUBLISHED,
        handoffs::PUBLISHED,
    ];
    actions().zip(published.into_iter().flatten())
}

/// The kind of a request by its action, for hosts that have not performed it yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// It may change something. An unknown action counts as such.
    Change,
    /// It reads.
    Read,
    /// It reads entries: its reply is the same until the session changes or an entry expires, for
    /// the same caller.
    ReadEntries,
}

/// Returns the kind of a request. Hosts use it as a hint: to queue the changes of one bucket, and to
/// keep replies.
pub fn kind_of(request: &[u8]) -> RequestKind {
    let Ok(name) = action_name(request) else { return RequestKind::Change };
    match name.as_str() {
        "list_keys" | "read" | "read_batch" => RequestKind::ReadEntries,
        _ => match actions().find(|it| it.name == name) {
            Some(action) if !action.is_change => RequestKind::Read,
            _ => RequestKind::Change,
        },
    }
}

/// Returns true if `request` may change anything, by its action.
pub fn may_change(request: &[u8]) -> bool {
    kind_of(request) == RequestKind::Change
}

/// Returns the name of the action in `request`.
///
/// # Errors
///
/// A parse error if the name is missing or invalid.
fn action_name(request: &[u8]) -> Result<String, ParseError> {
    form::text(request, "action")
}

/// Returns true if any action takes a member `name`. A request for another action may send it as
/// null: callers in strict mode send null for every member that they leave out.
fn is_member(name: &str) -> bool {
    actions().any(|it| it.takes(name))
}

/// Parses `request` of a caller with `role`, which is about a scope of the given `kind`, into a
/// command.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`, `INVALID_PATH`, `FORMAT_TOO_NEW`,
/// `DOCUMENT_ALTERED`.
pub fn command(kind: ScopeKind, role: Role, request: &[u8]) -> Result<Command, Error> {
    let name = action_name(request).map_err(malformed)?;
    let found = forms().find(|(it, _)| it.name == name);
    let (action, form) = found.ok_or_else(|| unknown_action(kind, role, &name))?;
    if action.scope != kind {
        return Err(wrong_scope(action, kind));
    }
    (form.command)(request, is_member).map_err(|ParseError(what)| {
        let members: Vec<&str> = action.members().collect();
        malformed_in(Some((action.name, &members)), &what)
    })?
}

/// Builds the command of the action `name` from the JSON object of its request, without
/// `action`.
///
/// # Errors
///
/// Those of [`command`].
pub fn command_of(name: &str, request: &str) -> Result<Command, Error> {
    let members = request.trim_start().strip_prefix('{').unwrap_or(request);
    let comma = if members.trim_start().starts_with('}') { "" } else { "," };
    let request = format!("{{\"action\":\"{name}\"{comma}{members}");
    let scope = actions().find(|it| it.name == name).map_or(ScopeKind::Session, |it| it.scope);
    command(scope, Role::Orchestrator, request.as_bytes())
}

/// Returns the error for an action on the wrong kind of scope.
fn wrong_scope(action: &ActionInfo, kind: ScopeKind) -> Error {
    let (name, about, named) = (action.name, action.scope.as_str(), kind.as_str());
    Error::malformed(format!(
        "action {name} is about a {about}, and the request names a {named}; ask for it at \
         /v1/{about}s/{{{about}}}/shared_context"
    ))
}

/// Returns the error for an action that does not exist. It names the action that `role` most likely
/// means.
fn unknown_action(kind: ScopeKind, role: Role, name: &str) -> Error {
    let shown = shorten(name, 40);
    let allowed = || actions().filter(|it| it.scope == kind && it.roles.contains(&role));
    let next = match (nearest_action(name, allowed().map(|it| it.name)), kind) {
        (Some(nearest), _) => format!("did you mean {nearest}?"),
        (None, ScopeKind::Session) => {
            "the everyday ones are list_keys, read, write and delete".to_owned()
        }
        (None, ScopeKind::Project) => {
            let names: Vec<&str> = allowed().map(|it| it.name).collect();
            format!("known are {}", names.join(", "))
        }
    };
    Error::malformed(format!("action {shown:?} is not known; {next}"))
}

#[cfg(test)]
mod tests {
    use shared_context_core::Code;

    use super::*;
    use crate::action::route::{Kind, Method};

    /// A route is built from its action's declaration, so a typo in a row would make a route that
    /// no request can reach.
    #[test]
    fn a_route_matches_its_action() {
        let mut seen = Vec::new();
        for (action, published) in published() {
            let members = published.members;
            assert!(members.iter().map(|it| it.name).eq(action.members()), "{}", action.name);
            for route in published.routes {
                let name = (route.method, route.path);
                assert!(!seen.contains(&name), "{name:?} twice");
                seen.push(name);
                let is_read = route.method == Method::Get;
                // A read of many keys is a `POST`: a query has no room for them.
                assert!(!is_read || !action.is_change, "{name:?}");
                let named = route.path.split('/').filter_map(|it| it.strip_prefix('{'));
                for member in named.filter_map(|it| it.strip_suffix('}')) {
                    let is_scope = member == action.scope.as_str();
                    assert!(is_scope || action.takes(member), "{name:?} {member}");
                }
                assert!(route.without.is_none_or(|it| action.takes(it)), "{name:?}");
                for member in route.rest(members) {
                    let is_written = member.kind != Kind::Structure;
                    assert!(!is_read || is_written, "{name:?} {}", member.name);
                }
                let needs_body = !is_read && route.rest(members).any(|it| it.is_needed);
                assert!(!needs_body || route.example.is_some(), "{name:?} has no example");
            }
            assert!(published.rejects(action).all(|it| it != Code::MalformedRequest));
        }
        assert!(seen.len() > 20);
    }
}
