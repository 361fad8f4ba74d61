//! Scores and loading compared with a plain second form of spec 16.8: rows of a table, summed.

use proptest::{collection::vec, option, prelude::*, sample::select};
use shared_context_core::{
    context::{
        Share,
        dependency::Dependency,
        loading::{Loader, Loading, Standing},
        plan::{Allocation, Parts, WindowPlan},
        score::Facts,
    },
    time::Timestamp,
    tokens::Tokens,
};

const HOUR_MS: i128 = 3_600_000;
const NOW: u64 = 100_000_000_000;

/// Returns the three parts of a score.
fn reference(facts: &Facts) -> [u32; 3] {
    let age_ms =
        facts.modified_at.map_or(i128::MAX, |it| i128::from(NOW).saturating_sub(it.0.into()));
    let sum = |rows: &[(bool, u32)]| rows.iter().filter(|it| it.0).map(|it| it.1).sum::<u32>();
    let relevance = sum(&[
        (facts.is_mentioned, 25),
        (facts.operations_ago.is_some_and(|it| it < 6), 15),
        (facts.has_open_issues, 10),
        (facts.is_core, 20),
        (facts.is_utility, 5),
    ]);
    // What each limit adds to the next: 5, 10, 20, 30.
    let recency = sum(&[
        (age_ms <= 168 * HOUR_MS, 5),
        (age_ms <= 24 * HOUR_MS, 5),
        (age_ms <= 4 * HOUR_MS, 10),
        (age_ms <= HOUR_MS, 10),
    ]);
    let dependency = match facts.dependency {
        Dependency::Direct => 20,
        Dependency::OnActive => 15,
        Dependency::SecondDegree => 10,
        Dependency::None => 0,
    };
    [relevance.min(50), recency, dependency]
}

/// Returns the way that each item is loaded, by the same table.
fn reference_loading(plan: &WindowPlan, used: u32, items: &[(u8, u32)]) -> Vec<Loading> {
    let (window, load) = (u64::from(plan.window.0), u64::from(plan.active_use.load.0));
    let (mut used, mut loaded) = (u64::from(used), 0);
    let mut decided = Vec::new();
    for (score, tokens) in items {
        let is_over = *tokens > 10_000 || used * 10 > window * 8;
        let loading = match score {
            _ if is_over => Loading::JustInTime,
            0..40 => Loading::OnDemand,
            40..70 => Loading::JustInTime,
            _ if loaded + u64::from(*tokens) > load => Loading::JustInTime,
            _ => Loading::Preload,
        };
        if loading == Loading::Preload {
            used += u64::from(*tokens);
            loaded += u64::from(*tokens);
        }
        decided.push(loading);
    }
    decided
}

fn facts() -> impl Strategy<Value = Facts> {
    let near = (select(vec![1_u64, 4, 24, 168]), -2_i64..=2).prop_map(|(hours, more)| {
        NOW.saturating_sub(hours * 3_600_000).saturating_sub_signed(more)
    });
    let times = prop_oneof![near, NOW - 700_000_000..NOW + 10, any::<u64>()];
    let dependency = select(vec![
        Dependency::None,
        Dependency::SecondDegree,
        Dependency::OnActive,
        Dependency::Direct,
    ]);
    let operations = option::of(prop_oneof![0_u32..9, any::<u32>()]);
    (any::<[bool; 4]>(), operations, option::of(times), dependency).prop_map(
        |([is_mentioned, is_core, is_utility, has_open_issues], operations_ago, at, dependency)| {
            let modified_at = at.map(Timestamp);
            Facts {
                is_mentioned,
                is_core,
                is_utility,
                has_open_issues,
                operations_ago,
                modified_at,
                dependency,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_score_equals_the_reference(facts in facts()) {
        let score = facts.score(Timestamp(NOW));
        let parts = [score.relevance, score.recency, score.dependency];
        let expected = reference(&facts);
        prop_assert_eq!(parts.map(u32::from), expected);
        prop_assert_eq!(u32::from(score.total()), expected.iter().sum::<u32>());
        prop_assert!(score.total() <= 100);
        // The reasons account for every point.
        let reasons: u32 = score.signals.iter().map(|it| u32::from(it.points())).sum();
        let over = reasons - u32::from(score.total());
        prop_assert!(over == 0 || score.relevance == 50);
    }

    #[test]
    fn loading_equals_the_reference(
        window in prop_oneof![1_u32..2_000, 50_000_u32..400_000],
        used_percent in 0_u32..120,
        items in vec((0_u8..=100, prop_oneof![0_u32..400, 0_u32..12_000]), 0..40),
    ) {
        let plan = WindowPlan::new(Tokens(window), &Allocation::default()).unwrap();
        let used = window * used_percent / 100;
        let mut loader = Loader::new(&plan, Tokens(used));
        let mut loaded = 0;
        let mut decided = Vec::new();
        for (score, tokens) in &items {
            let (loading, rule) = loader.decide(*score, Tokens(*tokens));
            loaded += if loading == Loading::Preload { *tokens } else { 0 };
            prop_assert!(rule.is_none() || loading == Loading::JustInTime);
            prop_assert!(loaded <= plan.active_use.load.0);
            decided.push(loading);
        }
        prop_assert_eq!(decided, reference_loading(&plan, used, &items));
    }

    /// Sorting gives one order, whatever the order of the request.
    #[test]
    fn the_order_of_items_is_total(
        items in vec((0_u8..3, 0_u32..3, option::of(0_u64..3)), 0..20),
        rotated in 0_usize..20,
    ) {
        let ids: Vec<String> = (0..items.len()).map(|it| it.to_string()).collect();
        let mut standings: Vec<Standing<'_>> = items
            .iter()
            .zip(&ids)
            .map(|((score, relevance, at), id)| {
                let (relevance, at) = (Share(*relevance), at.map(Timestamp));
                Standing { score: *score, relevance, at, id }
            })
            .collect();
        let mut others = standings.clone();
        others.rotate_left(rotated.min(ids.len()));
        standings.sort_by(Standing::compare);
        others.sort_by(Standing::compare);
        prop_assert_eq!(standings, others);
    }
}

#[test]
fn the_highest_active_share_loads_70000_tokens() {
    let (knowledge, active) = (Some(Tokens(60_000)), Some(Tokens(100_000)));
    let parts = Parts { knowledge, active, ..Parts::default() };
    let plan = WindowPlan::new(Tokens(200_000), &Allocation::Tokens(parts)).unwrap();
    assert_eq!(plan.active_use.load, Tokens(70_000));
    let mut loader = Loader::new(&plan, Tokens(0));
    let loaded = (0..10).filter(|_| loader.decide(70, Tokens(10_000)).0 == Loading::Preload);
    assert_eq!(loaded.count(), 7);
}
