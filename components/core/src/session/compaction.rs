//! The operations of compaction on a session (spec 17). The session counts tokens, checks the
//! caller's rights, and keeps the envelope of a compaction if it is asked to (spec 17.5).

use super::{Decision, Draft, OpenSession, context::finish};
use crate::{
    Error,
    audit::AuditAction,
    compact::{self, Command, CompactItems},
    context::{
        self, CompactionHeading,
        kept::{KeptEnvelope, KeptId},
        stored::StoredContext,
    },
    kv::Bucket,
    reply::Reply,
    row::damaged,
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn compaction(&self, command: &Command) -> Result<Decision, Error> {
        if let Command::Compact(it) = command
            && it.keeps
        {
            return self.compact_and_keep(it);
        }
        if self.idempotency_key.is_some() {
            return Err(Error::malformed(
                "request_id is for a compaction that is kept; leave it out, or send keep",
            ));
        }
        let reply = command.answer(&|text| self.count(text))?;
        Ok(self.answer(Reply::Compaction(reply)))
    }

    /// Compacts a conversation, and keeps the envelope with the texts of the result.
    fn compact_and_keep(&self, it: &CompactItems) -> Result<Decision, Error> {
        self.require_participant()?;
        let first = self.first_reply()?;
        let mut reply = it.answer(&|text| self.count(text))?;
        let compact::Reply::Compacted { compaction, items, envelope, .. } = &mut reply else {
            return Err(damaged("this is no compaction"));
        };
        if let Some(Decision::Answer(mut outcome)) = first {
            // The same request has the same result, so that only its envelope is stored.
            let Reply::Context(context::Reply::KeptEnvelope(id)) = outcome.reply else {
                return Err(damaged("the first reply is of another request"));
            };
            self.own_envelope(id)?;
            *envelope = Some(id.number);
            outcome.reply = Reply::Compaction(reply);
            return Ok(Decision::Answer(outcome));
        }
        let mut head = self.kept().head()?;
        head.last_envelope = head.last_envelope.saturating_add(1);
        let number = head.last_envelope;
        let heading = CompactionHeading {
            number,
            session: self.session,
            created_by: &self.caller.participant,
            now: self.now,
        };
        let kept = KeptEnvelope::of_compaction(it, items, compaction, &heading);
        let mut draft = Draft::new(self)?;
        StoredContext::<B>::keep(&mut head, &kept, &mut draft.changes)?;
        *envelope = Some(number);
        let (action, id) = (AuditAction::Compact, KeptId::envelope(number));
        finish(draft, &head, action, id, Reply::Compaction(reply))
    }
}
