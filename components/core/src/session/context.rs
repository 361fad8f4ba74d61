//! The operations of the context pipeline on a session.

use super::{Decision, OpenSession, open_session};
use crate::{
    Error,
    context::{Command, Reply},
    kv::Bucket,
    reply,
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn context(&self, command: &Command) -> Result<Decision, Error> {
        let reply = match command {
            Command::PlanWindow(it) => {
                let count = |by: &_, text: &str| open_session::count(self.tokenizer, by, text);
                Reply::Window(Box::new(it.answer(&self.meta.estimator, count)?))
            }
        };
        Ok(self.answer(reply::Reply::Context(reply)))
    }
}
