//! Reads the statements of a session: entries by their keys, the state of a round, envelopes,
//! missing context (spec 18.3).

use serde_json::Value;

use super::{
    kinds::{MadeBy, Part},
    material::with_reason,
    reading::escaped,
    source::{EntrySource, Sources, StateSource},
    statement::{Origin, Source, Statement},
    talk,
};
use crate::{canonical, digest::sha256, item::Authority, participant::Role};

/// The most statements that are read from one entry, or from the state.
const STATEMENTS_MAX: usize = 200;

/// The part that a value belongs to, by the name of its key or member: the first that the name
/// contains.
const NAMES: [(&str, Part); 26] = [
    ("anti_pattern", Part::AntiPattern),
    ("open_question", Part::OpenQuestion),
    ("question", Part::OpenQuestion),
    ("success_criteria", Part::SuccessCriterion),
    ("acceptance", Part::SuccessCriterion),
    ("criteria", Part::SuccessCriterion),
    ("constraint", Part::Constraint),
    ("requirement", Part::Constraint),
    ("scope", Part::Constraint),
    ("rule", Part::Constraint),
    ("policy", Part::Constraint),
    ("decision", Part::Decision),
    ("decided", Part::Decision),
    ("choice", Part::Decision),
    ("failed", Part::FailedAttempt),
    ("failure", Part::FailedAttempt),
    ("dead_end", Part::FailedAttempt),
    ("tried", Part::FailedAttempt),
    ("pivot", Part::Pivot),
    ("pattern", Part::Pattern),
    ("convention", Part::Pattern),
    ("example", Part::Example),
    ("relevant_file", Part::File),
    ("goal", Part::Goal),
    ("problem_summary", Part::Goal),
    ("objective", Part::Goal),
];

/// Returns the statements of what a session has.
pub(crate) fn read(task: &str, sources: &Sources) -> Vec<Statement> {
    let mut all = Vec::new();
    sources.entries.iter().for_each(|it| entry(it, &mut all));
    if let Some(it) = &sources.state {
        state(it, &mut all);
    }
    for it in &sources.envelopes {
        let mut items = it.items.clone();
        for item in &mut items {
            item.id = format!("{}/{}", it.id, item.id);
        }
        all.extend(talk::read(task, &items));
    }
    for it in &sources.missing {
        let source = Source {
            origin: Origin::Missing { id: it.id.clone() },
            digest: sha256(&it.text),
            authority: Authority::Model,
            by: Some(it.reported_by.as_str().to_owned()),
        };
        all.push(Statement::new(Part::OpenQuestion, it.text.trim(), source));
    }
    all.retain(|it| !it.text.is_empty());
    all
}

/// Returns the part that the name of a key or of a member implies for its value.
pub(crate) fn part_of(name: &str) -> Option<Part> {
    NAMES.iter().find(|(part, _)| name.contains(part)).map(|it| it.1)
}

fn entry(entry: &EntrySource, all: &mut Vec<Statement>) {
    let is_person = entry.written_by.role() == Role::Admin;
    let source = Source {
        origin: Origin::Entry { key: entry.key.clone(), version: entry.version },
        digest: entry.digest.clone(),
        authority: if is_person { Authority::Operator } else { Authority::Model },
        by: Some(entry.written_by.as_str().to_owned()),
    };
    let found =
        Found { source, made_by: MadeBy::role(entry.written_by.role()), rank: entry.written_at.0 };
    let part = part_of(entry.key.as_str());
    let before = all.len();
    match serde_json::from_str::<Value>(&entry.value) {
        Ok(it @ (Value::Object(_) | Value::Array(_))) => found.value(part, &it, all),
        _ => found.text(part.unwrap_or(Part::Constraint), part.is_none(), &entry.value, all),
    }
    all.truncate(before.saturating_add(STATEMENTS_MAX));
}

/// Reads the state of a round: the names of its members imply the parts of their values.
fn state(state: &StateSource, all: &mut Vec<Statement>) {
    let Ok(document) = serde_json::from_str::<Value>(&state.document) else { return };
    let before = all.len();
    let Some(members) = document.as_object() else { return };
    for (name, value) in members {
        let Some(part) = part_of(&name.to_lowercase()) else { continue };
        let elements: Vec<(String, &Value)> = match value {
            Value::Array(items) => {
                let numbered = items.iter().enumerate();
                numbered.map(|(nth, it)| (format!("/{}/{nth}", escaped(name)), it)).collect()
            }
            _ => vec![(format!("/{}", escaped(name)), value)],
        };
        for (path, it) in elements {
            let source = Source {
                origin: Origin::State { round: state.round, path },
                digest: sha256(canonical::text(it).unwrap_or_default()),
                authority: Authority::Model,
                by: None,
            };
            let found = Found { source, made_by: MadeBy::Agent, rank: 0 };
            found.value(Some(part), it, all);
        }
    }
    all.truncate(before.saturating_add(STATEMENTS_MAX));
}

/// The attributes that all statements of one place have.
struct Found {
    source: Source,
    made_by: MadeBy,
    rank: u64,
}

impl Found {
    /// Reads a JSON value. The names of an object's members imply the parts of their values, if
    /// they are known; else each is a statement with its name.
    fn value(&self, part: Option<Part>, value: &Value, all: &mut Vec<Statement>) {
        match value {
            Value::String(it) => {
                self.text(part.unwrap_or(Part::Constraint), part.is_none(), it, all);
            }
            Value::Array(items) => items.iter().for_each(|it| self.value(part, it, all)),
            Value::Object(members) => {
                let text = |names: &[&str]| {
                    let found = names.iter().find_map(|it| members.get(*it)?.as_str());
                    found.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty())
                };
                let main =
                    text(&["choice", "decision", "approach", "path", "change", "text", "value"]);
                if let Some(main) = main {
                    let detail = text(&["reason", "rationale", "why", "reason_failed", "summary"]);
                    let mut it = self.statement(part.unwrap_or(Part::Decision), &main);
                    it.detail = detail;
                    let by = text(&["made_by"]).and_then(|it| MadeBy::parse(&it).ok());
                    it.made_by = it.made_by.map(|own| by.unwrap_or(own));
                    all.push(it);
                    return;
                }
                for (name, value) in members {
                    match (part_of(&name.to_lowercase()), value) {
                        (Some(own), _) => self.value(Some(own), value, all),
                        (None, Value::String(it)) => {
                            let mut it = self.statement(
                                part.unwrap_or(Part::Constraint),
                                &format!("{name}: {}", it.trim()),
                            );
                            it.is_weak = part.is_none();
                            all.push(it);
                        }
                        (None, Value::Bool(_) | Value::Number(_)) => {
                            let mut it = self.statement(
                                part.unwrap_or(Part::Constraint),
                                &format!("{name}: {value}"),
                            );
                            it.is_weak = part.is_none();
                            all.push(it);
                        }
                        (None, _) => self.value(part, value, all),
                    }
                }
            }
            _ => {}
        }
    }

    /// Reads a text: each element of a list in it is a statement, else the whole.
    fn text(&self, part: Part, is_weak: bool, text: &str, all: &mut Vec<Statement>) {
        let is_element = |it: &str| it.starts_with("- ") || it.starts_with("* ");
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        let elements = lines.iter().filter(|it| is_element(it)).count();
        let is_list = elements > 1 || (elements == 1 && lines.len() == 1);
        let texts = if is_list || part != Part::Goal && lines.len() > 1 {
            lines
        } else {
            vec![text.trim()]
        };
        for it in texts {
            let it = it.strip_prefix("- ").or_else(|| it.strip_prefix("* ")).unwrap_or(it).trim();
            let (choice, reason) =
                if part == Part::Decision { with_reason(it) } else { (it, None) };
            let mut it = self.statement(part, choice);
            it.detail = reason.map(str::to_owned);
            it.is_weak = is_weak;
            all.push(it);
        }
    }

    fn statement(&self, part: Part, text: &str) -> Statement {
        let mut it = Statement::new(part, text, self.source.clone());
        it.made_by = (part == Part::Decision).then_some(self.made_by);
        it.rank = self.rank;
        it
    }
}
