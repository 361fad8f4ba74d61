//! Values of arguments: numbers, times, and the name of a session.
//!
//! # Invariant
//!
//! An invalid value is answered with what to write, not with the words of a parser.

use std::{env, str::FromStr};

/// The name of a session as it was written. A dot stands for the default session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionName(String);

impl SessionName {
    /// What stands for the default session. No session can have this id.
    pub(crate) const DEFAULT: &str = ".";

    /// Returns the id, or `None` for the default session.
    pub(crate) fn id(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|it| *it != Self::DEFAULT)
    }
}

impl Default for SessionName {
    fn default() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

impl FromStr for SessionName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" => Err("write the id of a session"),
            text => Ok(Self(text.to_owned())),
        }
    }
}

/// Parses a whole number.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write a whole number, such as 20".to_owned())
}

/// Parses a text that may begin with a hyphen. One that reads as an option is a mistyped option,
/// unless `--` is among the arguments.
pub(crate) fn text(text: &str) -> Result<String, String> {
    let is_value = env::args_os().any(|it| it == "--");
    if is_option(text) && !is_value {
        return Err("it reads as an option; if it is the value, write -- before it".to_owned());
    }
    Ok(text.to_owned())
}

/// Returns true if `text` begins as a long option does.
fn is_option(text: &str) -> bool {
    text.strip_prefix("--").is_some_and(|it| it.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Parses a switch that a variable turns on or off.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("write 1 or 0".to_owned()),
    }
}

/// Parses a duration such as `90s`, `15m`, `1h` or `30d`, into seconds.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..) {
        Some("s") => Some(1),
        Some("m") => Some(60),
        Some("h") => Some(3_600),
        Some("d") => Some(86_400),
        _ => None,
    };
    let seconds = unit.and_then(|unit| digits.parse::<u64>().ok()?.checked_mul(unit));
    seconds.ok_or_else(|| "write a number and s, m, h or d, such as 15m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        let times = ["90s", "15m", "1h", "30d"].map(|it| seconds(it).unwrap());
        assert_eq!(times, [90, 900, 3_600, 2_592_000]);
        for text in ["", "h", "1", "1 h", "1w", "-1h", "1hh", "99999999999999999999d", "1h5m"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    /// `set ID KEY --jsn` once stored `--jsn` and replaced the value.
    #[test]
    fn a_mistyped_option_is_not_a_value() {
        for value in ["--jsn", "--json=1", "--as orchestrator"] {
            assert!(is_option(value), "{value}");
        }
        for value in ["", "-", "-5", "- a list", "--", "---", "--- a/file.rs", "-- 5"] {
            assert!(!is_option(value), "{value}");
        }
    }

    #[test]
    fn a_switch_is_on_or_off() {
        assert_eq!(["1", "true", "Yes", "on"].map(switch), [(); 4].map(|()| Ok(true)));
        assert_eq!(["0", "false", "No", "off"].map(switch), [(); 4].map(|()| Ok(false)));
        assert!(switch("maybe").is_err() && switch("").is_err());
    }
}
