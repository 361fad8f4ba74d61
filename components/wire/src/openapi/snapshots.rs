//! What is said of the routes of snapshots.

use super::{
    about::About,
    examples,
    parts::{body, request, response, tool_response},
    schemas::{body_of, reply},
};
use crate::http::table::Endpoint;

/// What is said of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> About {
    let about = About { tag: "snapshots", codes: &["SNAPSHOT_NOT_FOUND"], ..About::default() };
    match endpoint {
        Endpoint::ListSnapshots => About {
            id: "list_snapshots",
            summary: "List the snapshots, oldest first.",
            responses: tool_response("list_snapshots", &[]),
            codes: &[],
            ..about
        },
        Endpoint::TakeSnapshot => take(),
        Endpoint::ReadSnapshot => About {
            id: "read_snapshot",
            summary: "Read what a snapshot holds.",
            responses: tool_response("read_snapshot", &[]),
            ..about
        },
        Endpoint::ReadSnapshotEntry => About {
            id: "read_snapshot_entry",
            summary: "Read one key of a snapshot.",
            responses: response(
                "200",
                "The entry as it was.",
                body(reply("read"), examples::answer("read")),
                &[],
            ),
            codes: &["INVALID_KEY", "SNAPSHOT_NOT_FOUND", "KEY_NOT_FOUND"],
            ..about
        },
        Endpoint::DiffSnapshots => About {
            id: "diff_snapshots",
            summary: "Tell what differs between a snapshot and another one, or now.",
            responses: tool_response("diff_snapshots", &[]),
            ..about
        },
        Endpoint::RestoreSnapshot => About {
            id: "restore_snapshot",
            summary: "Make the store what a snapshot holds, as new versions, in one step.",
            description: "For the orchestrator.",
            responses: tool_response("restore_snapshot", &[]),
            codes: &[
                "SESSION_ARCHIVED",
                "FORBIDDEN",
                "SNAPSHOT_NOT_FOUND",
                "STORE_FULL",
                "UNSUPPORTED_MEDIA_TYPE",
            ],
            ..about
        },
        _ => About {
            id: "delete_snapshot",
            summary: "Remove a snapshot.",
            description: "For the orchestrator.",
            responses: tool_response("delete_snapshot", &[]),
            codes: &["SESSION_ARCHIVED", "FORBIDDEN", "SNAPSHOT_NOT_FOUND"],
            ..about
        },
    }
}

fn take() -> About {
    let mut example = examples::take_snapshot();
    if let Some(members) = example.as_object_mut() {
        members.remove("action");
    }
    About {
        id: "take_snapshot",
        tag: "snapshots",
        summary: "Freeze the whole store under a label, to compare with or go back to.",
        description: "For the orchestrator.",
        request: Some(request(body(body_of("snapshot", &["label", "note"]), example))),
        responses: response(
            "201",
            "Taken.",
            body(reply("snapshot"), examples::answer("snapshot")),
            &["Location"],
        ),
        codes: &[
            "SESSION_ARCHIVED",
            "FORBIDDEN",
            "SNAPSHOT_EXISTS",
            "SNAPSHOT_LIMIT",
            "STORE_FULL",
            "UNSUPPORTED_MEDIA_TYPE",
        ],
        ..About::default()
    }
}
