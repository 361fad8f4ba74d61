//! Finds candidates for memories in the data of a session: in entries by their keys, in the state
//! of rounds, in reports and feedback, and in the conversation (spec 19.9).

use serde_json::Value;

use super::Material;
use crate::{
    digest::sha256,
    extract::{self, Class, Fact, Severity, Status, extract_all},
    item::{Authority, Item, Kind, ListedKind},
    order::sorted,
    packets::{
        EntrySource, MadeBy, Origin, Part, Sources, Statement,
        entries::{self, part_of},
        material::with_reason,
    },
    participant::Role,
    time::Timestamp,
};

/// The most statements that are read from one entry.
const STATEMENTS_MAX: usize = 200;

/// The class of a value by the name of its key, in addition to the names that packets use.
const NAMES: [(&str, Class); 15] = [
    ("blocker", Class::Issue),
    ("blocking", Class::Issue),
    ("issue", Class::Issue),
    ("bug", Class::Issue),
    ("lesson", Class::Learning),
    ("learning", Class::Learning),
    ("learned", Class::Learning),
    ("insight", Class::Learning),
    ("findings", Class::Learning),
    ("preference", Class::Preference),
    ("progress", Class::State),
    ("current_state", Class::State),
    ("phase_status", Class::State),
    ("deliverables_status", Class::State),
    ("next_", Class::State),
];

/// Something that may be worth a memory.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) class: Class,
    /// Its text, in the words of the source.
    pub(super) text: String,
    /// Its labelled parts: label and text.
    pub(super) details: Vec<(String, String)>,
    /// A tag that is more specific than its kind.
    pub(super) tag: Option<String>,
    pub(super) severity: Option<Severity>,
    pub(super) is_by_user: bool,
    /// True for what a worker lacked.
    pub(super) is_gap: bool,
    /// True for a file that was used and not changed.
    pub(super) is_file: bool,
    pub(super) authority: Authority,
    /// The time when it was said, if that is known.
    pub(super) at: Option<Timestamp>,
    /// Its place.
    pub(super) place: String,
    /// The digest of the text at this place.
    pub(super) digest: String,
    /// The writer of the entry that it is from.
    pub(super) written_by: Option<String>,
}

impl Candidate {
    fn new(class: Class, text: &str, place: String, digest: String) -> Self {
        Self {
            class,
            text: text.trim().to_owned(),
            details: Vec::new(),
            tag: tag_of(class).map(str::to_owned),
            severity: None,
            is_by_user: false,
            is_gap: false,
            is_file: false,
            authority: Authority::Model,
            at: None,
            place,
            digest,
            written_by: None,
        }
    }
}

/// Returns the tag for a class that has no kind of memory.
fn tag_of(class: Class) -> Option<&'static str> {
    Some(match class {
        Class::Constraint => "constraint",
        Class::Preference => "preference",
        Class::Question => "question",
        Class::Failure => "failure",
        Class::Pattern => "pattern",
        Class::Critical => "critical",
        _ => return None,
    })
}

/// Returns the statements of the material and of the conversation, in their order.
pub(super) fn gather(material: &Material<'_>, conversation: &[Item]) -> Vec<Candidate> {
    let mut all = Vec::new();
    let Sources { entries, state, missing, .. } = &material.sources;
    let (known, others): (Vec<_>, Vec<_>) =
        entries.iter().cloned().partition(|it| part_of(it.key.as_str()).is_some());
    let known = Sources {
        entries: known,
        state: state.clone(),
        missing: missing.clone(),
        ..Sources::default()
    };
    all.extend(entries::read("", &known).into_iter().filter_map(from_statement));
    for it in &others {
        entry(it, &mut all);
    }
    if let Some(it) = state {
        bindings(it.round, &it.document, &mut all);
    }
    for (number, at, text) in &material.gaps {
        let place = format!("feedback {number}");
        let mut it = Candidate::new(Class::Question, text, place, sha256(text));
        (it.is_gap, it.at, it.tag) = (true, Some(*at), Some("gap".to_owned()));
        all.push(it);
    }
    talk(conversation, &mut all);
    all.retain(|it| !it.text.is_empty());
    all
}

/// Counts the files that were used or changed.
pub(super) fn files_accessed(all: &[Candidate], changed: &super::state::Files) -> u64 {
    let used = all.iter().filter(|it| it.is_file).map(|it| it.text.as_str());
    let names: Vec<&str> = used.chain(changed.all().map(String::as_str)).collect();
    let mut names = sorted(names, Ord::cmp);
    names.dedup();
    u64::try_from(names.len()).unwrap_or_default()
}

fn from_statement(it: Statement) -> Option<Candidate> {
    let class = match it.part {
        Part::Goal => Class::Goal,
        Part::Constraint => Class::Constraint,
        Part::Decision | Part::Pivot => Class::Decision,
        Part::Pattern | Part::AntiPattern => Class::Pattern,
        Part::FailedAttempt => Class::Failure,
        Part::OpenQuestion => Class::Question,
        Part::File | Part::Example => Class::Fact,
        Part::SuccessCriterion => return None,
    };
    let mut new = Candidate::new(class, &it.text, it.source.origin.short(), it.source.digest);
    new.is_file = class == Class::Fact;
    new.is_by_user = it.made_by == Some(MadeBy::User) || it.source.authority <= Authority::Operator;
    new.authority = it.source.authority;
    new.at = Some(Timestamp(it.rank)).filter(|it| it.0 > 0);
    new.details.extend(it.detail.map(|it| ("reason".to_owned(), it)));
    let is_of_entry = matches!(it.source.origin, Origin::Entry { .. });
    new.written_by = it.source.by.filter(|_| is_of_entry);
    match (it.part, it.source.origin) {
        (Part::AntiPattern, _) => new.tag = Some("anti_pattern".to_owned()),
        (_, Origin::Missing { .. }) => new.is_gap = true,
        _ => {}
    }
    Some(new)
}

/// Reads an entry whose key packets do not know: its elements if the key is known here, else the facts
/// of its text.
fn entry(entry: &EntrySource, all: &mut Vec<Candidate>) {
    let name = entry.key.as_str().to_lowercase();
    let is_person = entry.written_by.role() == Role::Admin;
    let authority = if is_person { Authority::Operator } else { Authority::Model };
    let place = [entry.key.as_str(), "@", &entry.version.to_string()].concat();
    let before = all.len();
    if let Some((_, class)) = NAMES.iter().find(|it| name.contains(it.0)) {
        match serde_json::from_str::<Value>(&entry.value) {
            Ok(it @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => {
                value(*class, &it, &place, &entry.digest, all);
            }
            _ => {
                for text in elements(&entry.value) {
                    all.push(Candidate::new(*class, text, place.clone(), entry.digest.clone()));
                }
            }
        }
    } else {
        let kind = Kind::Listed(ListedKind::SessionHistory);
        let mut item = Item::inline(place, kind, entry.value.as_str());
        item.source.authority = authority;
        talk(&[item], all);
        // A goal is what the key of an entry says, not its first words.
        let found = all.split_off(before);
        all.extend(found.into_iter().filter(|it| it.class != Class::Goal));
    }
    all.truncate(before.saturating_add(STATEMENTS_MAX));
    for it in all.iter_mut().skip(before) {
        it.authority = authority;
        it.is_by_user = is_person;
        it.at = Some(entry.written_at);
        it.written_by = Some(entry.written_by.as_str().to_owned());
        if it.class == Class::State && name.contains("next_") {
            it.tag = Some(super::state::NEXT.to_owned());
        }
    }
}

/// Reads a JSON value: each element of a list, and of an object its main text.
fn value(class: Class, value: &Value, place: &str, digest: &str, all: &mut Vec<Candidate>) {
    let new = |text: &str| Candidate::new(class, text, place.to_owned(), digest.to_owned());
    match value {
        Value::String(text) => all.extend(elements(text).into_iter().map(new)),
        Value::Array(items) => {
            for it in items {
                self::value(class, it, place, digest, all);
            }
        }
        Value::Object(members) => {
            let text = |names: &[&str]| names.iter().find_map(|it| members.get(*it)?.as_str());
            if text(&["status"]).is_some_and(|it| matches!(it, "resolved" | "closed" | "fixed")) {
                return;
            }
            let main = text(&["description", "lesson", "issue", "text", "summary", "title"]);
            let Some(main) = main else {
                for (name, it) in members.iter().filter_map(|(name, it)| Some((name, it.as_str()?)))
                {
                    all.push(new(&[name.as_str(), ": ", it].concat()));
                }
                return;
            };
            let mut it = new(main);
            let severity = text(&["severity"]).map(str::to_lowercase);
            it.severity = severity.and_then(|it| Severity::parse(&it).ok());
            for (name, value) in members {
                let is_main = value.as_str().is_some_and(|it| it == main);
                it.details.extend(
                    value.as_str().filter(|_| !is_main).map(|it| (name.clone(), it.to_owned())),
                );
            }
            all.push(it);
        }
        _ => {}
    }
}

/// Returns the elements of a list in a text, or its lines, without marks.
pub(super) fn elements(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    let bare = lines.map(|it| it.trim_start_matches(['-', '*', '•']).trim_start());
    bare.filter(|it| !it.is_empty()).collect()
}

/// Adds the terms that a round bound to concepts.
fn bindings(round: u64, document: &str, all: &mut Vec<Candidate>) {
    let Ok(document) = serde_json::from_str::<Value>(document) else { return };
    let Some(bound) = document.get("bindings").and_then(Value::as_object) else { return };
    for (term, concept) in bound.iter().take(STATEMENTS_MAX) {
        let Some(concept) = concept.as_str() else { continue };
        let text = [term.as_str(), ": ", concept].concat();
        let place = format!("round {round}/bindings");
        let mut it = Candidate::new(Class::Learning, &text, place, sha256(concept));
        it.tag = Some("binding".to_owned());
        all.push(it);
    }
}

/// Adds the facts of a conversation that hold.
fn talk(items: &[Item], all: &mut Vec<Candidate>) {
    for fact in extract_all(items).facts {
        let Some(item) = items.get(fact.place.item) else { continue };
        let is_ours = fact.authority < Authority::ToolExternal || is_plain(item);
        let is_of_tool = fact.authority == Authority::ToolInternal;
        let needs_person = matches!(fact.class, Class::Decision | Class::Constraint);
        if fact.status == Status::Open && is_ours && !(needs_person && is_of_tool) {
            all.push(from_fact(item, &fact));
        }
    }
}

/// Returns true for an item of unknown authority that is part of the conversation.
fn is_plain(item: &Item) -> bool {
    item.kind == Kind::Listed(ListedKind::SessionHistory)
}

fn from_fact(item: &Item, fact: &Fact) -> Candidate {
    let line = fact.place.line.saturating_add(1);
    let place = [item.id.as_str(), ":", &line.to_string()].concat();
    let whole = extract::unlabelled(&fact.text);
    let main = before_details(whole, fact);
    // `BUG-7 [HIGH]: …`: the severity is a separate member.
    let rated = main.strip_prefix(['[', '(']).and_then(|it| it.split_once([']', ')']));
    let rated = rated.filter(|it| fact.severity.is_some() && !it.1.trim().is_empty());
    let main = rated.map_or(main, |it| it.1.trim_start_matches([':', ' ']));
    let mut it = Candidate::new(fact.class, main, place, fact.digest.clone());
    it.details = fact.details.iter().map(|it| (it.label.clone(), it.text.clone())).collect();
    if fact.class == Class::Decision && fact.details.is_empty() {
        let (choice, reason) = with_reason(main);
        let (choice, reason) = (choice.to_owned(), reason.map(str::to_owned));
        it.details.extend(reason.map(|it| ("reason".to_owned(), it)));
        it.text = choice;
    }
    it.severity = fact.severity.or_else(|| {
        let is_critical = fact.class == Class::Critical
            && fact.text.get(..8).is_some_and(|it| it.eq_ignore_ascii_case("critical"));
        is_critical.then_some(Severity::Critical)
    });
    if let Some(id) = &fact.id {
        it.tag = Some(id.clone());
    }
    it.is_by_user = fact.authority <= Authority::Operator;
    it.authority = fact.authority;
    it.at = item.at;
    if fact.class == Class::State || fact.class == Class::Modification {
        // Their labels say what they are.
        fact.text.trim().clone_into(&mut it.text);
    }
    it
}

/// Returns the text of a fact before its first labelled part.
fn before_details<'a>(whole: &'a str, fact: &Fact) -> &'a str {
    let Some(first) = fact.details.first() else { return whole };
    let Some(at) = whole.find(&first.text).filter(|_| !first.text.is_empty()) else {
        return whole.lines().next().unwrap_or_default();
    };
    let before = whole.get(..at).unwrap_or_default().trim_end().trim_end_matches(':');
    let end = before.len().saturating_sub(first.label.len());
    let main = before.get(..end).unwrap_or_default();
    let main = main.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*'));
    if main.is_empty() { whole.lines().next().unwrap_or_default() } else { main }
}
