//! Messages for the person at the terminal, always in the same style.
//!
//! All of them go to standard error, in order with the output of cargo. Colours appear only on
//! terminals that show them.

use std::{fmt, time::Duration};

use anstream::{eprint, eprintln};
use anstyle::{AnsiColor, Style};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Opens a part of a longer command.
pub(crate) fn headline(title: &str) {
    eprintln!("\n{BOLD}=== {title}{BOLD:#}");
}

/// Prints what is about to happen, and how long it may take when that is long.
pub(crate) fn step(text: &str) {
    eprintln!("{BOLD}{text}{BOLD:#}");
}

/// Prints the output of another program unchanged.
pub(crate) fn text(text: &str) {
    eprint!("{text}");
}

/// A command line, before it runs.
pub(crate) fn command(line: &str) {
    eprintln!("{DIMMED}$ {line}{DIMMED:#}");
}

/// Prints how long the command took that was shown last.
pub(crate) fn took(duration: Duration) {
    eprintln!("{DIMMED}  {}{DIMMED:#}", seconds(duration));
}

/// Prints that something was done, or was done already.
pub(crate) fn done(text: &str) {
    eprintln!("{GREEN}ok{GREEN:#} {text}");
}

/// Prints what works but should not stay so.
pub(crate) fn warning(text: &str) {
    eprintln!("{YELLOW}warning:{YELLOW:#} {text}");
}

/// Prints what went wrong and what to do about it.
pub(crate) fn failure(text: &str) {
    eprintln!("{RED}error:{RED:#} {text}");
}

/// The outcome of a part of a longer command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As it should.
    Passed,
    /// Not as it should.
    Failed,
    /// It never began, because of another.
    NotRun,
}

/// A row of the table at the end of a longer command.
pub(crate) fn row(name: &str, outcome: Outcome, took: Duration) {
    let (style, word) = match outcome {
        Outcome::Passed => (GREEN, "ok"),
        Outcome::Failed => (RED, "FAILED"),
        Outcome::NotRun => (YELLOW, "not run"),
    };
    eprintln!("{name:<8}{style}{word:<8}{style:#}{:>12}", seconds(took).to_string());
}

/// Returns a duration as text.
pub(crate) fn seconds(duration: Duration) -> impl fmt::Display {
    let (minutes, seconds) = (duration.as_secs() / 60, duration.as_secs() % 60);
    if minutes == 0 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{minutes} min {seconds:02} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_reads_as_people_say_it() {
        assert_eq!(seconds(Duration::from_millis(340)).to_string(), "0.3 s");
        assert_eq!(seconds(Duration::from_secs(59)).to_string(), "59.0 s");
        assert_eq!(seconds(Duration::from_secs(181)).to_string(), "3 min 01 s");
    }
}
