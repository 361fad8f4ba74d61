//! Makes memories of the candidates, ready to be added (spec 19.9).

use std::collections::BTreeMap;

use super::{
    gather::{Candidate, elements},
    rule::{Architecture, Rule},
    state,
};
use crate::{
    extract::{self, Class},
    key::Line,
    memories::{
        Content, Holds, Kind, MEMBER_CHARS_MAX, MemorySource, NewMemory, Severity, TITLE_CHARS_MAX,
        Value,
    },
    order::sorted,
    packets::material::shortened,
    text::lower,
    time::Timestamp,
};

/// The longest texts of a content that are tried, in characters: a memory has at most 8 KiB.
const CHARS_TRIED: [usize; 4] = [MEMBER_CHARS_MAX, 1_200, 300, 60];
/// The most texts of a list.
const LIST_MAX: usize = 20;
/// The longest place, in characters.
const PLACE_CHARS_MAX: usize = 200;

/// The members of contents that labelled parts fill.
const DETAILS: [(&str, Kind, &str); 19] = [
    ("rationale", Kind::Decision, "rationale"),
    ("reason", Kind::Decision, "rationale"),
    ("because", Kind::Decision, "rationale"),
    ("alternatives", Kind::Decision, "alternatives_considered"),
    ("impact", Kind::Decision, "expected_impact"),
    ("trade-offs", Kind::Decision, "expected_impact"),
    ("validated", Kind::Decision, "validation_criteria"),
    ("validation", Kind::Decision, "validation_criteria"),
    ("context", Kind::Decision, "context"),
    ("repro", Kind::Issue, "reproduction_steps"),
    ("reproduction", Kind::Issue, "reproduction_steps"),
    ("status", Kind::Issue, "investigation_status"),
    ("attempted", Kind::Issue, "attempted_fixes"),
    ("next", Kind::Issue, "next_actions"),
    ("next_actions", Kind::Issue, "next_actions"),
    ("next_steps", Kind::Issue, "next_actions"),
    ("reason", Kind::Learning, "context"),
    ("because", Kind::Learning, "context"),
    ("context", Kind::Learning, "context"),
];

/// A memory that is proposed.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    /// Its number, from 1.
    pub(super) number: u32,
    /// The rules that gave it its importance.
    pub(super) rules: Vec<Rule>,
    /// The memory.
    pub(super) memory: NewMemory,
    /// The writer of the entry that its words are from.
    pub(super) written_by: Option<String>,
}

impl Proposal {
    pub(super) fn kind(&self) -> Kind {
        self.memory.content.kind()
    }

    /// Returns the place of its words.
    pub(super) fn place(&self) -> &str {
        self.memory.source.as_ref().map_or("", |it| it.place.as_str())
    }
}

/// Returns the proposals in the order of the summary: decisions, issues, the state, learnings, of
/// each the most important first. Repeated statements are proposed once. `end` is the time of the
/// session's last change: no statement is later.
pub(super) fn propose(found: &[Candidate], end: Timestamp) -> Vec<Proposal> {
    let mut architecture = Architecture::new();
    let mut all: Vec<Proposal> = Vec::new();
    let state = state::state(found);
    let mut places = BTreeMap::new();
    for it in found.iter().filter(|it| it.class != Class::State) {
        let Some(rule) = Rule::of(it) else { continue };
        let Some(new) = proposal(it, rule, end, &mut architecture) else { continue };
        let said = lower(it.text.trim_end_matches('.'));
        let same = (new.kind().as_str(), said);
        match places.get(&same).and_then(|it: &usize| all.get_mut(*it)) {
            Some(known) if known.memory.importance < new.memory.importance => *known = new,
            Some(_) => {}
            None => {
                places.insert(same, all.len());
                all.push(new);
            }
        }
    }
    all.extend(state.and_then(|it| of_state(&it, end)));
    let place = |it: &Proposal| match it.kind() {
        Kind::Decision => 0,
        Kind::Issue => 1,
        Kind::State => 2,
        Kind::Learning | Kind::Handoff => 3,
    };
    let mut all = sorted(all, |a: &Proposal, b: &Proposal| {
        let order = place(a).cmp(&place(b));
        order.then(b.memory.importance.cmp(&a.memory.importance))
    });
    all.iter_mut().zip(1..).for_each(|(it, number)| it.number = number);
    all
}

fn kind_of(class: Class) -> (Kind, &'static str) {
    match class {
        Class::Decision | Class::Constraint => (Kind::Decision, "decision"),
        Class::Issue | Class::Question => (Kind::Issue, "description"),
        _ => (Kind::Learning, "lesson"),
    }
}

fn proposal(
    it: &Candidate,
    rule: Rule,
    end: Timestamp,
    architecture: &mut Architecture,
) -> Option<Proposal> {
    let (kind, main) = kind_of(it.class);
    let mut members = vec![(main, vec![it.text.as_str()])];
    for (label, text) in &it.details {
        let label = label.as_str();
        let named = DETAILS.iter().find(|(name, of, _)| *name == label && *of == kind);
        let own = || kind.members().iter().find(|it| it.name == label).map(|it| it.name);
        let Some(member) = named.map(|it| it.2).or_else(own) else { continue };
        if !text.trim().is_empty() && !members.iter().any(|it| it.0 == member) {
            members.push((member, vec![text.as_str()]));
        }
    }
    let whole: String = members.iter().flat_map(|it| &it.1).flat_map(|it| [*it, "\n"]).collect();
    let (rules, importance) = architecture.rules(rule, &whole);
    let severity = severity_of(it);
    members.retain(|it| it.0 != "severity");
    if kind == Kind::Issue {
        members.push(("severity", vec![severity.as_str()]));
    }
    let memory = memory(it, kind, &members, 0, importance, end)?;
    Some(Proposal { number: 0, rules, memory, written_by: it.written_by.clone() })
}

/// Returns the severity of an issue. An open question hinders nothing yet.
fn severity_of(it: &Candidate) -> Severity {
    match it.severity {
        Some(extract::Severity::Critical) => Severity::Critical,
        Some(extract::Severity::High) => Severity::High,
        None if it.class == Class::Issue => Severity::Medium,
        Some(extract::Severity::Medium) => Severity::Medium,
        Some(extract::Severity::Low) | None => Severity::Low,
    }
}

fn of_state(it: &state::State, end: Timestamp) -> Option<Proposal> {
    let mut members = vec![("task_description", vec![it.task.as_str()])];
    for (name, texts) in it.lists.iter().filter(|it| !it.1.is_empty()) {
        members.push((name, texts.iter().map(String::as_str).collect()));
    }
    let rule = Rule::State;
    let importance = rule.importance();
    let memory = memory(&it.first, Kind::State, &members, it.percent, importance, end)?;
    let written_by = it.first.written_by.clone();
    Some(Proposal { number: 0, rules: vec![rule], memory, written_by })
}

/// Returns the memory, with its texts as long as it has room for; nothing if no title is left.
fn memory(
    it: &Candidate,
    kind: Kind,
    members: &[(&'static str, Vec<&str>)],
    percent: u64,
    importance: u8,
    end: Timestamp,
) -> Option<NewMemory> {
    let tag = it.tag.as_deref().filter(|it| *it != state::NEXT && kind != Kind::State);
    CHARS_TRIED.into_iter().find_map(|chars_max| {
        let mut values = Vec::new();
        for rule in kind.members() {
            let texts = members.iter().find(|it| it.0 == rule.name).map(|it| &it.1);
            let value = match (rule.holds, texts) {
                (Holds::Percent, _) => Value::Number(percent),
                (Holds::Texts, Some(texts)) => {
                    let all = texts.iter().flat_map(|it| elements(it)).take(LIST_MAX);
                    Value::Texts(all.map(|it| shortened(it, chars_max).to_owned()).collect())
                }
                (Holds::Text | Holds::Severity, Some(texts)) => {
                    let text = texts.first().copied().unwrap_or_default();
                    Value::Text(shortened(text, chars_max).to_owned())
                }
                (_, None) => continue,
            };
            values.push((rule.name.to_owned(), value));
        }
        let new = NewMemory {
            title: title(&it.text),
            content: Content::new(kind, values).ok()?,
            tags: tag.map(lower).into_iter().collect(),
            importance,
            status: None,
            authority: it.authority,
            at: Some(it.at.unwrap_or(end).min(end)),
            expires_at: None,
            parent: None,
            supersedes: Vec::new(),
            source: source(it),
        };
        new.checked().ok()
    })
}

/// Returns the first line of a text, cut at the end of a word.
fn title(text: &str) -> String {
    let line = text.lines().find(|it| !it.trim().is_empty()).unwrap_or_default();
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shortened(line.trim(), TITLE_CHARS_MAX).to_owned()
}

fn source(it: &Candidate) -> Option<MemorySource> {
    let place: String = it.place.chars().take(PLACE_CHARS_MAX).collect();
    let place = Line::parse("source.place", &place).ok()?;
    Some(MemorySource { place, digest: Some(it.digest.clone()) })
}
