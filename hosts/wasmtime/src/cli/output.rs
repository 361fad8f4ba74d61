//! What commands print: one JSON document, or text for a person.
//!
//! Answers go to standard output; problems and remarks go to standard error.
//! Colours appear only where they are shown (a terminal, and `NO_COLOR` unset).
//!
//! # Invariants
//!
//! With `--json` exactly one document is printed on standard output, whether the
//! command succeeds or not; only `watch` prints a document a line, as they come.
//! Text that came from a server is printed [`plain`]: a stored value cannot drive
//! the terminal.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, ErrorKind, Write},
    ops::ControlFlow,
};

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::problem::{Kind, Problem};

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
/// The width when neither a terminal nor `COLUMNS` tells one.
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
        written(document_to(&mut io::stdout(), document)).map(drop)
    }

    /// Prints one of many: the JSON document `document` as a line, or the text
    /// `text` makes. Breaks when nobody reads any more.
    pub(crate) fn next(
        self,
        document: &[u8],
        text: impl FnOnce() -> String,
    ) -> Result<ControlFlow<()>, Problem> {
        if self.is_json {
            return written(document_to(&mut io::stdout(), document));
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

    /// A stored value, wrapped and indented; of a longer one its first `lines_max`
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

    /// How lines are wrapped: not within dates and labels.
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
        Some(width) => textwrap::fill(
            text,
            textwrap::Options::new(usize::from(width).clamp(WIDTH_MIN, WIDTH_MAX))
                .initial_indent("       ")
                .subsequent_indent("       "),
        )
        .trim_start()
        .to_owned(),
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

/// Prints the one document of a command that failed.
pub(crate) fn document(document: &[u8]) {
    drop(document_to(&mut io::stdout(), document));
}

fn document_to(out: &mut impl Write, document: &[u8]) -> io::Result<()> {
    out.write_all(document)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A reader that went away has read what it wanted.
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

/// Whether `c` would do something to a terminal, or to how the text around it reads:
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

/// How full something is, as a bar and in numbers.
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

/// An instant as people read it: to the second, without the `T` and `Z`.
pub(crate) fn instant(rfc3339: &str) -> String {
    let whole = rfc3339.split(['.', 'Z']).next().unwrap_or_default();
    plain(whole).replacen('T', " ", 1)
}

/// A table without lines; a header that starts with `#` names a column of
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_value_cannot_drive_the_terminal() {
        assert_eq!(plain("a\u{1b}[2J\rb\u{9b}\u{7f}\u{0}"), "a␛[2J␍b\u{fffd}␡␀");
        assert!(matches!(plain("two\nlines\tand 👩‍🚀"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_value_is_indented_and_only_its_beginning_shown_if_so_wished() {
        let output = Output { is_json: false, width: 40 };
        let value =
            "one line\n\n    indented\nand one that is longer than the terminal is wide\u{1b}";
        let whole = output.value(value, usize::MAX);
        assert_eq!(
            whole,
            "  one line\n\n      indented\n  and one that is longer than the\n  terminal is \
             wide␛\n"
        );
        assert_eq!(bare(&output.value(value, 1)), "  one line\n  …\n");
        assert_eq!(bare(&output.value("", 1)), "\n");
    }

    /// A value could be stored as "approved" and be read as "devorppa": what turns the
    /// direction of writing around reached the terminal.
    #[test]
    fn what_turns_writing_around_or_is_not_seen_is_shown() {
        assert_eq!(
            plain("a\u{202e}b\u{2066}c\u{200b}d\u{feff}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}"
        );
        assert_eq!(plain("x\u{2028}y\u{e0041}"), "x\u{fffd}y\u{fffd}");
        let kept = "tab\there, 👩\u{200d}🚀, \u{645}\u{6cc}\u{200c}\u{62e}, é, 漢字\n";
        assert_eq!(plain(kept), kept);
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_printed_nothing_in_it_acts(text in ".*", more in "[\\x00-\\x9f\\u{2000}-\\u{206f}]*") {
            let text = text + &more;
            let shown = plain(&text);
            proptest::prop_assert!(!shown.contains(is_control));
            proptest::prop_assert_eq!(shown.chars().count(), text.chars().count());
        }
    }

    #[test]
    fn numbers_and_instants_read_well() {
        assert_eq!([grouped(0), grouped(999), grouped(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!([counted(1, "key"), counted(2_000, "key")], ["1 key", "2,000 keys"]);
        assert_eq!(instant("2026-02-20T14:30:00.250Z"), "2026-02-20 14:30:00");
        assert_eq!(instant("2026-02-20T14:30:00Z"), "2026-02-20 14:30:00");
    }

    #[test]
    fn a_gauge_shows_the_first_token_and_never_overflows() {
        assert_eq!(bare(&gauge(0, 10_000)), format!("{} 0 of 10,000 tokens (0 %)", "░".repeat(20)));
        assert!(bare(&gauge(1, 10_000)).starts_with("█░"));
        assert!(bare(&gauge(20, 10)).starts_with(&format!("{} 20", "█".repeat(20))));
        assert!(bare(&gauge(0, 0)).contains("0 of 0"));
    }

    #[test]
    fn a_table_has_no_lines_and_fits_the_width() {
        let output = Output { is_json: false, width: 40 };
        let rows = vec![
            vec!["scope".to_owned(), "7".to_owned(), "subagent:remediation:1".to_owned()],
            vec!["a_key_that_is_rather_long".to_owned(), "12".to_owned(), "\u{1b}x".to_owned()],
        ];
        let text = bare(&table(output, &["KEY", "#TOKENS", "WRITTEN BY"], rows));
        assert!(text.lines().all(|it| it.chars().count() <= 40), "{text}");
        assert!(text.contains("␛x"), "{text}");
        assert!(!text.contains(['|', '+', '─']), "{text}");
    }
}
