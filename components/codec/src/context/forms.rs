//! Members of requests to the context pipeline (spec 16).

use shared_context_core::context::plan::Parts;

use crate::form::form;

/// The parts of a window in percent.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "window_shares"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct SharesForm {
    /// Instructions and knowledge, at most 40; 35 by default.
    knowledge: Option<f64>,
    /// The task: files, recent outputs, working state, at most 50; 45 by default.
    active: Option<f64>,
    /// Decisions and the state that persists, at most 15; 12.5 by default.
    session_memory: Option<f64>,
    /// Space that stays free, at least 5; 7.5 by default.
    buffer: Option<f64>,
}

form! { SharesForm: knowledge, active, session_memory, buffer }

impl From<SharesForm> for Parts<Option<f64>> {
    fn from(SharesForm { knowledge, active, session_memory, buffer }: SharesForm) -> Self {
        Self { knowledge, active, session_memory, buffer }
    }
}

/// The parts of a window in tokens.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "window_parts"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct PartsForm {
    /// Instructions and knowledge, at most 40 % of the window; 35 % by default.
    knowledge: Option<u32>,
    /// The task: files, recent outputs, working state, at most 50 %; 45 % by default.
    active: Option<u32>,
    /// Decisions and the state that persists, at most 15 %; 12.5 % by default.
    session_memory: Option<u32>,
    /// Space that stays free, at least 5 %; 7.5 % by default.
    buffer: Option<u32>,
}

form! { PartsForm: knowledge, active, session_memory, buffer }

impl From<PartsForm> for Parts<Option<u32>> {
    fn from(PartsForm { knowledge, active, session_memory, buffer }: PartsForm) -> Self {
        Self { knowledge, active, session_memory, buffer }
    }
}
