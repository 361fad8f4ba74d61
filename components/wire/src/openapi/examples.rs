//! Example replies for the document, recorded from a session that runs here from its creation to
//! its deletion.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use shared_context_codec::{Caller, actions, invoke};
use shared_context_core::{
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    time::Timestamp,
};

use crate::http::table::ActionRoute;

const ORCHESTRATOR: &str = "orchestrator";
const ANALYSIS: &str = "subagent:analysis";
const LEGAL: &str = "subagent:legal";
const ADMIN: &str = "admin";
const WORKER: &str = "subagent:impl";

/// First reply to each action.
static REPLIES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let kv = MemoryKv::default();
    let mut replies = Map::new();
    for (who, request) in requests() {
        let action = request["action"].as_str().unwrap_or_default().to_owned();
        let ports =
            Ports { kv: &kv, clock: &FixedClock, log: &FixedClock, tokenizer: &NoTokenizer };
        let caller = Caller::trusted(who);
        let is_project = actions()
            .any(|it| it.name == action && it.scope == shared_context_core::ScopeKind::Project);
        let scope = if is_project { "project/webshop" } else { "session/ticket-7" };
        let reply = invoke(&ports, scope, &caller, request.to_string().as_bytes());
        let reply_example = serde_json::from_slice(&reply.unwrap().body).unwrap();
        replies.entry(action).or_insert(reply_example);
    }
    // The text is long, and not the subject of the example.
    replies["prompt"]["text"] = json!("Shared context key conventions:\n\nState keys:\n  …");
    replies
});

/// Fixed clock, and a log that drops its records.
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_771_597_800_000)
    }
}

impl Log for FixedClock {
    fn record(&self, _: &AuditRecord) {}
}

/// Returns all requests and their callers, in order.
fn requests() -> Vec<(&'static str, Value)> {
    let summary = "Throughput dropped 30% after config change on Feb 18.";
    let rolled_back = "Throughput dropped 30% after config change on Feb 18; rolled back.";
    let mut all = vec![
        (ADMIN, json!({"action": "create_session"})),
        (ADMIN, json!({"action": "show_session"})),
        (ORCHESTRATOR, json!({"action": "write", "key": "problem_summary", "value": summary})),
        (ORCHESTRATOR, json!({"action": "read", "key": "problem_summary"})),
        (ORCHESTRATOR, json!({"action": "list_keys"})),
        (ADMIN, json!({"action": "audit", "after": 1})),
        (ORCHESTRATOR, json!({"action": "write", "key": "problem_summary", "value": rolled_back})),
        (ADMIN, json!({"action": "export_session"})),
        (ORCHESTRATOR, take_snapshot()),
        (ORCHESTRATOR, json!({"action": "list_snapshots"})),
        (ORCHESTRATOR, json!({"action": "read_snapshot", "label": "pre_approval"})),
        (ADMIN, json!({"action": "inspect"})),
        (ORCHESTRATOR, json!({"action": "write", "key": "problem_summary", "value": summary})),
        (ANALYSIS, json!({"action": "read_history", "key": "problem_summary"})),
        (ANALYSIS, json!({"action": "diff_snapshots", "from": "pre_approval"})),
        (ANALYSIS, json!({"action": "changes", "since": 3})),
        (ORCHESTRATOR, json!({"action": "restore_snapshot", "label": "pre_approval"})),
        (ORCHESTRATOR, json!({"action": "delete_snapshot", "label": "pre_approval"})),
        (ORCHESTRATOR, with_action("set_access", "problem_summary", set_access())),
        (ADMIN, with_action("redact", "problem_summary", redact())),
        (ORCHESTRATOR, json!({"action": "delete", "key": "problem_summary"})),
        (ANALYSIS, write_batch()),
        (ANALYSIS, read_batch()),
        (ANALYSIS, json!({"action": "prompt"})),
        (ANALYSIS, json!({"action": "render_context"})),
        (
            ANALYSIS,
            json!({"action": "plan_window", "used_tokens": 164_000, "reports": ["handoff"]}),
        ),
        (ANALYSIS, assemble_context()),
        (ANALYSIS, json!({"action": "read_envelope", "envelope": "ENV-1"})),
        (ANALYSIS, json!({"action": "export_evidence", "envelope": "ENV-1"})),
        (
            ANALYSIS,
            json!({"action": "record_injection", "envelope": "ENV-1", "place": "system_prompt"}),
        ),
        (ANALYSIS, report_missing()),
        (
            ORCHESTRATOR,
            json!({"action": "answer_missing", "missing": "MIS-1", "answer": "20, see pool.toml."}),
        ),
        (ANALYSIS, json!({"action": "list_missing", "state": "answered"})),
        (ANALYSIS, json!({"action": "extract", "items": conversation()})),
        (ANALYSIS, json!({"action": "compact", "items": conversation(), "target_tokens": 80})),
        (
            ANALYSIS,
            json!({
                "action": "check_summary", "items": conversation(),
                "summary": "We use MySQL for orders.", "repair": true,
            }),
        ),
        (ORCHESTRATOR, context_generate()),
        (ORCHESTRATOR, context_edit()),
        (ORCHESTRATOR, json!({"action": "list_packets"})),
        (WORKER, json!({"action": "context_read", "address": WORKER, "form": "markdown"})),
        (WORKER, context_query()),
        (WORKER, context_feedback()),
        (ORCHESTRATOR, json!({"action": "context_stats"})),
        // The first one was removed after its feedback.
        (ORCHESTRATOR, context_generate()),
        (ORCHESTRATOR, json!({"action": "context_clear", "address": WORKER})),
        (ORCHESTRATOR, round("open_round", open_round())),
        (LEGAL, round("propose_deltas", propose_deltas())),
        (ANALYSIS, round("propose_deltas", other_deltas())),
        (ANALYSIS, round("propose_deltas", doubtful_deltas())),
        (ANALYSIS, round("withdraw_deltas", json!({"sequences": [4]}))),
        (ORCHESTRATOR, round("reject_deltas", reject_deltas())),
        (ORCHESTRATOR, round("close_round", close_round())),
        (ANALYSIS, json!({"action": "read_state"})),
        (ANALYSIS, json!({"action": "read_deltas", "path": "$.bindings.customer"})),
        (ANALYSIS, json!({"action": "convergence"})),
        (ORCHESTRATOR, round("redact_rounds", redact_rounds())),
        (ORCHESTRATOR, json!({"action": "session_summary", "max_tokens": 2000})),
        (ADMIN, json!({"action": "revoke_credentials"})),
        (ADMIN, json!({"action": "update_session", "config": {"keys_max": 2000}})),
        (ADMIN, json!({"action": "archive_session"})),
        (ADMIN, json!({"action": "delete_session"})),
    ];
    all.extend(project_requests());
    all
}

/// Returns the requests about a project, and their callers.
fn project_requests() -> Vec<(&'static str, Value)> {
    vec![
        (ADMIN, json!({"action": "create_project"})),
        (ADMIN, json!({"action": "show_project"})),
        (ORCHESTRATOR, add_memories()),
        (ORCHESTRATOR, json!({"action": "search_memories", "query": "PostgreSQL"})),
        (ORCHESTRATOR, json!({"action": "read_memories", "ids": [DECISION]})),
        (ORCHESTRATOR, json!({"action": "memory_history", "id": DECISION})),
        (ORCHESTRATOR, json!({"action": "project_sessions"})),
        (ADMIN, json!({"action": "export_project"})),
        (ORCHESTRATOR, json!({"action": "update_memory", "id": DECISION, "importance": 9})),
        (ORCHESTRATOR, json!({"action": "supersede_memory", "id": DECISION, "by": OTHER_DECISION})),
        (ORCHESTRATOR, json!({"action": "mark_memories", "ids": [DECISION], "mark": "deleted"})),
        (
            ORCHESTRATOR,
            json!({"action": "rehydrate", "task": "Move the orders", "max_tokens": 500}),
        ),
        (ORCHESTRATOR, json!({"action": "decision_log"})),
        (ORCHESTRATOR, json!({"action": "trace_decision", "id": DECISION})),
        (ORCHESTRATOR, json!({"action": "project_prompt", "task": "Move the orders"})),
        (ORCHESTRATOR, offer_handoff()),
        (ANALYSIS, json!({"action": "accept_handoff", "id": "HND-1"})),
        (ORCHESTRATOR, offer_handoff()),
        (ANALYSIS, json!({"action": "decline_handoff", "id": "HND-2", "reason": "no time"})),
        (ORCHESTRATOR, json!({"action": "take_over", "from_agent": ANALYSIS})),
        (ORCHESTRATOR, json!({"action": "list_handoffs"})),
        (ORCHESTRATOR, json!({"action": "read_handoff", "id": "HND-1"})),
        (
            ORCHESTRATOR,
            json!({"action": "redact_handoff", "id": "HND-2", "reason": "names a customer"}),
        ),
        (ORCHESTRATOR, json!({"action": "maintain"})),
        (
            ORCHESTRATOR,
            json!({"action": "redact_memory", "id": OTHER_DECISION, "reason": "names a customer"}),
        ),
        (
            ORCHESTRATOR,
            json!({
                "action": "put_section", "marker": "3.1", "title": "Payment",
                "content": "Payments go by way of a queue, because the bank is slow. See §4.pay.",
            }),
        ),
        (ORCHESTRATOR, json!({"action": "read_section", "marker": "3.1"})),
        (ORCHESTRATOR, json!({"action": "read_index"})),
        (ORCHESTRATOR, json!({"action": "check_outline"})),
        (ORCHESTRATOR, json!({"action": "acquire", "marker": "3.1", "reason": "PCI review"})),
        (ORCHESTRATOR, json!({"action": "renew", "marker": "3.1", "ttl_seconds": 600})),
        (ORCHESTRATOR, json!({"action": "transfer", "marker": "3.1", "to": "orchestrator"})),
        (
            ORCHESTRATOR,
            json!({"action": "coordinate", "sync_version": 0, "global_blockers": ["PCI review"]}),
        ),
        (ORCHESTRATOR, json!({"action": "coordination"})),
        (ORCHESTRATOR, json!({"action": "release", "marker": "3.1"})),
        (
            ORCHESTRATOR,
            json!({"action": "redact_section", "marker": "3.1", "reason": "names a customer"}),
        ),
        (ORCHESTRATOR, json!({"action": "delete_section", "marker": "3.1"})),
        (ADMIN, json!({"action": "project_changes", "since": 9})),
        (ADMIN, json!({"action": "archive_project"})),
        (ADMIN, json!({"action": "delete_project"})),
    ]
}

/// Returns the reply to `action`.
pub(super) fn reply_example(action: &str) -> Value {
    REPLIES[action].clone()
}

/// Returns the body of a request for `act`.
pub(super) fn body(act: ActionRoute) -> Value {
    let found = requests().into_iter().find(|(_, it)| it["action"] == act.action.name);
    let mut body = found.map_or(Value::Null, |(_, request)| request);
    if let Some(members) = body.as_object_mut() {
        members.retain(|name, _| act.in_body().any(|it| it.name == name));
    }
    if act.is_patch() { body["patch"].take() } else { body }
}

/// Returns the HTTP reply to the creation of a session, by import or not.
pub(super) fn created_session() -> Value {
    let mut created = reply_example("create_session");
    created["credential"] = credential();
    created["expires_at"] = json!("2026-03-22T14:30:00Z");
    created
}

/// Returns the body of a request for a credential.
pub(super) fn mint_credential() -> Value {
    json!({"participant": ANALYSIS, "ttl_seconds": 3600, "keys": ["findings_*", "scope"]})
}

pub(super) fn minted_credential() -> Value {
    json!({
        "participant": ANALYSIS,
        "credential": credential(),
        "expires_at": "2026-02-20T15:30:00Z",
        "keys": ["findings_*", "scope"],
    })
}

fn credential() -> Value {
    json!("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.…")
}

/// Returns the request to take a snapshot.
fn take_snapshot() -> Value {
    json!({"action": "snapshot", "label": "pre_approval", "note": "as shown to the user"})
}

/// Returns the body of a request to change an entry's access lists.
fn set_access() -> Value {
    json!({"writable_by": ["orchestrator", "subagent:analysis*"]})
}

/// Returns the body of a request to redact an entry.
fn redact() -> Value {
    json!({"reason": "a password"})
}

/// Returns a request to assemble a context.
fn assemble_context() -> Value {
    json!({
        "action": "assemble_context",
        "task": "How many connections does the pool need?",
        "entries": "*",
        "items": [{
            "id": "src/pool.rs", "kind": "file_excerpt", "text": "const CONNECTIONS: u32 = 20;",
            "authority": "tool_internal",
        }],
        "budget": {"tokens": 500},
        "keep": true,
    })
}

/// Returns a conversation that is too long.
fn conversation() -> Value {
    let listing: Vec<String> =
        (1..60).map(|it| format!("{it:03} rows copied from orders to archive\n")).collect();
    json!([
        {"id": "m1", "kind": "user_message", "authority": "user",
            "text": "Move the orders to another database. No more than 5 minutes offline."},
        {"id": "m2", "kind": "session_history", "authority": "model",
            "text": "DECISION: Use PostgreSQL 17 for orders. Rationale: reports need JSON."},
        {"id": "t1", "kind": "tool_result", "authority": "tool_internal", "text": listing.concat()},
        {"id": "m3", "kind": "user_message", "authority": "user", "text": "What is next?"},
    ])
}

/// The decisions that [`add_memories`] adds, on the day of the clock.
const DECISION: &str = "DEC-2026-02-20-001";
const OTHER_DECISION: &str = "DEC-2026-02-20-002";

/// Returns a request to offer a handoff.
fn offer_handoff() -> Value {
    json!({
        "action": "offer_handoff", "to_agent": ANALYSIS, "handoff_type": "specialist",
        "summary": "The orders are in PostgreSQL; the migration is next.",
    })
}

/// Returns a request to add memories.
fn add_memories() -> Value {
    let decision = |title: &str, why: &str| {
        json!({
            "memory_type": "decision", "title": title, "importance": 8, "tags": ["database"],
            "content": {"decision": title, "rationale": why},
        })
    };
    json!({"action": "add_memories", "memories": [
        decision("Use PostgreSQL for orders", "Reports need JSON and transactions."),
        decision("Use PostgreSQL 17 for orders", "The host has no other version."),
    ]})
}

/// Returns a report of missing context.
fn report_missing() -> Value {
    json!({
        "action": "report_missing", "kind": "question", "text": "How large may the pool be?",
        "envelope": "ENV-1",
    })
}

/// Returns a request for a packet.
fn context_generate() -> Value {
    json!({
        "action": "context_generate", "address": WORKER, "task": "Add JWT auth to the login route",
        "task_type": "implementation",
        "conversation": [
            {"id": "m1", "kind": "user_message", "authority": "user",
                "text": "Add JWT auth to login. Do not touch the registration route."},
            {"id": "m2", "kind": "session_history", "authority": "model",
                "text": "DECISION: Sign JWT with RS256 because other services verify it."},
        ],
        "files": [{"path": "routes/auth.py", "text": "Login and registration routes."}],
        "facts": {"constraints": ["JWT expire after 24 hours."]},
    })
}

/// Returns a request to edit a packet.
fn context_edit() -> Value {
    json!({
        "action": "context_edit", "address": WORKER,
        "patch": {"context": {"success_criteria": ["Login returns a JWT."]}},
    })
}

/// Returns a question about a packet.
fn context_query() -> Value {
    json!({"action": "context_query", "address": WORKER, "question": "Which algorithm signs JWT?"})
}

/// Returns feedback on a packet.
fn context_feedback() -> Value {
    json!({
        "action": "context_feedback", "address": WORKER, "outcome": "done",
        "gaps": ["testing approach"], "unused": [],
    })
}

/// Returns the body of a request to open a round.
fn open_round() -> Value {
    json!({
        "query": "Who is the customer of this contract?",
        "weights": [
            {"participant": "subagent:legal", "weight": 0.8},
            {"participant": "*", "weight": 0.5},
        ],
        "strategies": [
            {"path": "$.bindings", "strategy": "expert-override", "experts": ["subagent:legal"]},
        ],
    })
}

/// Returns the body of a request to propose deltas.
fn propose_deltas() -> Value {
    json!({"deltas": [
        {
            "operation": "add", "path": "$.bindings.customer", "value": "sea:customer:001",
            "provenance": "The contract names it as the buyer.",
        },
        {
            "operation": "add", "path": "$.entities",
            "value": [{"id": "e1", "name": "Acme", "role": "buyer"}],
            "provenance": "Section 1.",
        },
    ]})
}

/// Returns the proposal of another participant.
fn other_deltas() -> Value {
    json!({"deltas": [{
        "operation": "add", "path": "$.bindings.customer", "value": "sea:customer:007",
        "provenance": "The invoices go there.",
    }]})
}

/// Returns a proposal that is withdrawn or rejected later.
fn doubtful_deltas() -> Value {
    let rule = |value: &str| {
        json!({
            "operation": "add", "path": "$.rules", "value": value, "provenance": "A first guess.",
        })
    };
    json!({"deltas": [rule("has-buyer"), rule("has-seller")]})
}

/// Returns the body of a request to reject deltas.
fn reject_deltas() -> Value {
    json!({"sequences": [5], "reason": "the contract has no seller"})
}

/// Returns the body of a request to close the round.
fn close_round() -> Value {
    json!({"clip": "lowest-weight-first"})
}

/// Returns the body of a request to redact rounds.
fn redact_rounds() -> Value {
    json!({"text": "sea:customer:007", "reason": "a customer who must not be named"})
}

fn round(action: &str, mut body: Value) -> Value {
    body["action"] = json!(action);
    body
}

fn with_action(action: &str, key: &str, mut body: Value) -> Value {
    body["action"] = json!(action);
    body["key"] = json!(key);
    body
}

/// Returns a batch of writes.
pub(super) fn write_batch() -> Value {
    json!({"action": "write_batch", "writes": [
        {"key": "findings_summary", "value": "The pool is too small.", "if_version": 0},
        {"key": "current_phase", "value": "analysis"},
    ]})
}

/// Returns a read of several keys.
pub(super) fn read_batch() -> Value {
    json!({"action": "read_batch", "keys": ["findings_summary", "open_questions"]})
}
