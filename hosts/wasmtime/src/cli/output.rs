//! The output of commands: one JSON document, or text for a person.
//!
//! Answers go to standard output; problems and remarks go to standard error. Colours are
//! used only on a terminal where `NO_COLOR` is unset.
//!
//! # Invariants
//!
//! With `--json` exactly one document is printed on standard output, whether the command
//! succeeds or not. Only `watch` prints a document per line, as changes arrive.
//! Text from a server is passed through [`plain`] or escaped as JSON: a stored value cannot
//! control the terminal.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, ErrorKind, IsTerminal, Write},
    ops::ControlFlow,
};

use anstyle::{AnsiColor, Style};

use super::problem::{Kind, Problem};

mod table;
#[cfg(test)]
mod tests;

pub(crate) use self::table::table;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIMMED: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const BLUE: Style = AnsiColor::Blue.on_default();
pub(crate) const MAGENTA: Style = AnsiColor::Magenta.on_default();

/// The maximum width of text, even on a wider terminal: long lines are hard to read.
const WIDTH_MAX: usize = 120;
const WIDTH_MIN: usize = 40;
/// The width when there is no terminal and `COLUMNS` is not set.
const WIDTH_DEFAULT: usize = 80;
/// The width of a gauge, in characters.
const GAUGE_WIDTH: u64 = 20;

/// The format of a command's output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// True for JSON, false for text.
    pub(crate) is_json: bool,
    /// The maximum width of text.
    pub(crate) width: usize,
    /// True if tables keep to that width. In a pipe they do not, so that the shape of a table does
    /// not depend on what is in it.
    has_narrow_tables: bool,
}

impl Output {
    /// Creates the output for this process's terminal.
    pub(crate) fn new(is_json: bool) -> Self {
        let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0);
        let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
        let known = terminal.or_else(columns);
        let width = known.map_or(WIDTH_DEFAULT, usize::from).clamp(WIDTH_MIN, WIDTH_MAX);
        Self { is_json, width, has_narrow_tables: known.is_some() }
    }

    /// Creates the output for a terminal of this width.
    #[cfg(test)]
    pub(crate) const fn of_width(width: usize) -> Self {
        Self { is_json: false, width, has_narrow_tables: true }
    }

    /// Prints the answer of a command: `document` as JSON, or the text that `text` builds.
    pub(crate) fn answer(
        self,
        document: &[u8],
        text: impl FnOnce() -> Result<String, Problem>,
    ) -> Result<(), Problem> {
        if !self.is_json {
            return self.text(&text()?);
        }
        written(document_to(&mut io::stdout(), &harmless(document))).map(drop)
    }

    /// Prints a JSON document to be stored, byte for byte. On a terminal it is escaped.
    pub(crate) fn exact(document: &[u8]) -> Result<(), Problem> {
        let is_shown = io::stdout().is_terminal();
        let document = if is_shown { harmless(document) } else { Cow::Borrowed(document) };
        written(document_to(&mut io::stdout(), &document)).map(drop)
    }

    /// Prints `text` that a prompt or a file continues with: byte for byte in a pipe or a file;
    /// on a terminal harmless, and with a final line break.
    pub(crate) fn exact_text(self, text: &str) -> Result<(), Problem> {
        if io::stdout().is_terminal() { self.text(&plain(text)) } else { Self::raw(text) }
    }

    /// Prints `text` byte for byte, for a pipe or a file.
    pub(crate) fn raw(text: &str) -> Result<(), Problem> {
        let mut out = io::stdout();
        written(out.write_all(text.as_bytes()).and_then(|()| out.flush())).map(drop)
    }

    /// Prints one of several answers: `document` as a line of JSON, or the text that `text`
    /// builds. Breaks if the reader closed the pipe.
    pub(crate) fn next(
        self,
        document: &[u8],
        text: impl FnOnce() -> String,
    ) -> Result<ControlFlow<()>, Problem> {
        if self.is_json {
            return written(document_to(&mut io::stdout(), &harmless(document)));
        }
        let mut out = anstream::stdout();
        written(out.write_all(text().as_bytes()).and_then(|()| out.flush()))
    }

    /// Prints text for a person, with a final line break. With `--json` it prints nothing.
    pub(crate) fn text(self, text: &str) -> Result<(), Problem> {
        if self.is_json {
            return Ok(());
        }
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let mut out = anstream::stdout();
        written(write!(out, "{text}{end}").and_then(|()| out.flush())).map(drop)
    }

    /// Wraps `text`; its first line starts with `first`, the others with `indent`. The date
    /// and the time of an instant stay on one line.
    pub(crate) fn wrapped(self, first: &str, indent: &str, text: &str) -> String {
        textwrap::fill(&joined(text), self.indented(first, indent)).replace(JOINT, " ")
    }

    /// Wraps a next step as [`Output::wrapped`] does; commands in it stay on one line, so
    /// that they can be pasted.
    pub(crate) fn warning(self, first: &str, indent: &str, text: &str) -> String {
        warning(text, &self.indented(first, indent))
    }

    /// Returns a stored value, wrapped and indented, cut to `lines_max` lines.
    pub(crate) fn value(self, value: &str, lines_max: usize) -> String {
        let value = plain(value);
        let lines = textwrap::wrap(&value, self.indented("  ", "  "));
        let mut text = String::new();
        for line in lines.iter().take(lines_max) {
            let _ = writeln!(text, "{}", line.trim_end());
        }
        if lines.len() > lines_max {
            let _ = writeln!(text, "  {DIMMED}…{DIMMED:#}");
        }
        text
    }

    /// Returns the wrapping options. Dates and labels are not split.
    fn indented<'a>(self, first: &'a str, indent: &'a str) -> textwrap::Options<'a> {
        textwrap::Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(indent)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
    }
}

/// Prints a remark to standard error. It is not part of the answer.
pub(crate) fn remark(text: &str) {
    drop(writeln!(anstream::stderr(), "{DIMMED}{text}{DIMMED:#}"));
}

/// Prints text beside the answer to standard error, such as a table.
pub(crate) fn note(text: &str) {
    drop(write!(anstream::stderr(), "{text}"));
}

/// Prints a problem to standard error, and as the JSON document with `--json`.
pub(crate) fn problem(problem: &Problem, is_json: bool) {
    let width = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| width.0);
    let wrapped = |text: &str| match width {
        Some(width) => {
            let width = usize::from(width).clamp(WIDTH_MIN, WIDTH_MAX);
            let (first, indent) = (" ".repeat(7), " ".repeat(7));
            let options = textwrap::Options::new(width);
            let options = options.initial_indent(&first).subsequent_indent(&indent);
            warning(text, &options).trim_start().to_owned()
        }
        // Lines are not wrapped in a log.
        None => text.to_owned(),
    };
    let message = wrapped(&format!("{} ({})", plain(problem.text()), problem.code()));
    let mut text = format!("{RED}{BOLD}error:{BOLD:#}{RED:#} {message}\n");
    if let Some(next) = problem.next_step() {
        let _ = writeln!(text, " {BOLD}next:{BOLD:#} {}", wrapped(&plain(next)));
    }
    drop(write!(anstream::stderr(), "{text}"));
    if is_json && !problem.is_reported() {
        document(&problem.to_json());
    }
}

/// Wraps `text`, except lines that start with two spaces: those are commands, which must be
/// pasted whole.
fn warning(text: &str, options: &textwrap::Options<'_>) -> String {
    let mut lines = text.split('\n');
    let mut wrapped = textwrap::fill(lines.next().unwrap_or_default(), options);
    let indent = options.subsequent_indent;
    for line in lines {
        let options = options.clone().initial_indent(indent);
        let line = match line.strip_prefix("  ") {
            Some(command) => format!("{indent}  {command}"),
            None => textwrap::fill(line, options),
        };
        let _ = write!(wrapped, "\n{line}");
    }
    wrapped
}

/// Prints the JSON document of a command that failed.
pub(crate) fn document(document: &[u8]) {
    drop(document_to(&mut io::stdout(), &harmless(document)));
}

fn document_to(out: &mut impl Write, document: &[u8]) -> io::Result<()> {
    out.write_all(document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Escapes every character of the JSON document that would act on a terminal. The value is
/// unchanged.
fn harmless(document: &[u8]) -> Cow<'_, [u8]> {
    // ASCII control characters are already escaped, or are whitespace between tokens.
    let acts = |c: char| c > '~' && is_control(c);
    let text = match str::from_utf8(document) {
        Ok(text) if text.contains(acts) => text,
        _ => return Cow::Borrowed(document),
    };
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped.into_bytes())
}

/// Converts the result of printing. A closed pipe is not an error: the reader has all it
/// wanted.
fn written(result: io::Result<()>) -> Result<ControlFlow<()>, Problem> {
    match result {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(Problem::new(
            Kind::Usage,
            "OUTPUT_FAILED",
            format!("the answer cannot be printed: {error}"),
        )),
    }
}

/// Returns true if `c` affects a terminal or how the text around it reads: control
/// characters except line breaks and tabs, direction overrides, and invisible characters.
/// Joiners of letters and emoji are allowed.
fn is_control(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Returns `text` with every control character except line breaks and tabs made visible, so
/// that printing it is harmless.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let visible = |c: char| match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ => '\u{fffd}',
    };
    Cow::Owned(text.chars().map(|c| if is_control(c) { visible(c) } else { c }).collect())
}

/// Formats `number` with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats `count` with the noun `one`, in the plural if the count is not one.
pub(crate) fn counted(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", grouped(count))
}

/// Formats a fill level as a bar and numbers.
pub(crate) fn gauge(tokens: u64, max_tokens: u64) -> String {
    let percent = tokens.saturating_mul(100) / max_tokens.max(1);
    let filled = tokens.saturating_mul(GAUGE_WIDTH).div_ceil(max_tokens.max(1)).min(GAUGE_WIDTH);
    let style = match percent {
        0..80 => GREEN,
        80..95 => YELLOW,
        _ => RED,
    };
    let bar = |it: &str, count: u64| it.repeat(usize::try_from(count).unwrap_or(0));
    format!(
        "{style}{}{style:#}{DIMMED}{}{DIMMED:#} {} of {} tokens ({percent} %)",
        bar("█", filled),
        bar("░", GAUGE_WIDTH.saturating_sub(filled)),
        grouped(tokens),
        grouped(max_tokens),
    )
}

/// Stands for the space in an instant while text is wrapped.
const JOINT: char = '\u{f8ff}';

/// Replaces the space between each date and its time by [`JOINT`].
fn joined(text: &str) -> String {
    let is_date =
        |word: &str| word.len() == 10 && word.bytes().all(|it| it.is_ascii_digit() || it == b'-');
    let mut words = text.split(' ');
    let mut joined = words.next().unwrap_or_default().to_owned();
    let mut last = joined.clone();
    for word in words {
        let is_time = is_date(&last) && word.starts_with(|c: char| c.is_ascii_digit());
        joined.push(if is_time { JOINT } else { ' ' });
        joined.push_str(word);
        word.clone_into(&mut last);
    }
    joined
}

/// Formats an instant for people: to the second, without the `T` and `Z`.
pub(crate) fn instant(rfc3339: &str) -> String {
    let whole = rfc3339.split(['.', 'Z']).next().unwrap_or_default();
    plain(whole).replacen('T', " ", 1)
}
