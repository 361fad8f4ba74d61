//! The sessions that worked on a project (spec 15.7).

use super::{open::OpenProject, require_orchestrator};
use crate::{
    Error,
    count::widen,
    decision::Decision,
    kv::Bucket,
    memories::rows,
    order::sorted,
    portable::PortableSession,
    reply::{ProjectSessions, Reply},
    row::damaged,
    scope::SessionId,
};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn sessions(&self, limit: u32) -> Result<Decision, Error> {
        require_orchestrator(
            self.caller,
            "only an orchestrator lists the sessions of a project; rehydrate says when the last one \
             worked on it",
        )?;
        let latest = sorted(self.all_sessions()?, |a, b| b.did.last_at.cmp(&a.did.last_at));
        let latest = latest.into_iter().take(widen(limit));
        let sessions = latest.map(|it| (it.session, it.did)).collect();
        let total = self.meta.totals.sessions;
        Ok(self.answer(Reply::ProjectSessions(ProjectSessions { sessions, total })))
    }

    /// Returns what sessions did, by their ids.
    pub(super) fn all_sessions(&self) -> Result<Vec<PortableSession>, Error> {
        let mut sessions = Vec::new();
        for (row, bytes) in self.bucket.scan(rows::SESSIONS, None, u32::MAX)? {
            let id = row.strip_prefix(rows::SESSIONS).and_then(SessionId::new);
            let session = id.ok_or_else(|| damaged("the row of a session has no valid id"))?;
            sessions.push(PortableSession { session, did: rows::decode_session(&bytes)? });
        }
        Ok(sessions)
    }
}
