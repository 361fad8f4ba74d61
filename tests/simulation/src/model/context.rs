//! Expected answers and effects of the context pipeline: envelopes, injections and missing context.

use std::rc::Rc;

use shared_context_core::{
    Code, Command, CompactionCommand, CompactionReply, ContextCommand, ContextReply, Label, Reply,
    audit::AuditAction,
    context::{
        AnswerMissing, EnvelopeRead, MissingList, RecordInjection, ReportMissing,
        kept::{Answer as Answered, INJECTIONS_MAX, Injection, KeptId, MISSING_MAX, Missing},
    },
    port::Revision,
};

use super::{
    changes::Transition,
    state::{Answer, Model, is_limited, participant},
};

/// The reply to a change, with the id for its audit record.
pub(super) type Made = Result<(KeptId, Reply), Code>;

impl Model {
    /// Returns the expected answer to a command that changes what the session keeps of the context
    /// pipeline, and the next session.
    pub fn change_context(&self, clock: u64, who: &str, command: &Command) -> Option<Transition> {
        type Request = ContextCommand;
        let action = match command {
            Command::Compaction(CompactionCommand::Compact(it)) if it.keeps => AuditAction::Compact,
            Command::Context(Request::Assemble(it)) if it.keeps => AuditAction::AssembleContext,
            Command::Context(Request::RecordInjection(_)) => AuditAction::RecordInjection,
            Command::Context(Request::ReportMissing(_)) => AuditAction::ReportMissing,
            Command::Context(Request::AnswerMissing(_)) => AuditAction::AnswerMissing,
            _ => return None,
        };
        let reject = |code| Some((Err(code), None));
        if self.about.is_archived {
            return reject(Code::SessionArchived);
        }
        if who == "admin" {
            return reject(Code::Forbidden);
        }
        let mut next = self.begin_change(clock);
        let made = match command {
            Command::Compaction(CompactionCommand::Compact(it)) => next.compact(clock, who, it),
            Command::Context(Request::Assemble(it)) => next.keep(clock, who, it),
            Command::Context(Request::RecordInjection(it)) => next.record_injection(who, it),
            Command::Context(Request::ReportMissing(it)) => next.report_missing(who, it),
            Command::Context(Request::AnswerMissing(it)) => next.answer_missing(who, it),
            _ => return None,
        };
        let (id, reply) = match made {
            Ok(made) => made,
            Err(code) => return reject(code),
        };
        next.record(who, action, None);
        next.record_details(Some(&Label::parse(&id.to_string()).unwrap()), None);
        Some((Ok((Revision(next.revision), reply)), Some(next)))
    }

    /// Returns the expected answer to a read of the context pipeline.
    pub fn read_context(&self, clock: u64, who: &str, command: &ContextCommand) -> Answer {
        let reply = match command {
            ContextCommand::Assemble(it) => {
                let assembled = self.assemble(clock, who, it, None)?.assembled();
                ContextReply::Assembled(Box::new(assembled))
            }
            ContextCommand::ReadEnvelope(id) => {
                ContextReply::Envelope(Box::new(self.read_envelope(who, *id)?))
            }
            ContextCommand::ExportEvidence(id) => {
                ContextReply::Evidence(Box::new(self.read_envelope(who, *id)?))
            }
            ContextCommand::ListMissing(it) => {
                let mut missing = self.context.missing.clone();
                missing.retain(|it| sees(who, it));
                let open = missing.iter().filter(|it| it.answer.is_none()).count() as u32;
                missing.retain(|one| it.is_answered.is_none_or(|is| is == one.answer.is_some()));
                missing.sort_by_key(|it| (it.kind, it.id));
                ContextReply::MissingList(MissingList { missing, open })
            }
            other => panic!("{other:?} is no read that scripts use"),
        };
        Ok((Revision(self.revision), Reply::Context(reply)))
    }

    /// Returns the answer to a repeated request whose first answer was `first`. Texts are stored
    /// once: what was redacted or evicted since is missing, and an answer is the last one.
    pub fn repeated(&self, who: &str, first: &Answer) -> Answer {
        if let Ok((revision, Reply::Packets(reply))) = first {
            return self.repeated_packets(who, *revision, reply);
        }
        if let Ok((_, Reply::Compaction(CompactionReply::Compacted { envelope, .. }))) = first {
            // The texts are those of the request, whatever was redacted since.
            self.envelope_for(who, KeptId::envelope(envelope.unwrap()))?;
        }
        let Ok((revision, Reply::Context(reply))) = first else { return first.clone() };
        let reply = match reply {
            ContextReply::Assembled(it) => {
                let envelope = self.envelope_for(who, it.id.unwrap())?;
                ContextReply::Assembled(Box::new(envelope.assembled()))
            }
            ContextReply::Missing(it) => {
                let found = self.context.missing.iter().find(|one| one.id == it.id);
                let now = found.filter(|it| sees(who, it)).ok_or(Code::MissingNotFound)?;
                let answer = now.answer.clone().filter(|_| it.answer.is_some());
                ContextReply::Missing(Box::new(Missing { answer, ..now.clone() }))
            }
            other => other.clone(),
        };
        Ok((*revision, Reply::Context(reply)))
    }

    fn read_envelope(&self, who: &str, id: KeptId) -> Result<EnvelopeRead, Code> {
        let envelope = self.envelope_for(who, id)?.for_auditors();
        let mut injections = self.context.injections.clone();
        injections.retain(|it| it.envelope == id);
        Ok(EnvelopeRead { envelope, injections })
    }

    fn record_injection(&mut self, who: &str, it: &RecordInjection) -> Made {
        self.envelope_for(who, it.envelope)?;
        let at = self.about.changed_at;
        let kept = Rc::make_mut(&mut self.context);
        kept.last_injection += 1;
        let injection = Injection {
            number: kept.last_injection,
            envelope: it.envelope,
            place: it.place,
            target: it.target,
            at,
            by: participant(who),
        };
        kept.injections.push(injection.clone());
        let over = kept.injections.len().saturating_sub(INJECTIONS_MAX);
        kept.injections.drain(..over);
        Ok((it.envelope, Reply::Context(ContextReply::Injection(Box::new(injection)))))
    }

    fn report_missing(&mut self, who: &str, it: &ReportMissing) -> Made {
        if let Some(id) = it.envelope {
            self.envelope_for(who, id)?;
        }
        let open = self.context.missing.iter().filter(|it| it.answer.is_none());
        if open.count() >= MISSING_MAX {
            return Err(Code::EnvelopeLimit);
        }
        let (at, by) = (self.about.changed_at, participant(who));
        let kept = Rc::make_mut(&mut self.context);
        kept.last_missing += 1;
        let id = KeptId::missing(kept.last_missing);
        let ReportMissing { kind, text, envelope } = it.clone();
        let missing = Missing { id, kind, text, envelope, at, by, answer: None };
        kept.missing.push(missing.clone());
        Ok((id, Reply::Context(ContextReply::Missing(Box::new(missing)))))
    }

    fn answer_missing(&mut self, who: &str, it: &AnswerMissing) -> Made {
        let (at, by) = (self.about.changed_at, participant(who));
        let missing = &mut Rc::make_mut(&mut self.context).missing;
        let found = missing.iter_mut().find(|one| one.id == it.missing);
        let found = found.filter(|it| sees(who, it)).ok_or(Code::MissingNotFound)?;
        found.answer = Some(Answered { text: it.answer.clone(), at, by });
        let answered = found.clone();
        let is_past = |one: &Missing| one.answer.is_some() && one.id != it.missing;
        while missing.iter().filter(|one| is_past(one)).count() >= MISSING_MAX {
            let oldest = missing.iter().position(is_past).unwrap();
            missing.remove(oldest);
        }
        Ok((it.missing, Reply::Context(ContextReply::Missing(Box::new(answered)))))
    }
}

/// Returns true if `who` sees this missing context: a limited credential sees its own.
fn sees(who: &str, it: &Missing) -> bool {
    !is_limited(who) || it.by == participant(who)
}
