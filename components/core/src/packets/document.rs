//! Packets as JSON: writing, the checksum (spec 18.5). `reading` reads them.

use serde_json::{Map, Value};

use super::{
    kinds::{Layer, MadeBy, Part},
    packet::{Link, PACKET_FORMAT, Packet},
    statement::{Origin, Source, Statement},
};
use crate::{canonical, digest::sha256};

/// The member that has the size in each form.
pub(super) const SIZES: &str = "token_count";
/// The members that the checksum leaves out.
const UNSUMMED: [&str; 2] = ["checksum", SIZES];

/// The members of an object.
pub(super) type Named = Vec<(&'static str, Value)>;

impl Packet {
    /// Returns the packet as canonical JSON.
    pub fn text(&self) -> String {
        text_of(&self.value())
    }

    /// Returns the checksum of the content.
    pub fn sum(&self) -> String {
        checksum(self.value())
    }

    /// Returns the packet as a JSON value.
    pub(super) fn value(&self) -> Value {
        let change = |version: u32, it: &str| {
            object(vec![("text", text(it)), ("version", Value::from(version))])
        };
        let mut members = vec![
            ("address", text(self.address.as_str())),
            ("changelog", self.changelog.iter().map(|it| change(it.version, &it.text)).collect()),
            ("checksum", text(&self.checksum)),
            ("context", self.context()),
            ("created", text(&self.created)),
            ("creator", text(&self.creator)),
            ("depth", text(self.depth.as_str())),
            ("format", text(PACKET_FORMAT)),
            ("layers", self.layers.iter().map(|it| text(it.as_str())).collect()),
            ("links", links(&self.links)),
            ("similarity", text(crate::text::METHOD)),
            ("sources", self.places().into_iter().map(source).collect()),
            ("target_task", text(&self.target_task)),
            (SIZES, self.sizes()),
            ("version", Value::from(self.version)),
        ];
        add(&mut members, "id", self.id.as_deref());
        add(&mut members, "session", self.session.as_deref());
        add(&mut members, "task_type", self.task_type.as_deref());
        object(members)
    }

    /// Returns the size in each form.
    pub(super) fn sizes(&self) -> Value {
        let sizes = [
            ("json", self.token_count.json),
            ("markdown", self.token_count.markdown),
            ("yaml", self.token_count.yaml),
        ];
        object(sizes.map(|(name, it)| (name, Value::from(it.0))).to_vec())
    }

    fn context(&self) -> Value {
        let (mut context, mut code) = (Vec::new(), Vec::new());
        for part in Part::ALL.into_iter().filter(|it| *it != Part::Goal) {
            let of = if part.layer() == Layer::Codebase { &mut code } else { &mut context };
            of.push((part.as_str(), self.of(part).map(element).collect()));
        }
        context.push(("codebase", object(code)));
        context.push(("goal", text(self.goal())));
        context.push(("not_included", texts(&self.not_included)));
        object(context)
    }
}

/// Returns a value as canonical JSON. A value has a canonical form.
pub(super) fn text_of(value: &Value) -> String {
    canonical::text(value).unwrap_or_default()
}

/// Returns the checksum of a document: the digest of its canonical form without `checksum` and
/// `token_count`.
pub(super) fn checksum(mut document: Value) -> String {
    if let Some(members) = document.as_object_mut() {
        for it in UNSUMMED {
            members.remove(it);
        }
    }
    sha256(text_of(&document))
}

/// Returns a statement as its list in a packet has it.
fn element(it: &Statement) -> Value {
    let Some((name, detail)) = it.part.members() else { return text(&it.text) };
    let mut members = vec![(name, text(&it.text))];
    add(&mut members, detail, it.detail.as_deref());
    add_decision(&mut members, it);
    object(members)
}

/// Adds the author of a decision, and the decisions merged into it.
pub(super) fn add_decision(members: &mut Named, it: &Statement) {
    add(members, "made_by", it.made_by.map(MadeBy::as_str));
    if !it.merged_from.is_empty() {
        members.push(("merged_from", texts(&it.merged_from)));
    }
}

fn source((pointer, it): (String, &Statement)) -> Value {
    let mut members = vec![("pointer", text(&pointer))];
    add_source(&mut members, &it.source);
    object(members)
}

/// Adds the members of a source.
pub(super) fn add_source(members: &mut Named, it: &Source) {
    members.push(("authority", text(it.authority.as_str())));
    members.push(("digest", text(&it.digest)));
    add(members, "by", it.by.as_deref());
    let (kind, name, value) = match &it.origin {
        Origin::Given => ("given", "", Value::Null),
        Origin::Entry { key, version } => {
            members.push(("version", Value::from(*version)));
            ("entry", "key", text(key.as_str()))
        }
        Origin::State { round, path } => {
            members.push(("round", Value::from(*round)));
            ("state", "path", text(path))
        }
        Origin::Item { id, line } => {
            members.push(("line", Value::from(*line)));
            ("item", "item", text(id))
        }
        Origin::File { path } => ("file", "path", text(path)),
        Origin::Missing { id } => ("missing", "missing", text(id)),
    };
    members.push(("kind", text(kind)));
    if !name.is_empty() {
        members.push((name, value));
    }
}

/// Returns links as a list.
pub(super) fn links(links: &[Link]) -> Value {
    let link = |it: &Link| {
        let mut members = vec![("packet", text(&it.packet)), ("session", text(&it.session))];
        add(&mut members, "decision", it.decision.as_deref());
        add(&mut members, "digest", it.digest.as_deref());
        object(members)
    };
    links.iter().map(link).collect()
}

/// Returns a string.
pub(super) fn text(it: &str) -> Value {
    Value::String(it.to_owned())
}

/// Returns a list of strings.
pub(super) fn texts(list: &[String]) -> Value {
    list.iter().map(|it| text(it)).collect()
}

/// Adds a member that may have no value.
pub(super) fn add(members: &mut Named, name: &'static str, value: Option<&str>) {
    members.extend(value.map(|it| (name, text(it))));
}

/// Returns an object of these members.
pub(super) fn object(members: Named) -> Value {
    let mut map = Map::new();
    for (name, value) in members {
        map.insert(name.to_owned(), value);
    }
    Value::Object(map)
}
