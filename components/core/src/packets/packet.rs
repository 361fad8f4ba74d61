//! The packet: a document of fixed members (spec 18.1).
//!
//! # Invariant
//!
//! [`Packet::text`] is canonical JSON, and [`Packet::parse`] returns what it wrote. The checksum is
//! that of the document without `checksum` and `token_count`.

use super::{
    address::Address,
    kinds::{Depth, Form, Layer, Part},
    statement::Statement,
};
use crate::tokens::Tokens;

/// The name of the format of packets.
pub const PACKET_FORMAT: &str = "shared-context/packet/1";

/// The context of a task for its worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Its id, such as `PKT-3`; `None` for a preview.
    pub id: Option<String>,
    /// The session; `None` without one.
    pub session: Option<String>,
    /// The receivers of the packet.
    pub address: Address,
    /// Its version, from 1.
    pub version: u32,
    /// The time when it was created, in RFC 3339.
    pub created: String,
    /// The participant that created it.
    pub creator: String,
    /// The task.
    pub target_task: String,
    /// The type of the task, for statistics.
    pub task_type: Option<String>,
    /// Its depth.
    pub depth: Depth,
    /// Its layers.
    pub layers: Vec<Layer>,
    /// The statements for the worker, part by part, at most one goal.
    pub statements: Vec<Statement>,
    /// The context that was left out, as text or counts.
    pub not_included: Vec<String>,
    /// Packets of other sessions that it refers to.
    pub links: Vec<Link>,
    /// The changes of each version, newest last.
    pub changelog: Vec<Change>,
    /// Its checksum.
    pub checksum: String,
    /// Its size in each form.
    pub token_count: TokenCount,
}

/// A reference to a packet of another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The session.
    pub session: String,
    /// The id of the packet.
    pub packet: String,
    /// The decision that is meant, in its words.
    pub decision: Option<String>,
    /// The digest of the decision or the checksum of the packet.
    pub digest: Option<String>,
}

/// A change of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The version.
    pub version: u32,
    /// The change, in one line.
    pub text: String,
}

/// The size of a packet in each form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCount {
    /// As Markdown.
    pub markdown: Tokens,
    /// As YAML.
    pub yaml: Tokens,
    /// As JSON.
    pub json: Tokens,
}

impl Packet {
    /// Returns what to accomplish: the goal, or without one the task.
    pub fn goal(&self) -> &str {
        self.of(Part::Goal).next().map_or(&self.target_task, |it| &it.text)
    }

    /// Returns the statements of a part.
    pub fn of(&self, part: Part) -> impl Iterator<Item = &Statement> {
        self.statements.iter().filter(move |it| it.part == part)
    }

    /// Returns the texts of a part.
    pub fn texts(&self, part: Part) -> Vec<&str> {
        self.of(part).map(|it| it.text.as_str()).collect()
    }

    /// Returns the statements, each with its place in the document as a JSON pointer.
    pub fn places(&self) -> Vec<(String, &Statement)> {
        self.numbered().map(|(nth, it)| (it.part.place(nth), it)).collect()
    }

    /// Returns the statements, each with its number within its part, from 0.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, &Statement)> {
        let (mut part, mut next) = (Part::Goal, 0_usize);
        self.statements.iter().map(move |it| {
            let nth = if it.part == part { next } else { 0 };
            (part, next) = (it.part, nth.saturating_add(1));
            (nth, it)
        })
    }
}

impl TokenCount {
    /// Returns the size in one form.
    pub fn of(self, form: Form) -> Tokens {
        match form {
            Form::Markdown => self.markdown,
            Form::Yaml => self.yaml,
            Form::Json => self.json,
        }
    }
}
