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
                let planned = it.answer(&self.meta.estimator, count);
                Reply::Window(Box::new(planned.map_err(|error| match it.encoding() {
                    Some(named) => open_session::unknown_encoding(
                        "encoding",
                        named,
                        self.tokenizer.encodings(),
                    ),
                    None => error,
                })?))
            }
        };
        Ok(self.answer(reply::Reply::Context(reply)))
    }
}
