//! Statements from the facts that `extract` finds by labels and phrases.

use super::{
    kinds::Part,
    material::with_reason,
    messages::made_by,
    statement::{Origin, Source, Statement},
};
use crate::{
    extract::{self, Class, Fact, Status},
    item::{Authority, Item},
};

/// Returns true for a fact with a label, such as `DECISION:`.
pub(super) fn is_labelled(fact: &Fact) -> bool {
    extract::unlabelled(&fact.text).len() < fact.text.len()
}

fn part_of(class: Class) -> Option<Part> {
    Some(match class {
        Class::Goal => Part::Goal,
        Class::Constraint | Class::Preference | Class::Critical | Class::Fact => Part::Constraint,
        Class::Decision => Part::Decision,
        Class::Failure => Part::FailedAttempt,
        Class::Pattern | Class::Learning => Part::Pattern,
        Class::Question | Class::Issue => Part::OpenQuestion,
        Class::State | Class::Modification | Class::Prune | Class::Noise => return None,
    })
}

/// Returns the statement of a fact, unless a third party said it.
pub(super) fn from_fact(item: &Item, fact: &Fact) -> Option<Statement> {
    let part = part_of(fact.class)?;
    if fact.status != Status::Open || fact.authority >= Authority::ToolExternal {
        return None;
    }
    let lower = fact.text.to_lowercase();
    let is_criterion =
        ["acceptance", "success", "done when"].iter().any(|it| lower.starts_with(it));
    let is_to_avoid = lower.starts_with("avoid") || lower.starts_with("anti-pattern");
    let part = match part {
        Part::Goal if is_criterion => Part::SuccessCriterion,
        Part::Pattern if is_to_avoid => Part::AntiPattern,
        it => it,
    };
    // The id of an issue is no label: it says which issue it is.
    let whole =
        if fact.id.is_some() { fact.text.as_str() } else { extract::unlabelled(&fact.text) };
    let reasons = ["rationale", "reason", "because"];
    let detail = fact.details.iter().find(|it| reasons.contains(&it.label.as_str()));
    let first = whole.lines().next().unwrap_or_default();
    let (text, reason) = match part {
        Part::Decision | Part::FailedAttempt => {
            let (choice, reason) = with_reason(first);
            (choice, detail.map(|it| it.text.as_str()).or(reason))
        }
        _ => (whole, None),
    };
    let source = Source {
        origin: Origin::Item { id: item.id.clone(), line: fact.place.line.saturating_add(1) },
        digest: fact.digest.clone(),
        authority: fact.authority,
        by: fact.made_by.clone(),
    };
    let mut it = Statement::new(part, text.trim(), source);
    it.detail = reason.map(|it| it.trim().to_owned());
    it.made_by = (part == Part::Decision).then_some(made_by(item));
    it.rank = u64::try_from(fact.place.item).unwrap_or_default();
    (!it.text.is_empty()).then_some(it)
}
