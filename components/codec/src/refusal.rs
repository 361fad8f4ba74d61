//! Errors for requests that cannot be parsed.

use shared_context_core::{Error, key::KEY_BYTES_MAX};

use crate::json::ParseError;

/// Longest part of the parser's message that is passed on.
const MESSAGE_CHARS_MAX: usize = 300;

/// Builds the error for a parse failure, with a hint for the most common mistakes of agents.
pub(crate) fn malformed(ParseError(what): ParseError) -> Error {
    // Truncated, because the message may repeat a whole value.
    let what = with_suggestion(&what).unwrap_or(what);
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

/// Replaces the list of known members in the parser's message by the one most similar to the
/// unknown member. Returns `None` if none is similar.
fn with_suggestion(what: &str) -> Option<String> {
    const ALIKE: f64 = 0.6;
    let (message, known) = what.split_once(", expected ")?;
    let (_, name) = message.strip_suffix('`')?.rsplit_once("unknown field `")?;
    if name.len() > KEY_BYTES_MAX {
        return None;
    }
    let alike = |it: &str| strsim::normalized_damerau_levenshtein(name, it);
    let known = known.split('`').skip(1).step_by(2).map(|it| (alike(it), it));
    let (likeness, nearest) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness >= ALIKE).then(|| format!("{message}; did you mean {nearest}?"))
}
