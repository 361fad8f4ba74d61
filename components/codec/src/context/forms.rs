//! Members of requests to the context pipeline (spec 16).

use shared_context_core::{budget::Budget, context::plan::Parts, tokens::Tokens};

use crate::{form::form, json::Time};

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

/// A window, as an assembly needs to know it.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "assembly_window"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct WindowForm {
    /// The size of the window, 1 to 10000000; 200000 when absent.
    pub(super) window_tokens: Option<u32>,
    /// The tokens in the window; 0 when absent.
    pub(super) used_tokens: Option<u32>,
}

form! { WindowForm: window_tokens, used_tokens }

/// The limits of an assembly.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "context_budget"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct BudgetForm {
    /// The most tokens, the reserve included, 1 to 10000000; 50000 when absent.
    tokens: Option<u32>,
    /// The most bytes of text, 1 to 1099511627776.
    bytes: Option<u64>,
    /// The most items, 1 to 2000.
    items: Option<u32>,
    /// Leave out items of this instant or before.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Time>"))]
    newer_than: Option<Time>,
    /// The tokens that stay free; less than tokens.
    reserved: Option<u32>,
}

form! { BudgetForm: tokens, bytes, items, newer_than, reserved }

impl BudgetForm {
    pub(super) fn budget(&self, default: Tokens) -> Budget {
        Budget {
            tokens: self.tokens.map_or(default, Tokens),
            bytes: self.bytes,
            items: self.items,
            newer_than: self.newer_than.map(|it| it.0),
            reserved: Tokens(self.reserved.unwrap_or(0)),
        }
    }
}
