//! Documentation of the export and import of sessions, and of the import of projects.

use super::{
    about::OperationDoc,
    acts::rejects,
    examples,
    parts::{body, request, response, tool_response},
    schemas::{reference, reply},
};
use crate::http::table::Endpoint;

/// Returns the documentation of `endpoint`.
pub(super) fn about(endpoint: Endpoint) -> OperationDoc {
    let about = OperationDoc { tag: "sessions", is_admins: true, ..OperationDoc::default() };
    match endpoint {
        Endpoint::ExportSession => OperationDoc {
            id: "export_session",
            summary: "Take a whole session out as one document with digests.",
            description: "Its configuration, entries, their history and snapshots; no \
                          credentials, no audit trail. The same session gives the same bytes.",
            responses: tool_response("export_session", &["Content-Disposition"]),
            codes: rejects("export_session", &[]),
            ..about
        },
        Endpoint::ImportProject => OperationDoc {
            tag: "projects",
            id: "import_project",
            summary: "Create a project from an exported document, or add the next one of several.",
            description: "The document may have up to 16 MiB. What was altered in it is refused and \
                          named. Of several documents import one after the other, in their order: \
                          the project is read-only until the last.",
            request: Some(request(body(
                reply("export_project"),
                examples::reply_example("export_project"),
            ))),
            responses: response(
                "201",
                "Imported.",
                body(reply("create_project"), examples::reply_example("create_project")),
                &[],
            ),
            headers: &["idempotency_key"],
            codes: rejects("import_project", &["UNSUPPORTED_MEDIA_TYPE"]),
            ..about
        },
        _ => OperationDoc {
            id: "import_session",
            summary: "Create a session from an exported document and get its orchestrator's \
                      credential.",
            description: "The document may have up to 16 MiB. What was altered in it is refused \
                          and named. Credentials of the session it came from do not open the new \
                          one.",
            request: Some(request(body(
                reply("export_session"),
                examples::reply_example("export_session"),
            ))),
            responses: response(
                "201",
                "Created.",
                body(reference("created_session"), examples::created_session()),
                &["Location"],
            ),
            headers: &["idempotency_key"],
            codes: rejects("import_session", &["UNSUPPORTED_MEDIA_TYPE"]),
            ..about
        },
    }
}
