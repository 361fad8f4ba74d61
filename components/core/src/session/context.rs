//! The operations of the context pipeline on a session (spec 16).

use std::borrow::Cow;

use super::{Decision, Draft, OpenSession, draft::EventDetails};
use crate::{
    Error,
    audit::AuditAction,
    context::{
        AnswerMissing, AssembleContext, Assembled, Command, EnvelopeRead, ListMissing, MissingList,
        PlanWindow, RecordInjection, Reply, ReportMissing,
        assembly::{self, Heading, Previous, Request},
        entries,
        kept::{Answer, Injection, KeptEnvelope, KeptId, Missing},
        rows::Head,
        stored::{self, StoredContext},
    },
    estimate,
    item::{self, Authority, Item, Kind, ListedKind},
    key::Key,
    kv::{Bucket, Revision},
    order::sorted,
    participant::Role,
    reply,
    rounds::stored::StoredRounds,
};

/// The prefix of the id of the item that is the state after a round.
const ROUND: &str = "round:";

/// The candidates of an assembly: those of the client, then those of the session.
struct Candidates<'a> {
    items: Cow<'a, [Item]>,
    /// The number of candidates that the client sent.
    sent: usize,
    /// The entries whose values the next items are.
    entries: Vec<(Key, Revision)>,
}

impl Candidates<'_> {
    /// Returns the entry whose value the item at `place` is.
    fn entry(&self, place: usize) -> Option<(Key, Revision)> {
        self.entries.get(place.checked_sub(self.sent)?).cloned()
    }
}

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn context(&self, command: &Command) -> Result<Decision, Error> {
        match command {
            Command::PlanWindow(it) => self.plan_window(it),
            Command::Assemble(it) => self.assemble(it),
            Command::ReadEnvelope(id) => {
                let read = self.read_envelope(*id)?;
                Ok(self.in_context(Reply::Envelope(Box::new(read))))
            }
            Command::ExportEvidence(id) => {
                let read = self.read_envelope(*id)?;
                Ok(self.in_context(Reply::Evidence(Box::new(read))))
            }
            Command::RecordInjection(it) => self.record_injection(it),
            Command::ReportMissing(it) => self.report_missing(it),
            Command::AnswerMissing(it) => self.answer_missing(it),
            Command::ListMissing(it) => self.list_missing(*it),
        }
    }

    fn plan_window(&self, it: &PlanWindow) -> Result<Decision, Error> {
        let count = |by: &_, text: &str| estimate::count(self.tokenizer, by, text);
        let planned = it.answer(&self.meta.estimator, count);
        let planned = planned.map_err(|error| match it.encoding() {
            Some(named) => {
                estimate::unknown_encoding("encoding", named, self.tokenizer.encodings())
            }
            None => error,
        })?;
        Ok(self.in_context(Reply::Window(Box::new(planned))))
    }

    fn assemble(&self, it: &AssembleContext) -> Result<Decision, Error> {
        if it.keeps {
            self.require_participant()?;
        }
        if it.has_round_state {
            self.require_unlimited()?;
        }
        if it.keeps {
            if let Some(first) = self.first_context_reply()? {
                return Ok(first);
            }
        } else if self.idempotency_key.is_some() {
            return Err(Error::malformed(
                "request_id is for an assembly that is kept; leave it out, or send keep",
            ));
        }
        let candidates = self.candidates(it)?;
        let previous = match it.previous {
            Some(id) => {
                let envelope = self.own_envelope(id)?;
                if envelope.is_of_compaction() {
                    return Err(Error::malformed(format!(
                        "previous is {id}, the envelope of a compaction; name that of an assembly, \
                         or leave previous out"
                    )));
                }
                Previous::of_envelope(&envelope.head, &envelope.open)
            }
            None => Previous::default(),
        };
        let request = Request {
            task: &it.task,
            items: &candidates.items,
            rules: &it.rules,
            previous: &previous,
            now: self.now,
        };
        let assembly = assembly::assemble(&request, &|text| self.count(text))?;
        let mut heading = Heading {
            id: None,
            owner: Some((self.session, &self.caller.participant)),
            shows_hidden: self.caller.participant.role() != Role::Agent,
        };
        if !it.keeps {
            let envelope = assembly.envelope(&request, &heading);
            let reply = Assembled { id: None, envelope, text: assembly.text };
            return Ok(self.in_context(Reply::Assembled(Box::new(reply))));
        }
        let mut head = self.kept().head()?;
        head.last_envelope = head.last_envelope.saturating_add(1);
        let id = KeptId::envelope(head.last_envelope);
        let name = id.to_string();
        heading.id = Some(&name);
        let created_by = &self.caller.participant;
        let entry = |place| candidates.entry(place);
        let number = head.last_envelope;
        let envelope = KeptEnvelope::new(number, &assembly, &request, &heading, created_by, entry);
        let mut draft = Draft::new(self)?;
        StoredContext::<B>::keep(&mut head, &envelope, &mut draft.changes)?;
        let reply = Assembled { id: Some(id), envelope: envelope.head, text: assembly.text };
        let reply = reply::Reply::Context(Reply::Assembled(Box::new(reply)));
        finish(draft, &head, AuditAction::AssembleContext, id, reply)
    }

    /// Collects the candidates of an assembly. Redacted entries, and those that the caller may not
    /// read, are left out.
    fn candidates<'a>(&self, it: &'a AssembleContext) -> Result<Candidates<'a>, Error> {
        let mut items = item::counted(&it.items, &it.uncounted, &|text| self.count(text))?;
        let sent = items.len();
        let mut taken = Vec::new();
        if let Some(pattern) = &it.entries {
            let mut found = self.entries(None)?;
            found.retain(|it| pattern.matches(&it.key) && self.may_read(it) && !it.is_redacted);
            for entry in found {
                items.to_mut().push(entries::item(&entry, self.value(&entry)?));
                taken.push((entry.key, entry.revision));
            }
        }
        if it.has_round_state {
            let rounds = StoredRounds(self.bucket);
            let last = rounds.rounds()?.last;
            if last > 0 {
                let kind = Kind::Listed(ListedKind::TeamMemory);
                let text = rounds.document(last)?.as_str().to_owned();
                let tokens = self.count(&text)?;
                let mut item = Item::inline(format!("{ROUND}{last}"), kind, text);
                item.tokens = tokens;
                item.source.authority = Authority::Model;
                items.to_mut().push(item);
            }
        }
        if items.len() > sent {
            item::check_all(&items)?;
        }
        assembly::check_ids(&items, &it.rules)?;
        Ok(Candidates { items, sent, entries: taken })
    }

    /// Returns an envelope that the caller may read: its own, or any if it is not an agent, without
    /// an entry that its credential hides.
    pub(super) fn own_envelope(&self, id: KeptId) -> Result<KeptEnvelope, Error> {
        let envelope = self.kept().envelope(id)?;
        let caller = &self.caller.participant;
        let keys = self.caller.keys();
        if (caller.role() == Role::Agent && envelope.created_by != *caller)
            || (self.is_limited() && envelope.has_entry(|it| !keys.has(it)))
        {
            return Err(Error::EnvelopeNotFound { id: id.to_string() });
        }
        Ok(envelope)
    }

    /// Returns an envelope and its injections. The text of an entry that the caller may not read now
    /// is left out, and so is what auditors may not see.
    fn read_envelope(&self, id: KeptId) -> Result<EnvelopeRead, Error> {
        let mut envelope = self.own_envelope(id)?;
        self.withhold_unreadable(&mut envelope)?;
        for part in envelope.parts.iter_mut().filter(|it| !it.is_evidence) {
            part.withhold();
        }
        let mut injections = self.kept().injections()?;
        injections.retain(|it| it.envelope == id);
        Ok(EnvelopeRead { envelope, injections })
    }

    /// Leaves out the texts of entries that the caller may not read now, and the states of rounds if
    /// its credential is limited to some keys.
    fn withhold_unreadable(&self, envelope: &mut KeptEnvelope) -> Result<(), Error> {
        if self.caller.participant.role() == Role::Admin {
            return Ok(());
        }
        for part in &mut envelope.parts {
            let is_readable = match (&part.entry, &part.item) {
                (Some((key, _)), _) => self.entry(key)?.is_some_and(|it| self.may_read(&it)),
                (None, Some(id)) => !id.starts_with(ROUND) || !self.is_limited(),
                (None, None) => true,
            };
            if !is_readable {
                part.withhold();
            }
        }
        Ok(())
    }

    fn record_injection(&self, it: &RecordInjection) -> Result<Decision, Error> {
        self.require_participant()?;
        if let Some(first) = self.first_context_reply()? {
            return Ok(first);
        }
        self.own_envelope(it.envelope)?;
        let mut head = self.kept().head()?;
        head.last_injection = head.last_injection.saturating_add(1);
        let mut draft = Draft::new(self)?;
        let injection = Injection {
            number: head.last_injection,
            envelope: it.envelope,
            place: it.place,
            target: it.target,
            at: draft.at,
            by: self.caller.participant.clone(),
        };
        StoredContext::<B>::record(&mut head, &injection, &mut draft.changes)?;
        let reply = reply::Reply::Context(Reply::Injection(Box::new(injection)));
        finish(draft, &head, AuditAction::RecordInjection, it.envelope, reply)
    }

    fn report_missing(&self, it: &ReportMissing) -> Result<Decision, Error> {
        self.require_participant()?;
        if let Some(first) = self.first_context_reply()? {
            return Ok(first);
        }
        if let Some(id) = it.envelope {
            self.own_envelope(id)?;
        }
        self.kept().check_open()?;
        let mut head = self.kept().head()?;
        head.last_missing = head.last_missing.saturating_add(1);
        let mut draft = Draft::new(self)?;
        let missing = Missing {
            id: KeptId::missing(head.last_missing),
            kind: it.kind,
            text: it.text.clone(),
            envelope: it.envelope,
            at: draft.at,
            by: self.caller.participant.clone(),
            answer: None,
        };
        self.kept().put_missing(&missing, &mut draft.changes)?;
        let id = missing.id;
        let reply = reply::Reply::Context(Reply::Missing(Box::new(missing)));
        finish(draft, &head, AuditAction::ReportMissing, id, reply)
    }

    fn answer_missing(&self, it: &AnswerMissing) -> Result<Decision, Error> {
        self.require_participant()?;
        if let Some(first) = self.first_context_reply()? {
            return Ok(first);
        }
        let mut missing = self.visible_missing(it.missing)?;
        let head = self.kept().head()?;
        let mut draft = Draft::new(self)?;
        let by = self.caller.participant.clone();
        missing.answer = Some(Answer { text: it.answer.clone(), at: draft.at, by });
        self.kept().put_missing(&missing, &mut draft.changes)?;
        let reply = reply::Reply::Context(Reply::Missing(Box::new(missing)));
        finish(draft, &head, AuditAction::AnswerMissing, it.missing, reply)
    }

    fn list_missing(&self, it: ListMissing) -> Result<Decision, Error> {
        let mut missing = self.kept().all_missing()?;
        missing.retain(|it| self.sees_missing(it));
        let open = missing.iter().filter(|it| it.answer.is_none()).count();
        let open = u32::try_from(open).unwrap_or(u32::MAX);
        missing.retain(|one| it.is_answered.is_none_or(|it| it == one.answer.is_some()));
        let missing = sorted(missing, |a, b| (a.kind, a.id).cmp(&(b.kind, b.id)));
        Ok(self.in_context(Reply::MissingList(MissingList { missing, open })))
    }

    /// Returns missing context that the caller sees.
    fn visible_missing(&self, id: KeptId) -> Result<Missing, Error> {
        let missing = self.kept().missing(id)?;
        let is_visible = self.sees_missing(&missing);
        is_visible.then_some(missing).ok_or_else(|| Error::MissingNotFound { id: id.to_string() })
    }

    /// Returns true if the caller sees this missing context. A credential that is limited to some
    /// keys sees its own only: texts have no key.
    fn sees_missing(&self, it: &Missing) -> bool {
        !self.is_limited() || it.by == self.caller.participant
    }

    /// Returns the stored reply if the same request was executed before.
    fn first_context_reply(&self) -> Result<Option<Decision>, Error> {
        let Some(Decision::Answer(mut outcome)) = self.first_reply()? else { return Ok(None) };
        outcome.reply = match outcome.reply {
            reply::Reply::Context(Reply::KeptEnvelope(id)) => {
                let mut it = self.own_envelope(id)?;
                self.withhold_unreadable(&mut it)?;
                let text = it.text();
                let it = Assembled { id: Some(id), envelope: it.head, text };
                reply::Reply::Context(Reply::Assembled(Box::new(it)))
            }
            reply::Reply::Context(Reply::KeptMissing(id, is_answered)) => {
                let mut it = self.visible_missing(id)?;
                it.answer = it.answer.filter(|_| is_answered);
                reply::Reply::Context(Reply::Missing(Box::new(it)))
            }
            reply => reply,
        };
        Ok(Some(Decision::Answer(outcome)))
    }

    pub(super) fn kept(&self) -> StoredContext<'_, B> {
        StoredContext(self.bucket)
    }

    /// Creates the decision of a read.
    fn in_context(&self, reply: Reply) -> Decision {
        self.answer(reply::Reply::Context(reply))
    }
}

/// Commits a change of what the session keeps of the context pipeline.
pub(super) fn finish<B: Bucket>(
    mut draft: Draft<'_, B>,
    head: &Head,
    action: AuditAction,
    id: KeptId,
    reply: reply::Reply,
) -> Result<Decision, Error> {
    draft.changes.push(stored::head_change(head)?);
    let label = id.label();
    draft.add_event(action, EventDetails { label: label.as_ref(), ..EventDetails::default() });
    draft.commit(reply, None)
}
