//! Errors for requests that cannot be parsed, in words that an agent can act on.

use shared_context_core::{Error, syntax::plain_syntax};

use crate::{json::ParseError, nearest::did_you_mean};

/// Longest name or value of the sender that an error repeats, in characters.
const SHOWN_CHARS_MAX: usize = 60;
/// Members that the system sets.
const SET_BY_THE_SYSTEM: [&str; 4] = ["written_by", "participant", "written_at", "version"];
/// The beginnings of the names of actions that read entries.
const READS: [&str; 2] = ["read", "list"];

/// Builds the error for a parse failure.
pub(crate) fn malformed(ParseError(what): ParseError) -> Error {
    malformed_in(None, &what)
}

/// Builds the error for a parse failure in a request for an action: its name, and its `members`.
pub(crate) fn malformed_in(action: Option<(&str, &[&'static str])>, what: &str) -> Error {
    Error::malformed(format!("the request is malformed: {}", plain(action, what)))
}

/// Returns the parser's message in plain words, with the nearest right name.
fn plain(action: Option<(&str, &[&'static str])>, what: &str) -> String {
    let (problem, position) = match what.rsplit_once(" at line ") {
        Some((problem, position)) => (problem, Some(position)),
        None => (what, None),
    };
    let (place, problem) = split_place(problem);
    let whose = match (place, action) {
        ("", Some((action, _))) => action,
        ("", None) => "the request",
        (place, _) => place,
    };
    if let Some(name) = named(problem, "unknown field `") {
        // The parser names the unknown member as part of the place.
        let outer = place.strip_suffix(name).map_or(place, |it| it.trim_end_matches('.'));
        let known: Vec<&str> = match action {
            Some((_, members)) if outer.is_empty() => members.to_vec(),
            _ => problem.split('`').skip(3).step_by(2).collect(),
        };
        let whose = if outer.is_empty() { action.map_or("the request", |it| it.0) } else { outer };
        return unknown_member(whose, name, &known);
    }
    if let Some(name) = named(problem, "missing field `") {
        let example =
            if name == "action" { "; for example {\"action\":\"list_keys\"}" } else { "" };
        return format!("{whose} needs {name}{example}");
    }
    if let Some(name) = named(problem, "duplicate field `") {
        // HTTP puts the header, or null, before the members of the body.
        let place = match name {
            "request_id" => " (over HTTP as the header Idempotency-Key, not in the body)",
            _ => "",
        };
        return format!("{name} occurs twice; send it once{place}");
    }
    let wrong = problem.strip_prefix("invalid type: ");
    let wrong = wrong.or_else(|| problem.strip_prefix("invalid value: "));
    if let Some((sent, expected)) = wrong.and_then(|it| it.rsplit_once(", expected ")) {
        return wrong_type(whose, sent, expected);
    }
    if problem.starts_with("EOF while") {
        return "the JSON ends before it is complete; send one whole object".to_owned();
    }
    let at = position.map(|it| format!(", at line {it}")).unwrap_or_default();
    match place {
        "" | "?" => format!("the JSON is not valid: {}{at}", plain_syntax(problem)),
        place => format!("{place}: {}{at}", shorten(plain_syntax(problem), 200)),
    }
}

/// Splits the place of an error from the parser's words for it.
fn split_place(what: &str) -> (&str, &str) {
    const PROBLEMS: [&str; 6] = [
        "unknown field `",
        "missing field `",
        "duplicate field `",
        "invalid type: ",
        "invalid value: ",
        "EOF while",
    ];
    let found = PROBLEMS.iter().filter_map(|it| what.find(it)).min();
    let (place, problem) = match found {
        Some(at) => what.split_at_checked(at).unwrap_or(("", what)),
        None => what.split_once(": ").unwrap_or(("", what)),
    };
    (place.trim_end_matches([':', ' ']), problem)
}

/// Returns the name between `start` and the next backtick.
fn named<'w>(problem: &'w str, start: &str) -> Option<&'w str> {
    problem.strip_prefix(start)?.split('`').next()
}

/// Describes a member that `whose` does not take.
pub fn unknown_member(whose: &str, name: &str, known: &[&str]) -> String {
    let shown = shorten(name, SHOWN_CHARS_MAX);
    if name == "if_revision" && known.contains(&"if_version") {
        return format!(
            "{whose} takes no if_revision; it takes if_version, the version of the entry that you \
             read, which is not a revision"
        );
    }
    let is_condition = name == "version" && known.iter().any(|it| it.ends_with("_version"));
    let is_read = READS.iter().any(|it| whose.starts_with(it));
    if is_read && name == "version" && !known.contains(&name) {
        return format!(
            "{whose} takes no version: it is about what is there now; read_history has the earlier \
             versions of an entry"
        );
    }
    let is_the_systems = SET_BY_THE_SYSTEM.contains(&name) && !is_condition && !is_read;
    if is_the_systems && !known.contains(&name) {
        return format!(
            "{whose} takes no {shown}: the system sets the writer (from your credential), the time \
             and the version"
        );
    }
    // `type` may be meant as `memory_type`, and `to` as `to_agent`.
    let mut longer = known.iter().filter(|it| it.split('_').any(|part| part == name));
    let next = match (longer.next(), longer.next()) {
        (Some(only), None) => format!("did you mean {only}?"),
        _ => did_you_mean(name, known.iter().copied(), || match known {
            [] => "it takes nothing".to_owned(),
            _ => format!("it takes {}", known.join(", ")),
        }),
    };
    format!("{whose} takes no {shown}; {next}")
}

/// Describes a value of another type than expected.
fn wrong_type(whose: &str, sent: &str, expected: &str) -> String {
    let must_be = match expected {
        "a string" | "string" => "text",
        // Only a whole number can be out of the range, which a member may have narrower.
        "u32" if !sent.starts_with("integer ") => "a whole number",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" if is_over_u64(sent) => {
            return format!("{whose} must be a whole number of at most {}; it is larger", u64::MAX);
        }
        "u64" => "a whole number, 0 or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" | "a JSON object" => "an object",
        other => other,
    };
    let is_structure = matches!(sent, "map" | "sequence");
    let sent = match sent {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" => "null".to_owned(),
        _ => match sent.strip_prefix("floating ").unwrap_or(sent).split_once(' ') {
            Some(("string", _)) => "text".to_owned(),
            Some((_, shown)) => shorten(&shown.replace('`', ""), SHOWN_CHARS_MAX),
            None => sent.to_owned(),
        },
    };
    let hint = match must_be {
        "text" if is_structure && whose.ends_with("value") => {
            "; send JSON as text, such as \"{\\\"a\\\":1}\""
        }
        "an object" if whose.starts_with("writes[") => {
            ", such as {\"key\":\"current_phase\",\"value\":\"review\"}"
        }
        "an object" if whose.starts_with("deletes[") => ", such as {\"key\":\"open_questions\"}",
        _ => "",
    };
    format!("{whose} must be {must_be}, not {sent}{hint}")
}

/// Returns true for a number that the parser read as a floating point number because it is larger
/// than any `u64`.
fn is_over_u64(sent: &str) -> bool {
    let number = sent.strip_prefix("floating point `").and_then(|it| it.strip_suffix('`'));
    number.and_then(|it| it.parse().ok()).is_some_and(|it: f64| it >= 18_446_744_073_709_551_616.0)
}

/// Returns `text`, or its beginning up to the last whole word within `chars`.
pub fn shorten(text: &str, chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars) else { return text.to_owned() };
    let begin = text.get(..end).unwrap_or_default();
    let whole = begin.rsplit_once(char::is_whitespace).map_or(begin, |(words, _)| words);
    format!("{}…", whole.trim_end_matches([',', ';', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_hold_no_words_of_the_parser() {
        let write = Some(("write", &["key", "value", "ttl_seconds"][..]));
        for (what, expected) in [
            ("missing field `value` at line 1 column 9", "write needs value"),
            (
                "content: unknown field `content`, expected one of `key` at line 1 column 5",
                "write takes no content; did you mean value?",
            ),
            (
                "zzz: unknown field `zzz`, expected `key` at line 1 column 5",
                "write takes no zzz; it takes key, value, ttl_seconds",
            ),
            (
                "deltas[item 1].pth: unknown field `pth`, expected one of `operation`, `path` at line 1 column 5",
                "deltas[item 1] takes no pth; did you mean path?",
            ),
            (
                "deltas[item 2]: missing field `path` at line 1 column 5",
                "deltas[item 2] needs path",
            ),
            (
                "value: invalid type: map, expected a string at line 1 column 5",
                r#"value must be text, not an object; send JSON as text, such as "{\"a\":1}""#,
            ),
            (
                "ttl_seconds: invalid value: integer `-1`, expected u64 at line 1 column 5",
                "ttl_seconds must be a whole number, 0 or more, not -1",
            ),
            (
                "key: invalid type: string \"a, expected b\", expected u32 at line 1 column 5",
                "key must be a whole number, not text",
            ),
            // The message was once "not point 40.5", with a range that the member does not have.
            (
                "reduction_percent: invalid type: floating point `40.5`, expected u32 at line 1 column 5",
                "reduction_percent must be a whole number, not 40.5",
            ),
            (
                "deletes[item 1]: invalid type: string \"a\", expected a map at line 1 column 5",
                r#"deletes[item 1] must be an object, not text, such as {"key":"open_questions"}"#,
            ),
            (
                "?: EOF while parsing a string at line 1 column 5",
                "the JSON ends before it is complete; send one whole object",
            ),
            (
                "?: trailing comma at line 1 column 13",
                "the JSON is not valid: a comma stands before a closing bracket, at line 1 column 13",
            ),
            (
                "expected ident at line 1 column 2",
                "the JSON is not valid: an unquoted word must be true, false or null; text needs double \
                 quotes, at line 1 column 2",
            ),
            (
                "value: unexpected end of hex escape at line 1 column 30",
                "value: an escape such as \\ud83d is only half of a character; send the character \
                 itself, at line 1 column 30",
            ),
        ] {
            assert_eq!(plain(write, what), expected);
        }
        for (member, part) in
            [("version", "did you mean if_version?"), ("if_revision", "the version of")]
        {
            let taken = ["key", "value", "if_version"];
            let problem = unknown_member("context_write", member, &taken);
            assert!(problem.contains(part), "{problem}");
        }
        let by_hand = plain(write, "written_by: unknown field `written_by`, expected one of `key`");
        assert!(by_hand.contains("the system sets the writer"), "{by_hand}");
    }

    #[test]
    fn a_text_is_cut_between_words() {
        assert_eq!(shorten("one two three", 13), "one two three");
        assert_eq!(shorten("one two, three", 10), "one two…");
        assert_eq!(shorten("ααααα", 3), "ααα…");
    }
}
