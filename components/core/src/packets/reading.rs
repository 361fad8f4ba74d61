//! Reads packets from JSON. Every member is checked, and the error names the first invalid one by a
//! JSON pointer.
//!
//! After an invalid member, reading continues with a default in its place. To stop at each member
//! would take half of the code of packets.

use std::cell::Cell;

use serde_json::Value;

use super::{
    address::Address,
    kinds::{Depth, Layer, MadeBy, Part},
    packet::{Change, Link, PACKET_FORMAT, Packet, TokenCount},
    statement::{Origin, Source, Statement},
};
use crate::{
    Error, digest::is_sha256, item::Authority, key::Key, syntax::syntax_error, tokens::Tokens,
};

impl Packet {
    /// Parses a packet. Its checksum is not checked: [`super::check_document`] does.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], naming the place, if `text` is no packet.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::read(&parse(text)?)
    }

    /// Reads a packet.
    pub(super) fn read(value: &Value) -> Result<Self, Error> {
        read(value, |it| {
            it.only(&[
                "address",
                "changelog",
                "checksum",
                "context",
                "created",
                "creator",
                "depth",
                "format",
                "id",
                "layers",
                "links",
                "session",
                "similarity",
                "sources",
                "target_task",
                "task_type",
                "token_count",
                "version",
            ]);
            it.get("format").is(PACKET_FORMAT);
            it.get("similarity").text();
            let counts = it.get("token_count");
            counts.only(&["json", "markdown", "yaml"]);
            let tokens = |name| Tokens(counts.get(name).number());
            let change = |it: Place<'_>| {
                it.only(&["text", "version"]);
                Change { version: it.get("version").number(), text: it.get("text").text() }
            };
            Self {
                id: it.get("id").optional(),
                session: it.get("session").optional(),
                address: it.get("address").parse(Address::parse).unwrap_or(Address::Shared),
                version: it.get("version").number(),
                created: it.get("created").text(),
                creator: it.get("creator").text(),
                target_task: it.get("target_task").text(),
                task_type: it.get("task_type").optional(),
                depth: it.get("depth").parse(Depth::parse).unwrap_or(Depth::Minimal),
                layers: it.get("layers").items().filter_map(|it| it.parse(Layer::parse)).collect(),
                statements: statements(&it),
                not_included: it.get("context").get("not_included").texts(),
                links: links(&it),
                changelog: it.get("changelog").items().map(change).collect(),
                checksum: it.get("checksum").text(),
                token_count: TokenCount {
                    markdown: tokens("markdown"),
                    yaml: tokens("yaml"),
                    json: tokens("json"),
                },
            }
        })
    }
}

/// Reads the statements of a packet. Each has a source, in the order of the document; a goal that is
/// the task needs none.
fn statements(packet: &Place<'_>) -> Vec<Statement> {
    let context = packet.get("context");
    let code = context.get("codebase");
    let of_layer = |is_code: bool| {
        let parts = Part::ALL.into_iter().filter(|it| (it.layer() == Layer::Codebase) == is_code);
        parts.map(Part::as_str).collect::<Vec<_>>()
    };
    context.only(&[of_layer(false), vec!["codebase", "not_included"]].concat());
    code.only(&of_layer(true));
    let mut sources = packet.get("sources").items().peekable();
    let mut all = Vec::new();
    for part in Part::ALL {
        let of = if part.layer() == Layer::Codebase { &code } else { &context };
        let list = of.get(part.as_str());
        let elements = if part == Part::Goal { vec![list] } else { list.items().collect() };
        for (nth, element) in elements.into_iter().enumerate() {
            let pointer = part.place(nth);
            let is_of = |it: &Place<'_>| it.get("pointer").value.as_str() == Some(&pointer);
            if let Some(source) = sources.next_if(is_of) {
                all.push(statement(part, &element, Source::read(&source)));
            } else if part != Part::Goal || element.value != packet.get("target_task").value {
                element.reject("has no source; sources has one for each statement, in their order");
            }
        }
    }
    if let Some(it) = sources.next() {
        it.reject("is the source of nothing, or is not in its place");
    }
    all
}

/// Reads a statement as its list in a packet has it.
fn statement(part: Part, it: &Place<'_>, source: Source) -> Statement {
    let Some((name, detail)) = part.members() else {
        return Statement::new(part, it.text(), source);
    };
    let decision: &[&str] = if part == Part::Decision { &["made_by", "merged_from"] } else { &[] };
    it.only(&[&[name, detail], decision].concat());
    let mut statement = Statement::new(part, it.get(name).text(), source);
    statement.detail = it.get(detail).optional();
    if part == Part::Decision {
        it.get("made_by").text();
        it.decision(&mut statement);
    }
    statement
}

/// Reads links.
pub(super) fn links(it: &Place<'_>) -> Vec<Link> {
    let link = |it: Place<'_>| {
        it.only(&["decision", "digest", "packet", "session"]);
        Link {
            session: it.get("session").text(),
            packet: it.get("packet").text(),
            decision: it.get("decision").optional(),
            digest: it.get("digest").optional(),
        }
    };
    it.get("links").items().map(link).collect()
}

impl Source {
    pub(super) fn read(it: &Place<'_>) -> Self {
        let place = it.get("digest");
        let digest = place.text();
        if !is_sha256(&digest) {
            place.reject("must be sha256: and 64 hexadecimal digits");
        }
        let kind = it.get("kind");
        let key = |it: &Place<'_>| it.get("key").parse(Key::parse);
        let origin = match kind.text().as_str() {
            "given" => Origin::Given,
            "entry" => key(it).map_or(Origin::Given, |key| Origin::Entry {
                key,
                version: it.get("version").count(),
            }),
            "state" => {
                Origin::State { round: it.get("round").count(), path: it.get("path").text() }
            }
            "item" => Origin::Item { id: it.get("item").text(), line: it.get("line").number() },
            "file" => Origin::File { path: it.get("path").text() },
            "missing" => Origin::Missing { id: it.get("missing").text() },
            _ => {
                kind.reject("is none of the kinds of sources");
                Origin::Given
            }
        };
        let authority = it.get("authority").parse(Authority::parse).unwrap_or_default();
        Self { origin, digest, authority, by: it.get("by").optional() }
    }
}

/// Parses a JSON document.
///
/// # Errors
///
/// [`Error::Malformed`] if it is not valid JSON.
pub(super) fn parse(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| {
        Error::malformed(format!("the document is no JSON: {}", syntax_error(&error)))
    })
}

/// Reads a document.
///
/// # Errors
///
/// The first error in the document.
pub(super) fn read<T>(document: &Value, read: impl FnOnce(Place<'_>) -> T) -> Result<T, Error> {
    let wrong = Cell::new(None);
    let it = read(Place { value: document, steps: [None; STEPS_MAX], wrong: &wrong });
    wrong.into_inner().map_or(Ok(it), Err)
}

/// A value of a document, and its place.
#[derive(Clone)]
pub(super) struct Place<'a> {
    value: &'a Value,
    /// The way to it from the document.
    steps: [Option<Step<'a>>; STEPS_MAX],
    /// The first error in the document.
    wrong: &'a Cell<Option<Error>>,
}

/// A step from a value to one of its own.
#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Element(usize),
}

/// More steps than the deepest value of a packet or recipe has:
/// `/context/decisions/0/merged_from/0`.
const STEPS_MAX: usize = 6;

impl<'a> Place<'a> {
    /// Returns a member; one that is not there is null.
    pub(super) fn get(&self, name: &'a str) -> Self {
        self.at(self.value.get(name).unwrap_or(&Value::Null), Step::Member(name))
    }

    fn at(&self, value: &'a Value, step: Step<'a>) -> Self {
        let mut steps = self.steps;
        if let Some(next) = steps.iter_mut().find(|it| it.is_none()) {
            *next = Some(step);
        }
        Self { value, steps, wrong: self.wrong }
    }

    /// Rejects anything but an object of these members.
    pub(super) fn only(&self, names: &[&str]) {
        let Some(members) = self.value.as_object() else {
            return self.reject("must be an object");
        };
        if let Some(name) = members.keys().find(|it| !names.contains(&it.as_str())) {
            self.get(name).reject(&format!("is unknown; there are {}", names.join(", ")));
        }
    }

    /// Returns the value, which must be a string.
    pub(super) fn text(&self) -> String {
        self.checked(self.value.as_str().map(str::to_owned), "must be a string")
    }

    /// Rejects anything but this string.
    pub(super) fn is(&self, text: &str) {
        if self.value.as_str() != Some(text) {
            self.reject(&format!("must be {text}"));
        }
    }

    /// Returns the value, which may be missing, and else must be a string.
    pub(super) fn optional(&self) -> Option<String> {
        (!self.value.is_null()).then(|| self.text())
    }

    /// Returns what a string means; `None` if it is rejected.
    pub(super) fn parse<T>(&self, parse: fn(&str) -> Result<T, Error>) -> Option<T> {
        let Some(text) = self.value.as_str() else {
            self.text();
            return None;
        };
        parse(text).map_err(|error| self.fail(error)).ok()
    }

    /// Returns the value, which must be a number of 32 bits.
    pub(super) fn number(&self) -> u32 {
        self.checked(u32::try_from(self.count()).ok(), "is too large")
    }

    /// Returns the value, which must be a whole number; `None` if it is absent.
    pub(super) fn optional_count(&self) -> Option<u64> {
        (!self.value.is_null()).then(|| self.count())
    }

    /// Returns the value, which must be a whole number.
    pub(super) fn count(&self) -> u64 {
        self.checked(self.value.as_u64(), "must be a whole number")
    }

    /// Returns the value, which must be a flag.
    pub(super) fn flag(&self) -> bool {
        self.checked(self.value.as_bool(), "must be true or false")
    }

    /// Returns the elements of the value, which must be a list.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let list = self.checked(self.value.as_array().map(Vec::as_slice), "must be a list");
        let of = self.clone();
        list.iter().enumerate().map(move |(nth, value)| of.at(value, Step::Element(nth)))
    }

    /// Returns the elements of the value, which must be a list of strings.
    pub(super) fn texts(&self) -> Vec<String> {
        self.items().map(|it| it.text()).collect()
    }

    /// Reads the author of a decision, and the decisions merged into it, as far as the document has
    /// them.
    pub(super) fn decision(&self, it: &mut Statement) {
        let made_by = self.get("made_by");
        it.made_by = made_by.optional().and_then(|_| made_by.parse(MadeBy::parse));
        let merged = self.get("merged_from");
        if !merged.value.is_null() {
            it.merged_from = merged.texts();
        }
    }

    /// Remembers that the value is wrong.
    pub(super) fn reject(&self, what: &str) {
        let step = |it: &Step<'_>| match it {
            Step::Member(name) => format!("/{}", escaped(name)),
            Step::Element(nth) => format!("/{nth}"),
        };
        let pointer: String = self.steps.iter().flatten().map(step).collect();
        let shown: String = pointer.chars().take(200).collect();
        let place = if shown.is_empty() { "the document" } else { &shown };
        self.fail(Error::malformed(format!("invalid packet: {place} {what}")));
    }

    fn checked<T: Default>(&self, value: Option<T>, what: &str) -> T {
        if value.is_none() {
            self.reject(what);
        }
        value.unwrap_or_default()
    }

    fn fail(&self, error: Error) {
        let first = self.wrong.take().unwrap_or(error);
        self.wrong.set(Some(first));
    }
}

/// Returns the name of a member as a part of a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
