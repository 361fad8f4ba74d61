//! What is told of a session besides its entries: prompts, and the audit trail.

use super::{Decision, Request};
use crate::{
    Error,
    command::{AuditPage, Reply},
    namespace::Namespace,
    participant::Participant,
    port::{Bucket, Revision},
    prompt, record,
    tokens::Tokens,
};

impl<B: Bucket> Request<'_, B> {
    pub(super) fn prompt(
        &self,
        participant: Option<&Participant>,
        max_tokens: Option<Tokens>,
    ) -> Result<Decision, Error> {
        let meta = self.open()?;
        let namespace = self.own_namespace(&meta)?.unwrap_or_else(Namespace::template);
        let reply = prompt::render(
            participant.unwrap_or(&self.caller.participant),
            &namespace,
            meta.estimator()?,
            max_tokens.unwrap_or(prompt::PROMPT_TOKENS_DEFAULT),
        )?;
        Ok(self.answer(Reply::Prompt(reply)))
    }

    pub(super) fn audit(&self, since: Revision, limit: u32) -> Result<Decision, Error> {
        self.open()?;
        self.require_admin()?;
        let decode =
            |(row, bytes): &(String, Vec<u8>)| record::decode_audit(self.session, row, bytes);
        let first = self.bucket.scan(record::AUDIT, None, 1)?;
        let oldest = first.first().map(decode).transpose()?.map(|it| it.revision);
        let after = record::audit_row(since);
        let rows = self.bucket.scan(record::AUDIT, Some(&after), limit)?;
        let records = rows.iter().map(decode).collect::<Result<Vec<_>, _>>()?;
        let last = records.last().map(|it| it.revision);
        let next_since = last.filter(|last| *last < self.bucket.revision());
        Ok(self.answer(Reply::Audit(AuditPage { records, oldest, next_since })))
    }
}
