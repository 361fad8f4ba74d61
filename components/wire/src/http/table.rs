//! The routes: one table, read by the router and by the `OpenAPI` document alike.
//!
//! Not here: how a path finds its row (`route`), and what is done there.

use http::Method;

/// One path and what can be done there.
#[derive(Debug)]
pub(crate) struct Route {
    /// The path, with `{session}`, `{key}` and `{label}` for what varies.
    pub(crate) template: &'static str,
    /// What can be done there, by method; `HEAD` goes where `GET` is.
    pub(crate) operations: &'static [Operation],
}

/// What one method does at one path.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The method.
    pub(crate) method: Method,
    /// What is done.
    pub(crate) endpoint: Endpoint,
    /// Whose business it is.
    pub(crate) access: Access,
    /// The query parameters it knows; any other is refused.
    pub(crate) query: &'static [&'static str],
}

/// Whose business an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anyone's: it tells nothing of any session.
    Open,
    /// That of everyone with a credential; the request's body tells on what.
    Credential,
    /// The operator's; decided here, since there is no session yet to ask.
    Admin,
    /// That of the session's participants and of the operator; what each may do
    /// is decided by the session.
    Session,
}

/// Everything that can be asked for over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Welcome,
    Health,
    Metrics,
    OpenApi,
    Tools,
    ResourceMetadata,
    Mcp,
    McpStream,
    McpEnd,
    CreateSession,
    ListSessions,
    ShowSession,
    DeleteSession,
    ArchiveSession,
    RevokeCredentials,
    MintCredential,
    Inspect,
    ExportSession,
    ImportSession,
    CallTool,
    UseMemory,
    ListEntries,
    ReadEntry,
    WriteEntry,
    DeleteEntry,
    ReadHistory,
    SetAccess,
    Redact,
    ListSnapshots,
    TakeSnapshot,
    ReadSnapshot,
    DeleteSnapshot,
    ReadSnapshotEntry,
    DiffSnapshots,
    RestoreSnapshot,
    ListRounds,
    OpenRound,
    CloseRound,
    RedactRounds,
    ReadState,
    ReadDeltas,
    ProposeDeltas,
    RenderPrompt,
    ReadChanges,
    ReadAudit,
}

/// The longest request body, in bytes, but for the endpoints that take more. The
/// largest value is far below it.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// The longest document of a session that is taken, in bytes: what a session of
/// the usual limits can hold with all its history and snapshots.
pub const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;

impl Endpoint {
    /// The longest body of a request for it, in bytes.
    pub(crate) fn body_bytes_max(self) -> usize {
        match self {
            Self::ImportSession => DOCUMENT_BYTES_MAX,
            _ => BODY_BYTES_MAX,
        }
    }

    /// Whether it tells of other requests than the one that is made, so that only who
    /// remembers those can answer.
    pub(crate) fn needs_memory(self) -> bool {
        matches!(self, Self::Metrics | Self::McpStream | Self::McpEnd)
    }
}

/// All routes.
pub(crate) static ROUTES: [Route; 35] = [
    Route { template: "/", operations: &[open(Endpoint::Welcome, &[])] },
    Route { template: "/healthz", operations: &[open(Endpoint::Health, &[])] },
    Route { template: "/metrics", operations: &[open(Endpoint::Metrics, &[])] },
    Route { template: "/openapi.json", operations: &[open(Endpoint::OpenApi, &[])] },
    Route { template: "/v1/tools", operations: &[open(Endpoint::Tools, &["format", "role"])] },
    Route {
        template: "/mcp",
        operations: &[
            credential(Method::POST, Endpoint::Mcp),
            credential(Method::GET, Endpoint::McpStream),
            credential(Method::DELETE, Endpoint::McpEnd),
        ],
    },
    Route {
        template: "/.well-known/oauth-protected-resource/mcp",
        operations: &[open(Endpoint::ResourceMetadata, &[])],
    },
    Route {
        template: "/v1/sessions",
        operations: &[
            admin(
                Method::GET,
                Endpoint::ListSessions,
                &["after", "limit", "prefix", "status", "changed_after", "changed_before"],
            ),
            admin(Method::POST, Endpoint::CreateSession, &[]),
        ],
    },
    Route {
        template: "/v1/sessions/{session}",
        operations: &[
            session(Method::GET, Endpoint::ShowSession, &[]),
            session(Method::DELETE, Endpoint::DeleteSession, &[]),
        ],
    },
    // A session may have this name, too: the method tells.
    Route {
        template: "/v1/sessions/import",
        operations: &[admin(Method::POST, Endpoint::ImportSession, &["session_id"])],
    },
    Route {
        template: "/v1/sessions/{session}/archive",
        operations: &[session(Method::POST, Endpoint::ArchiveSession, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/revoke",
        operations: &[session(Method::POST, Endpoint::RevokeCredentials, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/participants",
        operations: &[session(Method::POST, Endpoint::MintCredential, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/inspect",
        operations: &[session(Method::GET, Endpoint::Inspect, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/export",
        operations: &[session(Method::GET, Endpoint::ExportSession, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/shared_context",
        operations: &[session(Method::POST, Endpoint::CallTool, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/memory",
        operations: &[session(Method::POST, Endpoint::UseMemory, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/entries",
        operations: &[session(Method::GET, Endpoint::ListEntries, &["prefix"])],
    },
    Route {
        template: "/v1/sessions/{session}/entries/{key}",
        operations: &[
            session(Method::GET, Endpoint::ReadEntry, &[]),
            session(Method::PUT, Endpoint::WriteEntry, &[]),
            session(Method::DELETE, Endpoint::DeleteEntry, &[]),
        ],
    },
    Route {
        template: "/v1/sessions/{session}/entries/{key}/history",
        operations: &[session(Method::GET, Endpoint::ReadHistory, &["versions"])],
    },
    Route {
        template: "/v1/sessions/{session}/entries/{key}/access",
        operations: &[session(Method::PUT, Endpoint::SetAccess, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/entries/{key}/redact",
        operations: &[session(Method::POST, Endpoint::Redact, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/snapshots",
        operations: &[
            session(Method::GET, Endpoint::ListSnapshots, &[]),
            session(Method::POST, Endpoint::TakeSnapshot, &[]),
        ],
    },
    Route {
        template: "/v1/sessions/{session}/snapshots/{label}",
        operations: &[
            session(Method::GET, Endpoint::ReadSnapshot, &[]),
            session(Method::DELETE, Endpoint::DeleteSnapshot, &[]),
        ],
    },
    Route {
        template: "/v1/sessions/{session}/snapshots/{label}/entries/{key}",
        operations: &[session(Method::GET, Endpoint::ReadSnapshotEntry, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/snapshots/{label}/diff",
        operations: &[session(Method::GET, Endpoint::DiffSnapshots, &["to"])],
    },
    Route {
        template: "/v1/sessions/{session}/snapshots/{label}/restore",
        operations: &[session(Method::POST, Endpoint::RestoreSnapshot, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/rounds",
        operations: &[
            session(Method::GET, Endpoint::ListRounds, &[]),
            session(Method::POST, Endpoint::OpenRound, &[]),
        ],
    },
    Route {
        template: "/v1/sessions/{session}/rounds/close",
        operations: &[session(Method::POST, Endpoint::CloseRound, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/rounds/redact",
        operations: &[session(Method::POST, Endpoint::RedactRounds, &[])],
    },
    Route {
        template: "/v1/sessions/{session}/rounds/state",
        operations: &[session(Method::GET, Endpoint::ReadState, &["round"])],
    },
    Route {
        template: "/v1/sessions/{session}/rounds/deltas",
        operations: &[
            session(Method::GET, Endpoint::ReadDeltas, &["path", "round", "after", "limit"]),
            session(Method::POST, Endpoint::ProposeDeltas, &[]),
        ],
    },
    Route {
        template: "/v1/sessions/{session}/prompt",
        operations: &[session(Method::GET, Endpoint::RenderPrompt, &["participant", "max_tokens"])],
    },
    Route {
        template: "/v1/sessions/{session}/changes",
        operations: &[session(
            Method::GET,
            Endpoint::ReadChanges,
            &["since", "limit", "keys", "wait"],
        )],
    },
    Route {
        template: "/v1/sessions/{session}/audit",
        operations: &[session(Method::GET, Endpoint::ReadAudit, &["since", "limit"])],
    },
];

const fn open(endpoint: Endpoint, query: &'static [&'static str]) -> Operation {
    Operation { method: Method::GET, endpoint, access: Access::Open, query }
}

const fn credential(method: Method, endpoint: Endpoint) -> Operation {
    Operation { method, endpoint, access: Access::Credential, query: &[] }
}

const fn admin(method: Method, endpoint: Endpoint, query: &'static [&'static str]) -> Operation {
    Operation { method, endpoint, access: Access::Admin, query }
}

const fn session(method: Method, endpoint: Endpoint, query: &'static [&'static str]) -> Operation {
    Operation { method, endpoint, access: Access::Session, query }
}

impl Route {
    /// What `method` does here.
    pub(crate) fn operation(&self, method: &Method) -> Option<&'static Operation> {
        let is_meant = |it: &&Operation| {
            it.method == *method || (*method == Method::HEAD && it.answers_head())
        };
        self.operations.iter().find(is_meant)
    }
}

impl Operation {
    /// Whether `HEAD` is answered by it. It is not where it would take the place of
    /// a stream that is listened to.
    pub(crate) fn answers_head(&self) -> bool {
        self.method == Method::GET && self.endpoint != Endpoint::McpStream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_stands_in_the_table_once() {
        let mut seen = Vec::new();
        for operation in ROUTES.iter().flat_map(|route| route.operations) {
            assert!(!seen.contains(&operation.endpoint), "{:?}", operation.endpoint);
            seen.push(operation.endpoint);
        }
        assert_eq!(seen.len(), Endpoint::ReadAudit as usize + 1);
    }
}
