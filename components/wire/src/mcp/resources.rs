//! Resources: the keys of a session, its packets, its entries and the skill, for clients that show
//! them or pass them to a model.
//!
//! # Invariants
//!
//! - The list contains what the caller can see, in the order of keys. A page starts after a key, so
//!   writes in between do not shift pages.
//! - A missing resource and a hidden one return the same error.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rmcp::model::{
    Annotations, ErrorCode, ListResourceTemplatesResult, ListResourcesResult, MetaObject,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde::Deserialize;
use serde_json::json;
use shared_context_codec::{Failure, Reply, text_in};
use shared_context_core::{packets::Address, tokens::Tokens};

use super::{
    Cache, Context, MethodResult, Rejection,
    fault::Fault,
    params::Params,
    server::one_page,
    skill,
    uri::{CONTEXT_TEMPLATE, ENTRY_TEMPLATE, KEYS_TEMPLATE, PACKET_TEMPLATE, ResourceUri},
    version::Version,
};
use crate::{
    Engine,
    credential::Identity,
    http::{ToolRequest, invalid_reply},
};

/// Most resources of one page.
const PAGE: usize = 100;
/// Prefix of a decoded cursor; the key to continue after follows.
const CURSOR: &str = "after ";

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
const MARKDOWN: &str = "text/markdown";

/// Reply of `list_keys`: the entries of a session, by key.
#[derive(Deserialize)]
pub(crate) struct KeyList<'b> {
    #[serde(borrow)]
    pub(crate) keys: Vec<ListedEntry<'b>>,
}

/// An entry without its value.
#[derive(Deserialize)]
pub(crate) struct ListedEntry<'b> {
    pub(crate) key: &'b str,
    pub(crate) written_by: &'b str,
    written_at: &'b str,
    version: u64,
    value_size_tokens: u32,
    /// False if the caller may not read its value; otherwise absent.
    readable: Option<bool>,
}

/// Reply of `list_packets`.
#[derive(Deserialize)]
struct PacketList<'b> {
    #[serde(borrow)]
    packets: Vec<ListedPacket<'b>>,
}

/// A packet without its content.
#[derive(Deserialize)]
struct ListedPacket<'b> {
    address: &'b str,
    version: u64,
    created_at: &'b str,
    created_by: &'b str,
    tokens: u32,
}

/// Reply of `read`: an entry with its value.
#[derive(Deserialize)]
struct EntryReply {
    value: String,
    version: u64,
    revision: u64,
    written_by: String,
}

/// `resources/list`: the session's keys, the skill, the packets that the caller may read, and then
/// every entry. The admin key belongs to no session and gets only the skill.
///
/// # Errors
///
/// Invalid params (-32602): a cursor that no page returned. Errors of the session.
pub(crate) async fn list<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    let session = match context.identity {
        Identity::Admin => {
            one_page(params)?;
            return list_result(vec![skill::resource()], None);
        }
        Identity::Participant(grant) => grant.scope.id(),
    };
    let after = params.text("cursor")?.map(|it| read_cursor(&it)).transpose()?;
    let reply = list_keys(context, session).await?;
    let listing = KeyList::of(&reply)?;
    let mut resources = Vec::new();
    if after.is_none() {
        resources = vec![keys(session), as_text(session), skill::resource()];
        let reply = context.invoke(session, ToolRequest::new("list_packets")).await?;
        let listed: PacketList<'_> =
            serde_json::from_slice(&reply.body).map_err(|_| invalid_reply())?;
        resources.extend(listed.packets.iter().map(|it| packet(session, it)));
    }
    let is_next = |it: &&ListedEntry<'_>| {
        it.readable != Some(false) && after.as_deref().is_none_or(|after| it.key > after)
    };
    let mut left = listing.keys.iter().filter(is_next).peekable();
    let mut last = None;
    while resources.len() < PAGE
        && let Some(it) = left.next()
    {
        resources.push(entry(session, it));
        last = Some(it.key);
    }
    let next_cursor = last.filter(|_| left.peek().is_some()).map(cursor);
    list_result(resources, next_cursor)
}

/// `resources/templates/list`.
///
/// # Errors
///
/// Invalid params (-32602): a cursor.
pub(crate) fn list_templates(params: &Params<'_>) -> Result<MethodResult, Rejection> {
    one_page(params)?;
    let entry = ResourceTemplate::new(ENTRY_TEMPLATE, "entry")
        .with_title("Entry of a session")
        .with_description("The value of one key")
        .with_mime_type(TEXT);
    let keys = ResourceTemplate::new(KEYS_TEMPLATE, "keys")
        .with_title("Keys of a session")
        .with_description("Every key with writer, version and size, without values")
        .with_mime_type(JSON);
    let text = ResourceTemplate::new(CONTEXT_TEMPLATE, "context")
        .with_title("Working memory of a session")
        .with_description("What you may read, as text for a prompt: at most 2,000 tokens")
        .with_mime_type(MARKDOWN);
    let packet = ResourceTemplate::new(PACKET_TEMPLATE, "packet")
        .with_title("Packet of a worker")
        .with_description(
            "What a worker gets to know, as text for a prompt; yours is under your name",
        )
        .with_mime_type(MARKDOWN);
    let templates = ListResourceTemplatesResult {
        result_type: None,
        ..ListResourceTemplatesResult::with_all_items(vec![entry, keys, text, packet])
    };
    Ok(MethodResult::new(&templates)?.cached(Cache::Static))
}

/// `resources/read`.
///
/// # Errors
///
/// Resource not found, see [`not_found`]: the URI is invalid, the session is not the credential's,
/// or the caller can see no such entry. Other errors of the session.
pub(crate) async fn read<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    let uri = params.required_text("uri")?;
    let not_found = || not_found(&context.version, &uri);
    let reject = |failure: Failure| match &*failure.code {
        "KEY_NOT_FOUND" | "INVALID_KEY" | "SESSION_NOT_FOUND" | "PACKET_NOT_FOUND" => {
            not_found().into()
        }
        _ => Rejection::from(failure),
    };
    let (contents, cache) = match ResourceUri::parse(&uri).ok_or_else(not_found)? {
        ResourceUri::Skill => (skill::contents(), Cache::Static),
        ResourceUri::Keys { session } => {
            let session = context.session(Some(&session)).map_err(|_| not_found())?;
            let reply = list_keys(context, session).await.map_err(reject)?;
            let text = String::from_utf8(reply.body).map_err(|_| invalid_reply())?;
            (ResourceContents::text(text, &*uri).with_mime_type(JSON), Cache::Live)
        }
        ResourceUri::Context { session } => {
            let session = context.session(Some(&session)).map_err(|_| not_found())?;
            let request = ToolRequest::new("render_context");
            let reply = context.invoke(session, request).await.map_err(reject)?;
            let text = text_in(&reply.body, "text").ok_or_else(invalid_reply)?;
            (ResourceContents::text(text, &*uri).with_mime_type(MARKDOWN), Cache::Live)
        }
        ResourceUri::Packet { session, address } => {
            let session = context.session(Some(&session)).map_err(|_| not_found())?;
            let address = Address::parse(&address).map_err(|_| not_found())?;
            let request = ToolRequest::new("context_read").with("address", Some(address.as_str()));
            let reply = context.invoke(session, request).await.map_err(reject)?;
            let text = text_in(&reply.body, "text").ok_or_else(invalid_reply)?;
            (ResourceContents::text(text, &*uri).with_mime_type(MARKDOWN), Cache::Live)
        }
        ResourceUri::Entry { session, key } => {
            let session = context.session(Some(&session)).map_err(|_| not_found())?;
            let request = ToolRequest::new("read").with("key", Some(&key));
            let reply = context.invoke(session, request).await.map_err(reject)?;
            (entry_contents(&uri, &reply)?, Cache::Live)
        }
    };
    let mut read = ReadResourceResult::new(vec![contents]);
    read.result_type = None;
    Ok(MethodResult::new(&read)?.cached(cache))
}

/// Builds the error for a missing or hidden resource: invalid params (-32602), or resource not
/// found (-32002) before 2026-07-28.
pub(crate) fn not_found(version: &Version, uri: &str) -> Fault {
    let code = match version {
        Version::Modern => ErrorCode::INVALID_PARAMS,
        Version::Legacy(_) => ErrorCode::RESOURCE_NOT_FOUND,
    };
    let message = "Resource not found: there is none of this URI that you may see; resources/list \
                   tells which there are, and resources/templates/list which forms they have";
    Fault::in_band(code, message).with_data(json!({ "uri": uri }))
}

/// Returns the session's reply to `list_keys`.
///
/// # Errors
///
/// Errors of the session.
pub(crate) async fn list_keys<E: Engine>(
    context: &Context<'_, E>,
    session: &str,
) -> Result<Reply, Failure> {
    context.invoke(session, ToolRequest::new("list_keys")).await
}

impl<'b> KeyList<'b> {
    /// Parses `reply`, a reply to `list_keys`.
    ///
    /// # Errors
    ///
    /// `INTERNAL`: it is invalid.
    pub(crate) fn of(reply: &'b Reply) -> Result<Self, Failure> {
        serde_json::from_slice(&reply.body).map_err(|_| invalid_reply())
    }
}

fn list_result(
    resources: Vec<Resource>,
    next_cursor: Option<String>,
) -> Result<MethodResult, Rejection> {
    let list_result = ListResourcesResult {
        result_type: None,
        next_cursor,
        ..ListResourcesResult::with_all_items(resources)
    };
    Ok(MethodResult::new(&list_result)?.cached(Cache::Live))
}

/// Returns the keys of `session` as a resource.
fn keys(session: &str) -> Resource {
    Resource::new(ResourceUri::keys(session).to_string(), "keys")
        .with_title("Keys of the session")
        .with_description("Every key with writer, version and size, without values: read it first")
        .with_mime_type(JSON)
        .with_annotations(for_models())
}

/// Returns the working memory of `session` as text, as a resource.
fn as_text(session: &str) -> Resource {
    Resource::new(ResourceUri::context(session).to_string(), "context")
        .with_title("Working memory of the session")
        .with_description("What you may read, as text for a prompt: at most 2,000 tokens")
        .with_mime_type(MARKDOWN)
        .with_annotations(for_models())
}

/// Returns an entry of `session` as a resource.
fn entry(session: &str, it: &ListedEntry<'_>) -> Resource {
    let (version, size) = (it.version, Tokens(it.value_size_tokens));
    let mut annotations = for_models();
    annotations.last_modified = Some(it.written_at.to_owned());
    Resource::new(ResourceUri::entry(session, it.key).to_string(), it.key)
        .with_description(format!("version {version} by {}, {size}", it.written_by))
        .with_mime_type(TEXT)
        .with_annotations(annotations)
}

/// Returns a packet of `session` as a resource.
fn packet(session: &str, it: &ListedPacket<'_>) -> Resource {
    let (version, size) = (it.version, Tokens(it.tokens));
    let mut annotations = for_models();
    annotations.last_modified = Some(it.created_at.to_owned());
    Resource::new(ResourceUri::packet(session, it.address).to_string(), it.address)
        .with_description(format!("packet, version {version} by {}, {size}", it.created_by))
        .with_mime_type(MARKDOWN)
        .with_annotations(annotations)
}

/// Returns annotations with models as the audience, not users.
pub(crate) fn for_models() -> Annotations {
    Annotations::default().with_audience(vec![Role::Assistant])
}

/// Returns the contents of the entry `uri` from `reply`, a reply to `read`.
fn entry_contents(uri: &str, reply: &Reply) -> Result<ResourceContents, Failure> {
    let read: EntryReply = serde_json::from_slice(&reply.body).map_err(|_| invalid_reply())?;
    let mut meta = MetaObject::new();
    meta.0.insert("shared-context/version".to_owned(), read.version.into());
    meta.0.insert("shared-context/revision".to_owned(), read.revision.into());
    meta.0.insert("shared-context/written_by".to_owned(), read.written_by.into());
    Ok(ResourceContents::text(read.value, uri).with_mime_type(TEXT).with_meta(meta))
}

/// Returns the cursor of the page after `key`.
fn cursor(key: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{CURSOR}{key}"))
}

/// Returns the key that the page of `cursor` follows.
fn read_cursor(cursor: &str) -> Result<String, Fault> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok();
    let text = bytes.and_then(|it| String::from_utf8(it).ok());
    let key = text.as_deref().and_then(|it| it.strip_prefix(CURSOR));
    key.map(str::to_owned).ok_or_else(|| {
        Fault::invalid_params(
            "cursor is none that this list gave: send one as it was given, or leave it out to have \
             the list from the beginning",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_decodes_to_its_key() {
        for key in ["a", "inv:findings_2", &"z".repeat(129)] {
            assert_eq!(read_cursor(&cursor(key)).unwrap(), key);
        }
    }

    #[test]
    fn an_invalid_cursor_is_rejected() {
        let not_ours = BASE64_URL_SAFE_NO_PAD.encode("before a");
        let not_utf8 = BASE64_URL_SAFE_NO_PAD.encode(b"after \xff");
        let padded = format!("{}==", cursor("a"));
        for it in ["", "a", "2", "!", "after a", &not_ours, &not_utf8, &padded] {
            let fault = read_cursor(it).unwrap_err();
            assert_eq!(fault.error.code, ErrorCode::INVALID_PARAMS, "{it}");
        }
    }
}
