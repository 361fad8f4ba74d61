//! The state of the work, and the files that were changed (spec 19.9).

use super::gather::{Candidate, elements};
use crate::{extract::Class, text::lower};

/// The most files of each list.
const FILES_MAX: usize = 50;
/// The most lines of statements about progress.
const TASK_LINES_MAX: usize = 8;
/// The tag of what is to be done next.
pub(super) const NEXT: &str = "next";

/// The files that a session changed, in the words of the source.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) created: Vec<String>,
    pub(super) modified: Vec<String>,
    pub(super) deleted: Vec<String>,
}

impl Files {
    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        self.created.iter().chain(&self.modified).chain(&self.deleted)
    }
}

/// The state of the work, as the conversation reports it.
#[derive(Debug)]
pub(super) struct State {
    /// The first goal, else the first statement about progress: it names the source.
    pub(super) first: Candidate,
    /// The task, and the statements about progress.
    pub(super) task: String,
    pub(super) percent: u64,
    /// Members of the content that are lists, each with its texts.
    pub(super) lists: [(&'static str, Vec<String>); 4],
}

/// Returns the changed files, the last ones.
pub(super) fn files(all: &[Candidate]) -> Files {
    let mut files = Files::default();
    for it in all.iter().filter(|it| it.class == Class::Modification) {
        let said = lower(it.text.lines().next().unwrap_or_default());
        let starts = |words: [&str; 2]| words.iter().any(|it| said.starts_with(it));
        let list = if starts(["created", "i created"]) {
            &mut files.created
        } else if starts(["deleted", "i deleted"]) {
            &mut files.deleted
        } else {
            &mut files.modified
        };
        let named = it.text.lines().next().unwrap_or_default();
        let label = ["Created:", "Modified:", "Deleted:", "Renamed:"];
        let label = label
            .iter()
            .find_map(|it| named.get(..it.len()).filter(|start| start.eq_ignore_ascii_case(it)));
        let text = named.get(label.map_or(0, str::len)..).unwrap_or(named).trim();
        if !text.is_empty() && !list.iter().any(|it| it == text) {
            list.push(text.to_owned());
        }
    }
    for list in [&mut files.created, &mut files.modified, &mut files.deleted] {
        let beyond = list.len().saturating_sub(FILES_MAX);
        list.drain(..beyond);
    }
    files
}

/// Returns the state of the work; `None` if the conversation does not report it.
pub(super) fn state(all: &[Candidate]) -> Option<State> {
    let of = |class: Class| all.iter().filter(move |it| it.class == class);
    let goal = of(Class::Goal).next();
    let first = goal.or_else(|| of(Class::State).next())?;
    let (mut done, mut open, mut blockers, mut next) = (vec![], vec![], vec![], vec![]);
    let (mut percent, mut task) = (None, Vec::new());
    task.extend(goal.map(|it| it.text.as_str()));
    for it in of(Class::State) {
        percent = percent_in(&it.text).or(percent);
        let is_next = it.tag.as_deref() == Some(NEXT);
        let mut into = if is_next { Section::Next } else { Section::None };
        for line in elements(&it.text) {
            let section = Section::of(&lower(line));
            let after = line.split_once(':').map_or("", |it| it.1.trim());
            let text = if section == Section::None {
                line
            } else {
                into = section;
                after
            };
            let mark = ["✓", "[x]", "[X]", "⧖", "☐", "[ ]"];
            let found = mark.iter().zip(0..).find(|(mark, _)| text.starts_with(**mark));
            let (list, text) = match (found, into) {
                (Some((mark, nth)), _) => {
                    let list = if nth < 3 { &mut done } else { &mut open };
                    (list, text.strip_prefix(mark).unwrap_or(text).trim())
                }
                (None, Section::Next) => (&mut next, text),
                (None, Section::Blockers) => (&mut blockers, text),
                (None, Section::None) => {
                    task.push(text);
                    continue;
                }
            };
            if !text.is_empty() && !list.iter().any(|it| it == text) {
                list.push(text.to_owned());
            }
        }
    }
    let steps = done.len().saturating_add(open.len());
    let share = done.len().saturating_mul(100).checked_div(steps).unwrap_or(0);
    let percent = percent.unwrap_or_else(|| u64::try_from(share).unwrap_or_default());
    let lists = [
        ("substeps_completed", done),
        ("substeps_remaining", open),
        ("blockers", blockers),
        ("next_actions", next),
    ];
    task.truncate(TASK_LINES_MAX);
    let task = if task.is_empty() { first.text.clone() } else { task.join("\n") };
    Some(State { first: first.clone(), task, percent, lists })
}

/// The part of a state that the lines after a label belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Next,
    Blockers,
}

impl Section {
    fn of(line: &str) -> Self {
        let label = line.split_once(':').map(|it| it.0.trim());
        match label {
            Some("next actions" | "next steps" | "next step" | "next" | "next_actions") => {
                Self::Next
            }
            Some("blockers" | "blocker" | "blocked by") => Self::Blockers,
            _ => Self::None,
        }
    }
}

/// Returns the number from 0 to 100 before the first percent sign.
fn percent_in(text: &str) -> Option<u64> {
    let (before, _) = text.split_once('%')?;
    let number = before.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?;
    number.parse().ok().filter(|it| *it <= 100)
}
