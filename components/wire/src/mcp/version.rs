//! Protocol version of a message, and its requirements.
//!
//! Two eras share one endpoint. Since 2026-07-28 each request is self-contained and has its version
//! in `_meta` and in a header. Before that, a client sent `initialize` first (2026-07-28,
//! Versioning, Backward Compatibility).

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use rmcp::model::{ErrorCode, ErrorData, ProtocolVersion};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{fault::Fault, headers::single, message::Message, params::Params};

/// Header of the version.
pub(crate) static MCP_PROTOCOL_VERSION: HeaderName =
    HeaderName::from_static("mcp-protocol-version");

/// Supported versions with a handshake, newest first.
pub(crate) const LEGACY: [ProtocolVersion; 2] =
    [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2025_06_18];

/// A supported version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Version {
    /// 2026-07-28: each request is self-contained.
    Modern,
    /// One of [`LEGACY`].
    Legacy(ProtocolVersion),
}

/// Metadata of a modern request, in `_meta`.
#[derive(Deserialize)]
struct Meta<'b> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Cow<'b, str>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'b RawValue>,
}

/// Returns all supported versions, newest first.
pub(crate) fn supported() -> Vec<ProtocolVersion> {
    let [newer, older] = LEGACY;
    vec![ProtocolVersion::V_2026_07_28, newer, older]
}

impl Version {
    /// Returns the version of `message` from its header, and from `_meta` for a modern one. A
    /// message without either is of the older era, which did not require them.
    ///
    /// # Errors
    ///
    /// Header mismatch (-32020), unsupported protocol version (-32022), or invalid params (-32602)
    /// if `_meta` is incomplete: all `400`.
    pub(crate) fn of(
        headers: &HeaderMap,
        message: &Message<'_>,
        params: &Params<'_>,
    ) -> Result<Self, Fault> {
        let header = single(headers, &MCP_PROTOCOL_VERSION)?;
        let meta = meta(params)?;
        let in_meta = meta.version.as_deref();
        if let (Some(header), Some(in_meta)) = (header, in_meta)
            && header != in_meta
        {
            return Err(mismatch(format!(
                "the header MCP-Protocol-Version and the protocolVersion in _meta differ; send \
                 {} in both",
                ProtocolVersion::V_2026_07_28
            )));
        }
        let Some(header) = header else {
            let is_modern = in_meta.is_some()
                || matches!(&*message.method, "server/discover" | "subscriptions/listen");
            if is_modern {
                return Err(mismatch(
                    "the header MCP-Protocol-Version is missing; send the version that _meta names",
                ));
            }
            let [_, oldest] = LEGACY;
            return Ok(Self::Legacy(oldest));
        };
        if header != ProtocolVersion::V_2026_07_28.as_str() {
            let legacy = LEGACY.into_iter().find(|it| it.as_str() == header);
            return legacy.map(Self::Legacy).ok_or_else(|| unsupported(header));
        }
        // The metadata of notifications is not defined.
        if message.id.is_some() {
            meta.is_complete()?;
        }
        Ok(Self::Modern)
    }

    /// Returns the version for a client that requests `requested` in its handshake: that one if
    /// supported, otherwise the newest with a handshake.
    pub(crate) fn negotiate(requested: &str) -> ProtocolVersion {
        let [newest, _] = LEGACY;
        LEGACY.into_iter().find(|it| it.as_str() == requested).unwrap_or(newest)
    }

    /// Returns true if each request is self-contained.
    pub(crate) fn is_modern(&self) -> bool {
        *self == Self::Modern
    }
}

impl Meta<'_> {
    fn is_complete(&self) -> Result<(), Fault> {
        let missing = if self.version.is_none() {
            "protocolVersion, a string"
        } else if self.capabilities.is_none_or(|it| !it.get().starts_with('{')) {
            "clientCapabilities, an object that may be empty"
        } else {
            return Ok(());
        };
        let message = format!(
            "params._meta must tell io.modelcontextprotocol/{missing}: each request of this \
             version stands for itself"
        );
        Err(Fault::bad_request(ErrorCode::INVALID_PARAMS, message))
    }
}

fn meta<'b>(params: &Params<'b>) -> Result<Meta<'b>, Fault> {
    let Some(raw) = params.get("_meta") else {
        return Ok(Meta { version: None, capabilities: None });
    };
    serde_json::from_str(raw.get()).map_err(|_| {
        Fault::bad_request(
            ErrorCode::INVALID_PARAMS,
            "params._meta must be an object whose protocolVersion is a string",
        )
    })
}

fn mismatch(message: impl Into<String>) -> Fault {
    Fault::bad_request(ErrorCode::HEADER_MISMATCH, message)
}

fn unsupported(header: &str) -> Fault {
    let shown: String = header.chars().take(40).collect();
    let supported = supported();
    let data = serde_json::json!({"supported": supported, "requested": shown});
    let names: Vec<&str> = supported.iter().map(ProtocolVersion::as_str).collect();
    let message = format!("this server does not speak {shown}; use one of {}", names.join(", "));
    let status = http::StatusCode::BAD_REQUEST;
    let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
    Fault { status, error: ErrorData::new(code, message, Some(data)) }
}
