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
use shared_context_codec::{
    Failure, actions, did_you_mean, nearest, nearest_action, parse_whole, shorten, unknown_member,
};
use shared_context_core::syntax::plain_syntax;

use super::params::Params;
use crate::{
    http::ToolRequest,
    tools::{ADD_SUBAGENT, Calls, Kind, Member, Tool},
};

/// Members of [`ADD_SUBAGENT`] and the one that must be sent.
const SUBAGENT_MEMBERS: [&str; 5] = ["task", "id", "ttl_seconds", "keys", "packet_task"];
const SUBAGENT_REQUIRED: [&str; 1] = ["task"];
/// Members that the wire itself uses.
const OF_THE_WIRE: [&str; 1] = ["wait_seconds"];

/// Returns the action that a call of `tool` with `arguments` performs. An error names another tool
/// only if it is one of those `listed` to the caller.
///
/// # Errors
///
/// `MALFORMED_REQUEST`: an argument is missing, unknown or of another type.
pub(super) fn check(
    tool: &'static Tool,
    arguments: &Params<'_>,
    listed: &[&'static Tool],
    is_admin: bool,
) -> Result<&'static str, Failure> {
    if arguments.has("session") && !is_admin {
        return Err(malformed(format!(
            "{} takes no session: your credential is for one session already; leave it out",
            tool.name
        )));
    }
    let (action, fault) = action(tool, arguments, listed)?;
    if let Some(other) = meant_for_another(tool, arguments, listed) {
        return Err(other);
    }
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
    let mut faults = Faults(fault.into_iter().collect());
    let mut replaced = Vec::new();
    // Strict tool calling sends the members of other actions too, as null.
    let is_left_out =
        |name: &str| arguments.get(name).is_none() && tool.members.iter().any(|it| it.name == name);
    let unknown = arguments.names().filter(|it| !is_own(it) && !is_left_out(it));
    for unknown in unknown.take(FAULTS_MAX) {
        let near = nearest(unknown, taken.iter().copied());
        replaced.extend(near);
        faults.add(if action == ADD_SUBAGENT && unknown == "participant" {
            format!(
                "{ADD_SUBAGENT} takes no participant; send its task, such as review for \
                 subagent:review"
            )
        } else if near.is_some_and(|it| arguments.has(it)) {
            // It cannot mean a member that is there as well.
            let shown = shorten(unknown, 40);
            format!("{whose} takes no {shown}; it takes {}", taken.join(", "))
        } else if unknown == "action" {
            format!("{whose} takes no action; leave it out")
        } else {
            unknown_member(whose, unknown, &taken)
        });
    }
    let required = if tool.calls.is_named() { required_by(action) } else { tool.required };
    let is_absent = |it: &&&str| arguments.get(it).is_none() && !replaced.contains(*it);
    if let Some(name) = required.iter().find(is_absent) {
        let about = tool.members.iter().find(|it| it.name == *name).map(|it| it.about);
        let about = about.map(without_actions).filter(|it| !it.is_empty());
        let about = about.map(|it| format!(" ({it})"));
        faults.add(format!("{whose} needs {name}{}", about.unwrap_or_default()));
    }
    for member in tool.members {
        if let Some(sent) = arguments.get(member.name) {
            faults.collect(check_value(member, member.name, sent));
        }
    }
    faults.end()?;
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

/// Returns the action of the call: the only one of the tool, or the one that is named, or, with
/// the fault, the one that was most likely meant.
fn action(
    tool: &'static Tool,
    arguments: &Params<'_>,
    listed: &[&'static Tool],
) -> Result<(&'static str, Option<String>), Failure> {
    if let Calls::One(action) = tool.calls {
        return Ok((action, None));
    }
    let own = tool.calls.actions();
    let named =
        arguments.text("action").map_err(|_| malformed("action must be text".to_owned()))?;
    let Some(named) = named else {
        return Err(malformed(format!("{} needs action: {}", tool.name, own.join(", "))));
    };
    if let Some(found) = own.iter().find(|it| **it == named) {
        return Ok((found, None));
    }
    let shown = shorten(&named, 40);
    let near = nearest_action(&named, own.iter().copied());
    // The tools of one system come first.
    let of_system: Vec<_> = listed.iter().copied().filter(|it| it.set == tool.set).collect();
    let elsewhere = meant(&named, &of_system).or_else(|| meant(&named, listed));
    // A word that the tool has in its name, or that many have an action for, is about this one.
    let is_own = tool.name.split('_').any(|it| it == named);
    let is_vague = |action: &str| is_own || named == "list" && action != named;
    let elsewhere = elsewhere.filter(|it| !is_vague(it.0));
    // An action of another tool by its own name is meant rather than one that it resembles.
    let next = match (elsewhere, near) {
        (Some((action, other)), near) if near.is_none() || action == named => {
            how_to_call(action, other)
        }
        (_, Some(near)) => {
            let fault = format!("{} has no action {shown:?}; did you mean {near}?", tool.name);
            return Ok((near, Some(fault)));
        }
        (_, None) => format!("it has {}", own.join(", ")),
    };
    Err(malformed(format!("{} has no action {shown:?}; {next}", tool.name)))
}

/// Returns the error for a call of a tool without actions that names the action of another one.
fn meant_for_another(
    tool: &Tool,
    arguments: &Params<'_>,
    listed: &[&'static Tool],
) -> Option<Failure> {
    let named = arguments.text("action").ok().flatten().filter(|_| !tool.calls.is_named())?;
    let (action, other) = meant(&named, listed).filter(|it| it.1.name != tool.name)?;
    let (shown, next) = (shorten(&named, 40), how_to_call(action, other));
    Some(malformed(format!("{} has no action {shown:?}; {next}", tool.name)))
}

/// Returns the action that `name` most likely means, with the one of the `listed` tools that
/// performs it.
pub(super) fn meant(name: &str, listed: &[&'static Tool]) -> Option<(&'static str, &'static Tool)> {
    let actions = listed.iter().flat_map(|it| it.calls.actions());
    // The JSON tool reads a single key with a separate action.
    let found = nearest_action(name, actions.chain(["read"]))?;
    let action = if found == "read" { "read_batch" } else { found };
    let tool = listed.iter().find(|it| it.calls.actions().contains(&action))?;
    Some((action, tool))
}

/// Returns the advice to call `tool` for `action`.
pub(super) fn how_to_call(action: &str, tool: &Tool) -> String {
    if tool.calls.is_named() {
        format!("call {} with the action {action}", tool.name)
    } else {
        format!("call {} for it", tool.name)
    }
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
        Kind::Integer if parse_whole(sent.get()).is_none() => WHOLE,
        Kind::Number if !is::<f64>(sent) => "a number",
        Kind::Boolean if !is::<bool>(sent) => "true or false",
        Kind::Object if !sent.get().starts_with('{') => "an object",
        Kind::Texts => {
            return check_items(place, "a list of texts, such as [\"a\",\"b\"]", "text", sent);
        }
        Kind::Integers => {
            let must_be = "a list of whole numbers, such as [1,2]";
            return check_items(place, must_be, WHOLE, sent);
        }
        Kind::Objects(members, required) => return check_objects(members, required, place, sent),
        _ => return Ok(()),
    };
    Err(wrong(place, must_be, sent))
}

/// Description of a number that counts.
const WHOLE: &str = "a whole number, 0 or more";

/// Checks a list of texts, or of whole numbers if an item `must_be` [`WHOLE`].
fn check_items(place: &str, list: &str, must_be: &str, sent: &RawValue) -> Result<(), Failure> {
    let items: Vec<&RawValue> =
        serde_json::from_str(sent.get()).map_err(|_| wrong(place, list, sent))?;
    let is_right = |it: &RawValue| match must_be {
        WHOLE => parse_whole(it.get()).is_some(),
        _ => is::<Cow<'_, str>>(it),
    };
    match items.iter().enumerate().find(|(_, it)| !is_right(it)) {
        Some((nth, it)) => {
            Err(wrong(&format!("{place}[item {}]", nth.saturating_add(1)), must_be, it))
        }
        None => Ok(()),
    }
}

/// Returns the description of a member, without the names of the actions that it is for.
fn without_actions(about: &str) -> String {
    let is_action = |name: &&str| *name == ADD_SUBAGENT || actions().any(|it| it.name == *name);
    let parts: Vec<&str> = about.strip_prefix("for ").unwrap_or_default().split(", ").collect();
    match parts.iter().take_while(|it| is_action(it)).count() {
        0 => about.to_owned(),
        named => parts.into_iter().skip(named).collect::<Vec<_>>().join(", "),
    }
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
    let mut faults = Faults::default();
    for (nth, item) in items.iter().enumerate() {
        if faults.is_full() {
            break;
        }
        let place = format!("{place}[item {}]", nth.saturating_add(1));
        let item = Params::parse(Some(item), &place).map_err(|_| {
            malformed(format!("{place} must be an object in which no name occurs twice"))
        })?;
        let mut replaced = Vec::new();
        for unknown in item.names().filter(|it| !known.contains(it)).take(FAULTS_MAX) {
            replaced.extend(nearest(unknown, known.iter().copied()));
            faults.add(unknown_member(&place, unknown, &known));
        }
        let is_absent = |it: &&&str| item.get(it).is_none() && !replaced.contains(*it);
        if let Some(name) = required.iter().find(is_absent) {
            faults.add(format!("{place} needs {name}"));
        }
        for member in members {
            let Some(sent) = item.get(member.name) else { continue };
            faults.collect(check_value(member, &format!("{place}.{}", member.name), sent));
        }
    }
    faults.end()
}

/// The most faults that an answer lists.
const FAULTS_MAX: usize = 4;

/// The faults of a call, which are answered together, so that one more call is enough.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, fault: String) {
        self.0.push(fault);
    }

    /// Adds the faults of an error, a line each.
    fn collect(&mut self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.0.extend(failure.message.lines().map(str::to_owned));
        }
    }

    /// Returns true if further faults would not be listed.
    fn is_full(&self) -> bool {
        self.0.len() >= FAULTS_MAX
    }

    /// Returns the error that lists the faults, a line each, if there are any.
    fn end(mut self) -> Result<(), Failure> {
        self.0.truncate(FAULTS_MAX);
        if self.0.is_empty() { Ok(()) } else { Err(malformed(self.0.join("\n"))) }
    }
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
    let is_value = must_be == "text" && place.ends_with("value");
    let (kind, hint) = match sent.get().bytes().next() {
        Some(b'{') if is_value => ("an object", "; send JSON as text, such as \"{\\\"a\\\":1}\""),
        Some(b'[') if is_value => ("a list", "; send JSON as text, such as \"[1,2]\""),
        Some(b'[') if must_be == "text" => {
            ("a list", "; it takes one: send it without the brackets, such as \"a\"")
        }
        Some(b'{') => ("an object", ""),
        Some(b'[') => ("a list", ""),
        Some(b'"') if must_be == "text" => {
            return malformed(format!("{place}: {}", plain_syntax("unexpected end of hex escape")));
        }
        Some(b'"') => ("text", ""),
        Some(b't' | b'f') => ("true or false", ""),
        Some(b'n') => ("null", ""),
        _ => ("this number", ""),
    };
    debug_assert!(is::<IgnoredAny>(sent), "it was parsed before");
    malformed(format!("{place} must be {must_be}, not {kind}{hint}"))
}

fn malformed(message: String) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}
