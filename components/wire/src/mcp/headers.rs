//! Headers that repeat parts of the body, so that a proxy can route without parsing it (2026-07-28,
//! Streamable HTTP, Request Metadata).
//!
//! # Invariant
//!
//! Header and body never differ: the server performs the request that a proxy saw.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName};
use rmcp::model::ErrorCode;

use super::{fault::Fault, message::Message, params::Params};

static MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
static MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Header of the tools' argument `session`, which declares it with `x-mcp-header`.
static MCP_PARAM_SESSION: HeaderName = HeaderName::from_static("mcp-param-session");

/// Checks that the headers of a modern request match its body; `is_admin` is true if it has the
/// admin key.
///
/// # Errors
///
/// Header mismatch (-32020).
pub(crate) fn check(
    headers: &HeaderMap,
    message: &Message<'_>,
    params: &Params<'_>,
    is_admin: bool,
) -> Result<(), Fault> {
    let method = single(headers, &MCP_METHOD)?.ok_or_else(|| missing("Mcp-Method", "method"))?;
    if method != message.method {
        return Err(differs("Mcp-Method", "method"));
    }
    let name = match &*message.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    // If it is missing in the body too, the method itself rejects the request.
    if let Some(expected) = text(params, name) {
        let header_value = decode(headers, &MCP_NAME, "Mcp-Name")?;
        let header_value = header_value.ok_or_else(|| missing("Mcp-Name", name))?;
        if header_value != expected {
            return Err(differs("Mcp-Name", name));
        }
    }
    if message.method == "tools/call" {
        check_session(headers, params, is_admin)?;
    }
    Ok(())
}

/// Checks that the tools' argument `session` and its header match, or that both are missing. Only
/// the tools of the admin have the argument; theirs reject it from others.
fn check_session(headers: &HeaderMap, params: &Params<'_>, is_admin: bool) -> Result<(), Fault> {
    const HEADER: &str = "Mcp-Param-Session";
    let arguments = Params::parse(params.get("arguments"), "arguments").unwrap_or_default();
    let header_value = decode(headers, &MCP_PARAM_SESSION, HEADER)?;
    match (header_value, text(&arguments, "session")) {
        (None, None) => Ok(()),
        (Some(header_value), Some(expected)) if header_value == expected => Ok(()),
        (None, Some(_)) if !is_admin => Ok(()),
        (None, Some(_)) => Err(missing(HEADER, "arguments.session")),
        (Some(_), _) => Err(differs(HEADER, "arguments.session")),
    }
}

/// Returns the text `name` in the body. Anything but a text matches no header.
fn text<'b>(params: &Params<'b>, name: &str) -> Option<Cow<'b, str>> {
    params.text(name).ok().flatten()
}

/// Returns the header `name` as text, if it is given.
///
/// # Errors
///
/// Header mismatch (-32020): it is repeated, or is not ASCII text.
pub(crate) fn single<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, Fault> {
    crate::http::single(headers, name).map_err(|failure| mismatch(failure.message))
}

/// Returns the header `name`, decoded if it is written as `=?base64?…?=`.
fn decode<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
    shown: &str,
) -> Result<Option<Cow<'h, str>>, Fault> {
    let Some(text) = single(headers, name)? else { return Ok(None) };
    let encoded = text.strip_prefix("=?base64?").and_then(|it| it.strip_suffix("?="));
    let Some(encoded) = encoded else { return Ok(Some(text.into())) };
    let bytes = BASE64_STANDARD.decode(encoded).ok();
    bytes.and_then(|it| String::from_utf8(it).ok()).map(|it| Some(it.into())).ok_or_else(|| {
        mismatch(format!("the header {shown} is not Base64 of UTF-8 between =?base64? and ?="))
    })
}

fn missing(header: &str, member: &str) -> Fault {
    mismatch(format!("the header {header} is missing; it repeats {member} of the body"))
}

fn differs(header: &str, member: &str) -> Fault {
    mismatch(format!("the header {header} does not say what {member} of the body says"))
}

fn mismatch(message: impl Into<String>) -> Fault {
    Fault::bad_request(ErrorCode::HEADER_MISMATCH, message)
}
