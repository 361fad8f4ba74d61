//! Cost of closing a round of a thousand deltas, under each strategy.
//!
//! Times are the minimum CPU time of the thread over many rounds: through the codec and core in
//! process, and through a fresh instance of the component, with JSON and storage in memory.

use anyhow::{Result, anyhow};
use serde_json::json;
use shared_context_codec::Caller;
use shared_context_core::{
    memory_kv::MemoryKv,
    port::{NoTokenizer, Ports},
};
use shared_context_wasmtime::{Component, ComponentOptions, Host};

use crate::{
    report::Report,
    rules::{NoOp, cpu_micros_of},
};

const SCOPE: &str = "session/bench";
/// Number of rounds closed per figure.
const TIMES: u32 = 20;
const PARTICIPANTS: usize = 10;
/// Deltas per participant, in one proposal.
const DELTAS: usize = 100;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("Closing a round of 1,000 deltas of 10 participants (CPU, ms)");
    let component = Component::new(&ComponentOptions::default())?;
    for strategy in
        ["weighted-merge", "majority-vote", "highest-weight", "union", "expert-override"]
    {
        let native = least(
            |kv, who, request| {
                let ports = Ports { kv, clock: &NoOp, log: &NoOp, tokenizer: &NoTokenizer };
                let reply = shared_context_codec::invoke(&ports, SCOPE, who, request.as_bytes());
                reply.map(drop).map_err(|failure| anyhow!("{failure}"))
            },
            strategy,
        )?;
        let fresh = least(
            |kv, who, request| {
                let host = Host::new(kv.clone(), NoOp, NoOp);
                let reply = component.invoke(&host, SCOPE, who, request.as_bytes());
                reply.map(drop).map_err(|failure| anyhow!("{failure}"))
            },
            strategy,
        )?;
        let figure = format!("{native:5.2} core  {fresh:5.2} component");
        report.goal(strategy, figure, "under 5", fresh < 5.0);
    }
    Ok(())
}

/// Returns the minimum time of closing a round, in milliseconds, with requests sent by `ask`.
fn least(ask: impl Fn(&MemoryKv, &Caller, &str) -> Result<()>, strategy: &str) -> Result<f64> {
    let mut least = f64::MAX;
    for _ in 0..TIMES {
        let kv = MemoryKv::default();
        let chief = Caller::trusted("orchestrator");
        ask(&kv, &Caller::trusted("admin"), r#"{"action":"create_session"}"#)?;
        ask(&kv, &chief, &opening(strategy))?;
        for nth in 0..PARTICIPANTS {
            ask(&kv, &Caller::trusted(format!("subagent:{nth}")), &proposal(nth))?;
        }
        let mut closed = Ok(());
        let micros = cpu_micros_of(|| closed = ask(&kv, &chief, r#"{"action":"close_round"}"#));
        closed?;
        least = least.min(micros / 1_000.0);
    }
    Ok(least)
}

fn opening(strategy: &str) -> String {
    let weights: Vec<_> = (0_u8..)
        .take(PARTICIPANTS)
        .map(|nth| json!({"participant": format!("subagent:{nth}"), "weight": f64::from(nth) / 10.0}))
        .collect();
    let mut rule = json!({"path": "$", "strategy": strategy});
    if strategy == "expert-override" {
        let experts = json!(["subagent:3", "subagent:7"]);
        rule = json!({"path": "$", "strategy": strategy, "experts": experts});
    }
    let open = json!({"action": "open_round", "weights": weights, "strategies": [rule],
        "bytes_max": 262_144});
    open.to_string()
}

/// Returns a proposal with bindings on which participants partly agree, and with distinct entities.
fn proposal(participant: usize) -> String {
    let delta = |nth: usize| {
        let (path, value) = if nth.is_multiple_of(2) {
            let concept = format!("sea:concept:{:03}", (participant + nth) % 3);
            (format!("$.bindings.term_{nth}"), json!(concept))
        } else {
            let entity = json!({"id": format!("{participant}-{nth}"), "name": "Connection pool",
                "seen": ["primary", "replica"], "confidence": 0.8});
            ("$.entities".to_owned(), entity)
        };
        json!({"operation": "add", "path": path, "value": value,
            "provenance": "Matched by name in the deployment log"})
    };
    let deltas: Vec<_> = (0..DELTAS).map(delta).collect();
    json!({"action": "propose_deltas", "deltas": deltas}).to_string()
}
