//! What is said of a request that could not be read.

use shared_context_core::{Error, key::KEY_BYTES_MAX};

use crate::json::ParseError;

/// How much of what the parser says is told.
const MESSAGE_CHARS_MAX: usize = 300;

/// Returns a refusal of what could not be parsed, with a word on the mistakes agents
/// make most.
pub(crate) fn malformed(ParseError(what): ParseError) -> Error {
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

/// Returns what the parser says of a member that is not there, and which one reads like it
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
