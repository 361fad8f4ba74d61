//! Requests: what an agent or operator may send, and the command it makes.
//!
//! What each action takes is declared with the action. A member that it does not take is
//! rejected by name, unless it is another action's and `null`; one that may be absent may
//! be `null`.

pub(crate) mod config;
mod document;
mod members;
pub mod parts;
mod rounds;

use shared_context_core::{Command, Error, key::KEY_BYTES_MAX};

use crate::{
    action::{self, ActionInfo},
    json::ParseError,
};
pub(crate) use config::{ConfigForm, document as config_document};
pub(crate) use document::{DocumentForm, SentDocument, parse as parse_document};
pub(crate) use members::{DeleteForm, WriteForm};
pub(crate) use rounds::{DeltaForm, StrategyForm, WeightForm, position};

/// How much of what the parser says is told.
const MESSAGE_CHARS_MAX: usize = 300;

/// Reads the command out of `request`.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, `INVALID_KEY`, `INVALID_PATH`, `FORMAT_TOO_NEW`,
/// `DOCUMENT_ALTERED`.
pub(crate) fn command(request: &[u8]) -> Result<Command, Error> {
    let name = action::named_in(request).map_err(malformed)?;
    let found = action::forms().find(|(it, _)| it.name == name);
    let (action, form) = found.ok_or_else(|| unknown_action(&name))?;
    (form.command)(request).map_err(|ParseError(what)| malformed(ParseError(of(action, what))))?
}

/// Returns what the parser says of a request for `action`, and names the action where one
/// of its members is missing or a member is another action's.
fn of(action: &ActionInfo, what: String) -> String {
    let is_missing = what.starts_with("missing field `");
    let named = what.split_once("unknown field `").filter(|(place, _)| !place.contains('.'));
    let other =
        named.and_then(|(_, it)| it.split_once('`')).filter(|(name, _)| action::is_member(name));
    match (what.split_once(" at line "), other) {
        (Some((what, _)), _) if is_missing => format!("{what} in {}", action.name),
        (_, Some((name, _))) => format!("unknown field `{name}` in {}", action.name),
        _ => what,
    }
}

/// A refusal of what could not be parsed, with a word on the mistakes agents
/// make most.
fn malformed(ParseError(what): ParseError) -> Error {
    // A wrong text is repeated in part only: it may be a whole value.
    let what = with_nearest(&what).unwrap_or(what);
    let what: String = what.chars().take(MESSAGE_CHARS_MAX).collect();
    let names_the_writer = ["written_by", "participant", "written_at", "version"]
        .iter()
        .any(|member| what.contains(&format!("unknown field `{member}`")));
    let hint = if names_the_writer {
        "; the system sets the writer (from your credential), the time and the version"
    } else if what.contains("missing field `action`") {
        "; for example {\"action\":\"list_keys\"}"
    } else {
        ""
    };
    Error::malformed(format!("the request is malformed: {what}{hint}"))
}

/// What the parser says of a member that is not there, and which one reads like it
/// instead of all that are; `None` when none does.
fn with_nearest(what: &str) -> Option<String> {
    const ALIKE: f64 = 0.6;
    let (told, known) = what.split_once(", expected ")?;
    let (_, name) = told.strip_suffix('`')?.rsplit_once("unknown field `")?;
    if name.len() > KEY_BYTES_MAX {
        return None;
    }
    let alike = |it: &str| strsim::normalized_damerau_levenshtein(name, it);
    let known = known.split('`').skip(1).step_by(2).map(|it| (alike(it), it));
    let (likeness, nearest) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness >= ALIKE).then(|| format!("{told}; did you mean {nearest}?"))
}

/// A refusal of an action that is not there.
fn unknown_action(name: &str) -> Error {
    let shown: String = name.chars().take(40).collect();
    let names: Vec<&str> = action::actions().map(|it| it.name).collect();
    let known = names.join(", ");
    Error::malformed(format!("action {shown:?} is not known; known are {known}"))
}
