//! Packets: the cost of making one and of reading one through a fresh component.

use std::{cell::Cell, fmt::Write as _};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use shared_context_codec::Caller;
use shared_context_core::memory_kv::MemoryKv;
use shared_context_wasmtime::{Component, ComponentOptions, Host};

use crate::{
    report::Report,
    rules::{NoOp, READ, cpu_micros_of},
};

const SCOPE: &str = "session/packets";
/// Number of measurements per figure; the least counts.
const TIMES: u32 = 12;

/// The messages of the short conversation, which are repeated.
const SAID: [(&str, &str); 5] = [
    ("user_message", "Add a limit to the public API. It must answer 429 with Retry-After."),
    ("session_history", "I'd keep the counters in Redis because all workers share it."),
    ("user_message", "Sounds good. The limit is 600 requests a minute for each key."),
    ("tool_result", "$ cat api/limits.py\nLIMIT = 100\nWINDOW = 60\n"),
    ("user_message", "Never log the key itself, please."),
];

/// Measures the cost.
pub(super) fn measure(report: &mut Report) -> Result<()> {
    report.section("One packet, fresh instance, storage in memory (CPU, ms)");
    let component = Component::new(&ComponentOptions::default())?;
    let host = Host::new(MemoryKv::default(), NoOp, NoOp);
    let (admin, lead) = (Caller::trusted("admin"), Caller::trusted("orchestrator"));
    let worker = Caller::trusted("subagent:analysis");
    let refused = Cell::new(0_u32);
    let ask = |who: &Caller, request: &[u8]| {
        let answer = component.invoke(&host, SCOPE, who, request);
        refused.set(refused.get() + u32::from(answer.is_err()));
    };
    let millis = |who: &Caller, request: &[u8]| {
        let once = || cpu_micros_of(|| ask(who, request)) / 1_000.0;
        (0..TIMES).map(|_| once()).fold(f64::MAX, f64::min)
    };
    let config = json!({"packet": {"auto_cleanup": false}});
    ask(&admin, &json!({"action": "create_session", "config": config}).to_string().into_bytes());
    let names = ["constraints", "decisions", "findings"].into_iter().cycle().take(50);
    for (nth, name) in names.enumerate() {
        let key = format!("{name}_{nth}");
        let value = format!("The limit of part {nth} is {} requests for each key.", nth * 10);
        let write = json!({"action": "write", "key": key, "value": value});
        ask(&lead, write.to_string().as_bytes());
    }
    let findings = json!({"action": "write", "key": "findings_summary", "value": "Short."});
    ask(&lead, findings.to_string().as_bytes());
    for (name, messages, bytes, limit) in [
        ("50 entries and 20 messages", 20, 0, 5.0),
        ("50 entries and a conversation of 1 MiB", 1_024, 1_024, 25.0),
    ] {
        let request = json!({
            "action": "context_generate",
            "task": "Limit the public API for each key",
            "address": "subagent:analysis",
            "conversation": conversation(messages, bytes),
        });
        let least = millis(&lead, request.to_string().as_bytes());
        report.goal(name, format!("{least:7.2}"), &format!("under {limit}"), least < limit);
    }
    let read = millis(&worker, READ);
    let packet = millis(&worker, br#"{"action":"context_read"}"#);
    report.line(
        "reading it",
        format!("{packet:7.2}  ({:.1} times a read of an entry)", packet / read),
    );
    ensure!(refused.get() == 0, "{} of the measured requests were refused", refused.get());
    Ok(())
}

/// Returns a conversation of messages with at least so many bytes each.
fn conversation(messages: usize, bytes: usize) -> Vec<Value> {
    let message = |(nth, (kind, said)): (usize, &(&str, &str))| {
        let mut text = (*said).to_owned();
        let mut line = 0;
        while text.len() < bytes {
            line += 1;
            let _ = write!(text, "\nRequest {nth} took {line} ms at worker {}.", nth * line % 97);
        }
        json!({"id": format!("m{nth}"), "kind": kind, "text": text})
    };
    SAID.iter().cycle().take(messages).enumerate().map(message).collect()
}
