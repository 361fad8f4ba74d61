//! Reports on a session besides its entries: prompts, and the operator's inspection.

use super::{Decision, OpenSession, require_admin};
use crate::{
    Error, context,
    kv::{Bucket, Revision},
    namespace::Namespace,
    participant::Participant,
    prompt,
    reply::{Inspection, Reply},
    store::history::HistoryUse,
    tokens::Tokens,
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn prompt(
        &self,
        participant: Option<&Participant>,
        max_tokens: Option<Tokens>,
    ) -> Result<Decision, Error> {
        let namespace = self.own_namespace()?.unwrap_or_else(Namespace::template);
        let reply = prompt::render(
            participant.unwrap_or(&self.caller.participant),
            self.caller.keys(),
            &namespace,
            &self.meta.tools,
            |text| self.count(text),
            max_tokens.unwrap_or(prompt::PROMPT_TOKENS_DEFAULT),
        )?;
        Ok(self.answer(Reply::Prompt(reply)))
    }

    pub(super) fn render_context(
        &self,
        task: Option<&str>,
        max_tokens: Option<Tokens>,
        if_changed_since: Option<Revision>,
    ) -> Result<Decision, Error> {
        if self.is_unchanged(if_changed_since) {
            return Ok(self.answer(Reply::Unchanged));
        }
        let mut entries = self.entries(None)?;
        entries.retain(|it| self.may_read(it));
        let reply = context::render(
            task.map(|it| (it, self.now)),
            entries,
            |entry| self.value(entry),
            |text| self.count(text),
            max_tokens.unwrap_or(context::CONTEXT_TOKENS_DEFAULT),
        )?;
        Ok(self.answer(Reply::RenderedContext(reply)))
    }

    pub(super) fn inspect(&self) -> Result<Decision, Error> {
        require_admin(self.caller)?;
        let entries = self.entries(None)?;
        let next_expiry = entries.iter().filter_map(|it| it.expires_at).min();
        let entries = entries.into_iter().map(|it| self.with_value(it));
        let oldest_change = self.meta.first_of_feed(self.revision());
        Ok(self.answer(Reply::Inspection(Box::new(Inspection {
            session: self.info()?,
            entries: entries.collect::<Result<_, _>>()?,
            snapshots: self.snapshots()?,
            history: HistoryUse {
                versions: self.meta.history_versions,
                bytes: self.meta.history_bytes,
                bytes_max: self.meta.retention.history_bytes_max.into(),
            },
            oldest_change: Some(oldest_change),
            changes: self.revision().next().0.saturating_sub(oldest_change.0),
            next_expiry,
        }))))
    }
}
