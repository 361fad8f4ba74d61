//! The interface `context`.

use shared_context_codec::parts::context::{self as parts, WindowInput};
use shared_context_core::context::plan;

use super::{answer, perform, types};
use crate::{
    Component,
    bindings::exports::shared_context::core::context::{Guest, Parts, Shares, Window},
};

impl Guest for Component {
    fn plan_window(
        session: String,
        caller: types::Caller,
        window: Window,
    ) -> Result<types::Answer, types::Error> {
        let command = parts::plan_window(WindowInput {
            window_tokens: window.window_tokens,
            shares: window.shares.map(Into::into),
            parts: window.parts.map(Into::into),
            used_tokens: Some(window.used_tokens),
            to_load_tokens: Some(window.to_load_tokens),
            operations: Some(window.operations),
            reports: window.reports,
            sample: window.sample,
            encoding: window.encoding,
        });
        perform(&session, caller, command, |outcome| Some(answer(&outcome)))
    }
}

impl From<Shares> for plan::Parts<Option<f64>> {
    fn from(Shares { knowledge, active, session_memory, buffer }: Shares) -> Self {
        Self { knowledge, active, session_memory, buffer }
    }
}

impl From<Parts> for plan::Parts<Option<u32>> {
    fn from(Parts { knowledge, active, session_memory, buffer }: Parts) -> Self {
        Self { knowledge, active, session_memory, buffer }
    }
}
