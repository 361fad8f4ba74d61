//! Safe retries of changes of a project (spec 3.6): the first reply to a request with a request id is
//! kept for the last 256 changes.

use super::{draft::Draft, open::OpenProject, rows};
use crate::{
    Error,
    command::ProjectCommand,
    decision::Decision,
    handoffs::{self, OfferHandoff},
    key::{Line, RequestId},
    kv::{Bucket, Change, Revision},
    memories::{Command, MemoryRef, NewMemory, Status, UpdateMemory, Value},
    outline::{ChangeKind, Marker, NewSection},
    ownership::{self, CoordinationChange},
    participant::Caller,
    record::REQUESTS,
    reply::{Outcome, Reply},
    row::digest,
    scope::SessionId,
};

/// The row that stores the reply to a request, and the digest of the request.
#[derive(Clone)]
pub(super) struct Retry {
    row: String,
    digest: [u8; 16],
}

impl Retry {
    pub(super) fn new(
        caller: &Caller,
        id: &RequestId,
        command: &ProjectCommand,
    ) -> Result<Self, Error> {
        // Participants of several sessions have one name: each session has its own request ids.
        let session = caller.session.as_ref().map_or("", SessionId::as_str);
        Ok(Self {
            row: format!("{REQUESTS}{session}/{}/{}", caller.participant, id.as_str()),
            digest: command_digest(caller, command)?,
        })
    }

    /// Returns the row with the reply at `revision`.
    pub(super) fn row(
        &self,
        revision: Revision,
        reply: &Reply,
    ) -> Result<(String, Vec<u8>), Error> {
        Ok((self.row.clone(), rows::encode_answer(self.digest, revision, reply)?))
    }
}

impl<B: Bucket> OpenProject<'_, B> {
    /// Returns the stored reply if the same request was performed before.
    pub(super) fn first_reply(&self) -> Result<Option<Decision>, Error> {
        let Some(retry) = &self.retry else { return Ok(None) };
        let Some(bytes) = self.bucket.get(&retry.row)? else { return Ok(None) };
        Ok(Some(match rows::decode_answer(&bytes, retry.digest)? {
            rows::FirstReply::Project => self.show(),
            rows::FirstReply::Coordination => self.coordination()?,
            rows::FirstReply::Handoff(number) => self.first_handoff(number)?,
            rows::FirstReply::Stored(revision, reply) => {
                Decision::Answer(Outcome { revision, reply: *reply, next_expiry: None })
            }
        }))
    }
}

impl<B: Bucket> Draft<'_, B> {
    /// Removes the reasons of leases of a section from the stored replies.
    pub(super) fn forget_reasons(&mut self, marker: &Marker) -> Result<(), Error> {
        for (row, bytes) in self.open.bucket.scan(REQUESTS, None, u32::MAX)? {
            if let Some(bytes) = rows::without_reason(&bytes, marker)? {
                self.push(Change::Put(row, bytes));
            }
        }
        Ok(())
    }
}

/// Returns the digest that identifies a command of a session of the caller.
fn command_digest(caller: &Caller, command: &ProjectCommand) -> Result<[u8; 16], Error> {
    let session = caller.session.as_ref().map_or("", SessionId::as_str);
    let mut parts = Parts(Vec::new());
    match command {
        ProjectCommand::Create(config) => {
            parts.text("create_project");
            parts.number(Some(config.memories_max.into()));
            parts.text(config.estimator.as_str());
        }
        ProjectCommand::Import { digest, .. } => {
            parts.text("import_project");
            parts.text(digest);
        }
        ProjectCommand::Archive => parts.text("archive_project"),
        ProjectCommand::Memories(Command::Add(all)) => {
            parts.text("add_memories");
            for it in all {
                parts.new_memory(it);
            }
        }
        ProjectCommand::Memories(Command::Update(it)) => parts.update(it),
        ProjectCommand::Memories(Command::Supersede { id, by }) => {
            parts.text("supersede_memory");
            parts.ids(&[*id, *by]);
        }
        ProjectCommand::Memories(Command::Mark { ids, mark }) => {
            parts.text("mark_memories");
            parts.text(mark.as_str());
            parts.ids(ids);
        }
        ProjectCommand::Memories(Command::Maintain { is_dry_run: false }) => {
            parts.text("maintain");
        }
        ProjectCommand::Memories(Command::Redact { id, reason }) => {
            parts.text("redact_memory");
            parts.ids(&[*id]);
            parts.text(reason.as_str());
        }
        ProjectCommand::Outline(it) => parts.outline(it)?,
        ProjectCommand::Handoffs(handoffs::Command::Offer(it)) => parts.offer(it),
        ProjectCommand::Handoffs(handoffs::Command::Accept(id)) => {
            parts.text("accept_handoff");
            parts.number(Some(id.0));
        }
        ProjectCommand::Handoffs(handoffs::Command::Decline { id, reason }) => {
            parts.text("decline_handoff");
            parts.number(Some(id.0));
            parts.text(reason.as_str());
        }
        ProjectCommand::Handoffs(handoffs::Command::Redact { id, reason }) => {
            parts.text("redact_handoff");
            parts.number(Some(id.0));
            parts.text(reason.as_str());
        }
        _ => return Err(Error::malformed("request_id is not for this action; leave it out")),
    }
    digest(&(session, parts.0))
}

/// The parts of a command that identify it.
struct Parts(Vec<String>);

impl Parts {
    fn text(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.0.push(text.map_or_else(String::new, |it| ["=", it].concat()));
    }

    fn number(&mut self, number: Option<u64>) {
        self.0.push(number.map_or_else(String::new, |it| it.to_string()));
    }

    fn texts(&mut self, all: &[String]) {
        self.number(Some(all.len().try_into().unwrap_or(u64::MAX)));
        self.0.extend(all.iter().cloned());
    }

    fn ids(&mut self, all: &[MemoryRef]) {
        self.number(Some(all.len().try_into().unwrap_or(u64::MAX)));
        self.0.extend(all.iter().map(ToString::to_string));
    }

    fn new_memory(&mut self, it: &NewMemory) {
        self.0.push(it.digest());
        self.number(Some(it.importance.into()));
        self.optional(it.status.map(Status::as_str));
        self.text(it.authority.as_str());
        self.number(it.at.map(|it| it.0));
        self.number(it.expires_at.map(|it| it.0));
        self.ids(it.parent.as_slice());
        self.ids(&it.supersedes);
        self.optional(it.source.as_ref().map(|it| it.place.as_str()));
        self.optional(it.source.as_ref().and_then(|it| it.digest.as_deref()));
    }

    fn outline(&mut self, command: &ownership::Command) -> Result<(), Error> {
        use ownership::Command;

        match command {
            Command::Put(it) => {
                self.text("put_section");
                self.section(&it.section);
                self.number(it.if_version.map(u64::from));
                self.optional(it.change.map(ChangeKind::as_str));
            }
            Command::Delete { marker, if_version } => {
                self.section_of("delete_section", marker);
                self.number(if_version.map(u64::from));
            }
            Command::Acquire(it) => {
                self.section_of("acquire", &it.marker);
                self.text(it.kind.as_str());
                self.number(Some(it.ttl_ms));
                self.optional(it.reason.as_ref().map(Line::as_str));
            }
            Command::Renew { marker, ttl_ms } => {
                self.section_of("renew", marker);
                self.number(Some(*ttl_ms));
            }
            Command::Release(marker) => self.section_of("release", marker),
            Command::Transfer(it) => {
                self.section_of("transfer", &it.marker);
                self.text(&it.to.text());
                self.number(Some(it.ttl_ms));
                self.optional(it.reason.as_ref().map(Line::as_str));
            }
            Command::Coordinate(it) => self.coordinate(it),
            Command::Redact { marker, reason } => {
                self.section_of("redact_section", marker);
                self.text(reason.as_str());
            }
            Command::Read(_) | Command::Index { .. } | Command::Check | Command::Coordination => {
                return Err(Error::malformed("request_id is not for this action; leave it out"));
            }
        }
        Ok(())
    }

    fn section_of(&mut self, action: &str, marker: &Marker) {
        self.text(action);
        self.text(marker.as_str());
    }

    fn section(&mut self, it: &NewSection) {
        self.text(it.marker.as_str());
        for text in [&it.title, &it.content, &it.summary, &it.status] {
            self.optional(text.as_deref());
        }
        self.number(it.progress.map(u64::from));
        self.number(it.shortcuts.as_ref().map(|it| it.len().try_into().unwrap_or(u64::MAX)));
        for shortcut in it.shortcuts.iter().flatten() {
            self.text(shortcut.need.as_str());
            self.text(shortcut.marker.as_str());
            self.optional(shortcut.label.as_ref().map(Line::as_str));
        }
        if let Some(file) = &it.file {
            self.text(file.path.as_str());
            self.number(Some(file.size));
            self.number(file.modified_at.map(|it| it.0));
            self.optional(file.digest.as_deref());
            self.text(file.purpose.as_str());
        }
        self.optional(it.readers.as_ref().map(|_| "readers"));
        self.texts(it.readers.as_deref().unwrap_or_default());
    }

    fn coordinate(&mut self, it: &CoordinationChange) {
        self.text("coordinate");
        self.number(Some(it.if_version));
        self.optional(it.assignments.as_ref().map(|_| "assignments"));
        for it in it.assignments.iter().flatten() {
            self.text(it.participant.as_str());
            self.lines(&it.tasks);
        }
        self.optional(it.blockers.as_ref().map(|_| "blockers"));
        self.lines(it.blockers.as_deref().unwrap_or_default());
        self.optional(it.resources.as_ref().map(|_| "resources"));
        for it in it.resources.iter().flatten() {
            self.text(it.name.as_str());
            self.text(it.value.as_str());
        }
    }

    fn lines(&mut self, all: &[Line]) {
        self.number(Some(all.len().try_into().unwrap_or(u64::MAX)));
        self.0.extend(all.iter().map(|it| it.as_str().to_owned()));
    }

    fn offer(&mut self, it: &OfferHandoff) {
        self.text("offer_handoff");
        for party in it.from.iter().chain([&it.to]) {
            self.text(party.participant.as_str());
            self.optional(party.session.as_ref().map(SessionId::as_str));
        }
        for text in [it.kind.as_str(), it.reason.as_str(), &it.summary] {
            self.text(text);
        }
        for text in [&it.task, &it.packet] {
            self.optional(text.as_deref());
        }
        let skills = [&it.sections, &it.required_skills, &it.capabilities];
        for texts in skills.into_iter().chain(&it.texts) {
            self.texts(texts);
        }
        for item in &it.items {
            self.text(&item.id);
            self.optional(item.text());
        }
        self.number(Some(it.budget.0.into()));
        self.number(Some(it.seconds));
    }

    fn update(&mut self, it: &UpdateMemory) {
        self.text("update_memory");
        self.ids(&[it.id]);
        self.number(it.if_version.map(u64::from));
        self.optional(it.title.as_deref());
        self.number(it.importance.map(u64::from));
        self.optional(it.status.map(Status::as_str));
        self.optional(it.expires_at.map(|_| "expires"));
        self.number(it.expires_at.flatten().map(|it| it.0));
        self.optional(it.tags.as_ref().map(|_| "tags"));
        self.texts(it.tags.as_deref().unwrap_or_default());
        for (name, value) in &it.content {
            self.text(name);
            match value {
                None => self.text(""),
                Some(Value::Text(it)) => self.optional(Some(it)),
                Some(Value::Number(it)) => self.number(Some(*it)),
                Some(Value::Texts(all)) => self.texts(all),
            }
        }
    }
}
