//! The operations of compaction on a session (spec 17). They store nothing: the session counts
//! tokens, and decides who may ask.

use super::{Decision, OpenSession};
use crate::{Error, compact::Command, kv::Bucket, reply};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn compaction(&self, command: &Command) -> Result<Decision, Error> {
        let reply = command.answer(&|text| self.count(text))?;
        Ok(self.answer(reply::Reply::Compaction(reply)))
    }
}
