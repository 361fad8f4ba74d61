//! Finds changes: since the last version of a packet, and in its sources since it was made (spec
//! 18.9).

use super::{kinds::Part, material::shortened, packet::Packet, statement::Origin};
use crate::{closed_list::closed_list, key::Key};

/// The longest line of a changelog, in characters.
const CHANGE_CHARS_MAX: usize = 160;

closed_list! {
    /// The reason why a source is stale.
    Staleness "staleness" {
        Newer "newer": "There is a newer version.";
        Gone "gone": "It was deleted, has expired, or is hidden from the reader.";
        Redacted "redacted": "It was redacted.";
    }
}

/// The present state of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceState {
    /// It has this version. A round's state has the number of the last round.
    Version(u64),
    /// It was redacted.
    Redacted,
    /// It does not exist for the reader.
    Gone,
}

/// A stale source, or the note that entries are hidden from the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The places of the statements that come from it, as JSON pointers. Hidden statements have
    /// none.
    pub pointers: Vec<String>,
    /// The source; `None` for entries that are hidden from the reader, whose keys are hidden, too.
    pub origin: Option<Origin>,
    /// The reason.
    pub staleness: Staleness,
    /// The current version, if there is one.
    pub current: Option<u64>,
}

impl Stale {
    /// Creates the note for a reader from which statements of entries are hidden: one for all of
    /// them, so that it shows neither their keys nor their number.
    pub fn hidden() -> Self {
        let staleness = Staleness::Gone;
        Self { pointers: Vec::new(), origin: None, staleness, current: None }
    }
}

/// Returns the keys whose entries a packet was made from, in order.
pub fn keys(packet: &Packet) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for it in &packet.statements {
        if let Origin::Entry { key, .. } = &it.source.origin
            && let Err(place) = keys.binary_search(key)
        {
            keys.insert(place, key.clone());
        }
    }
    keys
}

/// Returns the stale sources of a packet. `entry` returns the state of an entry, `round` is the last
/// closed round, if any.
pub fn stale(
    packet: &Packet,
    entry: &dyn Fn(&Key) -> SourceState,
    round: Option<u64>,
) -> Vec<Stale> {
    let mut found: Vec<Stale> = Vec::new();
    for (nth, it) in packet.numbered() {
        let origin = &it.source.origin;
        let is_known =
            |it: &&mut Stale| it.origin.as_ref().is_some_and(|it| is_same_place(it, origin));
        if let Some(known) = found.iter_mut().find(is_known) {
            known.pointers.push(it.part.place(nth));
            continue;
        }
        let state = match origin {
            Origin::Entry { key, version } => (entry(key), *version),
            Origin::State { round: made_from, .. } => {
                (round.map_or(SourceState::Gone, SourceState::Version), *made_from)
            }
            _ => continue,
        };
        let (staleness, current) = match state {
            (SourceState::Version(current), version) if current == version => continue,
            (SourceState::Version(current), _) => (Staleness::Newer, Some(current)),
            (SourceState::Redacted, _) => (Staleness::Redacted, None),
            (SourceState::Gone, _) => (Staleness::Gone, None),
        };
        let origin = Some(origin.clone());
        found.push(Stale { pointers: vec![it.part.place(nth)], origin, staleness, current });
    }
    found
}

/// Returns true if two origins are in one entry, or in the state of one round.
fn is_same_place(a: &Origin, b: &Origin) -> bool {
    match (a, b) {
        (Origin::State { round: a, .. }, Origin::State { round: b, .. }) => a == b,
        _ => a == b,
    }
}

/// Returns what changed from one version of a packet to the next, in one line.
pub fn change(before: Option<&Packet>, after: &Packet) -> String {
    let Some(before) = before else {
        let decisions = after.texts(Part::Decision);
        let first = decisions.first().map_or_else(String::new, |it| format!(", first: {it}"));
        let (decisions, constraints) = (decisions.len(), after.texts(Part::Constraint).len());
        return bounded(&format!(
            "Initial: {decisions} decisions, {constraints} constraints{first}"
        ));
    };
    let mut parts = Vec::new();
    for (name, part) in [("decision", Part::Decision), ("constraint", Part::Constraint)] {
        let (old, new) = (before.texts(part), after.texts(part));
        for (what, all, others) in [("added", &new, &old), ("removed", &old, &new)] {
            let only: Vec<&&str> = all.iter().filter(|it| !others.contains(it)).collect();
            match only[..] {
                [] => {}
                [one] => parts.push(format!("{what} {name} {one}")),
                [one, ref rest @ ..] => {
                    parts.push(format!("{what} {name} {one} and {} more", rest.len()));
                }
            }
        }
    }
    if before.goal() != after.goal() {
        parts.push("changed the goal".to_owned());
    }
    if before.depth != after.depth {
        parts.push(format!("depth {}", after.depth.as_str()));
    }
    if parts.is_empty() {
        let is_same =
            (&before.statements, &before.not_included) == (&after.statements, &after.not_included);
        parts.push(if is_same { "no change" } else { "other parts changed" }.to_owned());
    }
    bounded(&parts.join("; "))
}

/// Returns a text of at most [`CHANGE_CHARS_MAX`] characters, in one line.
fn bounded(text: &str) -> String {
    let line: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    shortened(&line, CHANGE_CHARS_MAX).to_owned()
}
