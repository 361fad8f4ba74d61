//! Collects the candidates of a packet: repetitions, replaced statements and those unrelated to the
//! task are left out; the rest is ordered by importance (spec 18.4).

use super::{
    cues, entries,
    kinds::Part,
    merge, pattern,
    recipe::Recipe,
    source::Sources,
    statement::{BINDING, Origin, Statement},
};
use crate::{
    budget::Reason,
    extract::repeated,
    order::sorted,
    text::{self, Candidate, Score},
};

/// A statement said in passing needs this much of the relevance of the best.
const WEAK_MIN: Score = Score(2_000);
/// Relevance above this share of the best counts as high.
const HIGH: Score = Score(2_500);

/// The bytes of rules and decisions that files are compared with.
const RULES_BYTES_MAX: usize = 8_192;

/// The reason why a candidate is left out whatever the budget, and the place of the candidate that
/// it repeats or that replaces it; `None` if it is not left out.
pub(super) type Left = Option<(Reason, Option<usize>)>;

/// The candidates of a packet.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// All candidates. Within a part, the most important first.
    pub(super) statements: Vec<Statement>,
    /// The reason why each cannot be in the packet, whatever the budget; the other is a place in
    /// `statements`.
    pub(super) reasons: Vec<Left>,
    /// The number of messages of the conversation.
    pub(super) messages: u32,
}

/// Collects the candidates of a packet.
pub(super) fn gather(recipe: &Recipe, sources: &Sources) -> Gathered {
    let mut all = recipe.material.clone();
    all.extend(entries::read(&recipe.task, sources));
    // Of repetitions the last one stays: the most explicit, then the latest.
    let mut all = sorted(all, |a, b| {
        let of = |it: &Statement| (it.source.origin.precedence(), it.rank);
        let ((a, early), (b, late)) = (of(a), of(b));
        b.cmp(&a).then(early.cmp(&late))
    });
    let mut reasons: Vec<Left> = vec![None; all.len()];
    leave_repetitions(&all, &mut reasons);
    merge::merge(&mut all, &mut reasons);
    let goal = choose_goal(recipe, &all, &mut reasons);
    let mut scores = score(recipe, &goal, &all);
    leave_irrelevant(&all, &scores, &mut reasons, false);
    score_files(&all, &reasons, &mut scores);
    leave_irrelevant(&all, &scores, &mut reasons, true);
    pattern::extract(&mut all, &mut scores, &mut reasons);
    order(recipe, all, &scores, &reasons)
}

/// Leaves out candidates that repeat another one.
fn leave_repetitions(all: &[Statement], reasons: &mut [Left]) {
    let compared: Vec<usize> = (0..all.len())
        .filter(|it| {
            all.get(*it).is_some_and(|it| it.part != Part::File && it.part != Part::Example)
        })
        .collect();
    // `Never deploy on Friday.` and `Tom: yes, never deploy on friday!!` are the same.
    let said = |it: &Statement| match it.source.origin {
        Origin::Item { .. } => cues::content(it.spoken()),
        _ => it.text.clone(),
    };
    let texts: Vec<String> = compared.iter().filter_map(|it| all.get(*it)).map(said).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    // `Always deploy on Friday …` is nearly `Never deploy on Friday …`.
    for (place, other) in compared.iter().zip(repeated(&texts, &|_| false)) {
        let other = other.and_then(|it| compared.get(it)).copied();
        if let (Some(other), Some(reason)) = (other, reasons.get_mut(*place)) {
            *reason = Some((Reason::DuplicateOf, Some(other)));
        }
    }
}

/// Chooses the goal: the most explicit one, then the latest entry, then the first message. Returns
/// its text.
fn choose_goal(recipe: &Recipe, all: &[Statement], reasons: &mut [Left]) -> String {
    let is_free = |place: usize, reasons: &[Left]| reasons.get(place).is_some_and(Option::is_none);
    let goals: Vec<usize> = (0..all.len())
        .filter(|it| all.get(*it).is_some_and(|it| it.part == Part::Goal) && is_free(*it, reasons))
        .collect();
    let texts: Vec<Candidate<'_>> =
        goals.iter().filter_map(|it| all.get(*it)).map(|it| Candidate::alone(&it.text)).collect();
    let related = text::relevance(&recipe.task, &texts);
    let mut chosen: Option<(u8, u64, usize)> = None;
    for (place, score) in goals.iter().zip(&related) {
        let Some(it) = all.get(*place) else { continue };
        let precedence = it.source.origin.precedence();
        if precedence == 2 && *score == Score(0) {
            continue;
        }
        // The latest entry, the first message.
        let age = if precedence == 2 { it.rank } else { u64::MAX.saturating_sub(it.rank) };
        if chosen.is_none_or(|it| (precedence, age) < (it.0, it.1)) {
            chosen = Some((precedence, age, *place));
        }
    }
    let chosen = chosen.map(|it| it.2);
    for place in goals.iter().filter(|it| Some(**it) != chosen) {
        if let Some(reason) = reasons.get_mut(*place) {
            *reason = Some(
                chosen.map_or((Reason::Irrelevant, None), |it| (Reason::Superseded, Some(it))),
            );
        }
    }
    chosen.and_then(|it| all.get(it)).map_or_else(String::new, |it| it.text.clone())
}

/// Returns how relevant each candidate is for the task and its goal. Statements of one
/// conversation are neighbours.
fn score(recipe: &Recipe, goal: &str, all: &[Statement]) -> Vec<Score> {
    let whole: Vec<String> = all.iter().map(Statement::whole).collect();
    let candidates: Vec<Candidate<'_>> = all
        .iter()
        .zip(&whole)
        .map(|(it, text)| {
            let is_said = matches!(it.source.origin, Origin::Item { .. });
            Candidate { text, group: is_said.then_some(0) }
        })
        .collect();
    let own = text::relevance(&recipe.task, &candidates);
    if goal.is_empty() {
        return own;
    }
    let wide = text::relevance(&[&recipe.task, " ", goal].concat(), &candidates);
    own.into_iter().zip(wide).map(|(own, wide)| own.max(Score(wide.0 / 2))).collect()
}

/// Raises the scores of files that the rules and decisions of the packet have to do with.
fn score_files(all: &[Statement], reasons: &[Left], scores: &mut [Score]) {
    let places: Vec<usize> =
        (0..all.len()).filter(|it| all.get(*it).is_some_and(|it| it.part == Part::File)).collect();
    if places.is_empty() {
        return;
    }
    let mut kept = String::new();
    for (it, _) in all.iter().zip(reasons).filter(|it| it.1.is_none()) {
        let is_rule = matches!(it.part, Part::Goal | Part::Constraint | Part::Decision);
        if is_rule && kept.len() < RULES_BYTES_MAX {
            kept.push_str(&it.whole());
            kept.push('\n');
        }
    }
    let texts: Vec<String> =
        places.iter().filter_map(|it| all.get(*it)).map(Statement::whole).collect();
    let candidates: Vec<Candidate<'_>> = texts.iter().map(|it| Candidate::alone(it)).collect();
    for (place, score) in places.iter().zip(text::relevance(&kept, &candidates)) {
        if let Some(it) = scores.get_mut(*place) {
            *it = (*it).max(Score(score.0 / 4));
        }
    }
}

/// Leaves out what has nothing to do with the task: files or all else. What was given and rules of the team
/// have.
fn leave_irrelevant(all: &[Statement], scores: &[Score], reasons: &mut [Left], of_files: bool) {
    for ((it, score), reason) in all.iter().zip(scores).zip(reasons) {
        if (it.part == Part::File) != of_files {
            continue;
        }
        let is_given = it.source.origin == Origin::Given;
        let least = match it.part {
            Part::Goal | Part::Constraint if !it.is_weak => continue,
            _ if is_given => continue,
            // What was said was read with the subject of its conversation in mind.
            _ if matches!(it.source.origin, Origin::Item { .. }) => {
                if !it.is_weak {
                    continue;
                }
                Score(1)
            }
            _ if it.is_weak => WEAK_MIN,
            _ => Score(1),
        };
        if reason.is_none() && *score < least {
            *reason = Some((Reason::Irrelevant, None));
        }
    }
}

/// Puts the candidates in the order of their importance: part by part, the most explicit first,
/// then the relevant, then the latest.
fn order(recipe: &Recipe, all: Vec<Statement>, scores: &[Score], reasons: &[Left]) -> Gathered {
    let key = |place: &usize| {
        let it = all.get(*place);
        let score = scores.get(*place).copied().unwrap_or_default();
        it.map(|it| {
            (
                it.part,
                it.source.origin.precedence(),
                it.is_weak,
                BINDING.saturating_sub(it.weight),
                score < HIGH,
                u64::MAX.saturating_sub(it.rank),
            )
        })
    };
    let places = sorted((0..all.len()).collect(), |a, b| key(a).cmp(&key(b)));
    let mut new_place = vec![0; all.len()];
    for (new, old) in places.iter().enumerate() {
        if let Some(it) = new_place.get_mut(*old) {
            *it = new;
        }
    }
    let moved = |reason: &Left| {
        let renamed = |it: usize| new_place.get(it).copied();
        reason.map(|(reason, other)| (reason, other.and_then(renamed)))
    };
    let reasons = places.iter().map(|it| reasons.get(*it).and_then(moved)).collect();
    let mut all: Vec<Option<Statement>> = all.into_iter().map(Some).collect();
    let statements = places.iter().filter_map(|it| all.get_mut(*it)?.take()).collect();
    Gathered { statements, reasons, messages: recipe.messages }
}
