//! Tables without borders.
//!
//! # Invariant
//!
//! Dates, ids and numbers are never broken: only a column of free text is wrapped. Where a
//! terminal is too narrow for the columns, each row is a block of lines. In a pipe each row is one
//! line.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use textwrap::core::display_width;

use super::{BOLD, DIMMED, Output, plain};

/// The gap between the columns of a table.
const COLUMN_GAP: u16 = 2;
/// The narrowest column of free text.
const TEXT_WIDTH_MIN: usize = 16;

/// Formats a table. A header that starts with `#` names a column of numbers, and one that
/// starts with `~` a column of free text.
pub(crate) fn table(output: Output, header: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|it| plain(it).into_owned()).collect()).collect();
    if output.has_narrow_tables && width_min(header, &rows) > output.width {
        return blocks(output, header, &rows);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if output.has_narrow_tables {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        // The gap after the last column is not printed.
        let width = output.width.saturating_add(COLUMN_GAP.into());
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table.set_header(header.iter().map(|it| title(it)));
    for (column, title) in table.column_iter_mut().zip(header) {
        column.set_padding((0, COLUMN_GAP));
        if title.starts_with('#') {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if !title.starts_with('~') {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    for row in rows {
        table.add_row(row);
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

fn title(header: &str) -> &str {
    header.trim_start_matches(['#', '~'])
}

/// Returns the width below which a column would have to be broken.
fn width_min(header: &[&str], rows: &[Vec<String>]) -> usize {
    let widths = header.iter().enumerate().map(|(at, name)| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(String::as_str);
        let widest = cells.chain([title(name)]).map(display_width).max().unwrap_or(0);
        if name.starts_with('~') { widest.min(TEXT_WIDTH_MIN) } else { widest }
    });
    let gaps = header.len().saturating_sub(1).saturating_mul(COLUMN_GAP.into());
    widths.sum::<usize>().saturating_add(gaps)
}

/// Formats each row as a block: its first cell, and below it a line for each other one.
fn blocks(output: Output, header: &[&str], rows: &[Vec<String>]) -> String {
    let name_width = header.iter().skip(1).map(|it| display_width(title(it))).max().unwrap_or(0);
    let indent = " ".repeat(name_width.saturating_add(4));
    let mut text = String::new();
    for row in rows {
        let mut cells = header.iter().zip(row);
        if let Some((_, first)) = cells.next() {
            let _ = writeln!(text, "{BOLD}{first}{BOLD:#}");
        }
        for (header, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
            let name = title(header).to_lowercase();
            let first = format!("  {DIMMED}{name:<name_width$}{DIMMED:#}  ");
            let line = if header.starts_with('~') {
                output.wrapped(&first, &indent, cell)
            } else {
                first + cell
            };
            let _ = writeln!(text, "{line}");
        }
    }
    text
}
