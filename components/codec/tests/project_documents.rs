//! Documents of projects: a round trip changes nothing, and no bad document changes anything
//! (spec 15.6).

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use serde_json::{Value, json};
use shared_context_codec::{Caller, Failure, invoke};
use shared_context_core::{
    audit::AuditRecord,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    time::Timestamp,
};

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp(1_771_597_800_000)
    }
}

struct Silent;

impl Log for Silent {
    fn record(&self, _: &AuditRecord) {}
}

fn ask_as(kv: &MemoryKv, who: &str, scope: &str, request: &str) -> Result<Value, Failure> {
    let ports = Ports { kv, clock: &Noon, log: &Silent, tokenizer: &NoTokenizer };
    let mut caller = Caller::trusted(who);
    caller.session = (who != "admin").then(|| "ticket-7".to_owned());
    let reply = invoke(&ports, scope, &caller, request.as_bytes())?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

fn ask(kv: &MemoryKv, request: &Value) -> Value {
    ask_as(kv, "orchestrator", "project/webshop", &request.to_string()).unwrap()
}

fn export(kv: &MemoryKv, scope: &str) -> Value {
    ask_as(kv, "admin", scope, r#"{"action":"export_project"}"#).unwrap()
}

fn import(kv: &MemoryKv, scope: &str, document: &str) -> Result<Value, Failure> {
    let request = format!(r#"{{"action":"import_project","document":{document}}}"#);
    ask_as(kv, "admin", scope, &request)
}

/// Returns a host with a project that has everything a project can have.
fn webshop() -> MemoryKv {
    let kv = MemoryKv::default();
    let create = r#"{"action":"create_project"}"#;
    ask_as(&kv, "admin", "project/webshop", create).unwrap();
    let decision = |title: &str| json!({"memory_type": "decision", "title": title, "content": {"decision": title}});
    let added = ask(
        &kv,
        &json!({"action": "add_memories", "memories": [
            decision("Orders are in MySQL"), decision("Orders are in PostgreSQL"),
            {"memory_type": "issue", "title": "Slow", "tags": ["db"], "importance": 9,
             "content": {"description": "Orders are slow", "severity": "high"}},
            {"memory_type": "learning", "title": "Secret", "content": {"lesson": "It is hunter2"}},
        ]}),
    );
    let id = |nth: usize| added["memories"][nth]["memory_id"].clone();
    ask(&kv, &json!({"action": "supersede_memory", "id": id(0), "by": id(1)}));
    ask(&kv, &json!({"action": "update_memory", "id": id(2), "status": "resolved"}));
    ask(&kv, &json!({"action": "redact_memory", "id": id(3), "reason": "a password"}));
    ask(&kv, &json!({"action": "read_memories", "ids": [id(1), "DEC-2026-02-20-001"]}));
    with_outline(&kv);
    kv
}

/// Adds sections, a coordination state and handoffs.
fn with_outline(kv: &MemoryKv) {
    ask(
        kv,
        &json!({"action": "put_section", "marker": "1.0", "title": "Shop", "content": "Sells.",
        "progress": 40, "shortcuts": [{"need": "Pay", "marker": "3.1", "label": "Payments"}]}),
    );
    for version in 1..4 {
        let content = format!("Payments \"{version}\", see §4.src.pay.");
        ask(
            kv,
            &json!({"action": "put_section", "marker": "3.1", "title": "Pay", "content": content}),
        );
    }
    let file = json!({"path": "src/pay.rs", "size": 7, "purpose": "pays",
        "modified_at": "2026-02-20T14:30:00.000Z", "digest": format!("sha256:{}", "7".repeat(64))});
    ask(
        kv,
        &json!({"action": "put_section", "marker": "4.src.pay", "title": "Code", "file": file,
        "readers": ["subagent:b*"]}),
    );
    ask(
        kv,
        &json!({"action": "put_section", "marker": "4.key", "title": "Key", "content": "It is hunter2"}),
    );
    ask(kv, &json!({"action": "redact_section", "marker": "4.key", "reason": "a password"}));
    ask(
        kv,
        &json!({"action": "coordinate", "sync_version": 0, "global_blockers": ["PCI review"],
        "assignments": [{"agent_id": "subagent:b", "tasks": ["refunds"]}],
        "shared_resources": [{"name": "board", "value": "wall 2"}]}),
    );
    let offer = json!({"action": "offer_handoff", "to_agent": "subagent:b", "handoff_type": "complete",
        "summary": "Login \"works\"", "sections": ["3.1"], "completed": ["login"],
        "required_skills": ["rust"]});
    for _ in 0..3 {
        ask(kv, &offer);
    }
    ask(kv, &json!({"action": "decline_handoff", "id": "HND-1", "reason": "no time"}));
    ask(kv, &json!({"action": "redact_handoff", "id": "HND-2", "reason": "a password"}));
}

/// Returns what a document says besides the revision and the digests over it.
fn content(mut document: Value) -> Value {
    document["project"]["revision"] = Value::Null;
    document["project"]["project_id"] = Value::Null;
    document["digests"]["project"] = Value::Null;
    document["digest"] = Value::Null;
    document
}

#[test]
fn an_imported_project_is_exported_the_same() {
    let kv = webshop();
    let first = export(&kv, "project/webshop");
    assert!(!first.to_string().contains("hunter2"));
    let other = MemoryKv::default();
    let made = import(&other, "project/copy", &first.to_string()).unwrap();
    assert_eq!((&made["memory_count"], &made["session_count"]), (&json!(4), &json!(1)));
    assert_eq!(content(export(&other, "project/copy")), content(first.clone()));
    // Ids stay, and new ones are different.
    let find = r#"{"action":"memory_history","id":"DEC-2026-02-20-002"}"#;
    let history = ask_as(&other, "orchestrator", "project/copy", find).unwrap();
    assert_eq!(history["versions"][0]["memory_id"], first["memories"][1]["memory_id"]);
    let add = r#"{"action":"add_memories","memories":[{"memory_type":"learning","title":"New",
                  "content":{"lesson":"Something new"}}]}"#;
    let there = ask_as(&other, "orchestrator", "project/copy", add).unwrap();
    let here = ask_as(&kv, "orchestrator", "project/webshop", add).unwrap();
    assert_ne!(there["memories"][0]["memory_id"], here["memories"][0]["memory_id"]);
    let again =
        import(&MemoryKv::default(), "project/x", &export(&other, "project/copy").to_string());
    assert_eq!(again.unwrap()["memory_count"], 5);
    let twice = import(&other, "project/copy", &first.to_string()).unwrap_err();
    assert_eq!(twice.code, "PROJECT_EXISTS");
}

#[test]
fn sections_and_handoffs_are_there_without_leases() {
    let kv = webshop();
    let document = export(&kv, "project/webshop");
    assert_eq!(
        (&document["project"]["section_count"], &document["project"]["handoff_count"]),
        (&json!(4), &json!(3))
    );
    assert_eq!(document["sections"][1]["versions"].as_array().unwrap().len(), 3);
    let states: Vec<_> = (0..3).map(|nth| &document["handoffs"][nth]["state"]).collect();
    assert_eq!(states, ["declined", "expired", "expired"]);
    let other = MemoryKv::default();
    import(&other, "project/copy", &document.to_string()).unwrap();
    let asked = |kv: &MemoryKv, scope: &str, request: &Value| {
        ask_as(kv, "orchestrator", scope, &request.to_string()).unwrap()
    };
    let read = json!({"action": "read_handoff", "id": "HND-1"});
    let (here, there) =
        (asked(&kv, "project/webshop", &read), asked(&other, "project/copy", &read));
    assert_eq!((&there["handoff"], &there["package"]), (&here["handoff"], &here["package"]));
    let state = asked(&other, "project/copy", &json!({"action": "coordination"}));
    assert_eq!(state["section_ownership"], json!([]));
    assert_eq!(state["global_blockers"], json!(["PCI review"]));
    let section = json!({"action": "read_section", "marker": "3.1"});
    let section = asked(&other, "project/copy", &section)["sections"][0].clone();
    assert_eq!((&section["version"], section.get("lease")), (&json!(3), None));
}

#[test]
fn what_a_project_lacks_is_not_in_its_document() {
    let kv = MemoryKv::default();
    ask_as(&kv, "admin", "project/webshop", r#"{"action":"create_project"}"#).unwrap();
    let document = export(&kv, "project/webshop");
    for name in ["coordination", "sections", "handoffs"] {
        assert_eq!((document.get(name), document["digests"].get(name)), (None, None), "{name}");
    }
    let counts = ["section_count", "handoff_count"].map(|it| document["project"].get(it));
    assert_eq!(counts, [None, None]);
}

#[test]
fn a_package_may_be_written_in_another_way() {
    let document = export(&webshop(), "project/webshop").to_string();
    let spaced = document.replace("\"package\":{", "\"package\": { ");
    assert_ne!(spaced, document);
    import(&MemoryKv::default(), "project/copy", &spaced).unwrap();
}

#[test]
fn a_document_with_an_altered_byte_is_rejected() {
    let text = export(&webshop(), "project/webshop").to_string();
    let kv = MemoryKv::default();
    for place in (0..text.len()).step_by(7) {
        let mut bytes = text.clone().into_bytes();
        bytes[place] = if bytes[place] == b'1' { b'2' } else { b'1' };
        let Ok(altered) = String::from_utf8(bytes) else { continue };
        assert!(import(&kv, "project/copy", &altered).is_err(), "{place}: {altered}");
    }
    assert!(import(&kv, "project/copy", &text[..text.len() / 2]).is_err());
    let altered = text.replace("Orders are slow", "Orders are fast");
    let failure = import(&kv, "project/copy", &altered).unwrap_err();
    assert_eq!(failure.code, "DOCUMENT_ALTERED");
    let show = ask_as(&kv, "admin", "project/copy", r#"{"action":"show_project"}"#);
    assert_eq!(show.unwrap_err().code, "PROJECT_NOT_FOUND", "nothing was changed");
}

#[test]
fn other_documents_are_rejected() {
    let kv = MemoryKv::default();
    let check = |document: &str, code: &str| {
        assert_eq!(import(&kv, "project/copy", document).unwrap_err().code, code, "{document}");
    };
    check(r#"{"format":"shared-context/project/2"}"#, "FORMAT_TOO_NEW");
    check(r#"{"format":"shared-context/session/1"}"#, "MALFORMED_REQUEST");
    check("{}", "MALFORMED_REQUEST");
    check("7", "MALFORMED_REQUEST");
    let mut unknown = export(&webshop(), "project/webshop");
    unknown["surprise"] = json!(1);
    check(&unknown.to_string(), "MALFORMED_REQUEST");
    let agent =
        ask_as(&webshop(), "orchestrator", "project/webshop", r#"{"action":"export_project"}"#);
    assert_eq!(agent.unwrap_err().code, "FORBIDDEN");
}

#[test]
fn creating_a_project_again_answers_as_before() {
    let kv = MemoryKv::default();
    let create = r#"{"action":"create_project","request_id":"one"}"#;
    let first = ask_as(&kv, "admin", "project/webshop", create).unwrap();
    assert_eq!(ask_as(&kv, "admin", "project/webshop", create).unwrap(), first);
    let other = r#"{"action":"create_project","request_id":"one","memories_max":7}"#;
    let failure = ask_as(&kv, "admin", "project/webshop", other).unwrap_err();
    assert_eq!(failure.code, "REQUEST_ID_REUSED");
    let exact = r#"{"action":"create_project","estimator":"o200k_base"}"#;
    let failure = ask_as(&kv, "admin", "project/exact", exact).unwrap_err();
    assert_eq!(failure.code, "MALFORMED_REQUEST");
}

#[test]
fn sessions_of_a_project_are_listed() {
    let kv = webshop();
    let listed = ask(&kv, &json!({"action": "project_sessions", "limit": 1}));
    assert_eq!(
        (&listed["sessions"][0]["session_id"], &listed["total"]),
        (&json!("ticket-7"), &json!(1))
    );
}

/// An addition expects a place for each earlier number. An imported project lacked the places of what
/// was removed, so that nothing could be added to it.
#[test]
fn numbers_of_removed_memories_are_not_given_again() {
    let kv = webshop();
    let ids = json!(["DEC-2026-02-20-002"]);
    ask(&kv, &json!({"action": "mark_memories", "ids": ids, "mark": "deleted"}));
    let add = |nth: usize| json!({"memory_type": "learning", "title": format!("Lesson {nth}"), "content": {"lesson": format!("Lesson {nth}")}});
    let last = ask(&kv, &json!({"action": "add_memories", "memories": [add(0)]}));
    let last = json!([last["memories"][0]["memory_id"]]);
    ask(&kv, &json!({"action": "mark_memories", "ids": last, "mark": "deleted"}));
    let maintained = ask(&kv, &json!({"action": "maintain"}));
    assert_eq!(maintained["actions"].as_array().unwrap().len(), 2);
    let other = MemoryKv::default();
    let document = export(&kv, "project/webshop");
    assert_eq!(document["project"]["last_memory"], 5);
    import(&other, "project/webshop", &document.to_string()).unwrap();
    let added = ask(&other, &json!({"action": "add_memories", "memories": [add(1), add(2)]}));
    assert_eq!(added["memories"][1]["is_new"], true);
    assert_eq!(export(&other, "project/webshop")["project"]["last_memory"], 7);
}

#[test]
fn a_large_project_is_carried_in_pages() {
    let kv = MemoryKv::default();
    ask_as(&kv, "admin", "project/webshop", r#"{"action":"create_project"}"#).unwrap();
    let memory = |nth: usize| {
        json!({"memory_type": "learning", "title": format!("Lesson {nth}"),
               "content": {"lesson": format!("{nth} {}", "word ".repeat(780)), "evidence": "more ".repeat(780)}})
    };
    for batch in 0..3 {
        let memories: Vec<Value> = (0..200).map(|nth| memory(batch * 200 + nth)).collect();
        ask(&kv, &json!({"action": "add_memories", "memories": memories}));
    }
    let first = export(&kv, "project/webshop");
    let next = first["next"].as_u64().unwrap();
    let page = format!(r#"{{"action":"export_project","after":{next}}}"#);
    let second = ask_as(&kv, "admin", "project/webshop", &page).unwrap();
    assert_eq!((&second["after"], second.get("next")), (&json!(next), None));
    let other = MemoryKv::default();
    let early = import(&other, "project/webshop", &second.to_string()).unwrap_err();
    assert_eq!(early.code, "MALFORMED_REQUEST");
    let begun = import(&other, "project/webshop", &first.to_string()).unwrap();
    assert_eq!((&begun["import_after"], &begun["is_archived"]), (&json!(next), &json!(true)));
    let add = json!({"action": "add_memories", "memories": [memory(900)]}).to_string();
    let add = |kv: &MemoryKv| ask_as(kv, "orchestrator", "project/webshop", &add);
    assert_eq!(add(&other).unwrap_err().code, "PROJECT_ARCHIVED");
    let again = import(&other, "project/webshop", &first.to_string()).unwrap_err();
    assert_eq!(again.code, "MALFORMED_REQUEST");
    let whole = import(&other, "project/webshop", &second.to_string()).unwrap();
    assert_eq!((&whole["memory_count"], whole.get("import_after")), (&json!(600), None));
    assert_eq!(content(export(&other, "project/webshop")), content(first));
    assert_eq!(add(&other).unwrap()["memories"][0]["is_new"], true);
}
