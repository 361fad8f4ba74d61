//! Items of requests (spec 16.1).

use std::collections::BTreeMap;

use shared_context_core::{
    Error,
    item::{Authority, Body, Item, ItemRole, Kind, Source, Target, Visibility},
    tokens::{Tokens, approximate},
};

use crate::{form::form, json::Time};

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
    fn item(self) -> Result<(Item, bool), Error> {
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

/// Builds the items of a request, and the places of those whose tokens the session counts. The
/// checks of the core follow.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn items(forms: Vec<ItemForm>) -> Result<(Vec<Item>, Vec<usize>), Error> {
    let (mut items, mut uncounted) = (Vec::with_capacity(forms.len()), Vec::new());
    for (place, form) in forms.into_iter().enumerate() {
        let (item, is_uncounted) = form.item()?;
        uncounted.extend(is_uncounted.then_some(place));
        items.push(item);
    }
    Ok((items, uncounted))
}
