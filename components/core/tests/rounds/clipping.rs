//! Tests of clipping: the parts it removes, and how they are reported.

use serde_json::{Value, json};
use shared_context_core::{
    CloseRound, Code, Command, RoundsCommand,
    rounds::{Clip, PARTS_MAX, Plan},
};

use crate::{
    ORCHESTRATOR, at, clipping, close, code, deltas, open, outcomes, plan, play, propose, session,
    state,
};

const HEAVY: &str = "subagent:heavy";
const LIGHT: &str = "subagent:light";

fn item(name: &str, bytes: usize) -> String {
    format!(r#"add $.entities {{"id":"{name}","text":"{}"}}"#, "x".repeat(bytes))
}

fn ids(host: &crate::support::TestHost) -> Vec<Value> {
    let entities = at(host, "/entities");
    entities.as_array().unwrap().iter().map(|it| it["id"].clone()).collect()
}

/// Runs two rounds: old entities of both participants, then new ones. The first part
/// removed shows the policy.
fn after(clip: Clip, bytes_max: u32) -> (Vec<Value>, Vec<String>, Vec<String>) {
    let weights = plan(&[(HEAVY, 0.9), (LIGHT, 0.1)], &[]);
    let host = session();
    play(
        &host,
        weights.clone(),
        &[(LIGHT, &item("old-light", 300)), (HEAVY, &item("old-heavy", 200))],
    );
    let weights = Plan { clip, bytes_max: Some(bytes_max), ..weights };
    let round = play(&host, weights, &[(LIGHT, &item("light", 100)), (HEAVY, &item("heavy", 400))]);
    let clipped = round.ended.unwrap().clipped;
    (ids(&host), clipped.iter().map(|it| it.path.to_string()).collect(), outcomes(&host))
}

#[test]
fn each_policy_removes_another_part_first() {
    let (left, clipped, outcomes) = after(Clip::LowestWeightFirst, 1_050);
    assert_eq!(left, ["old-heavy", "heavy", "light"]);
    assert_eq!(clipped, ["$['entities'][1]"]);
    assert_eq!(outcomes, ["applied", "applied"]);

    let (left, ..) = after(Clip::OldestFirst, 1_000);
    assert_eq!(left, ["old-heavy", "heavy", "light"], "the old one with the lower weight");

    let (left, clipped, outcomes) = after(Clip::LargestFirst, 1_000);
    assert_eq!(left, ["old-heavy", "old-light", "light"]);
    assert_eq!(clipped, ["$['entities'][2]"]);
    assert_eq!(outcomes, ["applied", "clipped"]);

    let (left, ..) = after(Clip::LowestWeightFirst, 262_144);
    assert_eq!(left.len(), 4, "nothing is removed without need");
}

#[test]
fn the_state_always_fits_its_limit() {
    for (bytes_max, clip) in
        [(1_000, Clip::LowestWeightFirst), (1_001, Clip::OldestFirst), (1_500, Clip::LargestFirst)]
    {
        let host = session();
        for _ in 0..4 {
            let items: Vec<String> = (0..20).map(|nth| item(&nth.to_string(), nth)).collect();
            let items: Vec<(&str, &str)> = items.iter().map(|it| (LIGHT, it.as_str())).collect();
            let ended = play(&host, clipping(clip, bytes_max), &items).ended.unwrap();
            let bytes = u32::try_from(state(&host).to_string().len()).unwrap();
            assert_eq!(ended.bytes, bytes);
            let least = if ended.clipped.is_empty() { 0 } else { bytes_max - 100 };
            assert!((least..=bytes_max).contains(&bytes), "{bytes} of {bytes_max}");
        }
    }
}

/// A binding from an earlier round is stable; one from this round may be clipped.
#[test]
fn bindings_of_earlier_rounds_are_never_clipped() {
    let host = session();
    let bound = |from: u32| {
        let terms = (from..from + 20).map(|nth| (format!("term{nth}"), json!("c".repeat(30))));
        format!("add $.bindings {}", Value::Object(terms.collect()))
    };
    play(&host, Plan::default(), &[(HEAVY, &bound(0))]);
    let round = play(&host, clipping(Clip::OldestFirst, 1_000), &[(HEAVY, &bound(20))]);
    assert!(!round.ended.unwrap().clipped.is_empty());
    let bindings = at(&host, "/bindings");
    assert!((0..20).all(|nth| bindings.get(format!("term{nth}")).is_some()));
    // The parts that cannot be removed are too large by themselves.
    open(&host, Plan::default());
    propose(&host, HEAVY, &format!("modify $.query {:?}", "x".repeat(2_000))).unwrap();
    let close_it = Command::Rounds(RoundsCommand::Close(CloseRound::default()));
    assert_eq!(code(host.ask(ORCHESTRATOR, &close_it)), Code::StateTooLarge);
    propose(&host, HEAVY, r#"modify $.query "shorter""#).unwrap();
    close(&host);
    assert_eq!(at(&host, "/query"), "shorter");
}

/// A term that was bound anew in a round was once mistaken for one that the round made, so a state
/// over its limit lost the term altogether.
#[test]
fn a_term_that_is_bound_anew_is_never_clipped() {
    let host = session();
    play(&host, Plan::default(), &[(LIGHT, r#"add $.bindings.customer "c:1""#)]);
    let long = "c".repeat(1_000);
    open(&host, clipping(Clip::LargestFirst, 1_000));
    propose(&host, ORCHESTRATOR, &format!("modify $.bindings.customer {long:?}")).unwrap();
    let close_it = Command::Rounds(RoundsCommand::Close(CloseRound::default()));
    assert_eq!(code(host.ask(ORCHESTRATOR, &close_it)), Code::StateTooLarge);
    propose(&host, ORCHESTRATOR, r#"modify $.bindings.customer "c:2""#).unwrap();
    close(&host);
    assert_eq!(at(&host, "/bindings/customer"), "c:2");
}

/// The limit belongs to the state: a round opened without one uses the previous round's.
#[test]
fn a_limit_stays_until_another_one_is_set() {
    let host = session();
    play(&host, clipping(Clip::LargestFirst, 100_000), &[(HEAVY, &item("large", 60_000))]);
    let round = play(&host, Plan::default(), &[(HEAVY, "add $.rules [1]")]);
    assert_eq!((round.bytes_max, round.ended.unwrap().clipped.len()), (100_000, 0));
    let round = play(&host, clipping(Clip::LargestFirst, 50_000), &[]);
    let clipped = round.ended.unwrap().clipped;
    assert_eq!(clipped.len(), 1);
    assert_eq!((clipped[0].mark.round, clipped[0].bytes > 60_000), (1, true));
    let history = deltas(&host, Some("$.entities"));
    assert_eq!(history.len(), 1, "its deltas are still in the history");
}

/// Hundreds of thousands of small parts fit a state, and each has a stored mark. Reports
/// of clipped parts once were lists of megabytes.
#[test]
fn the_number_of_parts_is_limited_at_any_size() {
    let host = session();
    let items = |first: usize, count: usize| {
        let items: Vec<String> = (first..first + count).map(|it| it.to_string()).collect();
        format!("add $.entities [{}]", items.join(","))
    };
    let reject = || clipping(Clip::Reject, 262_144);
    // Each participant may add this many at once.
    for _ in 0..2 {
        let four = ["subagent:1", "subagent:2", "subagent:3", "subagent:4"];
        let deltas: Vec<_> =
            four.iter().zip(0..).map(|(who, nth)| (*who, items(nth * 1_125, 1_125))).collect();
        let deltas: Vec<_> = deltas.iter().map(|(who, it)| (*who, it.as_str())).collect();
        play(&host, reject(), &deltas);
    }
    open(&host, reject());
    propose(&host, LIGHT, &items(0, 1_001)).unwrap();
    let close_it = Command::Rounds(RoundsCommand::Close(CloseRound::default()));
    let rejected = host.ask(ORCHESTRATOR, &close_it).unwrap_err();
    assert_eq!(rejected.code(), Code::StateTooLarge);
    assert!(rejected.to_string().contains("10001 bindings, entities and rules"), "{rejected}");
    let clip = Some(Clip::LowestWeightFirst);
    let close_it =
        Command::Rounds(RoundsCommand::Close(CloseRound { clip, ..CloseRound::default() }));
    let ended = crate::round(host.ask(ORCHESTRATOR, &close_it).unwrap().reply).ended.unwrap();
    assert_eq!((ended.clipped.len(), ended.counts.applied), (1, 1));
    assert_eq!(at(&host, "/entities").as_array().unwrap().len(), PARTS_MAX);
    // Bindings are not removed but count, so it may be impossible to remove enough.
    let terms = |from: usize| {
        let terms = (from..from + 2_000).map(|nth| (nth.to_string(), json!("c")));
        format!("add $.bindings {}", Value::Object(terms.collect()))
    };
    for from in [0, 2_000, 4_000, 6_000, 8_000, 10_000] {
        play(&host, clipping(Clip::OldestFirst, 262_144), &[(HEAVY, &terms(from))]);
    }
    assert_eq!(at(&host, "/bindings").as_object().unwrap().len(), PARTS_MAX);
    assert_eq!(at(&host, "/entities").as_array().unwrap().len(), 0);
}

/// A small change by a participant of low weight does not lower the weight of a part.
#[test]
fn a_part_has_the_highest_weight_of_its_contributors() {
    let host = session();
    let weights = plan(&[(HEAVY, 0.9), (LIGHT, 0.1), ("subagent:middle", 0.5)], &[]);
    play(
        &host,
        weights.clone(),
        &[(HEAVY, &item("heavy", 500)), ("subagent:middle", &item("middle", 500))],
    );
    let weights = Plan { bytes_max: Some(1_000), ..weights };
    play(&host, weights, &[(LIGHT, r#"add $.entities[0].note "seen""#)]);
    assert_eq!(ids(&host), ["heavy"]);
}

/// Among equal parts, the last is removed first.
#[test]
fn among_equal_parts_the_first_stays() {
    let host = session();
    let items = ["a", "b", "c", "d"].map(|it| item(it, 250));
    let items: Vec<(&str, &str)> = items.iter().map(|it| (LIGHT, it.as_str())).collect();
    play(&host, clipping(Clip::LowestWeightFirst, 1_000), &items);
    assert_eq!(ids(&host), ["a", "b", "c"]);
}

/// A removed binding was once counted without its comma, and so was the first item of a
/// list. The state then seemed one byte too large, and another part was removed.
#[test]
fn no_more_is_removed_than_necessary() {
    let host = session();
    let term = |nth: usize| format!(r#"add $.bindings.t{nth} "{}""#, "c".repeat(90));
    let terms: Vec<String> = (10..30).map(term).collect();
    let deltas: Vec<(&str, &str)> = terms.iter().map(|it| (LIGHT, it.as_str())).collect();
    // Each has a name of five bytes, a colon, a text of 92 and a comma.
    let all = r#"{"bindings":{},"entities":[],"query":"","rules":[]}"#.len() + 20 * 99 - 1;
    let limit = u32::try_from(all - 5 * 99).unwrap();
    let ended = play(&host, clipping(Clip::LargestFirst, limit), &deltas).ended.unwrap();
    assert_eq!((ended.clipped.len(), ended.bytes), (5, limit));
    let host = session();
    for name in ["first", "second", "third"] {
        play(&host, Plan::default(), &[(LIGHT, &item(name, 500))]);
    }
    let first = at(&host, "/entities/0").to_string().len();
    let limit = u32::try_from(state(&host).to_string().len() - first - 1).unwrap();
    let ended = play(&host, clipping(Clip::OldestFirst, limit), &[]).ended.unwrap();
    assert_eq!((ended.clipped.len(), ended.bytes), (1, limit));
}

/// The last item of a list is removed without a comma: one byte less than expected is one
/// part too few.
#[test]
fn the_size_of_an_emptied_list_is_exact() {
    let host = session();
    play(&host, Plan::default(), &[(LIGHT, "add $.rules [7]"), (HEAVY, r#"modify $.query "q""#)]);
    let bytes = state(&host).to_string().len();
    let query = "q".repeat(1_001 - bytes + 1);
    let deltas = [(HEAVY, format!("modify $.query {query:?}")), (HEAVY, item("large", 500))];
    let deltas: Vec<(&str, &str)> = deltas.iter().map(|(who, it)| (*who, it.as_str())).collect();
    let ended = play(&host, clipping(Clip::LargestFirst, 1_000), &deltas).ended.unwrap();
    assert_eq!((ended.clipped.len(), ended.bytes), (2, 1_000));
}
