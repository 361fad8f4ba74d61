//! Cost of closing the worst accepted rounds, compared with the limits of a request.
//!
//! Each shape fills a round with all that four participants may propose. The time is the minimum
//! CPU time of the thread over a few tries. The memory is the minimum that an instance needs, found
//! by bisection.

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use shared_context_codec::Caller;
use shared_context_core::{
    memory_kv::{MemoryBucket, MemoryKv},
    port::{Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row},
};
use shared_context_wasmtime::{Component, ComponentOptions, Host};

use crate::{
    report::Report,
    rules::{NoOp, cpu_micros_of},
};

const SCOPE: &str = "session/bench";
const CHIEF: &str = "orchestrator";
const CLOSE: &str = r#"{"action":"close_round"}"#;
const TIMES: u32 = 3;
const PARTICIPANTS: usize = 4;
/// More deltas than a participant may propose to a round.
const DELTAS: usize = 501;
/// The goal: a quarter of the time limit.
const MILLIS_MAX: f64 = 250.0;
const MIB: usize = 1 << 20;

/// A kind of worst-case round.
struct Shape {
    name: &'static str,
    strategy: &'static str,
    /// Path pattern of the plan's other rules; it matches no delta.
    pattern: Option<&'static str>,
    target: Target,
    /// The value of a delta, by its number.
    value: fn(usize) -> Value,
}

/// The paths of the deltas in a round.
#[derive(Clone, Copy)]
enum Target {
    /// One path for all deltas.
    One,
    /// One path for each delta.
    Own,
    /// The end of one list.
    List,
}

const SHAPES: [Shape; 8] = [
    Shape {
        name: "long texts, 27 levels deep",
        strategy: "weighted-merge",
        pattern: None,
        target: Target::List,
        value: |_| nested(27, json!("x".repeat(120_000))),
    },
    Shape {
        name: "small values, 27 levels deep",
        strategy: "weighted-merge",
        pattern: None,
        target: Target::Own,
        value: |nth| nested(27, json!(nth)),
    },
    Shape {
        name: "wide objects that agree",
        strategy: "weighted-merge",
        pattern: None,
        target: Target::One,
        value: |_| wide(200, 0),
    },
    Shape {
        name: "wide objects that disagree",
        strategy: "weighted-merge",
        pattern: None,
        target: Target::One,
        value: |nth| wide(200, nth),
    },
    Shape {
        name: "votes on wide objects",
        strategy: "majority-vote",
        pattern: None,
        target: Target::One,
        value: |nth| wide(200, nth % 3),
    },
    Shape {
        name: "small items of a list",
        strategy: "union",
        pattern: None,
        target: Target::List,
        value: |nth| json!(nth),
    },
    Shape {
        name: "places of their own",
        strategy: "highest-weight",
        pattern: None,
        target: Target::Own,
        value: |nth| json!(nth),
    },
    Shape {
        name: "patterns that nearly fit",
        strategy: "union",
        pattern: Some("$..k..k..k..k..k..k..k..k..k..k..k..k..z"),
        target: Target::Own,
        value: |nth| nested(20, json!(nth)),
    },
];

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("Closing a full round, through a fresh instance (CPU, ms; memory, MiB)");
    let component = Component::new(&ComponentOptions::default())?;
    for shape in SHAPES {
        let (kv, deltas) = shape.filled(&component)?;
        let rows = DiscardingKv(kv);
        let mut least = f64::MAX;
        for _ in 0..TIMES {
            let mut is_closed = false;
            let micros = cpu_micros_of(|| is_closed = ask(&component, &rows, CHIEF, CLOSE));
            ensure!(is_closed, "{}: the round cannot be closed", shape.name);
            least = least.min(micros / 1_000.0);
        }
        let memory = memory_mib(&rows)?;
        let figure = format!("{least:6.1} ms  {memory:3} MiB  ({deltas} deltas)");
        report.goal(shape.name, figure, "under 250 ms", least < MILLIS_MAX);
    }
    Ok(())
}

/// Returns the minimum memory, in whole MiB, in which the open round of `rows` can be closed.
fn memory_mib(rows: &DiscardingKv) -> Result<usize> {
    let (mut too_little, mut enough) = (1, ComponentOptions::default().memory_bytes_max / MIB);
    while enough - too_little > 1 {
        let mib = too_little.midpoint(enough);
        let mut options = ComponentOptions::default();
        options.memory_bytes_max = mib * MIB;
        let component = Component::new(&options)?;
        if ask(&component, rows, CHIEF, CLOSE) {
            enough = mib;
        } else {
            too_little = mib;
        }
    }
    Ok(enough)
}

impl Shape {
    /// Returns a session with a full open round, and its number of deltas.
    fn filled(&self, component: &Component) -> Result<(MemoryKv, usize)> {
        let kv = MemoryKv::default();
        let entity = json!({"operation": "add", "path": "$.entities", "value": {"id": "e"},
            "provenance": "seen"});
        let begin = [
            ("admin", json!({"action": "create_session"})),
            (CHIEF, json!({"action": "open_round"})),
            (CHIEF, json!({"action": "propose_deltas", "deltas": [entity]})),
            (CHIEF, json!({"action": "close_round"})),
            ("orchestrator", self.opening()),
        ];
        for (who, request) in begin {
            ensure!(ask(component, &kv, who, &request.to_string()), "refused: {request}");
        }
        let mut deltas = 0;
        for participant in 0..PARTICIPANTS {
            let who = format!("subagent:{participant}");
            for nth in 0..DELTAS {
                let request = self.proposal(participant * DELTAS + nth).to_string();
                if !ask(component, &kv, &who, &request) {
                    break;
                }
                deltas += 1;
            }
        }
        ensure!(deltas > 0, "{}: no delta was accepted", self.name);
        Ok((kv, deltas))
    }

    fn opening(&self) -> Value {
        let others = self.pattern.map(|it| json!({"path": it, "strategy": "union"}));
        let mut rules = others.map_or_else(Vec::new, |it| vec![it; 63]);
        rules.push(json!({"path": "$", "strategy": self.strategy}));
        json!({"action": "open_round", "strategies": rules, "bytes_max": 262_144,
            "clip": "largest-first"})
    }

    fn proposal(&self, nth: usize) -> Value {
        let path = match self.target {
            Target::One => "$.entities[0].a".to_owned(),
            Target::Own => format!("$.entities[0].own{nth}"),
            Target::List => "$.rules".to_owned(),
        };
        let delta = json!({"operation": "add", "path": path, "value": (self.value)(nth),
            "provenance": "seen"});
        json!({"action": "propose_deltas", "deltas": [delta]})
    }
}

/// Returns `value` nested in `depth` objects.
fn nested(depth: usize, value: Value) -> Value {
    (0..depth).fold(value, |it, _| json!({"k": it}))
}

/// Returns an object with this number of members, each with the value `nth`.
fn wide(members: usize, nth: usize) -> Value {
    Value::Object((0..members).map(|it| (it.to_string(), json!(nth))).collect::<Map<_, _>>())
}

/// Storage that discards every commit, so that a round can be closed repeatedly.
#[derive(Clone)]
struct DiscardingKv(MemoryKv);

struct DiscardingBucket(MemoryBucket);

impl Kv for DiscardingKv {
    type Bucket = DiscardingBucket;

    fn open(&self, name: &str) -> Result<DiscardingBucket, KvError> {
        self.0.open(name).map(DiscardingBucket)
    }
}

impl Bucket for DiscardingBucket {
    fn revision(&self) -> Revision {
        self.0.revision()
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.0.get(row)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.0.scan(prefix, after, limit)
    }

    fn commit(&mut self, expected: Revision, _: Vec<Change>) -> Result<Revision, CommitError> {
        Ok(Revision(expected.0 + 1))
    }
}

/// Returns true if `request` by `who` succeeds.
fn ask<K>(component: &Component, kv: &K, who: &str, request: &str) -> bool
where
    K: Kv<Bucket: Send + 'static> + Clone + Send + Sync + 'static,
{
    let host = Host::new(kv.clone(), NoOp, NoOp);
    component.invoke(&host, SCOPE, &Caller::trusted(who), request.as_bytes()).is_ok()
}
