//! Ranking: the scores of candidates, their relevance to the task, and the order in which they are
//! taken (spec 16.11).

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BTreeSet},
};

use super::{RankBy, Request};
use crate::{
    budget::{Omission, Reason},
    context::{
        dependency::dependencies,
        loading::{LARGE_ITEM_TOKENS, Loader, Loading, LoadingRule, Standing},
        mention::Task,
        score::{Facts, FileScore, Signal},
        share::Share,
    },
    item::Item,
    order::{set, sorted},
    text::{self, Score},
};

/// The score, the relevance and the loading of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    /// Its score, with the signals that it consists of.
    pub score: FileScore,
    /// Its relevance to the task by words.
    pub relevance: Score,
    /// The way that it is loaded.
    pub loading: Loading,
    /// The rule by which it is loaded so, if not by its score alone.
    pub rule: Option<LoadingRule>,
    /// True if it is always shown.
    pub is_fixed: bool,
}

/// Ranks the candidates that are left, and leaves out those that are irrelevant or loaded later.
pub(super) fn rank(
    request: &Request<'_>,
    fixed: &[bool],
    omissions: &mut [Option<Omission>],
) -> Vec<Option<Ranking>> {
    let Request { task, items, rules, now, .. } = *request;
    let left: Vec<usize> = omissions
        .iter()
        .enumerate()
        .filter(|(_, omission)| omission.is_none())
        .map(|(place, _)| place)
        .collect();
    let scores = relevance(task, items, &left);
    let has_words = text::has_words(task);
    let related = if has_words { related_to_pinned(request, &left) } else { Vec::new() };
    let blocks = request.previous.blocks.iter();
    let shown: BTreeSet<&str> = set(blocks.filter_map(|it| it.item.as_deref()));
    let (named, relations) = (Task::new(task), dependencies(items));
    let mut rankings: Vec<Option<Ranking>> = Vec::new();
    rankings.resize_with(items.len(), || None);
    for (nth, place) in left.iter().enumerate() {
        let Some(item) = items.get(*place) else { continue };
        let relation = relations.get(*place).copied().unwrap_or_default();
        let score = Facts::of(item, &named, relation).score(now);
        let ranking = Ranking {
            relevance: scores.get(nth).copied().unwrap_or_default(),
            loading: Loading::of(score.total()),
            rule: None,
            score,
            is_fixed: fixed.get(*place).copied().unwrap_or(false),
        };
        let is_preloaded = ranking.loading == Loading::Preload;
        let is_related = ranking.relevance > Score(0) || related.get(nth).copied().unwrap_or(false);
        // An item that the task names is relevant even without a common word.
        let is_relevant = is_related && ranking.relevance >= rules.relevance_min
            || ranking.score.signals.contains(&Signal::Mentioned);
        // What was shown before stays, so that a conversation has no gaps.
        let was_shown = shown.contains(item.id.as_str());
        let is_irrelevant = has_words
            && !was_shown
            && rules.rank_by != RankBy::Score
            && !ranking.is_fixed
            && !is_relevant
            && (!is_preloaded || rules.rank_by == RankBy::Relevance);
        if is_irrelevant && let Some(omission) = omissions.get_mut(*place) {
            *omission = Some(Omission::new(&item.id, Reason::Irrelevant));
        }
        if let Some(it) = rankings.get_mut(*place) {
            *it = Some(ranking);
        }
    }
    load(request, &mut rankings, omissions);
    rankings
}

/// Decides how candidates are loaded, in the order of their scores, and leaves out those that are
/// loaded later.
fn load(
    request: &Request<'_>,
    rankings: &mut [Option<Ranking>],
    omissions: &mut [Option<Omission>],
) {
    let Request { items, rules, .. } = *request;
    let places = omissions.iter().enumerate().filter(|(_, omission)| omission.is_none());
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    let standing = |place: usize| -> Option<Standing<'_>> {
        let (ranking, item) = (rankings.get(place)?.as_ref()?, items.get(place)?);
        Some(Standing {
            score: ranking.score.total(),
            relevance: Share(ranking.relevance.0.into()),
            at: item.at,
            id: &item.id,
        })
    };
    let compare = |a: &usize, b: &usize| match (standing(*a), standing(*b)) {
        (Some(a), Some(b)) => a.compare(&b),
        _ => Ordering::Equal,
    };
    let places = sorted(places, compare);
    let mut loader = rules.window.as_ref().map(|(plan, used)| Loader::new(plan, *used));
    for place in places {
        let (Some(Some(ranking)), Some(item)) = (rankings.get_mut(place), items.get(place)) else {
            continue;
        };
        if ranking.is_fixed {
            continue;
        }
        let (loading, rule) = match &mut loader {
            Some(loader) => loader.decide(ranking.score.total(), item.tokens),
            None if item.tokens > LARGE_ITEM_TOKENS => {
                (Loading::JustInTime, Some(LoadingRule::Large))
            }
            None => (ranking.loading, None),
        };
        (ranking.loading, ranking.rule) = (loading, rule);
        let is_later = match (rules.rank_by, rule) {
            (_, Some(LoadingRule::Large | LoadingRule::Crowded)) => true,
            (RankBy::Score, _) => loading != Loading::Preload,
            // The budget of the request decides what else fits.
            _ => false,
        };
        if is_later && let Some(omission) = omissions.get_mut(place) {
            *omission = Some(later(item, ranking));
        }
    }
}

/// Returns the omission of an item that is loaded later.
pub(super) fn later(item: &Item, ranking: &Ranking) -> Omission {
    let reason = match ranking.loading {
        Loading::OnDemand => Reason::OnDemand,
        Loading::JustInTime | Loading::Preload => Reason::JustInTime,
    };
    let score = u64::from(ranking.score.total());
    let numbers = vec![("score", score), ("tokens", u64::from(item.tokens.0))];
    Omission { numbers, ..Omission::new(&item.id, reason) }
}

/// Ranks the `copies` that are shown in place of items with nearly the same text. They have that
/// item's relevance and a score of their own.
pub(super) fn rank_copies(
    request: &Request<'_>,
    copies: &[(usize, usize)],
    rankings: &mut [Option<Ranking>],
) {
    if copies.is_empty() {
        return;
    }
    let (named, relations) = (Task::new(request.task), dependencies(request.items));
    for (copy, other) in copies {
        let relevance = rankings.get(*other).and_then(|it| Some(it.as_ref()?.relevance));
        let (Some(item), Some(ranking), Some(relevance)) =
            (request.items.get(*copy), rankings.get_mut(*copy), relevance)
        else {
            continue;
        };
        let relation = relations.get(*copy).copied().unwrap_or_default();
        let score = Facts::of(item, &named, relation).score(request.now);
        let loading = Loading::of(score.total());
        *ranking = Some(Ranking { score, relevance, loading, rule: None, is_fixed: false });
    }
}

/// Returns the candidates at `places` in the order in which they are taken.
pub(super) fn in_order(
    rank_by: RankBy,
    items: &[Item],
    rankings: &[Option<Ranking>],
    places: Vec<usize>,
) -> Vec<usize> {
    let ranked = |place: usize| Some((rankings.get(place)?.as_ref()?, items.get(place)?));
    sorted(places, |a, b| match (ranked(*a), ranked(*b)) {
        (Some(one), Some(other)) => compare(rank_by, one, other),
        _ => a.cmp(b),
    })
}

/// Compares two candidates of a request: the one that is taken first is less.
fn compare(rank_by: RankBy, a: (&Ranking, &Item), b: (&Ranking, &Item)) -> Ordering {
    let key = |(ranking, item): (&Ranking, &Item)| {
        let (score, relevance) = (Reverse(ranking.score.total()), Reverse(ranking.relevance));
        let tier = Loading::of(ranking.score.total());
        let at = Reverse(item.at);
        match rank_by {
            RankBy::Score => (None, Some(score), relevance, None, at),
            RankBy::Relevance => (None, None, relevance, Some(score), at),
            RankBy::Both => (Some(tier), None, relevance, Some(score), at),
        }
    };
    key(a).cmp(&key(b)).then_with(|| a.1.id.cmp(&b.1.id))
}

/// Returns the relevance of the items at `places` to a task.
fn relevance(task: &str, items: &[Item], places: &[usize]) -> Vec<Score> {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    let mut candidates = Vec::with_capacity(places.len());
    for item in places.iter().filter_map(|it| items.get(*it)) {
        let group = item.group.as_deref().map(|name| {
            let next = groups.len();
            u32::try_from(*groups.entry(name).or_insert(next)).unwrap_or(u32::MAX)
        });
        candidates.push(text::Candidate { text: item.text().unwrap_or(&item.id), group });
    }
    text::relevance(task, &candidates)
}

/// Returns which of the items at `places` have a word in common with a pinned item.
fn related_to_pinned(request: &Request<'_>, places: &[usize]) -> Vec<bool> {
    let Request { items, rules, .. } = *request;
    let pinned = items.iter().filter(|it| rules.pinned.contains(&it.id));
    let pinned: Vec<&str> = pinned.filter_map(Item::text).collect();
    if pinned.is_empty() {
        return Vec::new();
    }
    let scores = relevance(&pinned.join("\n"), items, places);
    scores.into_iter().map(|it| it > Score(0)).collect()
}
