//! Dispatch of endpoints to their handlers.

use http::Response;
use shared_context_codec::Failure;
use shared_context_core::ScopeKind;

use super::{
    Body, act, call::Call, changes, entries, listing, permits::Permit, portable, sessions,
    streams::Streams, table::Endpoint, whole,
};
use crate::Engine;

/// Calls the handler of `endpoint`. The request counts as in flight meanwhile, except while it
/// waits for a change.
pub(super) async fn endpoint<E: Engine>(
    endpoint: Endpoint,
    call: &Call<'_, E>,
    streams: &Streams,
    in_flight: Option<Permit>,
) -> Result<Response<Body>, Failure> {
    let answer = match endpoint {
        Endpoint::ActionRoute(act) => act::answer(call, act).await,
        Endpoint::ReadChanges | Endpoint::ReadProjectChanges => {
            return changes::read(call, streams, in_flight).await;
        }
        Endpoint::CreateSession => sessions::create(call).await,
        Endpoint::ListSessions => listing::list(call, ScopeKind::Session).await,
        Endpoint::ListProjects => listing::list(call, ScopeKind::Project).await,
        Endpoint::MintCredential => sessions::mint_credential(call).await,
        Endpoint::ExportSession => portable::export(call).await,
        Endpoint::ImportSession => portable::import(call).await,
        Endpoint::ImportProject => portable::import_project(call).await,
        Endpoint::CallTool | Endpoint::CallProjectTool => entries::call_tool(call).await,
        #[cfg(feature = "memory-tool")]
        Endpoint::UseMemory => super::memory::answer(call).await,
        #[cfg(not(feature = "memory-tool"))]
        Endpoint::UseMemory => Err(Failure::new(
            "NOT_FOUND",
            "this server was built without the memory tool; use POST \
             /v1/sessions/{session}/shared_context in its place",
        )),
        Endpoint::ListEntries => entries::list(call).await,
        Endpoint::ReadEntry => entries::read(call).await,
        Endpoint::WriteEntry => entries::write(call).await,
        Endpoint::DeleteEntry => entries::delete(call).await,
        Endpoint::Welcome
        | Endpoint::Health
        | Endpoint::Metrics
        | Endpoint::OpenApi
        | Endpoint::ResourceMetadata
        | Endpoint::Mcp
        | Endpoint::McpStream
        | Endpoint::McpEnd
        | Endpoint::Tools => Err(Failure::new("NOT_FOUND", "this route is answered elsewhere")),
    };
    drop(in_flight);
    answer.map(whole)
}
