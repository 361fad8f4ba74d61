//! The interface `context`.

use shared_context_codec::parts::{
    command_of,
    context::{self as parts, WindowInput},
};
use shared_context_core::context::plan;

use super::{Answer, Caller, Result, perform_to_json};
use crate::{
    Component,
    bindings::exports::shared_context::core::context::{Guest, Parts, Shares, Window},
};

impl Guest for Component {
    fn plan_window(session: String, caller: Caller, window: Window) -> Result<Answer> {
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
        perform_to_json(&session, caller, command)
    }

    fn assemble_context(session: String, caller: Caller, request: String) -> Result<Answer> {
        perform_to_json(&session, caller, command_of("assemble_context", &request))
    }

    fn read_envelope(session: String, caller: Caller, envelope: String) -> Result<Answer> {
        perform_to_json(&session, caller, parts::read_envelope(&envelope))
    }

    fn export_evidence(session: String, caller: Caller, envelope: String) -> Result<Answer> {
        perform_to_json(&session, caller, parts::export_evidence(&envelope))
    }

    fn record_injection(
        session: String,
        caller: Caller,
        envelope: String,
        place: String,
        target: Option<String>,
        request_id: Option<String>,
    ) -> Result<Answer> {
        let (target, id) = (target.as_deref(), request_id.as_deref());
        perform_to_json(&session, caller, parts::record_injection(&envelope, &place, target, id))
    }

    fn report_missing(
        session: String,
        caller: Caller,
        kind: String,
        text: String,
        envelope: Option<String>,
        request_id: Option<String>,
    ) -> Result<Answer> {
        let (envelope, id) = (envelope.as_deref(), request_id.as_deref());
        perform_to_json(&session, caller, parts::report_missing(&kind, text, envelope, id))
    }

    fn answer_missing(
        session: String,
        caller: Caller,
        missing: String,
        answer: String,
        request_id: Option<String>,
    ) -> Result<Answer> {
        let command = parts::answer_missing(&missing, answer, request_id.as_deref());
        perform_to_json(&session, caller, command)
    }

    fn list_missing(session: String, caller: Caller, state: Option<String>) -> Result<Answer> {
        perform_to_json(&session, caller, parts::list_missing(state.as_deref()))
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
