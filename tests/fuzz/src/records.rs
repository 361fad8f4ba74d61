//! Damaged rows: a command succeeds or returns an error, but never panics, and an error
//! changes nothing. Damage that the stored format can detect (an unknown format, a
//! truncated record, bytes after a record) is always an error. Damage within values cannot
//! be detected, because values are stored as they are.

use arbitrary::{Arbitrary, Unstructured};
use serde_json::Value;
use shared_context_codec::Caller;
use shared_context_core::port::Change;

use crate::{
    host::{ASSEMBLED, GENERATED, MemoryHost},
    json_tool::check_failure,
};

const BUCKET: &str = "session/main";
const DAMAGED: &str = "STORAGE_UNAVAILABLE";

/// Damages to a session's rows, and the commands sent afterwards.
#[derive(Debug, Arbitrary)]
struct Input {
    damages: Vec<Damage>,
    commands: Vec<u8>,
}

/// Damage to a row, which is given by its index.
#[derive(Debug, Arbitrary)]
enum Damage {
    /// Flips a bit.
    Flip { row: u8, at: u16, bit: u8 },
    /// Truncates the row.
    Cut { row: u8, to: u16 },
    /// Appends bytes.
    Grow { row: u8, with: u8, times: u8 },
    /// Sets a later format.
    Format { row: u8, format: u8 },
    /// Replaces the row by the content of another one.
    Swap { row: u8, other: u8 },
    /// Replaces the row by any bytes.
    Bytes { row: u8, bytes: Vec<u8> },
    /// Deletes the row.
    Remove { row: u8 },
    /// Changes the end of the row's name.
    Rename { row: u8, end: String },
}

/// The commands that read or change stored data.
const COMMANDS: [(&str, &str); 62] = [
    ("admin", r#"{"action":"show_session"}"#),
    ("admin", r#"{"action":"inspect"}"#),
    ("admin", r#"{"action":"export_session"}"#),
    ("admin", r#"{"action":"audit","after":0,"limit":1000}"#),
    ("orchestrator", r#"{"action":"list_keys"}"#),
    ("subagent:a", r#"{"action":"list_keys","prefix":"inv","if_changed_since":3}"#),
    ("orchestrator", r#"{"action":"read","key":"scope"}"#),
    ("subagent:a", r#"{"action":"read","key":"vault"}"#),
    ("orchestrator", r#"{"action":"read_batch","keys":["scope","vault","inv:draft","secret"]}"#),
    ("orchestrator", r#"{"action":"read_history","key":"scope"}"#),
    ("orchestrator", r#"{"action":"list_snapshots"}"#),
    ("orchestrator", r#"{"action":"read_snapshot","label":"before"}"#),
    ("subagent:a", r#"{"action":"read_snapshot","label":"before","key":"scope"}"#),
    ("orchestrator", r#"{"action":"diff_snapshots","from":"before"}"#),
    ("subagent:a", r#"{"action":"changes","since":2,"limit":3}"#),
    ("orchestrator", r#"{"action":"prompt"}"#),
    ("subagent:a", r#"{"action":"write","key":"scope","value":"four"}"#),
    ("subagent:a", r#"{"action":"write","key":"scope","value":"two","request_id":"r1"}"#),
    ("subagent:a", r#"{"action":"delete","key":"gone","request_id":"r3"}"#),
    ("orchestrator", r#"{"action":"write","key":"plan_b","value":"x","ttl_seconds":1}"#),
    (
        "orchestrator",
        r#"{"action":"write_batch","writes":[{"key":"a","value":"b"}],"deletes":[{"key":"scope"}]}"#,
    ),
    ("orchestrator", r#"{"action":"set_access","key":"vault","readable_by":["*"]}"#),
    ("orchestrator", r#"{"action":"snapshot","label":"after"}"#),
    ("orchestrator", r#"{"action":"restore_snapshot","label":"before"}"#),
    ("orchestrator", r#"{"action":"delete_snapshot","label":"before"}"#),
    ("orchestrator", r#"{"action":"redact","key":"scope","reason":"r"}"#),
    (
        "subagent:a",
        r#"{"action":"propose_deltas","deltas":[{"operation":"add","path":"$.entities","value":[{"a":1}],"provenance":"p"}]}"#,
    ),
    ("subagent:a", r#"{"action":"withdraw_deltas","sequences":[1,2]}"#),
    (
        "orchestrator",
        r#"{"action":"reject_deltas","sequences":[2],"reason":"r","request_id":"r4"}"#,
    ),
    ("orchestrator", r#"{"action":"close_round"}"#),
    ("orchestrator", r#"{"action":"open_round"}"#),
    ("subagent:a", r#"{"action":"read_state"}"#),
    ("subagent:a", r#"{"action":"read_deltas","path":"$.entities[0]"}"#),
    ("subagent:a", r#"{"action":"convergence"}"#),
    ("admin", r#"{"action":"redact_rounds","text":"found","reason":"r"}"#),
    (
        "subagent:a",
        r#"{"action":"assemble_context","task":"Why?","entries":"*","previous":"ENV-1","keep":true}"#,
    ),
    ("subagent:a", ASSEMBLED),
    (
        "subagent:a",
        r#"{"action":"compact","items":[{"id":"m","kind":"user_message","text":"DECISION: Use Kafka."}],"keep":true,"request_id":"r9"}"#,
    ),
    ("admin", r#"{"action":"export_evidence","envelope":"ENV-2"}"#),
    ("orchestrator", r#"{"action":"read_envelope","envelope":"ENV-1"}"#),
    ("admin", r#"{"action":"export_evidence","envelope":"ENV-1"}"#),
    (
        "orchestrator",
        r#"{"action":"record_injection","envelope":"ENV-1","place":"ui_panel","target":"ui"}"#,
    ),
    ("subagent:b", r#"{"action":"report_missing","kind":"blocker","text":"The key."}"#),
    ("subagent:b", r#"{"action":"answer_missing","missing":"MIS-2","answer":"So."}"#),
    ("subagent:b", r#"{"action":"list_missing","state":"open"}"#),
    ("orchestrator", GENERATED),
    ("orchestrator", r#"{"action":"context_generate","address":"subagent:a","refresh":true}"#),
    ("orchestrator", r#"{"action":"context_generate","task":"Lower it","preview":true}"#),
    (
        "orchestrator",
        r#"{"action":"context_edit","address":"shared","patch":{"context":{"goal":"Lower it"}}}"#,
    ),
    ("subagent:a", r#"{"action":"context_read","form":"yaml","version":1}"#),
    ("subagent:b", r#"{"action":"context_read","depth":"deep","form":"json"}"#),
    ("subagent:a", r#"{"action":"context_query","question":"Which pool size?"}"#),
    (
        "subagent:a",
        r#"{"action":"context_feedback","address":"shared","outcome":"done","unused":["files"]}"#,
    ),
    ("orchestrator", r#"{"action":"context_stats","task_type":"tuning"}"#),
    ("orchestrator", r#"{"action":"list_packets"}"#),
    ("orchestrator", r#"{"action":"context_clear","address":"subagent:a","request_id":"r8"}"#),
    ("admin", r#"{"action":"export_session"}"#),
    ("admin", r#"{"action":"revoke_credentials"}"#),
    (
        "admin",
        r#"{"action":"update_session","config":{"keys_max":5,"history_versions_max":1,"access":null}}"#,
    ),
    ("admin", r#"{"action":"archive_session"}"#),
    ("admin", r#"{"action":"delete_session"}"#),
    ("admin", r#"{"action":"create_session"}"#),
];

/// Damages a session and sends commands.
pub fn run(input: &[u8]) {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(input)) else { return };
    let host = MemoryHost::populated();
    for damage in input.damages.iter().take(4) {
        damage.inflict(&host);
    }
    if let [damage] = &input.damages[..] {
        check_detected(damage);
    }
    for nth in input.commands.iter().take(24) {
        let Some((participant, request)) = COMMANDS.get(usize::from(*nth)) else {
            host.pass(1_000 * u64::from(*nth));
            continue;
        };
        send(&host, participant, request);
    }
}

/// Sends a command and checks its answer; returns the code of an error.
fn send(host: &MemoryHost, participant: &str, request: &str) -> Option<String> {
    let before = host.revisions();
    match host.invoke("main", &Caller::trusted(participant), request.as_bytes()) {
        Ok(reply) => {
            let body: Value = serde_json::from_slice(&reply.body).expect("a reply is JSON");
            assert!(body.is_object());
            None
        }
        Err(failure) => {
            check_failure(&failure);
            assert_eq!(host.revisions(), before, "a rejection changed something: {failure}");
            Some(failure.code.into_owned())
        }
    }
}

impl Damage {
    fn inflict(&self, host: &MemoryHost) {
        let rows = host.rows(BUCKET);
        let find = |nth: u8| rows.get(usize::from(nth) % rows.len().max(1)).cloned();
        let (Self::Flip { row, .. }
        | Self::Cut { row, .. }
        | Self::Grow { row, .. }
        | Self::Format { row, .. }
        | Self::Swap { row, .. }
        | Self::Bytes { row, .. }
        | Self::Remove { row }
        | Self::Rename { row, .. }) = self;
        let Some((name, mut bytes)) = find(*row) else { return };
        match self {
            Self::Flip { at, bit, .. } => {
                let at = usize::from(*at) % bytes.len().max(1);
                bytes.get_mut(at).into_iter().for_each(|it| *it ^= 1 << (bit % 8));
            }
            Self::Cut { to, .. } => bytes.truncate(usize::from(*to) % bytes.len().max(1)),
            Self::Grow { with, times, .. } => {
                bytes.resize(bytes.len() + 1 + usize::from(*times), *with);
            }
            Self::Format { format, .. } => {
                bytes.first_mut().into_iter().for_each(|it| *it = (*format).max(9));
            }
            Self::Swap { other, .. } => bytes = find(*other).unwrap_or_default().1,
            Self::Bytes { bytes: others, .. } => bytes.clone_from(others),
            Self::Remove { .. } => return host.commit(BUCKET, vec![Change::Delete(name)]),
            Self::Rename { end, .. } => {
                let kind = name.split_inclusive('/').next().unwrap_or_default();
                let puts = Change::Put(format!("{kind}{end}"), bytes);
                return host.commit(BUCKET, vec![Change::Delete(name), puts]);
            }
        }
        host.commit(BUCKET, vec![Change::Put(name, bytes)]);
    }
}

/// Checks that a single `damage` is reported when the damaged row is read.
fn check_detected(damage: &Damage) {
    let (Damage::Cut { row, .. } | Damage::Grow { row, .. } | Damage::Format { row, .. }) = damage
    else {
        return;
    };
    let host = MemoryHost::populated();
    let rows = host.rows(BUCKET);
    let Some((name, bytes)) = rows.get(usize::from(*row) % rows.len()) else { return };
    // A history has one frame per version, so a truncated one can be a shorter history.
    let is_shorter = name.starts_with("h/") && matches!(damage, Damage::Cut { .. });
    if bytes.is_empty() || is_shorter {
        return;
    }
    let Some((participant, request)) = reading_command(name) else { return };
    damage.inflict(&host);
    let code = send(&host, participant, &request);
    assert_eq!(code.as_deref(), Some(DAMAGED), "{damage:?} of {name}: {request}");
}

/// Returns the participant and the command that read the row `name`, or `None` for a row
/// that is no longer used.
fn reading_command(name: &str) -> Option<(&'static str, String)> {
    let action = |action: &str| Some(("admin", format!(r#"{{"action":"{action}"}}"#)));
    let (kind, rest) = name.split_once('/').unwrap_or((name, ""));
    match kind {
        "meta" => action("show_session"),
        "access" => action("list_keys"),
        "k" => Some(("orchestrator", format!(r#"{{"action":"read","key":"{rest}"}}"#))),
        "h" => Some(("orchestrator", format!(r#"{{"action":"read_history","key":"{rest}"}}"#))),
        "s" => action("list_snapshots"),
        "e" => Some(("admin", r#"{"action":"read_snapshot","label":"before"}"#.to_owned())),
        "c" => Some(("admin", r#"{"action":"audit","after":0,"limit":1000}"#.to_owned())),
        "q" if rest == "subagent:a/r1" => Some((
            "subagent:a",
            r#"{"action":"write","key":"scope","value":"two","request_id":"r1"}"#.to_owned(),
        )),
        // This row is only read by a command that adds to it.
        "r" if rest == "sizes" => Some(("orchestrator", r#"{"action":"close_round"}"#.to_owned())),
        "r" if rest.starts_with("p/") => Some((
            "subagent:a",
            r#"{"action":"propose_deltas","deltas":[{"operation":"add","path":"$.rules","value":"x","provenance":"p"}]}"#.to_owned(),
        )),
        "r" => {
            let (kind, round) = rest.split_once('/').unwrap_or((rest, "0"));
            let round = round.split('/').next().unwrap_or_default();
            let round = u64::from_str_radix(round, 16).unwrap_or_default();
            let action = match kind {
                "s" | "head" => format!(r#"{{"action":"read_state","round":{round}}}"#),
                "d" | "o" => format!(r#"{{"action":"read_deltas","round":{round}}}"#),
                _ => r#"{"action":"convergence"}"#.to_owned(),
            };
            Some(("subagent:a", action))
        }
        "a" => match rest.split_once('/') {
            Some(("e", number)) => {
                let number = u64::from_str_radix(number, 16).unwrap_or_default();
                let read = format!(r#"{{"action":"read_envelope","envelope":"ENV-{number}"}}"#);
                Some(("admin", read))
            }
            Some(("m", _)) => action("list_missing"),
            // The numbers and the injections.
            _ => action("export_session"),
        },
        "p" if rest == "s" => action("context_stats"),
        "p" if rest.starts_with("f/") => action("export_session"),
        // The head, and the readers and versions of each packet.
        "p" => action("list_packets"),
        _ => None,
    }
}

/// Returns pseudorandom bytes, from which damages and commands are built.
pub fn seeds() -> Vec<Vec<u8>> {
    let random = |nth: u8| (0..64).map(|at: u8| at.wrapping_mul(37) ^ nth).collect();
    (0..64).map(random).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// postcard ignores bytes after a record, so rows with extra bytes at their end were once
    /// accepted.
    #[test]
    fn detectable_damage_is_reported() {
        let count = u8::try_from(MemoryHost::populated().rows(BUCKET).len()).unwrap();
        for row in 0..count {
            for to in [0, 1, 2, 5, 9] {
                check_detected(&Damage::Cut { row, to });
            }
            check_detected(&Damage::Grow { row, with: 0, times: 0 });
            check_detected(&Damage::Grow { row, with: 7, times: 9 });
            check_detected(&Damage::Format { row, format: 4 });
        }
    }

    #[test]
    fn undamaged_rows_are_read() {
        for (participant, request) in COMMANDS {
            let code = send(&MemoryHost::populated(), participant, request);
            let is_rejected = request.contains("vault") && participant != "orchestrator"
                || ["create_session", "open_round"].iter().any(|it| request.contains(it));
            assert_eq!(code.is_some(), is_rejected, "{request}: {code:?}");
        }
    }
}
