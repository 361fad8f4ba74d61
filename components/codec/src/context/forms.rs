//! Members of requests to the context pipeline (spec 16).

use std::collections::BTreeMap;

use shared_context_core::{
    Error,
    budget::Budget,
    context::plan::Parts,
    item::{Authority, Body, Item, ItemRole, Kind, Source, Target, Visibility},
    tokens::{Tokens, approximate},
};

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

/// A candidate: a text, or a reference to one that you have.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "context_item"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct ItemForm {
    /// One line of 1 to 200 characters, unique in the request; for a file its path.
    id: String,
    /// What it is: `file_excerpt`, `tool_result`, `user_message`, `session_history`,
    /// `system_prompt`, `policy_note`, `document_excerpt` and others, or a name of your own.
    kind: String,
    /// The text. Without it the item is a reference, and digest and tokens are required.
    text: Option<String>,
    /// The SHA-256 of the text: `sha256:` and 64 of 0-9 and a-f. Of a text it is checked.
    digest: Option<String>,
    /// The size in tokens; counted when absent.
    tokens: Option<u32>,
    /// The system or file that it comes from.
    origin: Option<String>,
    /// The parts of the origin, such as a range of lines; at most 16.
    selectors: Option<Vec<String>>,
    /// How far its source can be trusted: `user`, `operator`, `tool_internal`, `model`,
    /// `tool_external`; `unknown` when absent.
    authority: Option<String>,
    /// Its ids in other systems: the system, and the id there; at most 16.
    native_ids: Option<BTreeMap<String, String>>,
    /// Who may see it: `model`, `tool`, `runtime`, `ui`, `user`, `reviewer`, `peer_agent`,
    /// `evidence_export`. When absent: model, runtime, reviewer, `evidence_export`.
    targets: Option<Vec<String>>,
    /// When it was written or last modified.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Time>"))]
    at: Option<Time>,
    /// When it ceases to exist.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Time>"))]
    expires_at: Option<Time>,
    /// Its importance, 1 to 10.
    importance: Option<u32>,
    /// `active`: it is being worked on; `core`: much depends on it; `utility`: a helper.
    roles: Option<Vec<String>>,
    /// The number of operations since it was modified; 1 for the last operation.
    operations_ago: Option<u32>,
    /// How many open issues it has.
    open_issues: Option<u32>,
    /// The ids of the items that it depends on; at most 64.
    depends_on: Option<Vec<String>>,
    /// The id of the item that it is never separated from, such as the call of a tool's result.
    pair: Option<String>,
    /// What it belongs to, such as a conversation. The items of a group are in the order of the
    /// request.
    group: Option<String>,
}

form! {
    ItemForm:
    id, kind, text, digest, tokens, origin, selectors, authority, native_ids, targets, at,
    expires_at, importance, roles, operations_ago, open_issues, depends_on, pair, group
}

impl ItemForm {
    /// Returns the item, and true if the session counts its tokens. The checks of the core follow.
    pub(super) fn item(self) -> Result<(Item, bool), Error> {
        let named = |error: Error| {
            let id: String = self.id.chars().take(80).collect();
            Error::malformed(format!("item {id}: {error}"))
        };
        let (body, tokens, claimed) = match (self.text, self.digest, self.tokens) {
            (Some(text), digest, tokens) => (Body::Text(text), tokens, digest),
            (None, Some(digest), Some(tokens)) => (Body::Reference { digest }, Some(tokens), None),
            (None, _, _) => {
                return Err(named(Error::malformed(
                    "it has no text; send the text, or for a reference digest and tokens",
                )));
            }
        };
        let targets = self.targets.map(|it| {
            let targets = it.iter().map(|it| Target::parse(it));
            Ok(Visibility::of(targets.collect::<Result<Vec<_>, Error>>()?))
        });
        let authority = self.authority.as_deref().map(Authority::parse).transpose();
        let roles = self.roles.unwrap_or_default();
        let roles = roles.iter().map(|it| ItemRole::parse(it)).collect::<Result<_, Error>>();
        let counted = match &body {
            Body::Text(text) => approximate(text),
            Body::Reference { .. } => Tokens(0),
        };
        let item = Item {
            kind: Kind::parse(&self.kind).map_err(named)?,
            tokens: tokens.map_or(counted, Tokens),
            body,
            source: Source {
                origin: self.origin,
                selectors: self.selectors.unwrap_or_default(),
                digest: claimed,
                authority: authority.map_err(named)?.unwrap_or_default(),
                native_ids: self.native_ids.unwrap_or_default().into_iter().collect(),
            },
            visibility: targets.transpose().map_err(named)?.unwrap_or_default(),
            at: self.at.map(|it| it.0),
            expires_at: self.expires_at.map(|it| it.0),
            importance: self.importance.map(|it| u8::try_from(it).unwrap_or(u8::MAX)),
            roles: roles.map_err(named)?,
            operations_ago: self.operations_ago,
            open_issues: self.open_issues.unwrap_or(0),
            depends_on: self.depends_on.unwrap_or_default(),
            pair: self.pair,
            group: self.group,
            id: self.id,
        };
        Ok((item, tokens.is_none()))
    }
}
