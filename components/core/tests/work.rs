//! Tests of the work to close a round: each byte of an accepted round is visited only a
//! few times, at any nesting depth and for any plan.
//!
//! Work is counted, not timed. Every visit of a value copies it. So the allocated bytes,
//! divided by those of parsing everything once, give the number of visits.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use proptest::{prelude::*, sample::select, strategy::Strategy as Generated};
use serde_json::{Value, json};
use shared_context_core::{
    CloseRound, Code, Command, OpenRound, Proposal, Reply, RoundsCommand, RoundsReply,
    rounds::{Clip, PathPattern, Plan, RULES_MAX, SentDelta, Strategy, StrategyRule},
};
use support::TestHost;

/// The most visits of a round's deltas and its initial state when it is closed.
const VISITS_MAX: usize = 9;
/// The most bytes of a round's deltas and its state together.
const ROUND_BYTES: usize = (1 << 20) + 262_144;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[expect(unsafe_code, reason = "an allocator hands out memory")]
// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.with(|it| it.set(it.get() + layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `act` and the bytes it allocates.
fn counted<T>(act: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.get();
    let made = act();
    (made, ALLOCATED.get() - before)
}

fn session() -> TestHost {
    let host = TestHost::default();
    host.now.set(1_000_000);
    host.ask("admin", &Command::CreateSession(Box::default())).unwrap();
    host
}

fn open(host: &TestHost, plan: Plan) {
    let plan = Plan { bytes_max: Some(262_144), clip: Clip::LargestFirst, ..plan };
    let open = OpenRound { plan, query: None, request_id: None };
    host.ask("orchestrator", &Command::Rounds(RoundsCommand::Open(Box::new(open)))).unwrap();
}

/// Operation, path and value.
type Delta = (&'static str, String, String);

fn delta(operation: &'static str, path: &str, value: &impl ToString) -> Delta {
    (operation, path.to_owned(), value.to_string())
}

/// Returns true if the proposal's losses were computed, by a merge of the whole round.
fn propose(host: &TestHost, who: &str, deltas: &[Delta]) -> Result<bool, Code> {
    let sent = |(operation, path, value): &Delta| {
        SentDelta::new(operation, path, Some(value), "seen").unwrap()
    };
    let proposal = Proposal::new(deltas.iter().map(sent).collect(), None).unwrap();
    let done = host.ask(who, &Command::Rounds(RoundsCommand::Propose(proposal)));
    let reply = done.map_err(|error| error.code())?.reply;
    Ok(matches!(reply, Reply::Rounds(RoundsReply::Proposed(it)) if it.has_losses))
}

fn close(host: &TestHost) {
    host.ask("orchestrator", &Command::Rounds(RoundsCommand::Close(CloseRound::default())))
        .unwrap();
}

/// Returns `value` nested in `depth` objects.
fn nested(depth: usize, value: Value) -> Value {
    (0..depth).fold(value, |it, _| json!({ "k": it }))
}

/// Closing a round once copied everything below each level: four proposals of 120 KB, 27
/// levels deep, took longer than the request timeout. Only discarding everyone's deltas
/// helped. Deep values are now visited as often as flat ones.
#[test]
fn a_deep_round_is_closed_with_the_work_of_a_flat_one() {
    let appended = |depth: usize| {
        let host = session();
        open(&host, Plan::default());
        for nth in 0..4 {
            let value = nested(depth, json!("x".repeat(120_000)));
            let delta = delta("add", "$.entities", &format!("[{value}]"));
            propose(&host, &format!("subagent:{nth}"), &[delta]).unwrap();
        }
        counted(|| close(&host)).1
    };
    let merged = |depth: usize| {
        let host = session();
        open(&host, Plan::default());
        propose(&host, "subagent:a", &[delta("add", "$.entities", &"[{}]")]).unwrap();
        close(&host);
        open(&host, Plan::default());
        for nth in 0..4 {
            let value = nested(depth, json!("x".repeat(120_000)));
            let delta = delta("add", &format!("$.entities[0].own{nth}"), &value);
            propose(&host, &format!("subagent:{nth}"), &[delta]).unwrap();
        }
        counted(|| close(&host)).1
    };
    for close in [&appended as &dyn Fn(usize) -> usize, &merged] {
        let (flat, deep) = (close(0), close(27));
        assert!(deep < flat + flat / 4, "{deep} bytes, and flat {flat}");
    }
}

/// Each delta was once compared with a copy of the value at its path: two hundred small
/// deltas copied a large state two hundred times, and an open round of two thousand could
/// not be imported.
#[test]
fn the_current_value_is_not_copied_for_each_delta() {
    let host = session();
    open(&host, Plan::default());
    let large = delta("add", "$.rules", &json!(["x".repeat(200_000)]));
    propose(&host, "subagent:a", &[large]).unwrap();
    close(&host);
    open(&host, Plan::default());
    let delta = delta("modify", "$.rules[0]", &1);
    let (_, once) = counted(|| propose(&host, "subagent:a", std::slice::from_ref(&delta)).unwrap());
    let (_, often) = counted(|| propose(&host, "subagent:b", &vec![delta; 200]).unwrap());
    assert!(often < once + 1_000_000, "{often} bytes, and for one {once}");
    let Reply::Portable(it) = host.ask("admin", &Command::Export).unwrap().reply else { panic!() };
    let there = TestHost::default();
    there.now.set(1_000_000);
    let import = Command::Import(it);
    let (_, imported) = counted(|| there.ask("admin", &import).unwrap());
    assert!(imported < 10_000_000, "{imported} bytes");
}

/// The form of a round's deltas.
#[derive(Debug, Clone)]
struct Shape {
    participants: usize,
    /// The nesting depth; `width` is the number of members of the innermost object,
    /// `name` the length of their names.
    depth: usize,
    width: usize,
    name: usize,
    /// The innermost value: a list, or a string of this length.
    leaf: Option<usize>,
    /// The paths of the deltas: one path, a path each, or a list.
    place: &'static str,
    strategy: &'static str,
    /// The pattern of the rules before that strategy, none of which matches.
    pattern: &'static str,
}

fn shapes() -> impl Generated<Value = Shape> {
    let leaf = prop_oneof![Just(None), (0..2_000_usize).prop_map(Some)];
    let patterns = vec!["", "$.entities[*].k.k.k.z", "$..k..k..k..k..k..k..z", "wide"];
    (
        (1..9_usize, 0..27_usize, select(vec![1_usize, 2, 30, 800]), select(vec![1_usize, 9, 300])),
        (leaf, select(vec!["one", "own", "list"])),
        select(vec!["weighted-merge", "union", "majority-vote", "highest-weight"]),
        select(patterns),
    )
        .prop_map(|((participants, depth, width, name), (leaf, place), strategy, pattern)| {
            Shape { participants, depth, width, name, leaf, place, strategy, pattern }
        })
}

impl Shape {
    fn plan(&self) -> Plan {
        let rule = |paths: &str, strategy| StrategyRule {
            paths: PathPattern::parse(paths).unwrap(),
            strategy: Strategy::parse(strategy, None).unwrap(),
        };
        let wide = format!("$..[{}'z']", "'y',".repeat(120));
        let pattern = if self.pattern == "wide" { &wide } else { self.pattern };
        let mut strategies = Vec::new();
        if !pattern.is_empty() {
            strategies = vec![rule(pattern, "union"); RULES_MAX - 1];
        }
        strategies.push(rule("$", self.strategy));
        Plan { strategies, ..Plan::default() }
    }

    fn value(&self, nth: usize) -> String {
        let leaf = match self.leaf {
            Some(bytes) => json!(format!("{nth}{}", "x".repeat(bytes))),
            None => json!([nth, [nth], nth]),
        };
        let name = |member: usize| format!("{member}{}", "n".repeat(self.name));
        let members = (0..self.width).map(|it| (name(it), leaf.clone()));
        nested(self.depth, Value::Object(members.collect())).to_string()
    }

    fn delta(&self, nth: usize) -> (&'static str, String, String) {
        let path = match self.place {
            "one" => "$.entities[0].a".to_owned(),
            "own" => format!("$.entities[0].own{nth}"),
            _ => "$.rules".to_owned(),
        };
        ("add", path, self.value(nth))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_accepted_round_is_closed_with_bounded_work(shape in shapes()) {
        let host = session();
        open(&host, Plan::default());
        propose(&host, "subagent:a", &[delta("add", "$.entities", &"[{}]")]).unwrap();
        close(&host);
        open(&host, shape.plan());
        let (mut once, mut rejected) = (ROUND_BYTES, 0);
        // A proposal over its proposer's share would be rejected as a whole.
        let together = if shape.width > 2 { 1 } else { 10 };
        for nth in 0..2_000 / together {
            let who = format!("subagent:{}", nth % shape.participants);
            let deltas: Vec<Delta> = (0..together).map(|it| shape.delta(together * nth + it)).collect();
            let parse = || deltas.iter().map(|it| it.2.parse::<Value>().unwrap()).collect::<Vec<_>>();
            let (_, parsed) = counted(parse);
            let (done, proposing) = counted(|| propose(&host, &who, &deltas));
            let merged = if done == Ok(true) { once } else { ROUND_BYTES };
            prop_assert!(
                proposing < VISITS_MAX * (merged + parsed),
                "{proposing} bytes, {parsed} proposed to {merged}"
            );
            match done {
                Ok(_) => once += parsed,
                Err(code) => {
                    prop_assert_eq!(code, Code::RoundFull);
                    rejected += 1;
                }
            }
            if rejected > shape.participants {
                break;
            }
        }
        let ((), closing) = counted(|| close(&host));
        prop_assert!(closing < VISITS_MAX * once, "{closing} bytes, {once} for a visit");
    }
}
