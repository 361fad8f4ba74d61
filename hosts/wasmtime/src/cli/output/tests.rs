//! Tests that printed text is harmless to the terminal, fits the width and keeps its value.

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
fn a_value_is_indented_and_truncated_on_request() {
    let output = Output::of_width(40);
    let value = "one line\n\n    indented\nand one that is longer than the terminal is wide\u{1b}";
    let whole = output.value(value, usize::MAX);
    assert_eq!(
        whole,
        "  one line\n\n      indented\n  and one that is longer than the\n  terminal is \
         wide␛\n"
    );
    assert_eq!(bare(&output.value(value, 1)), "  one line\n  …\n");
    assert_eq!(bare(&output.value("", 1)), "\n");
}

/// Regression test: a value stored as "approved" could be displayed as "devorppa", because
/// direction overrides reached the terminal.
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

/// Regression test: a wrapped command ran in pieces when it was pasted.
#[test]
fn a_command_in_a_warning_is_not_wrapped() {
    let output = Output::of_width(40);
    let command = format!("  shared-context serve --data /{} --accept-loss", "x".repeat(40));
    let text = format!("restore from a backup what was kept together; or begin by:\n{command}");
    let wrapped = output.warning("next: ", "      ", &text);
    assert_eq!(wrapped.lines().count(), 3, "{wrapped}");
    assert_eq!(wrapped.lines().last().unwrap(), format!("      {command}"));
    assert!(wrapped.lines().take(2).all(|it| it.chars().count() <= 40), "{wrapped}");
}

/// Regression test: with `--json` the same characters reached the terminal unescaped.
#[test]
fn a_document_cannot_drive_the_terminal_and_keeps_its_value() {
    let escaped = |text: &str| String::from_utf8(harmless(text.as_bytes()).into()).unwrap();
    assert_eq!(
        escaped("{\"v\":\r\n\t\"a\u{202e}b\u{9b}c\u{7f}\u{e0041}\"}"),
        "{\"v\":\r\n\t\"a\\u202eb\\u009bc\\u007f\\udb40\\udc41\"}"
    );
    let kept = r#"{"v":"tab\t, 👩‍🚀, é, 漢字, \u202e"}"#;
    assert!(matches!(harmless(kept.as_bytes()), Cow::Borrowed(it) if it == kept.as_bytes()));
    assert_eq!(&*harmless(b"\xff\xe2\x80\xae"), b"\xff\xe2\x80\xae");
}

proptest::proptest! {
    #[test]
    fn whatever_is_printed_as_json_nothing_in_it_acts(
        text in ".*", more in "[\\x00-\\x9f\\u{2000}-\\u{206f}\\u{e0000}-\\u{e007f}]*",
    ) {
        let value = serde_json::json!({ (text.clone()): [more] });
        let document = value.to_string();
        let shown = harmless(document.as_bytes());
        proptest::prop_assert!(!str::from_utf8(&shown).unwrap().contains(is_control));
        let again: serde_json::Value = serde_json::from_slice(&shown).unwrap();
        proptest::prop_assert_eq!(again, value);
    }

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

/// Regression test: on a narrow terminal dates and ids were broken over several lines.
#[test]
fn dates_and_ids_are_never_broken() {
    let row = ["ticket-7-of-the-second-team", "2026-02-20 14:30:00", "subagent:remediation:1"];
    let text = "a note that is long enough to be wrapped at every width there is here";
    let header = ["SESSION", "CHANGED (UTC)", "BY", "~NOTE"];
    for width in WIDTH_MIN..=WIDTH_MAX {
        let output = Output::of_width(width);
        let row: Vec<String> = row.into_iter().chain([text]).map(str::to_owned).collect();
        let shown = bare(&table(output, &header, std::slice::from_ref(&row)));
        for cell in &row[..3] {
            assert!(shown.contains(cell), "{width}: {shown}");
        }
        assert!(shown.lines().all(|it| it.chars().count() <= width), "{width}: {shown}");
        let note = format!("until {}; {text} {}", row[1], row[1]);
        let wrapped = output.wrapped("", "  ", &note);
        assert_eq!(wrapped.matches(&row[1]).count(), 2, "{width}: {wrapped}");
    }
    let narrow = Output::of_width(50);
    let row = ["a", "2026-02-20 14:30:00", "orchestrator", text].map(str::to_owned).to_vec();
    assert_eq!(
        bare(&table(narrow, &header, &[row])),
        "a\n  changed (utc)  2026-02-20 14:30:00\n  by             orchestrator\n  note           \
         a note that is long enough to be\n                 wrapped at every width there is\n                 \
         here\n"
    );
}

/// One long key once turned every row into a block, also for a program that reads lines.
#[test]
fn a_table_in_a_pipe_has_a_line_per_row() {
    let pipe = Output { has_narrow_tables: false, ..Output::of_width(80) };
    let (key, note) = ("k".repeat(62), "a note ".repeat(20));
    let row = [&*key, "2026-02-20 14:30:00", "subagent:remediation:1", note.trim()];
    let rows = vec![row.map(str::to_owned).to_vec()];
    let shown = bare(&table(pipe, &["KEY", "CHANGED (UTC)", "BY", "~NOTE"], &rows));
    assert_eq!(shown.lines().nth(1), Some(&*row.join("  ")), "{shown}");
    assert_eq!(shown.lines().count(), 2, "{shown}");
}

#[test]
fn a_table_has_no_lines_and_fits_the_width() {
    let output = Output::of_width(40);
    let rows = vec![
        vec!["scope".to_owned(), "7".to_owned(), "subagent:remediation:1".to_owned()],
        vec!["a_key_that_is_rather_long".to_owned(), "12".to_owned(), "\u{1b}x".to_owned()],
    ];
    let text = bare(&table(output, &["KEY", "#TOKENS", "WRITTEN BY"], &rows));
    assert!(text.lines().all(|it| it.chars().count() <= 40), "{text}");
    assert!(text.contains("␛x"), "{text}");
    assert!(!text.contains(['|', '+', '─']), "{text}");
}
