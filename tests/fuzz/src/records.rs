//! Stored rows, damaged at will: a command answers or refuses, it never panics, a
//! refusal changes nothing; and where the stored form can tell (a format that is not
//! known, what is cut off, what stands behind a record) the damage is refused and not
//! answered from. Values are stored as they are, and tell nothing.

use arbitrary::{Arbitrary, Unstructured};
use serde_json::Value;
use shared_context_codec::Caller;
use shared_context_core::port::Change;

use crate::{json_tool::check_failure, place::Place};

const BUCKET: &str = "session/main";
const DAMAGED: &str = "STORAGE_UNAVAILABLE";

/// What became of a session's rows, and what is asked then.
#[derive(Debug, Arbitrary)]
struct Input {
    damages: Vec<Damage>,
    asked: Vec<u8>,
}

/// What became of a row; of which one, is told by its place among them.
#[derive(Debug, Arbitrary)]
enum Damage {
    /// A bit is another.
    Flip { row: u8, at: u16, bit: u8 },
    /// Only its beginning is left.
    Cut { row: u8, to: u16 },
    /// Something stands behind it.
    Grow { row: u8, with: u8, times: u8 },
    /// It is of a format from later.
    Format { row: u8, format: u8 },
    /// It holds what another one should.
    Swap { row: u8, other: u8 },
    /// It holds anything.
    Bytes { row: u8, bytes: Vec<u8> },
    /// It is gone.
    Remove { row: u8 },
    /// Its name has another end.
    Rename { row: u8, end: String },
}

/// Everything that reads or changes what is stored.
const COMMANDS: [(&str, &str); 38] = [
    ("admin", r#"{"action":"show_session"}"#),
    ("admin", r#"{"action":"inspect"}"#),
    ("admin", r#"{"action":"export_session"}"#),
    ("admin", r#"{"action":"audit","since":0,"limit":1000}"#),
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
    ("orchestrator", r#"{"action":"close_round"}"#),
    ("orchestrator", r#"{"action":"open_round"}"#),
    ("subagent:a", r#"{"action":"read_state"}"#),
    ("subagent:a", r#"{"action":"read_deltas","path":"$.entities[0]"}"#),
    ("subagent:a", r#"{"action":"convergence"}"#),
    ("admin", r#"{"action":"redact_rounds","text":"found","reason":"r"}"#),
    ("admin", r#"{"action":"export_session"}"#),
    ("admin", r#"{"action":"revoke_credentials"}"#),
    ("admin", r#"{"action":"archive_session"}"#),
    ("admin", r#"{"action":"delete_session"}"#),
    ("admin", r#"{"action":"create_session"}"#),
];

/// Damages a session as `input` says, and asks.
pub fn run(input: &[u8]) {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(input)) else { return };
    let place = Place::inhabited();
    for damage in input.damages.iter().take(4) {
        damage.inflict(&place);
    }
    if let [damage] = &input.damages[..] {
        check_told(damage);
    }
    for nth in input.asked.iter().take(24) {
        let Some((who, request)) = COMMANDS.get(usize::from(*nth)) else {
            place.pass(1_000 * u64::from(*nth));
            continue;
        };
        ask(&place, who, request);
    }
}

fn ask(place: &Place, who: &str, request: &str) -> Option<String> {
    let before = place.revisions();
    match place.invoke("main", &Caller::trusted(who), request.as_bytes()) {
        Ok(reply) => {
            let body: Value = serde_json::from_slice(&reply.body).expect("a reply is JSON");
            assert!(body.is_object());
            None
        }
        Err(failure) => {
            check_failure(&failure);
            assert_eq!(place.revisions(), before, "a refusal changed something: {failure}");
            Some(failure.code.into_owned())
        }
    }
}

impl Damage {
    fn inflict(&self, place: &Place) {
        let rows = place.rows(BUCKET);
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
                bytes.first_mut().into_iter().for_each(|it| *it = (*format).max(4));
            }
            Self::Swap { other, .. } => bytes = find(*other).unwrap_or_default().1,
            Self::Bytes { bytes: others, .. } => bytes.clone_from(others),
            Self::Remove { .. } => return place.commit(BUCKET, vec![Change::Delete(name)]),
            Self::Rename { end, .. } => {
                let kind = name.split_inclusive('/').next().unwrap_or_default();
                let puts = Change::Put(format!("{kind}{end}"), bytes);
                return place.commit(BUCKET, vec![Change::Delete(name), puts]);
            }
        }
        place.commit(BUCKET, vec![Change::Put(name, bytes)]);
    }
}

/// Checks that `damage`, alone, is told where the row it befell is needed.
fn check_told(damage: &Damage) {
    let (Damage::Cut { row, .. } | Damage::Grow { row, .. } | Damage::Format { row, .. }) = damage
    else {
        return;
    };
    let place = Place::inhabited();
    let rows = place.rows(BUCKET);
    let Some((name, bytes)) = rows.get(usize::from(*row) % rows.len()) else { return };
    // A history is framed version by version: one less is a shorter history.
    let is_shorter = name.starts_with("h/") && matches!(damage, Damage::Cut { .. });
    if bytes.is_empty() || is_shorter {
        return;
    }
    let Some((who, request)) = reads(name) else { return };
    damage.inflict(&place);
    let told = ask(&place, who, &request);
    assert_eq!(told.as_deref(), Some(DAMAGED), "{damage:?} of {name}: {request}");
}

/// Returns who reads the row `name`, and how; `None` for what nothing points to any more.
fn reads(name: &str) -> Option<(&'static str, String)> {
    let action = |action: &str| Some(("admin", format!(r#"{{"action":"{action}"}}"#)));
    let (kind, rest) = name.split_once('/').unwrap_or((name, ""));
    match kind {
        "meta" => action("show_session"),
        "access" => action("list_keys"),
        "k" => Some(("orchestrator", format!(r#"{{"action":"read","key":"{rest}"}}"#))),
        "h" => Some(("orchestrator", format!(r#"{{"action":"read_history","key":"{rest}"}}"#))),
        "s" => action("list_snapshots"),
        "e" => Some(("admin", r#"{"action":"read_snapshot","label":"before"}"#.to_owned())),
        "c" => Some(("admin", r#"{"action":"audit","since":0,"limit":1000}"#.to_owned())),
        "q" if rest == "subagent:a/r1" => Some((
            "subagent:a",
            r#"{"action":"write","key":"scope","value":"two","request_id":"r1"}"#.to_owned(),
        )),
        // What is kept is looked at where something is added to it.
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
                "d" => format!(r#"{{"action":"read_deltas","round":{round}}}"#),
                _ => r#"{"action":"convergence"}"#.to_owned(),
            };
            Some(("subagent:a", action))
        }
        _ => None,
    }
}

/// Returns each command alone, on what is not damaged and on what is, in every way that has
/// a short form.
pub fn seeds() -> Vec<Vec<u8>> {
    let random = |nth: u8| (0..64).map(|at: u8| at.wrapping_mul(37) ^ nth).collect();
    (0..64).map(random).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// postcard reads a record and leaves what stands behind it: a row with anything
    /// at its end was answered from as if nothing were.
    #[test]
    fn damage_that_can_be_told_is_told() {
        let count = u8::try_from(Place::inhabited().rows(BUCKET).len()).unwrap();
        for row in 0..count {
            for to in [0, 1, 2, 5, 9] {
                check_told(&Damage::Cut { row, to });
            }
            check_told(&Damage::Grow { row, with: 0, times: 0 });
            check_told(&Damage::Grow { row, with: 7, times: 9 });
            check_told(&Damage::Format { row, format: 4 });
        }
    }

    #[test]
    fn what_is_not_damaged_is_read() {
        for (who, request) in COMMANDS {
            let told = ask(&Place::inhabited(), who, request);
            let is_refused = request.contains("vault") && who != "orchestrator"
                || ["create_session", "open_round"].iter().any(|it| request.contains(it));
            assert_eq!(told.is_some(), is_refused, "{request}: {told:?}");
        }
    }
}
