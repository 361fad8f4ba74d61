//! The share of the evidence that a budget holds, for the assembly and for plain rankings.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use shared_context_core::{
    budget::Budget,
    context::assembly::{Assembly, Previous, RankBy, Request, Rules, assemble, check},
    item::{Item, Kind, ListedKind},
    tokens::{Tokens, approximate},
};

use super::{
    NOW,
    locomo::{Conversation, Question, Turn},
    reference::{Texts, float, ranked, with_context},
};
use crate::report::Report;

/// The token budgets.
const BUDGETS: [u32; 3] = [500, 1_000, 2_000];
/// A budget for everything, so that the assembly ranks all turns.
const UNLIMITED: u32 = 10_000_000;
const CATEGORIES: [(u64, &str); 5] =
    [(1, "multi-hop"), (2, "time"), (3, "open domain"), (4, "single-hop"), (5, "adversarial")];

/// A way to choose turns, and what it found for each question.
struct Method {
    name: &'static str,
    /// True if it ranks turns one by one.
    is_ranking: bool,
    found: Vec<Found>,
}

/// The evidence of one question that was found.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// The share of its evidence in each budget.
    shares: [f64; 3],
    /// The rank of the first turn that is evidence, from 1; infinite if it has none.
    rank: f64,
}

/// Turns that are taken together, and their tokens.
struct Group {
    places: Vec<usize>,
    tokens: u32,
}

/// A conversation, prepared for its questions.
struct Corpus {
    items: Vec<Item>,
    turns: Vec<Group>,
    sessions: Vec<Group>,
    /// The session of each turn.
    session_of: Vec<usize>,
    turn_texts: Texts,
    session_texts: Texts,
}

pub(super) fn measure(report: &mut Report, conversations: &[Conversation]) -> Result<()> {
    let turns: usize = conversations.iter().map(|it| it.turns.len()).sum();
    let questions: Vec<&Question> = conversations.iter().flat_map(|it| &it.questions).collect();
    report.section(&format!(
        "Share of the evidence that a budget holds (%): {} questions, {turns} turns",
        questions.len()
    ));
    let method = |(name, is_ranking)| Method { name, is_ranking, found: Vec::new() };
    let mut methods = [
        ("the newest turns", false),
        ("whole sessions, BM25", false),
        ("turns, BM25", true),
        ("turns, reference", true),
        ("assembly, texts counted", true),
        ("assembly, all counted", false),
    ]
    .map(method);
    for conversation in conversations {
        let corpus = Corpus::new(&conversation.turns);
        for question in &conversation.questions {
            for (method, found) in methods.iter_mut().zip(corpus.compare(question)?) {
                method.found.push(found);
            }
        }
    }
    let columns = BUDGETS.map(|it| format!("{it:6}")).concat();
    report.line("tokens", format!("{columns}  first   MRR"));
    let [.., reference, texts, all] = &methods;
    let is_met = shares(&texts.found).iter().zip(shares(&reference.found)).all(|(a, b)| *a >= b);
    for method in &methods {
        let figure = method.figure(|_| true);
        if std::ptr::eq(method, texts) {
            report.goal(method.name, figure, "at least the reference", is_met);
        } else {
            report.line(method.name, figure);
        }
    }
    for (category, name) in CATEGORIES {
        let is_chosen = |nth: usize| questions.get(nth).is_some_and(|it| it.category == category);
        let count = (0..questions.len()).filter(|it| is_chosen(*it)).count();
        for method in [reference, texts, all] {
            report.line(&format!("{name} ({count}): {}", method.name), method.figure(is_chosen));
        }
    }
    Ok(())
}

impl Method {
    /// Returns the figures for the chosen questions, in columns.
    fn figure(&self, is_chosen: impl Fn(usize) -> bool) -> String {
        let chosen = self.found.iter().enumerate().filter(|(nth, _)| is_chosen(*nth));
        let found: Vec<Found> = chosen.map(|(_, it)| *it).collect();
        let shares = shares(&found).map(|it| format!("{it:6.1}")).concat();
        if !self.is_ranking {
            return shares;
        }
        let questions = float(found.len()).max(1.0);
        let first = float(found.iter().filter(|it| it.rank <= 1.0).count()) / questions * 100.0;
        let reciprocal = found.iter().map(|it| it.rank.recip()).sum::<f64>() / questions;
        format!("{shares} {first:6.1} {reciprocal:5.3}")
    }
}

/// Returns the average shares for some questions, in percent.
fn shares(found: &[Found]) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for it in found {
        for (sum, share) in sums.iter_mut().zip(it.shares) {
            *sum += share;
        }
    }
    sums.map(|it| it / float(found.len()).max(1.0) * 100.0)
}

impl Corpus {
    fn new(turns: &[Turn]) -> Self {
        let mut sessions: Vec<Group> = Vec::new();
        let mut session_texts: Vec<String> = Vec::new();
        for (place, turn) in turns.iter().enumerate() {
            let last = sessions.get_mut(turn.session).zip(session_texts.get_mut(turn.session));
            if let Some((session, text)) = last {
                session.places.push(place);
                *text = format!("{text}\n{}", turn.said);
            } else {
                sessions.push(Group { places: vec![place], tokens: 0 });
                session_texts.push(format!("{}\n{}", turn.date, turn.said));
            }
        }
        for (session, text) in sessions.iter_mut().zip(&session_texts) {
            session.tokens = approximate(text).0;
        }
        let texts: Vec<String> = turns.iter().map(Turn::text).collect();
        let tokens = texts.iter().map(|it| approximate(it).0).enumerate();
        Self {
            items: turns.iter().map(item).collect(),
            turns: tokens.map(|(it, tokens)| Group { places: vec![it], tokens }).collect(),
            sessions,
            session_of: turns.iter().map(|it| it.session).collect(),
            turn_texts: Texts::new(&texts),
            session_texts: Texts::new(&session_texts),
        }
    }

    /// Returns what each method finds for a question.
    fn compare(&self, question: &Question) -> Result<[Found; 6]> {
        let scores = self.turn_texts.scores(&question.text);
        let of_sessions = self.session_texts.scores(&question.text);
        let in_context = with_context(&self.session_of, &scores, &of_sessions);
        let newest: Vec<usize> = (0..self.turns.len()).rev().collect();
        Ok([
            packed(&self.turns, &newest, question),
            packed(&self.sessions, &ranked(&of_sessions), question),
            packed(&self.turns, &ranked(&scores), question),
            packed(&self.turns, &ranked(&in_context), question),
            packed(&self.turns, &self.assembled_order(question)?, question),
            self.assembled(question)?,
        ])
    }

    /// Returns the places of the turns in the order in which an assembly takes them.
    fn assembled_order(&self, question: &Question) -> Result<Vec<usize>> {
        let assembly = self.assemble(question, UNLIMITED)?;
        let ranks = assembly.candidates.iter().enumerate();
        let mut ranks: Vec<(u32, usize)> =
            ranks.filter_map(|(place, it)| Some((it.rank?, place))).collect();
        ranks.sort_unstable();
        Ok(ranks.into_iter().map(|(_, place)| place).collect())
    }

    /// Returns what assemblies of the budgets hold.
    fn assembled(&self, question: &Question) -> Result<Found> {
        let mut shares = [0.0; 3];
        for (it, budget) in shares.iter_mut().zip(BUDGETS) {
            let assembly = self.assemble(question, budget)?;
            ensure!(approximate(&assembly.text).0 <= budget, "an assembly exceeds its budget");
            *it = share(&assembly.blocks.iter().filter_map(|it| it.place).collect(), question);
        }
        Ok(Found { shares, rank: f64::INFINITY })
    }

    fn assemble(&self, question: &Question, tokens: u32) -> Result<Assembly> {
        let (task, items) = (question.text.as_str(), self.items.as_slice());
        let budget = Budget::of(Tokens(tokens));
        let rules = Rules { budget, rank_by: RankBy::Relevance, ..Rules::default() };
        check(task, items, &rules)?;
        let previous = Previous::default();
        let request = Request { task, items, rules: &rules, previous: &previous, now: NOW };
        Ok(assemble(&request, &|text| Ok(approximate(text)))?)
    }
}

fn item(turn: &Turn) -> Item {
    let kind = Kind::Listed(ListedKind::SessionHistory);
    let mut item = Item::inline(turn.id.as_str(), kind, turn.text());
    item.group = Some(turn.session.to_string());
    item
}

/// Returns what is found if groups are taken in order while they fit the budget.
fn packed(groups: &[Group], order: &[usize], question: &Question) -> Found {
    let ordered = || order.iter().filter_map(|it| groups.get(*it));
    let shares = BUDGETS.map(|mut left| {
        let mut taken = BTreeSet::new();
        for group in ordered() {
            if group.tokens <= left {
                left -= group.tokens;
                taken.extend(&group.places);
            }
        }
        share(&taken, question)
    });
    let is_evidence = |it: &Group| it.places.iter().any(|it| question.evidence.contains(it));
    let rank = ordered().position(is_evidence).map_or(f64::INFINITY, |it| float(it + 1));
    Found { shares, rank }
}

/// Returns the share of the evidence that was taken.
fn share(taken: &BTreeSet<usize>, question: &Question) -> f64 {
    let found = question.evidence.iter().filter(|it| taken.contains(it)).count();
    float(found) / float(question.evidence.len())
}
