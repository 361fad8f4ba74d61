//! Table of the operations, for the router and for the `OpenAPI` document.
//!
//! Operations that only forward an action of the tool come from the declarations of actions; this
//! table adds those that do more. `route` matches paths.

use http::Method;
use shared_context_codec::{self as codec, ActionInfo, Member, Published, System, published};

/// Operation of one method at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Method; `GET` also serves `HEAD`.
    pub(crate) method: Method,
    /// Path, with `{session}`, `{key}` and the like for parameters.
    pub(crate) template: &'static str,
    /// Endpoint that handles it.
    pub(crate) endpoint: Endpoint,
    /// Callers that may use it.
    pub(crate) access: Access,
    /// Query parameters; any other is rejected. The parameters of an action are its own members.
    pub(crate) query: &'static [&'static str],
}

/// Callers that may use an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everyone: it reveals nothing about sessions.
    Open,
    /// Everyone with a credential; the request's body names the resource.
    Credential,
    /// The operator; checked here, because there is no session yet to ask.
    Admin,
    /// Participants of the session or project, and the operator; their rights are checked there.
    Scope,
}

/// Every operation of the HTTP interface.
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
    ListProjects,
    ImportSession,
    ExportSession,
    ImportProject,
    MintCredential,
    CallTool,
    CallProjectTool,
    UseMemory,
    ListEntries,
    ReadEntry,
    WriteEntry,
    DeleteEntry,
    ReadChanges,
    ReadProjectChanges,
    /// An action, as it was declared.
    ActionRoute(ActionRoute),
}

/// An action and one of its routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActionRoute {
    pub(crate) action: &'static ActionInfo,
    pub(crate) published: &'static Published,
    pub(crate) route: &'static codec::Route,
}

impl ActionRoute {
    /// Returns the members in the query.
    pub(crate) fn in_query(self) -> impl Iterator<Item = &'static Member> {
        self.rest().filter(move |_| !self.has_body())
    }

    /// Returns the members in the body.
    pub(crate) fn in_body(self) -> impl Iterator<Item = &'static Member> {
        self.rest().filter(move |_| self.has_body())
    }

    /// Returns true if the body is the value of its only member `patch`: a merge patch (RFC 7396).
    pub(crate) fn is_patch(self) -> bool {
        self.route.method == codec::Method::Patch && self.in_body().map(|it| it.name).eq(["patch"])
    }

    fn has_body(self) -> bool {
        !matches!(self.route.method, codec::Method::Get | codec::Method::Delete)
    }

    /// Returns the members that are not in the path. The request id is a header.
    fn rest(self) -> impl Iterator<Item = &'static Member> {
        self.route.rest(self.published.members).filter(|it| it.name != "request_id")
    }
}

/// Longest request body in bytes, except for endpoints that accept more. The largest value is far
/// below it.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// Longest document of a session, or of a page of a project, in bytes: enough for a session of the
/// usual limits with all its history and snapshots.
pub const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest body of a request with many texts, in bytes: 2 MiB, for the actions of the context
/// pipeline, on packets, on memories, on the outline and on handoffs.
pub const CONTEXT_BYTES_MAX: usize = 2 * 1024 * 1024;

impl Endpoint {
    /// Returns the longest body of a request, in bytes.
    pub(crate) fn body_bytes_max(self) -> usize {
        match self {
            Self::ImportSession | Self::ImportProject => DOCUMENT_BYTES_MAX,
            Self::ActionRoute(it)
                if matches!(
                    it.action.system,
                    System::Context
                        | System::Packets
                        | System::Memories
                        | System::Outline
                        | System::Handoffs
                ) =>
            {
                CONTEXT_BYTES_MAX
            }
            _ => BODY_BYTES_MAX,
        }
    }

    /// Returns true if it depends on other requests, so that it needs in-process state.
    pub(crate) fn needs_memory(self) -> bool {
        matches!(self, Self::Metrics | Self::McpStream | Self::McpEnd)
    }
}

/// Returns all operations; those of one path are adjacent.
pub(crate) fn operations() -> impl Iterator<Item = Operation> {
    let acts = published().flat_map(|(action, published)| {
        published.routes.iter().map(move |route| Operation {
            method: method(route.method),
            template: route.path,
            endpoint: Endpoint::ActionRoute(ActionRoute { action, published, route }),
            access: Access::Scope,
            query: &[],
        })
    });
    OWN.iter().cloned().chain(acts)
}

fn method(method: codec::Method) -> Method {
    match method {
        codec::Method::Get => Method::GET,
        codec::Method::Post => Method::POST,
        codec::Method::Put => Method::PUT,
        codec::Method::Patch => Method::PATCH,
        codec::Method::Delete => Method::DELETE,
    }
}

/// The operations that do more than forward an action.
static OWN: [Operation; 25] = [
    open("/", Endpoint::Welcome, &[]),
    open("/healthz", Endpoint::Health, &[]),
    open("/metrics", Endpoint::Metrics, &[]),
    open("/openapi.json", Endpoint::OpenApi, &[]),
    open("/v1/tools", Endpoint::Tools, &["format", "role"]),
    credential(Method::POST, Endpoint::Mcp),
    credential(Method::GET, Endpoint::McpStream),
    credential(Method::DELETE, Endpoint::McpEnd),
    open("/.well-known/oauth-protected-resource/mcp", Endpoint::ResourceMetadata, &[]),
    admin(
        Method::GET,
        "/v1/sessions",
        Endpoint::ListSessions,
        &["after", "limit", "prefix", "status", "changed_after", "changed_before"],
    ),
    admin(Method::POST, "/v1/sessions", Endpoint::CreateSession, &[]),
    admin(Method::GET, "/v1/projects", Endpoint::ListProjects, &["after", "limit", "prefix"]),
    // A session may have this name too; the method differs.
    admin(Method::POST, "/v1/sessions/import", Endpoint::ImportSession, &["session_id"]),
    session(Method::GET, "/v1/sessions/{session}/export", Endpoint::ExportSession, &[]),
    session(Method::POST, "/v1/sessions/{session}/credentials", Endpoint::MintCredential, &[]),
    session(Method::POST, "/v1/sessions/{session}/shared_context", Endpoint::CallTool, &[]),
    session(Method::POST, "/v1/projects/{project}/shared_context", Endpoint::CallProjectTool, &[]),
    session(Method::POST, "/v1/projects/{project}/import", Endpoint::ImportProject, &[]),
    session(Method::POST, "/v1/sessions/{session}/memory", Endpoint::UseMemory, &[]),
    session(Method::GET, "/v1/sessions/{session}/entries", Endpoint::ListEntries, &["prefix"]),
    session(Method::GET, "/v1/sessions/{session}/entries/{key}", Endpoint::ReadEntry, &[]),
    session(Method::PUT, "/v1/sessions/{session}/entries/{key}", Endpoint::WriteEntry, &[]),
    session(Method::DELETE, "/v1/sessions/{session}/entries/{key}", Endpoint::DeleteEntry, &[]),
    session(
        Method::GET,
        "/v1/sessions/{session}/changes",
        Endpoint::ReadChanges,
        &["since", "limit", "keys", "except_own", "wait"],
    ),
    session(
        Method::GET,
        "/v1/projects/{project}/changes",
        Endpoint::ReadProjectChanges,
        &["since", "limit", "wait"],
    ),
];

const fn open(
    template: &'static str,
    endpoint: Endpoint,
    query: &'static [&'static str],
) -> Operation {
    Operation { method: Method::GET, template, endpoint, access: Access::Open, query }
}

const fn credential(method: Method, endpoint: Endpoint) -> Operation {
    Operation { method, template: "/mcp", endpoint, access: Access::Credential, query: &["tools"] }
}

const fn admin(
    method: Method,
    template: &'static str,
    endpoint: Endpoint,
    query: &'static [&'static str],
) -> Operation {
    Operation { method, template, endpoint, access: Access::Admin, query }
}

const fn session(
    method: Method,
    template: &'static str,
    endpoint: Endpoint,
    query: &'static [&'static str],
) -> Operation {
    Operation { method, template, endpoint, access: Access::Scope, query }
}

impl Operation {
    /// Returns the query parameters that it accepts.
    pub(crate) fn takes_in_query(&self) -> Vec<&'static str> {
        match self.endpoint {
            Endpoint::ActionRoute(act) => act.in_query().map(|it| it.name).collect(),
            _ => self.query.to_vec(),
        }
    }

    /// Returns the action that it performs, if it only forwards one.
    #[cfg(test)]
    pub(crate) fn act(&self) -> Option<ActionRoute> {
        match self.endpoint {
            Endpoint::ActionRoute(act) => Some(act),
            _ => None,
        }
    }

    /// Returns true if it serves `HEAD`. The MCP stream does not, because a `HEAD` would replace an
    /// open stream.
    pub(crate) fn answers_head(&self) -> bool {
        self.method == Method::GET && self.endpoint != Endpoint::McpStream
    }

    /// Returns true if it serves `method`.
    pub(crate) fn serves(&self, method: &Method) -> bool {
        self.method == *method || (*method == Method::HEAD && self.answers_head())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_in_the_table_are_unique() {
        let all: Vec<Operation> = operations().collect();
        for (nth, one) in all.iter().enumerate() {
            for other in all.iter().skip(nth + 1) {
                assert_ne!(one.endpoint, other.endpoint);
                let is_same = one.template == other.template && one.method == other.method;
                assert!(!is_same, "{} {}", one.method, one.template);
            }
        }
        assert!(all.len() > OWN.len());
    }
}
