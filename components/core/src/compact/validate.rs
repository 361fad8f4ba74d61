//! The checklist of a compaction, each point with its evidence (spec 17.3).

use std::collections::BTreeSet;

use super::{
    digest,
    facts::{Fact, Facts},
    request::Finding,
    select::{Choice, Selection},
};
use crate::{
    extract::{Class, Severity},
    order::set,
};

/// The share of tokens that a compaction should save, in percent.
const SAVED: std::ops::RangeInclusive<u64> = 20..=35;

/// Returns for each group of facts whether the result has its text, byte for byte.
pub(super) fn proofs(facts: &Facts<'_>, chosen: &Selection<'_>, document: &str) -> Vec<bool> {
    let lines: BTreeSet<&str> = set(digest::read(document).into_iter().map(|(_, it)| it.text));
    let mut proofs = vec![false; facts.groups.len()];
    for fact in &facts.all {
        let is_there = match chosen.choice(fact.item) {
            Choice::Whole => true,
            Choice::Part => chosen.part(fact.item).is_some_and(|it| it.text.contains(fact.text)),
            Choice::Gone => false,
        };
        if (is_there || lines.contains(fact.text))
            && let Some(it) = proofs.get_mut(fact.group)
        {
            *it = true;
        }
    }
    proofs
}

/// Returns the checklist. `saved` is the share of tokens that was saved, in percent; `removed` is
/// the number of items of 100 that are not kept.
pub(super) fn findings(
    facts: &Facts<'_>,
    proofs: &[bool],
    saved: u64,
    removed: usize,
) -> Vec<Finding> {
    type Test = fn(&Fact<'_>) -> bool;
    let checks: [(&'static str, &str, Test); 8] = [
        ("decisions", " decisions", |it| it.class == Class::Decision),
        ("open_issues", " open issues", |it| it.class == Class::Issue && !it.is_resolved),
        ("severe_issues", " critical and high issues", |it| {
            matches!(it.severity, Some(Severity::Critical | Severity::High))
        }),
        ("task_state", " facts of the state", |it| it.class == Class::State),
        ("next_actions", " next actions", |it| {
            it.class == Class::State && (it.text.contains("Next") || it.text.contains("next"))
        }),
        ("modifications", " last modifications", |it| it.class == Class::Modification),
        ("ownership", " facts with an author", |it| it.has_author),
        ("preserved", " facts that must be kept", |_| true),
    ];
    let mut findings = Vec::new();
    for (check, noun, test) in checks {
        let (mut before, mut after) = (0_u32, 0_u32);
        for (group, is_there) in proofs.iter().enumerate() {
            if facts.of_group(group).is_some_and(|it| it.is_required() && test(it)) {
                before = before.saturating_add(1);
                after = after.saturating_add(u32::from(*is_there));
            }
        }
        let evidence = [&after.to_string(), " of ", &before.to_string(), noun].concat();
        findings.push(Finding { check, holds: after == before, evidence });
    }
    findings.push(Finding {
        check: "removed_items",
        holds: removed == 0,
        evidence: [&removed.to_string(), " items of score 100 removed"].concat(),
    });
    findings.push(Finding {
        check: "saved",
        holds: SAVED.contains(&saved),
        evidence: [&saved.to_string(), " % saved, 20 to 35 % is usual"].concat(),
    });
    findings
}
