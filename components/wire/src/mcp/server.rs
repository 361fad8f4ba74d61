//! Description of this server for clients of modern and older versions.

use rmcp::model::{
    ErrorCode, Implementation, InitializeResult, PromptsCapability, ProtocolVersion,
    ResourcesCapability, SKILLS_EXTENSION_ID, ServerCapabilities, ToolsCapability,
};
use serde::Serialize;

use super::{
    Cache, MethodResult, Rejection,
    fault::Fault,
    params::Params,
    version::{self, Version},
};

/// Name of the server for programs.
pub(crate) const NAME: &str = "shared-context";

/// Text that a client may put into the system prompt of its agent.
const INSTRUCTIONS: &str = "\
Working memory that the agents of one session share. Call context_list first and read only what \
your task needs; before you finish, write your conclusions, decisions and open questions with \
context_write: nothing else of your work survives. The skill \
skill://shared-context/SKILL.md tells more.";

/// `server/discover` (2026-07-28).
pub(crate) fn discover() -> Result<MethodResult, Rejection> {
    /// The result without the members of every result.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct DiscoverResult {
        supported_versions: Vec<ProtocolVersion>,
        capabilities: ServerCapabilities,
        instructions: &'static str,
    }
    let result = DiscoverResult {
        supported_versions: version::supported(),
        capabilities: capabilities(&Version::Modern, false),
        instructions: INSTRUCTIONS,
    };
    Ok(MethodResult::new(&result)?.cached(Cache::Static))
}

/// `initialize` of versions with a handshake: returns the negotiated version and the result.
/// `is_kept` is false if handshakes are not stored.
///
/// # Errors
///
/// Invalid params (-32602): the requested version is missing.
pub(crate) fn initialize(
    params: &Params<'_>,
    is_kept: bool,
) -> Result<(ProtocolVersion, MethodResult), Rejection> {
    let requested = params.required_text("protocolVersion")?;
    let version = Version::negotiate(&requested);
    let info = Implementation::new(NAME, env!("CARGO_PKG_VERSION")).with_title("shared-context");
    let capabilities = capabilities(&Version::Legacy(version.clone()), is_kept);
    let result = InitializeResult::new(capabilities)
        .with_protocol_version(version.clone())
        .with_server_info(info)
        .with_instructions(INSTRUCTIONS);
    Ok((version, MethodResult::new(&result)?))
}

/// Returns the capabilities in `version`; `is_kept` is true if handshakes are stored.
fn capabilities(version: &Version, is_kept: bool) -> ServerCapabilities {
    let mut resources = ResourcesCapability::default();
    if version.is_modern() || is_kept {
        resources.subscribe = Some(true);
        resources.list_changed = Some(true);
    }
    let mut capabilities = ServerCapabilities::default();
    capabilities.tools = Some(ToolsCapability::default());
    capabilities.prompts = Some(PromptsCapability::default());
    capabilities.resources = Some(resources);
    capabilities.completions = Some(serde_json::Map::new());
    if version.is_modern() {
        // The extension requires a version of 2026-07-28 or later.
        capabilities.extensions =
            Some([(SKILLS_EXTENSION_ID.to_owned(), serde_json::Map::new())].into());
    } else if is_kept {
        capabilities.logging = Some(serde_json::Map::new());
    }
    capabilities
}

/// Rejects a cursor in `params` of a list with one page.
///
/// # Errors
///
/// Invalid params (-32602): a cursor, which such a list never returns.
pub(crate) fn one_page(params: &Params<'_>) -> Result<(), Fault> {
    match params.text("cursor")? {
        None => Ok(()),
        Some(_) => Err(Fault::in_band(
            ErrorCode::INVALID_PARAMS,
            "this list gave no cursor: leave cursor out to have it from the beginning",
        )),
    }
}
