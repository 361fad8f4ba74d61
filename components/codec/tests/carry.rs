//! Portability at the limits: a session that is filled until it rejects writes can be exported and
//! imported elsewhere, and exports to the same bytes there.
//!
//! A session within its limits could not be moved. With long access lists and some snapshots its
//! document had 20 MB, and an import takes 16. With more of them the export failed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::ops::Range;

use serde_json::{Value, json};
use shared_context_codec::{Caller, Failure, invoke};
use shared_context_core::{
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    rounds::KEPT_BYTES_MAX,
    time::Timestamp,
    weight::CARRIED_BYTES_MAX,
};

/// Largest document that an import takes over HTTP. The wire checks that it is the same.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;
/// Upper bound for the configuration and the frame of these documents, in bytes.
const FRAME_BYTES_MAX: usize = 4_096;
/// Deltas that a participant may propose to a round.
const DELTAS: usize = 500;
/// Writes or deltas in one request.
const BATCH: usize = 100;

struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp(1_771_597_800_123)
    }
}

impl Log for Now {
    fn record(&self, _: &AuditRecord) {}
}

#[derive(Default)]
struct Session(MemoryKv);

impl Session {
    /// Creates a session with the largest limits.
    fn new() -> Self {
        let session = Self::default();
        let config = json!({
            "keys_max": 10_000, "store_tokens_max": 1_000_000, "value_tokens_max": 50_000,
            "history_bytes_max": 1 << 24, "history_versions_max": 100, "snapshots_max": 100,
            "namespace": {"keys": []},
        });
        session.ask("admin", &json!({"action": "create_session", "config": config})).unwrap();
        session
    }

    fn raw(&self, who: &str, request: &[u8]) -> Result<Vec<u8>, Failure> {
        let ports = Ports { kv: &self.0, clock: &Now, log: &Now, tokenizer: &NoTokenizer };
        Ok(invoke(&ports, "session/s", &Caller::trusted(who), request)?.body)
    }

    fn ask(&self, who: &str, request: &Value) -> Result<Value, Failure> {
        let body = self.raw(who, &serde_json::to_vec(request).unwrap())?;
        Ok(serde_json::from_slice(&body).unwrap())
    }

    fn export(&self) -> Vec<u8> {
        self.raw("admin", br#"{"action":"export_session"}"#).unwrap()
    }

    /// Sends requests until the session rejects one because it is full.
    fn fill(&self, mut request: impl FnMut(usize) -> Value) -> usize {
        for nth in 0..100_000 {
            let Err(failure) = self.ask("orchestrator", &request(nth)) else { continue };
            assert_eq!(failure.code, "STORE_FULL", "{}", failure.message);
            let details = failure.details.unwrap_or_default();
            assert!(details.contains(r#""unit":"bytes""#), "{details}");
            return nth;
        }
        panic!("the session never becomes full")
    }

    /// Opens a round and fills it: four participants propose deltas of `value` until they
    /// may propose no more.
    fn fill_round(&self, value: impl Fn(usize) -> Value) {
        let plan = [json!({"path": "$", "strategy": "union"})];
        let open = json!({"action": "open_round", "strategies": plan, "bytes_max": 65_536,
            "clip": "largest-first"});
        self.ask("orchestrator", &open).unwrap();
        for participant in 0..4 {
            let who = format!("subagent:{participant}");
            let one = |nth: usize| {
                json!({"operation": "add", "path": "$.rules", "value": value(nth),
                    "provenance": "seen"})
            };
            let mut of = participant * DELTAS..(participant + 1) * DELTAS;
            loop {
                let deltas: Vec<Value> = of.by_ref().take(BATCH).map(one).collect();
                let proposal = json!({"action": "propose_deltas", "deltas": deltas});
                if deltas.is_empty() || self.ask(&who, &proposal).is_err() {
                    break;
                }
            }
        }
    }

    #[track_caller]
    fn check_carried(&self, at_least: usize) {
        let most = usize::try_from(CARRIED_BYTES_MAX).unwrap() + FRAME_BYTES_MAX;
        self.check_document(at_least..most);
    }

    /// Checks that the document of this session has so many bytes, can be imported, and is
    /// exported to the same bytes there.
    #[track_caller]
    fn check_document(&self, bytes: Range<usize>) {
        let document = self.export();
        assert!(bytes.contains(&document.len()), "{} bytes", document.len());
        assert!(document.len() < DOCUMENT_BYTES_MAX);
        let import = [br#"{"action":"import_session","document":"#, &*document, b"}"].concat();
        let there = Self::default();
        there.raw("admin", &import).unwrap();
        assert!(there.export() == document, "it is another document elsewhere");
    }
}

fn write(key: &str, value: &str) -> Value {
    json!({"action": "write", "key": key, "value": value})
}

/// Returns a batch of the entries that `entry` builds.
fn batch(nth: usize, entry: impl Fn(usize) -> Value) -> Value {
    let writes: Vec<Value> = (nth * BATCH..(nth + 1) * BATCH).map(entry).collect();
    json!({"action": "write_batch", "writes": writes})
}

fn snapshot(nth: usize) -> Value {
    json!({"action": "snapshot", "label": format!("s{nth}")})
}

/// Returns a key of the greatest length.
fn long_key(nth: usize) -> String {
    format!("k{nth:05}_{}", "x".repeat(57))
}

/// Returns the longest access list.
fn list() -> Vec<String> {
    (10..26).map(|it| format!("subagent:{it}{}:{}", "t".repeat(62), "u".repeat(64))).collect()
}

#[test]
fn entries_with_long_access_lists_and_their_snapshots() {
    let session = Session::new();
    let entry = |nth: usize| {
        let (key, list) = (format!("k{nth:05}"), list());
        json!({"key": key, "value": nth.to_string(), "readable_by": list, "writable_by": list})
    };
    session.ask("orchestrator", &batch(0, entry)).unwrap();
    assert!(session.fill(snapshot) > 5);
    session.check_carried(6_000_000);
}

#[test]
fn many_small_entries_and_their_snapshots() {
    let session = Session::new();
    let entry = |nth| json!({"key": long_key(nth), "value": format!("value {nth:06}")});
    session.fill(|nth| batch(nth, entry));
    session.ask("orchestrator", &json!({"action": "delete", "key": long_key(0)})).unwrap();
    session.fill(snapshot);
    session.check_carried(4_000_000);
}

#[test]
fn values_whose_json_is_six_times_as_long() {
    let session = Session::new();
    let value = |nth| format!("{nth}{}", "\u{1}".repeat(40_000));
    assert!(session.fill(|nth| write(&format!("k{nth:05}"), &value(nth))) > 20);
    session.check_carried(7_500_000);
}

/// Snapshots retain earlier values; history is dropped to make room for them.
#[test]
fn snapshots_of_earlier_values_push_history_out() {
    let session = Session::new();
    let mut writes = 0;
    let more = |nth: usize| {
        writes += 1;
        let value = format!("{writes}{}", "\"\u{1F980}".repeat(15_000));
        if nth % 2 == 1 { snapshot(nth) } else { write("a", &value) }
    };
    assert!(session.fill(more) > 50);
    session.check_carried(7_000_000);
    // Requests that free room are never rejected.
    session.ask("orchestrator", &json!({"action": "delete", "key": "a"})).unwrap();
    session.ask("orchestrator", &json!({"action": "delete_snapshot", "label": "s1"})).unwrap();
    session.ask("orchestrator", &write("b", "there is room")).unwrap();
}

#[test]
fn history_is_dropped_before_anything_is_rejected() {
    let session = Session::new();
    for nth in 0..900 {
        let write = write(&format!("k{}", nth % 30), &format!("{nth}{}", "\u{1}".repeat(3_000)));
        session.ask("orchestrator", &write).unwrap();
    }
    session.check_carried(6_000_000);
}

/// Redaction makes a short value longer, and is never rejected for that: the placeholder then omits
/// the reason.
#[test]
fn a_full_session_is_redacted_and_carried() {
    let session = Session::new();
    let entry = |nth| json!({"key": long_key(nth), "value": "xxxxxxxxxxxx", "history": false});
    session.fill(|nth| batch(nth, entry));
    for nth in 0..200 {
        let key = long_key(nth);
        let reason = "\u{1F980}".repeat(200);
        let request = json!({"action": "redact", "key": key, "reason": reason});
        session.ask("orchestrator", &request).unwrap();
    }
    session.check_carried(4_000_000);
}

/// A bound on entries alone let rounds take the rest of what an import takes, and more.
#[test]
fn a_full_session_with_full_rounds_is_carried() {
    let session = Session::new();
    let entry = |nth| json!({"key": long_key(nth), "value": format!("value {nth:06}")});
    session.fill(|nth| batch(nth, entry));
    for _ in 0..12 {
        session.fill_round(|nth| json!(format!("{nth}{}", "\u{1}".repeat(60))));
        session.ask("orchestrator", &json!({"action": "close_round"})).unwrap();
    }
    let first = session.ask("orchestrator", &json!({"action": "read_state", "round": 1}));
    assert_eq!(first.unwrap_err().code, "ROUND_NOT_FOUND", "no round gave way");
    session.fill_round(|nth| json!(format!("{nth}{}", "\u{1}".repeat(2_000))));
    let kept = usize::try_from(KEPT_BYTES_MAX).unwrap();
    session.check_document(4_000_000 + kept / 2..DOCUMENT_BYTES_MAX);
}
