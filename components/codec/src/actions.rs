//! All actions, and how a request finds its own.
//!
//! What each takes is declared with it. A member that it does not take is rejected by
//! name, unless it is another action's and `null`; one that may be absent may be `null`.

use shared_context_core::{Command, Error, ScopeKind};

use crate::{
    action::{ActionInfo, Form, route::Published},
    form,
    json::ParseError,
    project,
    refusal::malformed,
    rounds, session, store,
};

/// Returns every action, those of spec 3 first.
pub fn actions() -> impl Iterator<Item = &'static ActionInfo> {
    let systems = [
        store::entries::ACTIONS,
        store::snapshots::ACTIONS,
        rounds::ACTIONS,
        session::ACTIONS,
        project::ACTIONS,
    ];
    systems.into_iter().flatten()
}

/// Returns every action with its form.
pub(crate) fn forms() -> impl Iterator<Item = (&'static ActionInfo, &'static Form)> {
    let forms = [
        store::entries::FORMS,
        store::snapshots::FORMS,
        rounds::FORMS,
        session::FORMS,
        project::FORMS,
    ];
    actions().zip(forms.into_iter().flatten())
}

/// Returns every action with what is published of it.
pub fn published() -> impl Iterator<Item = (&'static ActionInfo, &'static Published)> {
    let published = [
        store::entries::PUBLISHED,
        store::snapshots::PUBLISHED,
        rounds::PUBLISHED,
        session::PUBLISHED,
        project::PUBLISHED,
    ];
    actions().zip(published.into_iter().flatten())
}

/// Returns whether `request` may change anything: a hint for hosts that let changes of
/// one bucket queue. It looks at the action only; what is not understood may
/// change everything.
pub fn may_change(request: &[u8]) -> bool {
    let Ok(name) = named_in(request) else { return true };
    actions().find(|it| it.name == name).is_none_or(|it| it.is_change)
}

/// Returns the name of the action that `request` asks for.
///
/// # Errors
///
/// Why there is none.
fn named_in(request: &[u8]) -> Result<String, ParseError> {
    form::text(request, "action")
}

/// Returns whether an action takes a member `name`: where another is asked for it may be null,
/// which callers in strict mode send for all that they leave out.
fn is_member(name: &str) -> bool {
    actions().any(|it| it.takes(name))
}

/// Reads the command out of `request`, which is about a `kind` of scope.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`, `INVALID_PATH`, `FORMAT_TOO_NEW`,
/// `DOCUMENT_ALTERED`.
pub fn command(kind: ScopeKind, request: &[u8]) -> Result<Command, Error> {
    let name = named_in(request).map_err(malformed)?;
    let found = forms().find(|(it, _)| it.name == name);
    let (action, form) = found.ok_or_else(|| unknown_action(kind, &name))?;
    if action.scope != kind {
        return Err(misdirected(action, kind));
    }
    (form.command)(request, is_member)
        .map_err(|ParseError(what)| malformed(ParseError(of(action, what))))?
}

/// Returns what the parser says of a request for `action`, and names the action where one
/// of its members is missing or a member is another action's.
fn of(action: &ActionInfo, what: String) -> String {
    let is_missing = what.starts_with("missing field `");
    let named = what.split_once("unknown field `").filter(|(place, _)| !place.contains('.'));
    let other = named.and_then(|(_, it)| it.split_once('`')).filter(|(name, _)| is_member(name));
    match (what.split_once(" at line "), other) {
        (Some((what, _)), _) if is_missing => format!("{what} in {}", action.name),
        (_, Some((name, _))) => format!("unknown field `{name}` in {}", action.name),
        _ => what,
    }
}

/// Returns the error for an action that is done to another kind of scope.
fn misdirected(action: &ActionInfo, kind: ScopeKind) -> Error {
    let (name, about, named) = (action.name, action.scope.as_str(), kind.as_str());
    Error::malformed(format!(
        "action {name} is about a {about}, and the request names a {named}; ask for it at \
         /v1/{about}s/{{{about}}}"
    ))
}

/// Returns the error for an action that does not exist.
fn unknown_action(kind: ScopeKind, name: &str) -> Error {
    let shown: String = name.chars().take(40).collect();
    let names: Vec<&str> = actions().filter(|it| it.scope == kind).map(|it| it.name).collect();
    let known = names.join(", ");
    Error::malformed(format!("action {shown:?} is not known; known are {known}"))
}

#[cfg(test)]
mod tests {
    use shared_context_core::Code;

    use super::*;
    use crate::action::route::{Kind, Method};

    /// A route is made of what its action declares, so a slip of the pen in a row would
    /// make one that can never be asked for.
    #[test]
    fn a_row_fits_its_action() {
        let mut seen = Vec::new();
        for (action, published) in published() {
            let members = published.members;
            assert!(members.iter().map(|it| it.name).eq(action.members()), "{}", action.name);
            for route in published.routes {
                let name = (route.method, route.path);
                assert!(!seen.contains(&name), "{name:?} twice");
                seen.push(name);
                let is_read = route.method == Method::Get;
                assert_eq!(is_read, !action.is_change, "{name:?}");
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
