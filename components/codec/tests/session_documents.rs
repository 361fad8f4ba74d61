//! Documents of sessions: those of earlier versions can be imported, and none has more than
//! its session (spec 8.5.3).

#![expect(clippy::unwrap_used, reason = "a test")]

use serde_json::{Value, json};
use shared_context_codec::{Caller, Failure, invoke};
use shared_context_core::{
    audit::AuditRecord,
    canonical,
    digest::sha256,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    time::Timestamp,
};

/// Documents that the first version with checksums exported.
const OF_FORMAT_1: [&str; 3] = [
    include_str!("../../../tests/system/golden/format-1/killed/after.json"),
    include_str!("../../../tests/system/golden/format-1/killed/copy.json"),
    include_str!("../../../tests/system/golden/format-1/stopped/ticket-7.json"),
];

/// A clock after these were exported.
struct Later;

impl Clock for Later {
    fn now(&self) -> Timestamp {
        Timestamp(1_796_000_000_000)
    }
}

struct Silent;

impl Log for Silent {
    fn record(&self, _: &AuditRecord) {}
}

fn ask(kv: &MemoryKv, request: &Value) -> Result<Value, Failure> {
    let ports = Ports { kv, clock: &Later, log: &Silent, tokenizer: &NoTokenizer };
    let request = request.to_string();
    let reply = invoke(&ports, "session/s", &Caller::trusted("admin"), request.as_bytes())?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

fn import(kv: &MemoryKv, document: &Value) -> Result<Value, Failure> {
    ask(kv, &json!({"action": "import_session", "document": document}))
}

#[test]
fn documents_of_earlier_versions_are_imported() {
    for document in OF_FORMAT_1 {
        let document: Value = serde_json::from_str(document).unwrap();
        let kv = MemoryKv::default();
        import(&kv, &document).unwrap();
        let again = ask(&kv, &json!({"action": "export_session"})).unwrap();
        for part in ["entries", "history", "snapshots", "values", "digests"] {
            assert_eq!(again[part], document[part], "{part}");
        }
    }
}

/// A value that nothing named was once imported, and dropped without a word.
#[test]
fn a_value_that_nothing_names_is_rejected() {
    let mut document: Value = serde_json::from_str(OF_FORMAT_1[1]).unwrap();
    let left_over = sha256("left over");
    document["values"][&left_over] = json!("left over");
    let mut names: Vec<&String> = document["values"].as_object().unwrap().keys().collect();
    names.sort();
    let mut outline = json!({"values": names});
    for member in ["format", "session_id", "status", "created_at", "digests"] {
        outline[member] = document[member].clone();
    }
    document["digest"] = json!(sha256(canonical::text(&outline).unwrap()));
    let kv = MemoryKv::default();
    let failure = import(&kv, &document).unwrap_err();
    assert_eq!(failure.code, "MALFORMED_REQUEST");
    assert!(failure.message.contains(&format!("values.{left_over} is of no item")));
}
