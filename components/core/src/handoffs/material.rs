//! The material of a package: memories, texts of the agent, and a packet (spec 21.2). The packet of a
//! package that was stored, with its links (21.4).

use serde_json::{Map, Value};

use super::kinds::ListName;
use crate::{
    Error, canonical,
    digest::sha256,
    memories::{Content, Memory},
    scope::SessionId,
};

/// The prefix of every packet format.
const PACKET_FORMAT: &str = "shared-context/packet/";

/// A part of a package, with its share of the budget in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    Metadata,
    Summary,
    Work,
    Next,
    Notes,
}

impl Share {
    pub(super) const ALL: [Self; 5] =
        [Self::Metadata, Self::Summary, Self::Work, Self::Next, Self::Notes];

    /// Returns the share in percent.
    pub(super) fn percent(self) -> u64 {
        match self {
            Self::Metadata => 4,
            Self::Summary => 32,
            Self::Work => 40,
            Self::Next | Self::Notes => 12,
        }
    }
}

/// A candidate of a package.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(super) share: Share,
    /// The object and the list that it belongs to.
    pub(super) place: (&'static str, &'static str),
    /// The name of the piece, if it is left out.
    pub(super) id: String,
    pub(super) value: Value,
    /// The number of the memory that it is.
    pub(super) memory: Option<u64>,
}

/// The project's candidates for a package, each list the most important first.
#[derive(Debug, Default)]
pub(crate) struct Material {
    /// The executive summary of the project, and its writer.
    pub(crate) project: Option<(String, String)>,
    pub(crate) decisions: Vec<Memory>,
    pub(crate) issues: Vec<Memory>,
    pub(crate) state: Option<Memory>,
    pub(crate) lessons: Vec<Memory>,
}

/// Returns a string.
pub(super) fn text(it: &str) -> Value {
    Value::String(it.to_owned())
}

/// Returns an object of these members.
pub(super) fn object(members: Vec<(&str, Value)>) -> Value {
    let mut map = Map::new();
    for (name, value) in members {
        map.insert(name.to_owned(), value);
    }
    Value::Object(map)
}

/// Returns a value as canonical JSON. A value has a canonical form.
pub(super) fn canonical_text(value: &Value) -> String {
    canonical::text(value).unwrap_or_default()
}

/// Adds the pieces of what the project knows.
pub(super) fn memories(pieces: &mut Vec<Piece>, it: &Material) {
    let summary = |list| (Share::Summary, ("context_summary", list));
    let groups = [
        (summary("critical_decisions"), &it.decisions[..]),
        (summary("current_task_state"), it.state.as_slice()),
        (summary("open_issues"), &it.issues[..]),
        ((Share::Notes, ("agent_specific_notes", "known_pitfalls")), &it.lessons[..]),
    ];
    for ((share, place), all) in groups {
        for memory in all {
            let (id, value) = (memory.id.to_string(), memory_value(memory));
            pieces.push(Piece { share, place, id, value, memory: Some(memory.number()) });
        }
    }
    if let Some(state) = &it.state {
        for (name, share, place) in [
            ("blockers", Share::Summary, ("context_summary", "blocking_dependencies")),
            ("substeps_completed", Share::Work, ("work_products", "completed")),
            ("substeps_remaining", Share::Work, ("work_products", "not_started")),
            ("next_actions", Share::Next, ("next_actions", "immediate")),
        ] {
            let texts = state.content.as_ref().map(|it| it.texts(name)).unwrap_or_default();
            // What the agent says itself is newer.
            if !pieces.iter().any(|it| it.place == place) {
                texts_of(pieces, share, place, (name, Some(state.number())), texts);
            }
        }
    }
}

/// Adds the pieces of texts with their name, from the memory with a number if they are from one.
fn texts_of(
    pieces: &mut Vec<Piece>,
    share: Share,
    place: (&'static str, &'static str),
    (name, memory): (&str, Option<u64>),
    texts: &[String],
) {
    for (nth, it) in texts.iter().enumerate() {
        let id = format!("{name}[{nth}]");
        pieces.push(Piece { share, place, id, value: text(it), memory });
    }
}

/// Adds the pieces of the texts of an agent.
pub(super) fn texts(pieces: &mut Vec<Piece>, all: &[Vec<String>]) {
    for (name, texts) in ListName::ALL.into_iter().zip(all) {
        let share = match name.object() {
            "work_products" => Share::Work,
            "next_actions" => Share::Next,
            _ => Share::Notes,
        };
        texts_of(pieces, share, (name.object(), name.as_str()), (name.as_str(), None), texts);
    }
}

fn memory_value(it: &Memory) -> Value {
    let content = it.content.as_ref().map(Content::json).unwrap_or_default();
    let mut members = vec![
        ("by", text(it.created_by.as_str())),
        ("content", serde_json::from_str(&content).unwrap_or_default()),
        ("id", text(&it.id.to_string())),
        ("importance", Value::from(it.importance)),
        ("timestamp", text(&it.at.to_string())),
        ("title", text(&it.title)),
    ];
    members.extend(it.decision.map(|it| ("decision_id", text(&it.to_string()))));
    members.extend((!it.is_verified).then_some(("is_verified", Value::Bool(false))));
    members.extend(it.created_in.as_ref().map(|it| ("session", text(SessionId::as_str(it)))));
    object(members)
}

/// A packet that was given.
#[derive(Debug)]
pub(crate) struct GivenPacket {
    /// The ids of the packet, and its links.
    pub(super) reference: Value,
    context: Map<String, Value>,
    id: String,
}

/// Reads a packet.
///
/// # Errors
///
/// [`Error::Malformed`] if it is not a packet, [`Error::PacketAltered`] if it does not match its
/// checksum.
pub(crate) fn packet(document: &str) -> Result<GivenPacket, Error> {
    let invalid = || {
        Error::malformed(
            "packet must be a packet as JSON, as context_read returns it with format json",
        )
    };
    let parsed: Value = serde_json::from_str(document).map_err(|_| invalid())?;
    let Value::Object(mut members) = parsed else { return Err(invalid()) };
    let mut take = |name: &str| members.remove(name);
    let (checksum, _) = (take("checksum").ok_or_else(invalid)?, take("token_count"));
    let whole = Value::Object(members);
    if checksum != text(&sha256(canonical_text(&whole))) {
        return Err(Error::PacketAltered { differences: Vec::new() });
    }
    let member = |name: &str| whole.get(name).cloned();
    let format = member("format").unwrap_or_default();
    if !format.as_str().is_some_and(|it| it.starts_with(PACKET_FORMAT)) {
        return Err(invalid());
    }
    let Some(Value::Object(context)) = member("context") else { return Err(invalid()) };
    let id = member("id").and_then(|it| it.as_str().map(str::to_owned));
    let mut reference = vec![("checksum", checksum)];
    for name in ["id", "links", "session", "target_task", "version"] {
        reference.extend(member(name).map(|it| (name, it)));
    }
    Ok(GivenPacket {
        reference: object(reference),
        context,
        id: id.unwrap_or_else(|| "packet".to_owned()),
    })
}

impl GivenPacket {
    /// Adds the pieces of the packet.
    pub(super) fn pieces(&self, pieces: &mut Vec<Piece>) {
        self.lists(pieces, &self.context);
    }

    fn lists(&self, pieces: &mut Vec<Piece>, of: &Map<String, Value>) {
        for (name, value) in of {
            match value {
                Value::Object(nested) => {
                    for (name, value) in nested {
                        self.list(pieces, name, value);
                    }
                }
                _ => self.list(pieces, name, value),
            }
        }
    }

    fn list(&self, pieces: &mut Vec<Piece>, name: &str, value: &Value) {
        let elements = match value {
            Value::Array(all) => &all[..],
            Value::String(_) => std::slice::from_ref(value),
            _ => &[],
        };
        for (nth, it) in elements.iter().enumerate() {
            let (share, place, value) = if name == "success_criteria" {
                (Share::Next, ("next_actions", "success_criteria"), it.clone())
            } else {
                let value = object(vec![("part", text(name)), ("value", it.clone())]);
                (Share::Summary, ("context_summary", "packet"), value)
            };
            // The names are those of the caller, and each element repeats them.
            let id = format!("{:.80}/{name:.80}[{nth}]", self.id);
            pieces.push(Piece { share, place, id, value, memory: None });
        }
    }
}

/// A packet by its session and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PacketRef {
    pub(crate) session: String,
    pub(crate) id: String,
}

/// A packet that a package carried.
#[derive(Debug)]
pub(crate) struct Carried {
    /// `None` if it does not say which it is.
    pub(crate) packet: Option<PacketRef>,
    /// The packets that it links with.
    pub(crate) links: Vec<PacketRef>,
}

/// Reads which packet a package carried, if it carried one.
pub(crate) fn carried(package: &str) -> Option<Carried> {
    let document: Value = serde_json::from_str(package).ok()?;
    let packet = document.get("packet").filter(|it| it.is_object())?;
    let reference = |of: &Value, id: &str| {
        let text = |name: &str| of.get(name)?.as_str().map(str::to_owned);
        Some(PacketRef { session: text("session")?, id: text(id)? })
    };
    let links = packet.get("links").and_then(Value::as_array).into_iter().flatten();
    Some(Carried {
        packet: reference(packet, "id"),
        links: links.filter_map(|it| reference(it, "packet")).collect(),
    })
}
