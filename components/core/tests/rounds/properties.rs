//! Property tests with random rounds: they match the reference implementation, in any
//! order of arrival.

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use shared_context_core::rounds::{Clip, Json, Plan, Status};

use crate::{
    clipping, close, deltas, open, plan, play, propose, reference,
    reference::{Delta, Rules, Step},
    session, state,
    support::TestHost,
};

pub(crate) const PARTICIPANTS: [&str; 4] =
    ["orchestrator", "subagent:a", "subagent:b", "subagent:c:1"];
const STRATEGIES: [&str; 5] =
    ["weighted-merge", "majority-vote", "highest-weight", "union", "expert-override"];
/// The strategies, weights and experts of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) strategies: [&'static str; 3],
    pub(crate) weights: [u32; 4],
    pub(crate) experts: Vec<usize>,
}

/// A delta by one of the participants.
pub(crate) type Proposed = (usize, &'static str, Vec<Step>, Value);

pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let strategies = [(); 3].map(|()| select(STRATEGIES.to_vec()));
    let weights = [(); 4].map(|()| 0_u32..=3);
    let experts = proptest::collection::vec(0..4_usize, 1..3);
    (strategies, weights, experts).prop_map(|(strategies, weights, experts)| Settings {
        strategies,
        weights,
        experts,
    })
}

fn name(name: &str) -> Step {
    Step::Name(name.to_owned())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0..3_u32).prop_map(|it| json!(it)),
        select(vec!["x", "y"]).prop_map(|it| json!(it)),
        // Some of these are integers that are not exact in every reader.
        select(vec![0.5, 1e15, 1e16, 1e20, 1e21, 1e-7]).prop_map(|it| json!(it)),
        Just(json!({})),
        Just(json!([])),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let names = select(vec!["a", "b", "id"]).prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::btree_map(names, inner, 0..3)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn paths() -> impl Strategy<Value = (Vec<Step>, Value)> {
    let concepts = || select(vec!["c:1", "c:2", "c:3"]).prop_map(|it| json!(it));
    let term = || select(vec!["a", "b", "c", "d"]);
    let bindings =
        proptest::collection::btree_map(term().prop_map(str::to_owned), concepts(), 0..4)
            .prop_map(|it| Value::Object(it.into_iter().collect()));
    let below = prop_oneof![
        select(vec!["a", "b", "c"]).prop_map(name),
        (0..3_usize).prop_map(Step::Index),
    ];
    let deep = (0..4_usize, proptest::collection::vec(below, 0..3), values());
    prop_oneof![
        1 => select(vec!["p", "q", "r"]).prop_map(|it| (vec![name("query")], json!(it))),
        1 => bindings.prop_map(|it| (vec![name("bindings")], it)),
        2 => (term(), concepts()).prop_map(|(term, it)| (vec![name("bindings"), name(term)], it)),
        1 => (term(), values()).prop_map(|(term, it)| (vec![name("bindings"), name(term)], it)),
        1 => (term(), values()).prop_map(|(term, it)| (vec![name("bindings")], json!({term: it}))),
        2 => values().prop_map(|it| (vec![name("entities")], it)),
        6 => deep.prop_map(|(nth, below, value)| {
            let path = [name("entities"), Step::Index(nth)].into_iter().chain(below);
            (path.collect(), value)
        }),
    ]
}

pub(crate) fn proposed() -> impl Strategy<Value = Proposed> {
    let operations = select(vec!["add", "add", "modify", "modify", "remove"]);
    (0..4_usize, operations, paths())
        .prop_map(|(who, operation, (path, value))| (who, operation, path, value))
}

fn text(path: &[Step]) -> String {
    let step = |it: &Step| match it {
        Step::Name(name) => format!(".{name}"),
        Step::Index(nth) => format!("[{nth}]"),
    };
    format!("${}", path.iter().map(step).collect::<String>())
}

fn normalized(path: &[Step]) -> String {
    let step = |it: &Step| match it {
        Step::Name(name) => format!("['{name}']"),
        Step::Index(nth) => format!("[{nth}]"),
    };
    format!("${}", path.iter().map(step).collect::<String>())
}

pub(crate) fn written((_, operation, path, value): &Proposed) -> String {
    match *operation {
        "remove" => format!("remove {}", text(path)),
        _ => format!("{operation} {} {value}", text(path)),
    }
}

impl Settings {
    pub(crate) fn plan(&self) -> Plan {
        let experts: Vec<&str> = self.experts.iter().map(|it| PARTICIPANTS[*it]).collect();
        let strategies = self.strategies.map(|it| match it {
            "expert-override" => format!("expert-override:{}", experts.join(",")),
            _ => it.to_owned(),
        });
        let weights: Vec<(&str, f64)> =
            PARTICIPANTS.into_iter().zip(self.weights.map(|it| f64::from(it) / 4.0)).collect();
        let [bindings, entities, query] = &strategies;
        let paths = [("$.bindings", bindings), ("$.entities", entities), ("$.query", query)];
        let paths: Vec<(&str, &str)> = paths.map(|(path, it)| (path, it.as_str())).to_vec();
        plan(&weights, &paths)
    }

    fn rules(&self) -> Rules {
        let [bindings, entities, query] = self.strategies;
        let experts = self.experts.iter().map(|it| PARTICIPANTS[*it].to_owned()).collect();
        Rules { bindings, entities, query, experts }
    }
}

/// Returns the stored form: 1.0 becomes 1.
fn canonical(value: &Value) -> Value {
    let json = Json::parse(&value.to_string());
    json.map(|it| serde_json::from_str(it.as_str()).unwrap()).unwrap_or_default()
}

/// Returns true if `document` is a valid state.
fn is_a_state(document: &Value) -> bool {
    let is_bound = |it: &Value| it.as_str().is_some_and(|it| !it.is_empty());
    document.as_object().is_some_and(|it| it.len() == 4)
        && document["query"].is_string()
        && document["bindings"].as_object().is_some_and(|it| it.values().all(is_bound))
        && document["entities"].is_array()
        && document["rules"].is_array()
}

/// Returns a session with a non-empty state.
pub(crate) fn session_with_state() -> TestHost {
    let host = session();
    play(
        &host,
        Plan::default(),
        &[
            ("subagent:a", r#"add $.bindings {"a":"c:1"}"#),
            (
                "subagent:a",
                r#"add $.entities [{"a":1,"b":{"a":"x","c":[1,2]}},[0,{"a":[]}],{"c":"y"}]"#,
            ),
        ],
    );
    host
}

/// Runs a round with the deltas of `all` that fit. Returns these, and the state.
fn round(host: &TestHost, plan: Plan, all: &[Proposed]) -> (Vec<Proposed>, Value) {
    open(host, plan);
    let fits = |it: &&Proposed| propose(host, PARTICIPANTS[it.0], &written(it)).is_ok();
    let taken = all.iter().filter(fits).cloned().collect();
    close(host);
    (taken, state(host))
}

/// Returns the outcomes of each participant's deltas, in its own order.
fn outcomes(host: &TestHost) -> Vec<Vec<(Status, usize)>> {
    let all_deltas = deltas(host, None);
    let last = all_deltas.last().map_or(0, |it| it.round);
    let of = |who: &str| {
        let own =
            all_deltas.iter().filter(|it| it.round == last && it.delta.participant.as_str() == who);
        own.map(|it| it.outcome.as_ref().map(|it| (it.status, it.losses.len())).unwrap()).collect()
    };
    PARTICIPANTS.map(of).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_round_matches_the_reference_implementation(
        settings in settings(),
        all in proptest::collection::vec(proposed(), 0..14),
    ) {
        let host = session_with_state();
        let before = state(&host);
        let (taken, after) = round(&host, settings.plan(), &all);
        let plain: Vec<Delta> = taken
            .iter()
            .enumerate()
            .map(|(sequence, (who, operation, path, value))| Delta {
                participant: PARTICIPANTS[*who].to_owned(),
                weight: settings.weights[*who],
                sequence,
                operation,
                path: path.clone(),
                value: canonical(value),
            })
            .collect();
        let expected = reference::close(&before, &plain, &settings.rules());
        prop_assert_eq!(&after, &expected.state);
        prop_assert!(is_a_state(&after), "{after}");
        let all_deltas = deltas(&host, None).into_iter().filter(|it| it.round == 2);
        for ((it, has), lost) in all_deltas.zip(expected.has).zip(expected.lost) {
            let outcome = it.outcome.unwrap();
            prop_assert_eq!(outcome.status == Status::Applied, has);
            let losses = outcome.losses.iter().map(|it| {
                (it.path.to_string(), it.to, it.by.as_str(), it.why.as_str())
            });
            let expected = lost.iter().map(|(path, (to, why))| {
                let by = plain[*to].participant.as_str();
                (normalized(path), u32::try_from(*to + 1).unwrap(), by, *why)
            });
            prop_assert_eq!(losses.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(
        settings in settings(),
        all in proptest::collection::vec(proposed(), 0..14),
        seed in any::<u64>(),
    ) {
        let host = session_with_state();
        let (_, expected) = round(&host, settings.plan(), &all);
        let expected_outcomes = outcomes(&host);
        // Each participant's in its own order, those of different ones shuffled.
        let mut left: Vec<Vec<Proposed>> = (0..4)
            .map(|who| all.iter().rev().filter(|it| it.0 == who).cloned().collect())
            .collect();
        let (mut shuffled, mut random) = (Vec::new(), seed);
        while shuffled.len() < all.len() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let who = usize::try_from(random >> 62).unwrap();
            shuffled.extend(left[who].pop());
        }
        let host = session_with_state();
        let (_, after) = round(&host, settings.plan(), &shuffled);
        prop_assert_eq!(after, expected);
        prop_assert_eq!(outcomes(&host), expected_outcomes);
    }

    #[test]
    fn clipped_parts_rank_before_remaining_parts(
        how in select(vec![Clip::LowestWeightFirst, Clip::OldestFirst, Clip::LargestFirst]),
        rounds in proptest::collection::vec(
            proptest::collection::vec((0..4_usize, 0..300_usize), 0..8), 1..5),
        bytes_max in 1_000_u32..2_000,
    ) {
        let host = session();
        // The weights in tenths.
        let weights = [1_u32, 4, 4, 9];
        let plan = Plan {
            weights: plan(&PARTICIPANTS.into_iter().zip(weights.map(|it| f64::from(it) / 10.0)).collect::<Vec<_>>(), &[]).weights,
            ..clipping(how, bytes_max)
        };
        // The weight, round and bytes of each item.
        for (number, items) in (1_u64..).zip(rounds) {
            open(&host, plan.clone());
            for (who, length) in items {
                let item = format!("add $.entities {}", json!({"w": who, "r": number, "t": "x".repeat(length)}));
                propose(&host, PARTICIPANTS[who], &item).unwrap();
            }
            let ended = close(&host).ended.unwrap();
            prop_assert!(ended.bytes <= bytes_max);
            let key = |tenths: u32, round: u64, bytes: usize| match how {
                Clip::LowestWeightFirst => (format!("{tenths}"), round),
                Clip::OldestFirst => (format!("{round:09}"), u64::from(tenths)),
                _ => (format!("{:09}", 999_999 - bytes), round),
            };
            let clipped = ended.clipped.iter().map(|it| {
                let tenths = weights.into_iter().find(|of| it.mark.weight.as_f64() * 10.0 <= f64::from(*of) + 0.5);
                key(tenths.unwrap(), it.mark.round, usize::try_from(it.bytes).unwrap())
            });
            let entities = state(&host)["entities"].clone();
            let remaining = entities.as_array().unwrap().iter().map(|it| {
                let who = usize::try_from(it["w"].as_u64().unwrap()).unwrap();
                key(weights[who], it["r"].as_u64().unwrap(), it.to_string().len())
            });
            if let (Some(last_clipped), Some(first_remaining)) = (clipped.max(), remaining.min()) {
                prop_assert!(last_clipped <= first_remaining, "{last_clipped:?} {first_remaining:?}");
            }
        }
    }
}
