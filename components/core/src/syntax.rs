//! Syntax errors of the JSON parser, in words for the sender.

use std::fmt;

/// Returns the words for a syntax error of the JSON parser, which it reports as `problem`. Others
/// are returned as they are.
pub fn plain_syntax(problem: &str) -> &str {
    let is = |begin: &str| problem.starts_with(begin);
    match problem {
        _ if is("EOF while") => "it ends before it is complete",
        _ if is("expected ident") => {
            "an unquoted word must be true, false or null; text needs double quotes"
        }
        _ if is("expected value") => "a value is missing, or text is without double quotes",
        _ if is("expected `:`") => "a colon is missing after a name",
        _ if is("expected `,`") => "a comma or a closing bracket is missing",
        _ if is("key must be a string") => "a name is without double quotes",
        _ if is("trailing comma") => "a comma stands before a closing bracket",
        _ if is("trailing characters") => "something follows after its end",
        _ if is("invalid escape") => "a backslash stands before a letter that it does not escape",
        _ if is("unexpected end of hex escape") || is("lone leading surrogate") => {
            "an escape such as \\ud83d is only half of a character; send the character itself"
        }
        _ if is("invalid unicode code point") => "it is not UTF-8",
        _ if is("control character") => {
            "text holds a control character; write it as an escape, such as \\n"
        }
        _ if is("invalid number") => "a number is not written as JSON writes it",
        _ if is("number out of range") => "a number is too large",
        _ if is("recursion limit") => "it is nested too deeply",
        other => other,
    }
}

/// Describes a syntax error of the JSON parser, with its place.
pub fn syntax_error(error: &dyn fmt::Display) -> String {
    let shown = error.to_string();
    match shown.rsplit_once(" at line ") {
        Some((problem, place)) => format!("{}, at line {place}", plain_syntax(problem)),
        None => plain_syntax(&shown).to_owned(),
    }
}
