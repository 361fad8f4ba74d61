//! Documents, and what is left of them when they are distilled: of each section
//! its heading and the first sentences of its paragraphs.
//!
//! It understands no word of them. Invariant: the same documents give the same
//! notes.

use std::{fs, io, path::Path};

use crate::cli::problem::Problem;

/// The largest document that is read, in bytes; and how many are.
const DOCUMENT_BYTES_MAX: u64 = 1 << 20;
const DOCUMENTS_MAX: usize = 20;
/// The longest line that is still a heading, in characters.
const HEADING_CHARS_MAX: usize = 64;
/// A line with this many words is prose.
const PROSE_WORDS_MIN: usize = 6;

/// A line with this many characters may be broken in a sentence.
const BROKEN_CHARS_MIN: usize = 60;
/// What an item of a list or a quotation starts with.
const MARKS: [char; 4] = ['-', '*', '>', '•'];

/// A text somebody has to know about.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) name: String,
    pub(super) text: String,
}

/// The texts to use when there are none: what five people know of one outage.
pub(super) fn built_in() -> Vec<Document> {
    let text = |name: &str, text: &str| Document { name: name.to_owned(), text: text.to_owned() };
    vec![
        text("1-report.md", include_str!("documents/1-report.md")),
        text("2-timeline.md", include_str!("documents/2-timeline.md")),
        text("3-service.md", include_str!("documents/3-service.md")),
        text("4-experiments.md", include_str!("documents/4-experiments.md")),
        text("5-rules.md", include_str!("documents/5-rules.md")),
    ]
}

/// Reads the `.md` and `.txt` files of `folder`, in the order of their names.
///
/// # Errors
///
/// It cannot be read, or has none.
pub(super) fn read(folder: &Path) -> Result<Vec<Document>, Problem> {
    let cannot = |error: io::Error| {
        Problem::usage(format!("cannot read the documents in {}: {error}", folder.display()))
            .next("name a folder with .md or .txt files")
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|it| it == "md" || it == "txt") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() || paths.len() > DOCUMENTS_MAX {
        let (count, folder) = (paths.len(), folder.display());
        return Err(Problem::usage(format!("{folder} has {count} .md and .txt files"))
            .next(format!("name a folder with 1 to {DOCUMENTS_MAX} of them")));
    }
    let read = |path: &std::path::PathBuf| {
        if fs::metadata(path).map_err(cannot)?.len() > DOCUMENT_BYTES_MAX {
            let path = path.display();
            return Err(Problem::usage(format!(
                "{path} is longer than {DOCUMENT_BYTES_MAX} bytes"
            ))
            .next("name a folder with shorter documents"));
        }
        let text = String::from_utf8_lossy(&fs::read(path).map_err(cannot)?).into_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Document { name, text })
    };
    paths.iter().map(read).collect()
}

/// A quarter of the characters, rounded up: how a session counts by default.
pub(super) fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// Of each section of `text` a line: its heading, and the first sentences of its
/// paragraphs, at most `line_chars_max` characters.
pub(super) fn notes(text: &str, line_chars_max: usize) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut heading: Option<String> = None;
    let mut is_code = false;
    let mut lines = text.lines().map(str::trim).filter(|it| !it.is_empty()).peekable();
    while let Some(line) = lines.next() {
        is_code ^= line.starts_with("```");
        if is_code || line.starts_with("```") {
            continue;
        }
        if let Some(title) = title(line, lines.peek().copied()) {
            heading = Some(title);
            continue;
        }
        if !is_prose(line) {
            continue;
        }
        let mut paragraph = line.to_owned();
        while is_broken(&paragraph)
            && let Some(more) = lines.next_if(|it| is_text(it) && !it.starts_with(MARKS))
        {
            paragraph = format!("{paragraph} {more}");
        }
        let sentence = first_sentence(&paragraph);
        match (heading.take(), notes.last_mut()) {
            (Some(heading), _) => notes.push(format!("{heading}: {sentence}")),
            (None, Some(note)) => {
                note.push(' ');
                note.push_str(&sentence);
            }
            (None, None) => {}
        }
    }
    notes.iter().map(|it| cut(it, line_chars_max)).collect()
}

/// Whether the first sentence of `paragraph` goes on in the next line.
fn is_broken(paragraph: &str) -> bool {
    let is_wide = paragraph.chars().count() >= BROKEN_CHARS_MIN;
    is_wide && sentence_end(paragraph).is_none() && !paragraph.ends_with(['.', '!', '?', ':'])
}

/// The heading that `line` is, if it is one and `next` is what stands below.
fn title(line: &str, next: Option<&str>) -> Option<String> {
    let is_marked = line.starts_with('#');
    let title = line.trim_start_matches('#').trim().trim_matches('*').trim();
    let chars = title.chars().count();
    let has_letters = title.chars().any(char::is_alphabetic);
    if title.is_empty() || chars > HEADING_CHARS_MAX || !is_text(title) {
        return None;
    }
    let is_title = has_letters
        && title.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
        && !title.contains([':', '*'])
        && !title.ends_with(['.', ',', ';', '?', '!'])
        && next.is_some_and(is_prose);
    (is_marked || is_title && !is_prose(line)).then(|| title.to_owned())
}

/// Whether `line` is a sentence rather than code, a table or a list of words.
fn is_prose(line: &str) -> bool {
    is_text(line) && unmarked(line).split_whitespace().count() >= PROSE_WORDS_MIN
}

fn is_text(line: &str) -> bool {
    !line.contains(['{', '}', '|', '<', '=', '│', '├', '└']) && !line.contains("→")
}

/// `line` without the marks of lists, quotations and emphasis.
fn unmarked(line: &str) -> String {
    line.trim_start_matches(MARKS).trim_start().replace("**", "").replace('`', "")
}

fn first_sentence(paragraph: &str) -> String {
    let text = unmarked(paragraph);
    let sentence = sentence_end(&text).and_then(|end| text.get(..=end));
    sentence.unwrap_or(&text).trim().to_owned()
}

fn sentence_end(text: &str) -> Option<usize> {
    [". ", "? ", "! "].iter().filter_map(|end| text.find(end)).min()
}

/// `text` cut at a word, to at most `chars_max` characters.
fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let start: String = text.chars().take(chars_max.saturating_sub(2)).collect();
    let start = start.rsplit_once(' ').map_or(start.as_str(), |(start, _)| start);
    format!("{} …", start.trim_end_matches([',', ';', ':', '—', ' ']))
}

/// Puts `lines` into as few texts as it takes, each of at most `tokens_max`.
pub(super) fn packed(lines: &[String], tokens_max: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for line in lines {
        match texts.last_mut() {
            Some(text) if tokens(&format!("{text}\n{line}")) <= tokens_max => {
                text.push('\n');
                text.push_str(line);
            }
            _ => texts.push(line.clone()),
        }
    }
    texts
}

/// Distils notes further, to at most `tokens_max`: the longest sentences go and
/// leave their headings, then the last lines.
pub(super) fn shortened(text: &str, tokens_max: usize) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    while tokens(&lines.join("\n")) > tokens_max {
        let sentence = |line: &&str| line.split_once(": ").map_or(0, |(_, it)| it.chars().count());
        let longest = lines.iter_mut().max_by_key(|line| sentence(line));
        match longest {
            Some(line) if sentence(line) > 0 => {
                *line = line.split_once(": ").map_or("", |(heading, _)| heading);
            }
            _ => {
                if lines.pop().is_none() {
                    break;
                }
            }
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_section_the_heading_and_first_sentence_are_left() {
        let text = "# Pool\n\nThe pool was cut from 200 to 20. Nobody noticed.\n\n## Effect\n\
            ```\nthreads = 5\n```\n- **Threads** starve as soon as load rises above it\n\n\
            Next steps\n\nWe restore the old size and watch the queue! Then we rest.\n\
            | a | b |\n## Empty\n";
        assert_eq!(
            notes(text, 200),
            [
                "Pool: The pool was cut from 200 to 20.",
                "Effect: Threads starve as soon as load rises above it",
                "Next steps: We restore the old size and watch the queue!",
            ]
        );
        assert_eq!(notes(text, 24)[0], "Pool: The pool was …");
    }

    #[test]
    fn packing_loses_nothing_and_keeps_the_limit() {
        let lines: Vec<String> = (0..50).map(|it| "x".repeat(it)).collect();
        let texts = packed(&lines, 20);
        assert!(texts.iter().all(|it| tokens(it) <= 20));
        assert_eq!(texts.join("\n"), lines.join("\n"));
    }

    #[test]
    fn shortening_keeps_headings_as_long_as_it_can() {
        let text = "A: short one.\nB: a much longer sentence here.\nC";
        assert_eq!(shortened(text, 100), text);
        assert_eq!(shortened(text, 8), "A: short one.\nB\nC");
        assert_eq!(shortened(text, 2), "A\nB\nC");
        assert_eq!(shortened(text, 0), "");
    }

    #[test]
    fn the_built_in_documents_have_notes() {
        for Document { name, text } in built_in() {
            assert!(notes(&text, 240).len() >= 6, "{name}");
        }
    }

    #[test]
    fn only_texts_of_a_folder_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap_err().message().contains("has 0"));
        for name in ["b.md", "a.txt", "c.pdf"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let names: Vec<String> =
            read(folder.path()).unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["a.txt", "b.md"]);
        assert!(read(&folder.path().join("none")).is_err());
    }
}
