//! Expected answers and effects of the context pipeline, as far as scripts use it: assemblies that
//! are not kept, and missing context. The rules of an assembly are the core's own; what is checked
//! is which entries are candidates, for whom, and what is stored.

use shared_context_core::{
    Code, Command, ContextCommand, ContextReply, Error, Reply, SessionId,
    audit::AuditAction,
    context::{
        AssembleContext, Assembled, MissingList,
        assembly::{self, Heading, Previous, Request},
        kept::{Answer as Answered, KeptId, Missing},
    },
    item::{Authority, Item, Kind, ListedKind},
    port::Revision,
    time::Timestamp,
    tokens::approximate,
};

use super::{
    changes::Transition,
    state::{Answer, Model, name, participant},
};

impl Model {
    /// Returns the expected answer to a command that changes missing context, and the next session.
    pub fn change_context(&self, clock: u64, who: &str, command: &Command) -> Option<Transition> {
        let Command::Context(request) = command else { return None };
        let action = match request {
            ContextCommand::ReportMissing(_) => AuditAction::ReportMissing,
            ContextCommand::AnswerMissing(_) => AuditAction::AnswerMissing,
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
        let (at, by) = (next.about.changed_at, participant(who));
        let missing = match request {
            ContextCommand::ReportMissing(it) => {
                next.context.last_missing += 1;
                let id = KeptId::missing(next.context.last_missing);
                let (kind, text) = (it.kind, it.text.clone());
                let missing = Missing { id, kind, text, envelope: None, at, by, answer: None };
                next.context.missing.push(missing.clone());
                missing
            }
            ContextCommand::AnswerMissing(it) => {
                let found = next.context.missing.iter_mut().find(|one| one.id == it.missing);
                let Some(found) = found.filter(|it| sees(who, it)) else {
                    return reject(Code::MissingNotFound);
                };
                found.answer = Some(Answered { text: it.answer.clone(), at, by });
                found.clone()
            }
            _ => return None,
        };
        next.record(who, action, None);
        let label = shared_context_core::Label::parse(&missing.id.to_string()).unwrap();
        next.record_details(Some(&label), None);
        let reply = Reply::Context(ContextReply::Missing(Box::new(missing)));
        Some((Ok((Revision(next.revision), reply)), Some(next)))
    }

    /// Returns the expected answer to a read of the context pipeline.
    pub fn read_context(&self, clock: u64, who: &str, command: &ContextCommand) -> Answer {
        let reply = match command {
            ContextCommand::Assemble(it) => {
                ContextReply::Assembled(Box::new(self.assemble(clock, who, it)?))
            }
            ContextCommand::ReadEnvelope(_) | ContextCommand::ExportEvidence(_) => {
                return Err(Code::EnvelopeNotFound);
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

    fn assemble(&self, clock: u64, who: &str, it: &AssembleContext) -> Result<Assembled, Code> {
        let mut items = it.items.clone();
        let pattern = it.entries.as_ref();
        for entry in self.readable(who) {
            if entry.is_redacted || !pattern.is_some_and(|it| it.matches(&entry.key)) {
                continue;
            }
            let kind = Kind::Listed(ListedKind::WorkingMemory);
            let mut item =
                Item::inline(format!("entry:{}", entry.key), kind, self.value_of(&entry));
            item.tokens = entry.value_tokens;
            item.at = Some(entry.written_at);
            item.expires_at = entry.expires_at;
            item.source.origin = Some(entry.written_by.to_string());
            item.source.authority = Authority::Model;
            items.push(item);
        }
        if it.previous.is_some() {
            return Err(Code::EnvelopeNotFound);
        }
        let request = Request {
            task: &it.task,
            items: &items,
            rules: &it.rules,
            previous: &Previous::default(),
            now: Timestamp(clock),
        };
        let assembled = assembly::assemble(&request, &|text| Ok(approximate(text)));
        let assembled = assembled.map_err(|error: Error| error.code())?;
        let heading = Heading {
            id: None,
            session: &SessionId::new(self.about.session.as_str()).unwrap(),
            created_by: &participant(who),
            shows_hidden: name(who) == "admin" || name(who) == "orchestrator",
        };
        let envelope = assembled.envelope(&request, &heading);
        Ok(Assembled { id: None, envelope, text: assembled.text })
    }
}

/// Returns true if `who` sees this missing context: a limited credential sees its own.
fn sees(who: &str, it: &Missing) -> bool {
    !who.contains(" only ") || it.by == participant(who)
}
