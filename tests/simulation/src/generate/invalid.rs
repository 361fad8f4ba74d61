//! Invalid requests, and the code that each is rejected with.

use rand::RngExt as _;
use serde_json::Value;

use super::Generator;
use crate::{script::Payload, world::World};

const MALFORMED: &str = "MALFORMED_REQUEST";
const INVALID_KEY: &str = "INVALID_KEY";
const INVALID_PATH: &str = "INVALID_PATH";

/// Invalid request bodies and their error codes.
const TEXTS: &[(&str, &str)] = &[
    ("", MALFORMED),
    ("{", MALFORMED),
    ("[]", MALFORMED),
    ("null", MALFORMED),
    ("\u{feff}{\"action\":\"list_keys\"}", MALFORMED),
    ("{\"action\":\"list_keys\"} {\"action\":\"delete_session\"}", MALFORMED),
    ("{\"action\":\"list_keys\",\"action\":\"inspect\"}", MALFORMED),
    ("{\"action\":\"LIST_KEYS\"}", MALFORMED),
    ("{\"action\":\"drop\"}", MALFORMED),
    ("{\"action\":[\"write\"]}", MALFORMED),
    ("{\"action\":\"read\"}", MALFORMED),
    ("{\"action\":\"read\",\"key\":7}", MALFORMED),
    ("{\"action\":\"read\",\"key\":\"\"}", INVALID_KEY),
    ("{\"action\":\"read\",\"key\":\"../../etc/passwd\"}", INVALID_KEY),
    ("{\"action\":\"read\",\"key\":\"KEY_0\"}", INVALID_KEY),
    ("{\"action\":\"read\",\"key\":\"key_0\\u0000\"}", INVALID_KEY),
    ("{\"action\":\"read\",\"key\":\"v/key_0/0000000000000002\"}", INVALID_KEY),
    ("{\"action\":\"read\",\"key\":\"\\ud800\"}", MALFORMED),
    (
        "{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"written_by\":\"admin\"}",
        MALFORMED,
    ),
    ("{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"version\":9}", MALFORMED),
    ("{\"action\":\"write\",\"key\":\"key_0\",\"value\":{\"a\":1}}", MALFORMED),
    ("{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"if_version\":-1}", MALFORMED),
    ("{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"if_version\":1e400}", MALFORMED),
    (
        "{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"if_version\":0,\"if_revision\":1}",
        MALFORMED,
    ),
    ("{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"ttl_seconds\":0}", MALFORMED),
    ("{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"expires_at\":\"soon\"}", MALFORMED),
    (
        "{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"readable_by\":[\"everyone\"]}",
        MALFORMED,
    ),
    ("{\"action\":\"write\",\"key\":\"key_0\",\"value\":\"x\",\"readable_by\":[]}", MALFORMED),
    ("{\"action\":\"delete\",\"key\":\"key_0\",\"value\":\"x\"}", MALFORMED),
    ("{\"action\":\"write_batch\"}", MALFORMED),
    (
        "{\"action\":\"write_batch\",\"deletes\":[{\"key\":\"key_0\"},{\"key\":\"key_0\"}]}",
        MALFORMED,
    ),
    ("{\"action\":\"write_batch\",\"writes\":[{\"key\":\"K\",\"value\":\"x\"}]}", INVALID_KEY),
    (
        "{\"action\":\"write_batch\",\"writes\":[{\"key\":\"k\",\"value\":\"x\",\"request_id\":\"r\"}]}",
        MALFORMED,
    ),
    ("{\"action\":\"read_batch\",\"keys\":[]}", MALFORMED),
    ("{\"action\":\"read_batch\",\"keys\":\"*\"}", MALFORMED),
    ("{\"action\":\"changes\",\"limit\":0}", MALFORMED),
    ("{\"action\":\"audit\",\"limit\":1001}", MALFORMED),
    ("{\"action\":\"set_access\",\"key\":\"key_0\"}", MALFORMED),
    ("{\"action\":\"open_round\",\"weights\":[{\"participant\":\"*\",\"weight\":1.5}]}", MALFORMED),
    (
        "{\"action\":\"open_round\",\"strategies\":[{\"path\":\"$\",\"strategy\":\"mean\"}]}",
        MALFORMED,
    ),
    ("{\"action\":\"open_round\",\"bytes_max\":10}", MALFORMED),
    (
        "{\"action\":\"open_round\",\"strategies\":[{\"path\":\"x\",\"strategy\":\"union\"}]}",
        INVALID_PATH,
    ),
    ("{\"action\":\"propose_deltas\",\"deltas\":[]}", MALFORMED),
    (
        "{\"action\":\"propose_deltas\",\"deltas\":[{\"operation\":\"add\",\"path\":\"$.rules\",\"value\":1,\"provenance\":\" \"}]}",
        MALFORMED,
    ),
    (
        "{\"action\":\"propose_deltas\",\"deltas\":[{\"operation\":\"add\",\"path\":\"$.rules\",\"value\":1e16,\"provenance\":\"p\"}]}",
        MALFORMED,
    ),
    (
        "{\"action\":\"propose_deltas\",\"deltas\":[{\"operation\":\"remove\",\"path\":\"$.rules[*]\",\"provenance\":\"p\"}]}",
        INVALID_PATH,
    ),
    ("{\"action\":\"withdraw_deltas\",\"sequences\":[1,1]}", MALFORMED),
    ("{\"action\":\"reject_deltas\",\"sequences\":[1],\"reason\":\"\"}", MALFORMED),
    ("{\"action\":\"read_deltas\",\"path\":\"$..id\"}", INVALID_PATH),
    ("{\"action\":\"read_deltas\",\"after\":\"first\"}", MALFORMED),
    ("{\"action\":\"read_envelope\",\"envelope\":\"ENV-01\"}", MALFORMED),
    ("{\"action\":\"record_injection\",\"envelope\":\"ENV-1\",\"place\":\"sky\"}", MALFORMED),
    ("{\"action\":\"report_missing\",\"kind\":\"input\",\"text\":\" \"}", MALFORMED),
    ("{\"action\":\"context_generate\",\"task\":\"t\",\"max_tokens\":49}", MALFORMED),
    ("{\"action\":\"context_read\",\"address\":\"nobody\"}", MALFORMED),
    ("{\"action\":\"context_query\",\"question\":\" \"}", MALFORMED),
    ("{\"action\":\"snapshot\",\"label\":\"a/b\"}", MALFORMED),
    ("{\"action\":\"snapshot\",\"label\":\"a\",\"note\":\"two\\nlines\"}", MALFORMED),
    ("{\"action\":\"redact\",\"key\":\"key_0\"}", MALFORMED),
    ("{\"action\":\"create_session\",\"config\":{\"keys_max\":\"many\"}}", MALFORMED),
    ("{\"action\":\"create_session\",\"config\":{\"sharding\":true}}", MALFORMED),
    ("{\"action\":\"import_session\",\"document\":{}}", MALFORMED),
    (
        "{\"action\":\"import_session\",\"document\":{\"format\":\"shared-context/session/9\"}}",
        "FORMAT_TOO_NEW",
    ),
    ("hex:ff fe 00", MALFORMED),
    ("hex:7b 22 61 63 74 69 6f 6e 22 3a 22 c3 28 22 7d", MALFORMED),
];

impl Generator {
    /// Returns an invalid request.
    pub(super) fn invalid(&mut self, world: &World) -> Payload {
        let raw = |text: String, code: &str| Payload::Raw { text, refused: code.to_owned() };
        match self.rng.random_range(0..20) {
            0 => raw("[".repeat(5_000), MALFORMED),
            1 => {
                let deep = "{\"a\":".repeat(400);
                raw(format!("{{\"action\":\"import_session\",\"document\":{deep}"), MALFORMED)
            }
            2 => {
                raw(format!("{{\"action\":\"read\",\"key\":\"{}\"}}", "k".repeat(65)), INVALID_KEY)
            }
            3 => {
                let keys: Vec<String> = (0..101).map(|it| format!("\"k{it}\"")).collect();
                raw(
                    format!("{{\"action\":\"read_batch\",\"keys\":[{}]}}", keys.join(",")),
                    MALFORMED,
                )
            }
            4..7 => {
                let documents = world.documents();
                match documents.last().and_then(altered) {
                    Some(text) => raw(text, "DOCUMENT_ALTERED"),
                    None => raw("{}".to_owned(), MALFORMED),
                }
            }
            _ => {
                let (text, code) = self.pick(TEXTS);
                raw(text.to_owned(), code)
            }
        }
    }
}

/// Returns an import request with an altered value.
fn altered(document: &Value) -> Option<String> {
    let mut document = document.clone();
    let values = document.get_mut("values")?.as_object_mut()?;
    let value = values.values_mut().next()?;
    *value = Value::from("another");
    Some(serde_json::json!({"action": "import_session", "document": document}).to_string())
}
