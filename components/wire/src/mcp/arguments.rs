//! Arguments of a tool call: checks them against the tool's definition, and builds the request of
//! the JSON tool.
//!
//! # Invariant
//!
//! A tool performs only the actions that it lists, with the members that it lists. An error names
//! what to send instead.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use shared_context_codec::{Failure, actions, did_you_mean, nearest, shorten, unknown_member};

use super::params::Params;
use crate::{
    http::ToolRequest,
    tools::{self, ADD_SUBAGENT, Calls, Kind, Member, Tool},
};

/// Members of [`ADD_SUBAGENT`] and the one that must be sent.
const SUBAGENT_MEMBERS: [&str; 4] = ["task", "id", "ttl_seconds", "keys"];
const SUBAGENT_REQUIRED: [&str; 1] = ["task"];
/// Members that the wire itself uses.
const OF_THE_WIRE: [&str; 1] = ["wait_seconds"];

/// Returns the action that a call of `tool` with `arguments` performs.
///
/// # Errors
///
/// `MALFORMED_REQUEST`: an argument is missing, unknown or of another type.
pub(super) fn check(
    tool: &'static Tool,
    arguments: &Params<'_>,
    is_admin: bool,
) -> Result<&'static str, Failure> {
    if arguments.has("session") && !is_admin {
        return Err(malformed(format!(
            "{} takes no session: your credential is for one session already; leave it out",
            tool.name
        )));
    }
    let action = action(tool, arguments)?;
    let (whose, taken) = if tool.calls.is_named() {
        (action, taken_by(tool, action))
    } else {
        (tool.name, tool.members.iter().map(|it| it.name).collect())
    };
    let is_own = |name: &str| match name {
        "action" => tool.calls.is_named(),
        "session" => true,
        name => taken.contains(&name),
    };
    if let Some(unknown) = arguments.names().find(|it| !is_own(it)) {
        return Err(malformed(unknown_member(whose, unknown, &taken)));
    }
    let required = if tool.calls.is_named() { required_by(action) } else { tool.required };
    let absent = |it: &&&str| arguments.get(it).is_none();
    if let Some(name) = required.iter().find(absent) {
        let about = tool.members.iter().find(|it| it.name == *name).map(|it| it.about);
        let about = about.filter(|it| !it.is_empty()).map(|it| format!(": {it}"));
        return Err(malformed(format!("{whose} needs {name}{}", about.unwrap_or_default())));
    }
    for member in tool.members {
        if let Some(sent) = arguments.get(member.name) {
            check_value(member, member.name, sent)?;
        }
    }
    Ok(action)
}

/// Builds the request for `action` with `arguments`, which were checked, under the name
/// `request_id` if the action takes one.
pub(super) fn request(action: &str, arguments: &Params<'_>, request_id: Option<&str>) -> Vec<u8> {
    let is_passed =
        |name: &str| !["action", "session"].contains(&name) && !OF_THE_WIRE.contains(&name);
    let names = arguments.names().filter(|it| is_passed(it));
    let members = names.filter_map(|name| Some((name, arguments.get(name)?)));
    let takes_id = actions().any(|it| it.name == action && it.takes("request_id"));
    let request = ToolRequest::new(action).with("request_id", request_id.filter(|_| takes_id));
    members.fold(request, |it, (name, value)| it.with(name, Some(value))).into_bytes()
}

/// Returns the action of the call: the only one of the tool, or the one that is named.
fn action(tool: &'static Tool, arguments: &Params<'_>) -> Result<&'static str, Failure> {
    if let Calls::One(action) = tool.calls {
        return Ok(action);
    }
    let listed = tool.calls.actions();
    let named =
        arguments.text("action").map_err(|_| malformed("action must be text".to_owned()))?;
    let Some(named) = named else {
        return Err(malformed(format!("{} needs action: {}", tool.name, listed.join(", "))));
    };
    if let Some(found) = listed.iter().find(|it| **it == named) {
        return Ok(found);
    }
    let shown = shorten(&named, 40);
    let near = nearest(&named, listed.iter().copied());
    let other = tools::with_action(&named).or_else(|| match near {
        Some(_) => None,
        None => tools::with_action(nearest(&named, actions().map(|it| it.name))?),
    });
    let next = match (other, near) {
        (Some(other), _) => format!("call {} for it", other.name),
        (None, Some(near)) => format!("did you mean {near}?"),
        (None, None) => format!("it has {}", listed.join(", ")),
    };
    Err(malformed(format!("{} has no action {shown:?}; {next}", tool.name)))
}

/// Returns the members of `tool` that `action` takes.
fn taken_by(tool: &Tool, action: &str) -> Vec<&'static str> {
    let known = actions().find(|it| it.name == action);
    let is_taken = |name: &str| match known {
        Some(known) => known.takes(name) || is_taken_to_wait(action, name),
        None => SUBAGENT_MEMBERS.contains(&name),
    };
    tool.members.iter().map(|it| it.name).filter(|it| is_taken(it)).collect()
}

/// Returns true if the wire uses the member `name` to wait before it performs `action`.
pub(super) fn is_taken_to_wait(action: &str, name: &str) -> bool {
    match action {
        "changes" => name == "wait_seconds",
        "read_state" => ["wait_seconds", "since"].contains(&name),
        _ => false,
    }
}

/// Returns the members that `action` needs.
fn required_by(action: &str) -> &'static [&'static str] {
    match actions().find(|it| it.name == action) {
        Some(known) => known.required,
        None if action == ADD_SUBAGENT => &SUBAGENT_REQUIRED,
        None => &[],
    }
}

/// Checks the type of a value at `place`.
fn check_value(member: &Member, place: &str, sent: &RawValue) -> Result<(), Failure> {
    let must_be = match member.kind {
        Kind::Text | Kind::Session if !is::<Cow<'_, str>>(sent) => "text",
        Kind::OneOf(names) => {
            let text: Option<String> = serde_json::from_str(sent.get()).ok();
            return match text {
                Some(it) if names.contains(&&*it) => Ok(()),
                Some(it) => Err(not_one_of(place, &it, names)),
                None => Err(wrong(place, "text", sent)),
            };
        }
        Kind::Integer if !is::<u64>(sent) => "a whole number, 0 or more",
        Kind::Number if !is::<f64>(sent) => "a number",
        Kind::Boolean if !is::<bool>(sent) => "true or false",
        Kind::Texts if !is::<Vec<String>>(sent) => "a list of texts, such as [\"a\",\"b\"]",
        Kind::Integers if !is::<Vec<u64>>(sent) => "a list of whole numbers, such as [1,2]",
        Kind::Objects(members, required) => return check_objects(members, required, place, sent),
        _ => return Ok(()),
    };
    Err(wrong(place, must_be, sent))
}

/// Checks a list of objects with these `members`.
fn check_objects(
    members: &'static [Member],
    required: &[&str],
    place: &str,
    sent: &RawValue,
) -> Result<(), Failure> {
    let items: Vec<&RawValue> =
        serde_json::from_str(sent.get()).map_err(|_| wrong(place, "a list of objects", sent))?;
    let known: Vec<&str> = members.iter().map(|it| it.name).collect();
    for (nth, item) in items.iter().enumerate() {
        let place = format!("{place}[item {}]", nth.saturating_add(1));
        let item = Params::parse(Some(item), &place).map_err(|_| {
            malformed(format!("{place} must be an object in which no name occurs twice"))
        })?;
        if let Some(unknown) = item.names().find(|it| !known.contains(it)) {
            return Err(malformed(unknown_member(&place, unknown, &known)));
        }
        if let Some(name) = required.iter().find(|it| item.get(it).is_none()) {
            return Err(malformed(format!("{place} needs {name}")));
        }
        for member in members {
            let Some(sent) = item.get(member.name) else { continue };
            check_value(member, &format!("{place}.{}", member.name), sent)?;
        }
    }
    Ok(())
}

/// Returns true if `sent` can be parsed as `T`.
fn is<'v, T: serde::Deserialize<'v>>(sent: &'v RawValue) -> bool {
    serde_json::from_str::<T>(sent.get()).is_ok()
}

fn not_one_of(place: &str, sent: &str, names: &[&'static str]) -> Failure {
    let otherwise = || format!("it is one of {}", names.join(", "));
    let next = did_you_mean(sent, names.iter().copied(), otherwise);
    malformed(format!("{place} cannot be {:?}; {next}", shorten(sent, 40)))
}

/// Builds the error for a value of another type.
fn wrong(place: &str, must_be: &str, sent: &RawValue) -> Failure {
    let (kind, hint) = match sent.get().bytes().next() {
        Some(b'{') if must_be == "text" => {
            ("an object", "; send JSON as text, such as \"{\\\"a\\\":1}\"")
        }
        Some(b'[') if must_be == "text" => ("a list", "; send JSON as text, such as \"[1,2]\""),
        Some(b'{') => ("an object", ""),
        Some(b'[') => ("a list", ""),
        Some(b'"') => ("text", ""),
        Some(b't' | b'f') => ("true or false", ""),
        _ => ("this number", ""),
    };
    debug_assert!(is::<IgnoredAny>(sent), "it was parsed before");
    malformed(format!("{place} must be {must_be}, not {kind}{hint}"))
}

fn malformed(message: String) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}
