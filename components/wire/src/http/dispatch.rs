//! Which endpoint of a session is answered where.

use http::Response;
use shared_context_codec::Failure;

use super::{
    Body, call::Call, changes, entries, listing, memory, portable, rounds, sessions, shares::Share,
    snapshots, streams::Streams, table::Endpoint, whole,
};
use crate::Engine;

/// Has the engine asked for `endpoint`. The request is `under_way` meanwhile, but while
/// it waits for a change.
pub(super) async fn endpoint<E: Engine>(
    endpoint: Endpoint,
    call: &Call<'_, E>,
    streams: &Streams,
    under_way: Option<Share>,
) -> Result<Response<Body>, Failure> {
    let answer = match endpoint {
        Endpoint::ReadChanges => return changes::read(call, streams, under_way).await,
        Endpoint::CreateSession => sessions::create(call).await,
        Endpoint::ListSessions => listing::list(call).await,
        Endpoint::ShowSession => sessions::act(call, "show_session").await,
        Endpoint::DeleteSession => sessions::act(call, "delete_session").await,
        Endpoint::ArchiveSession => sessions::act_by_post(call, "archive_session").await,
        Endpoint::RevokeCredentials => sessions::act_by_post(call, "revoke_credentials").await,
        Endpoint::MintCredential => sessions::mint_credential(call).await,
        Endpoint::Inspect => sessions::act(call, "inspect").await,
        Endpoint::ExportSession => portable::export(call).await,
        Endpoint::ImportSession => portable::import(call).await,
        Endpoint::RenderPrompt => sessions::render_prompt(call).await,
        Endpoint::ReadAudit => sessions::read_audit(call).await,
        Endpoint::CallTool => entries::call_tool(call).await,
        Endpoint::UseMemory => memory::answer(call).await,
        Endpoint::ListEntries => entries::list(call).await,
        Endpoint::ReadEntry => entries::read(call).await,
        Endpoint::WriteEntry => entries::write(call).await,
        Endpoint::DeleteEntry => entries::delete(call).await,
        Endpoint::ReadHistory => entries::read_history(call).await,
        Endpoint::SetAccess => entries::set_access(call).await,
        Endpoint::Redact => entries::redact(call).await,
        Endpoint::ListSnapshots => sessions::act(call, "list_snapshots").await,
        Endpoint::TakeSnapshot => snapshots::take(call).await,
        Endpoint::ReadSnapshot => snapshots::read(call, None).await,
        Endpoint::DeleteSnapshot => snapshots::delete(call).await,
        Endpoint::ReadSnapshotEntry => snapshots::read(call, Some(&call.key)).await,
        Endpoint::DiffSnapshots => snapshots::diff(call).await,
        Endpoint::RestoreSnapshot => snapshots::restore(call).await,
        Endpoint::ListRounds => rounds::list(call).await,
        Endpoint::OpenRound => rounds::open(call).await,
        Endpoint::CloseRound => rounds::close(call).await,
        Endpoint::RedactRounds => rounds::redact(call).await,
        Endpoint::ReadState => rounds::read_state(call).await,
        Endpoint::ReadDeltas => rounds::read_deltas(call).await,
        Endpoint::ProposeDeltas => rounds::propose(call).await,
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
    drop(under_way);
    answer.map(whole)
}
