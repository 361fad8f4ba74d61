//! What commands print: one JSON document, or text for a person.
//!
//! Answers go to standard output; problems and remarks go to standard error.
//! Colours appear only where they are shown (a terminal, and `NO_COLOR` unset).
//!
//! # Invariants
//!
//! With `--json` exactly one document is printed on standard output, whether the
//! command succeeds or not; only `watch` prints a document a line, as they come.
//! Text that came from a server is printed [`plain`], or escaped as JSON has it: a
//! stored value cannot drive the terminal.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, ErrorKind, IsTerminal, Write},
    ops::ControlFlow,
};

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::problem::{Kind, Problem};

#[cfg(test)]
mod tests;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIMMED: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const BLUE: Style = AnsiColor::Blue.on_default();
pub(crate) const MAGENTA: Style = AnsiColor::Magenta.on_default();

/// The widest text is this wide, also on a wider terminal: long lines are hard
/// to read.
const WIDTH_MAX: usize = 120;
const WIDTH_MIN: usize = 40;
/// The width if neither a terminal nor `COLUMNS` gives one.
const WIDTH_DEFAULT: usize = 80;
/// How far the columns of a table are apart.
const COLUMN_GAP: u16 = 2;
/// How many characters a gauge has.
const GAUGE_WIDTH: u64 = 20;

/// How answers are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// Whether a program reads them.
    pub(crate) is_json: bool,
    /// How wide text may be.
    pub(crate) width: usize,
}

impl Output {
    /// Output to where this process prints.
    pub(crate) fn new(is_json: bool) -> Self {
        let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0);
        let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
        let width = terminal.or_else(columns).map_or(WIDTH_DEFAULT, usize::from);
        Self { is_json, width: width.clamp(WIDTH_MIN, WIDTH_MAX) }
    }

    /// Prints the answer of a command: the JSON document `document`, or the text
    /// `text` makes.
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

    /// Prints a JSON document that is to be kept, byte for byte as it came but where
    /// a terminal shows it.
    pub(crate) fn exact(document: &[u8]) -> Result<(), Problem> {
        let is_shown = io::stdout().is_terminal();
        let document = if is_shown { harmless(document) } else { Cow::Borrowed(document) };
        written(document_to(&mut io::stdout(), &document)).map(drop)
    }

    /// Prints one of many: the JSON document `document` as a line, or the text
    /// `text` makes. Breaks when nobody reads any more.
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

    /// Prints text for a person, and a line break when it ends without one.
    /// Prints nothing when a program reads.
    pub(crate) fn text(self, text: &str) -> Result<(), Problem> {
        if self.is_json {
            return Ok(());
        }
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let mut out = anstream::stdout();
        written(write!(out, "{text}{end}").and_then(|()| out.flush())).map(drop)
    }

    /// Wraps `text`; its first line starts with `first`, the others with `indent`.
    pub(crate) fn wrapped(self, first: &str, indent: &str, text: &str) -> String {
        textwrap::fill(text, self.indented(first, indent))
    }

    /// Returns the same for what to do next; commands in it stay as they are pasted.
    pub(crate) fn warning(self, first: &str, indent: &str, text: &str) -> String {
        warning(text, &self.indented(first, indent))
    }

    /// Returns a stored value, wrapped and indented; of a longer one its first `lines_max`
    /// lines.
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

    /// Returns how lines are wrapped: not within dates and labels.
    fn indented<'a>(self, first: &'a str, indent: &'a str) -> textwrap::Options<'a> {
        textwrap::Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(indent)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
    }
}

/// Says something to the person that is no part of the answer.
pub(crate) fn remark(text: &str) {
    drop(writeln!(anstream::stderr(), "{DIMMED}{text}{DIMMED:#}"));
}

/// Tells of a problem, and prints it as the one document when a program reads.
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
        // A log takes lines as they are.
        None => text.to_owned(),
    };
    let message = wrapped(&format!("{} ({})", plain(problem.message()), problem.code()));
    let mut text = format!("{RED}{BOLD}error:{BOLD:#}{RED:#} {message}\n");
    if let Some(next) = problem.next_step() {
        let _ = writeln!(text, " {BOLD}next:{BOLD:#} {}", wrapped(&plain(next)));
    }
    drop(write!(anstream::stderr(), "{text}"));
    if is_json && !problem.is_told() {
        document(&problem.to_json());
    }
}

/// Wraps `text`, but for lines that begin with two spaces: those are commands, which
/// cannot be pasted in pieces.
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

/// Prints the one document of a command that failed.
pub(crate) fn document(document: &[u8]) {
    drop(document_to(&mut io::stdout(), &harmless(document)));
}

fn document_to(out: &mut impl Write, document: &[u8]) -> io::Result<()> {
    out.write_all(document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Returns the JSON document `document`, with every character that would act on a terminal
/// escaped: the same value.
fn harmless(document: &[u8]) -> Cow<'_, [u8]> {
    // In ASCII, control characters are escaped already, or stand between two values.
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

/// Returns a reader that went away has read what it wanted.
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

/// Returns whether `c` would do something to a terminal, or to how the text around it reads:
/// control characters but line breaks and tabs, what turns the direction of writing
/// around, and what is there and not seen. What joins letters or emoji stays.
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

/// `text` with every control character but line breaks and tabs made visible,
/// so that printing it does nothing but show it.
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

/// `number` with its digits in groups of three.
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

/// `count` and `one`, in the plural when it is not one.
pub(crate) fn counted(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", grouped(count))
}

/// Returns how full something is, as a bar and in numbers.
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

/// Returns an instant as people read it: to the second, without the `T` and `Z`.
pub(crate) fn instant(rfc3339: &str) -> String {
    let whole = rfc3339.split(['.', 'Z']).next().unwrap_or_default();
    plain(whole).replacen('T', " ", 1)
}

/// Returns a table without lines; a header that starts with `#` names a column of
/// numbers.
pub(crate) fn table(output: Output, header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    // The gap behind the last column is not printed.
    let width = output.width.saturating_add(COLUMN_GAP.into());
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(header.iter().map(|it| it.trim_start_matches('#')));
    for (column, title) in table.column_iter_mut().zip(header) {
        column.set_padding((0, COLUMN_GAP));
        if title.starts_with('#') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        table.add_row(row.iter().map(|it| plain(it).into_owned()));
    }
    let mut text = String::new();
    for (at, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let _ = match at {
            0 => writeln!(text, "{BOLD}{line}{BOLD:#}"),
            _ => writeln!(text, "{line}"),
        };
    }
    text
}
