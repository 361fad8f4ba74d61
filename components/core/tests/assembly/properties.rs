//! Tests properties of every assembly, for any request.

use std::collections::BTreeSet;

use proptest::{collection::vec, option, prelude::*, sample::select};
use shared_context_core::{
    budget::Limit,
    context::plan::{Allocation, WindowPlan},
    digest,
    item::{Body, ItemRole, Target, Visibility},
};

use super::*;

/// An item as the generator makes it.
type Made = (usize, String, (Option<u64>, Option<u64>), u8, Option<usize>, (bool, bool, u8));

fn made() -> impl Strategy<Value = Made> {
    (
        0..ListedKind::ALL.len(),
        "[a-d]( [a-d]){0,12}|\\PC{0,30}",
        (option::of(0..9_u64), option::weighted(0.2, 0..9_u64)),
        prop_oneof![3 => Just(0xFF_u8), 1 => any::<u8>()],
        option::weighted(0.3, 0_usize..12),
        (any::<bool>(), any::<bool>(), 0_u8..8),
    )
}

fn items(made: Vec<Made>) -> Vec<Item> {
    let count = made.len();
    let item = |(place, it): (usize, Made)| {
        let (kind, text, (at, expires), targets, pair, (is_reference, has_origin, roles)) = it;
        let mut item = item(&format!("i{place}"), ListedKind::ALL[kind], &text);
        if is_reference {
            item.body = Body::Reference { digest: digest::sha256(&text) };
        }
        item.at = at.map(|it| Timestamp(NOW.0 - it * 3_600_000));
        item.expires_at = expires.map(|it| Timestamp(NOW.0 + it * 1_000 - 2_000));
        let targets = Target::ALL.into_iter().zip(0..).filter(|(_, bit)| targets >> bit & 1 == 1);
        item.visibility = Visibility::of(targets.map(|(it, _)| it));
        if item.visibility.is_empty() {
            item.visibility = Visibility::of([Target::Ui]);
        }
        item.pair = pair.filter(|it| *it != place && *it < count).map(|it| format!("i{it}"));
        item.source.origin = has_origin.then(|| "origin".to_owned());
        item.roles = ItemRole::ALL.into_iter().filter(|it| roles >> (*it as u8) & 1 == 1).collect();
        item.group = (roles > 5).then(|| "chat".to_owned());
        item
    };
    made.into_iter().enumerate().map(item).collect()
}

fn rules() -> impl Strategy<Value = Rules> {
    (
        (1_u32..400, option::of(1_u64..900), option::of(1_u32..12), 0_u32..40),
        select(&Target::ALL[..]),
        select(&RankBy::ALL[..]),
        select(&Format::ALL[..]),
        0_u16..3_000,
        (vec(0_usize..12, 0..3), vec(0_usize..12, 0..3)),
        option::weighted(0.3, (1_u32..600, 0_u32..400)),
    )
        .prop_map(
            |((tokens, bytes, items, reserved), target, rank_by, format, min, ids, window)| {
                let plan = |it| WindowPlan::new(Tokens(it), &Allocation::default()).unwrap();
                let names = |ids: Vec<usize>| ids.into_iter().map(|it| format!("i{it}")).collect();
                Rules {
                    budget: Budget {
                        bytes,
                        items,
                        reserved: Tokens(reserved.min(tokens - 1)),
                        ..Budget::of(Tokens(tokens))
                    },
                    target,
                    rank_by,
                    format,
                    relevance_min: Score(min),
                    pinned: names(ids.0),
                    pruned: names(ids.1),
                    window: window.map(|(window, used)| (plan(window), Tokens(used))),
                    ..Rules::default()
                }
            },
        )
}

/// The reasons for which even what is always shown is left out.
const SPREADS: [Reason; 4] =
    [Reason::NotVisible, Reason::Expired, Reason::DigestMismatch, Reason::Pruned];

/// Returns true if the item is pinned, an instruction, or the last message of the user.
fn is_always_shown(items: &[Item], rules: &Rules, place: usize) -> bool {
    let is_of =
        |it: &Item, kinds: &[ListedKind]| kinds.iter().any(|kind| it.kind == Kind::Listed(*kind));
    let item = &items[place];
    let last = items.iter().rposition(|it| is_of(it, &[ListedKind::UserMessage]));
    let instructions =
        [ListedKind::SystemPrompt, ListedKind::DeveloperInstruction, ListedKind::PolicyNote];
    last == Some(place) || is_of(item, &instructions) || rules.pinned.contains(&item.id)
}

/// Validates an assembly against what holds for all.
fn check_assembly(
    task: &str,
    items: &[Item],
    rules: &Rules,
    it: &Assembly,
) -> Result<(), TestCaseError> {
    let places: Vec<usize> = it.blocks.iter().filter_map(|it| it.place).collect();
    let selected: BTreeSet<usize> = places.iter().copied().collect();
    let it_of = |place: usize| &it.candidates[place];
    prop_assert_eq!(selected.len(), places.len(), "nothing is shown twice");
    prop_assert_eq!(it.candidates.len(), items.len());
    for (place, (item, candidate)) in items.iter().zip(&it.candidates).enumerate() {
        prop_assert_eq!(selected.contains(&place), candidate.omission.is_none(), "{}", item.id);
        if selected.contains(&place) {
            prop_assert!(item.visibility.has(rules.target) && item.is_live(NOW));
            prop_assert!(!rules.pruned.contains(&item.id));
            let pair = item.pair.as_ref().and_then(|id| items.iter().position(|it| it.id == *id));
            prop_assert!(pair.is_none_or(|it| selected.contains(&it)), "pairs stay together");
        }
        if let Some(omission) = &candidate.omission {
            prop_assert!(
                SPREADS.contains(&omission.reason) || !is_always_shown(items, rules, place),
                "{} {omission:?}",
                item.id
            );
            let is_replaced = matches!(omission.reason, Reason::Superseded | Reason::DuplicateOf);
            let other = items.iter().position(|it| omission.other.as_ref() == Some(&it.id));
            let other = other.and_then(|it| it_of(it).omission.as_ref());
            if is_replaced && let Some(other) = other {
                let screened = [&SPREADS[..], &[Reason::TooOld]].concat();
                prop_assert!(!screened.contains(&other.reason), "{} {other:?}", item.id);
            }
        }
    }
    prop_assert!(it.used.tokens <= rules.budget.usable());
    prop_assert!(rules.budget.bytes.is_none_or(|max| it.text.len() as u64 <= max));
    prop_assert!(rules.budget.items.is_none_or(|max| selected.len() <= max as usize));
    prop_assert_eq!(it.used.bytes, it.text.len() as u64);
    if let Some((plan, used)) = &rules.window {
        let is_free = |it: &Candidate| it.ranking.as_ref().is_some_and(|it| !it.is_fixed);
        let mut free = it.candidates.iter().filter(|it| it.omission.is_none() && is_free(it));
        prop_assert!(free.next().is_none() || used.plus(it.used.tokens) <= plan.window);
    }
    let referenced = places.iter().filter(|it| items[**it].text().is_none());
    let referenced: u32 = referenced.map(|it| items[*it].tokens.0).sum();
    prop_assert!(it.used.tokens.0 >= approximate(&it.text).0.max(referenced));
    let segments: Vec<_> = it.blocks.iter().map(|it| it.segment).collect();
    prop_assert!(segments.is_sorted());
    prop_assert!(
        it.text.ends_with(task.trim_end()) || it.text.trim_end().ends_with(task.trim_end())
    );
    Ok(())
}

proptest! {
    #[test]
    fn an_assembly_keeps_to_its_rules(
        task in "[a-d]( [a-d]){0,3}|\\PC{0,20}",
        made in vec(made(), 0..12),
        rules in rules(),
        other in rules(),
    ) {
        let items = items(made);
        let request = |previous: &Previous, rules: &Rules| {
            assembled_after(&task, &items, rules, previous)
        };
        let mut previous = Previous::default();
        for rules in [&rules, &rules, &other, &other] {
            let it = match request(&previous, rules) {
                Ok(it) => it,
                Err(Error::BudgetTooSmall { limit, needed, over }) => {
                    let name = |limit: Limit| limit.as_str() == limit.as_str();
                    prop_assert!(Limit::ALL.into_iter().any(name) && needed > 0 && !limit.is_empty());
                    prop_assert!((1..=needed).contains(&over));
                    continue;
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            check_assembly(&task, &items, rules, &it)?;
            prop_assert_eq!(&request(&previous, rules).unwrap(), &it, "the same request, the same bytes");
            let document = envelope(&task, &items, rules, &it);
            let value: serde_json::Value = serde_json::from_str(&document).unwrap();
            prop_assert_eq!(serde_jcs::to_string(&value).unwrap(), document.as_str());
            previous = Previous::of_envelope(&document, &it.open);
            prop_assert_eq!(previous.blocks.len(), it.blocks.len());
        }
    }

    /// An assembly after itself changes nothing and reuses everything.
    #[test]
    fn an_assembly_repeats_itself(
        task in "[a-d]( [a-d]){0,3}", made in vec(made(), 0..12), rules in rules(),
    ) {
        let items = items(made);
        let Ok(first) = assembled_after(&task, &items, &rules, &Previous::default()) else { return Ok(()) };
        let before = previous(&task, &items, &rules, &first);
        let second = assembled_after(&task, &items, &rules, &before).unwrap();
        prop_assert_eq!(&second.text, &first.text);
        prop_assert!(!second.is_replanned);
        let all = first.blocks.iter().fold(Tokens(0), |sum, it| sum.plus(it.tokens));
        prop_assert_eq!(second.reused_prefix, all);
    }
}
