//! A server with a session in it, for one test.

use serde_json::json;
use shared_context_system::{Client, Server, Setup};
use tempfile::TempDir;

/// The session every test works in.
pub(crate) const SESSION: &str = "incident-0218";

/// A server of its own, and the credential of the session's orchestrator.
#[derive(Debug)]
pub(crate) struct Place {
    // Dropped first: it has files in the folder.
    pub(crate) server: Server,
    _folder: TempDir,
    pub(crate) credential: String,
}

impl Place {
    /// Starts a server and creates the session.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Setup::new(folder.path()).without_rate_limit().start();
        let orchestrator = server.admin().create_session(SESSION, &json!({}));
        let credential = orchestrator.credential().to_owned();
        Self { server, _folder: folder, credential }
    }

    /// The session's orchestrator.
    pub(crate) fn orchestrator(&self) -> Client {
        Client::new(self.server.url(), &self.credential)
    }

    /// Where the server is and who asks, as the program's commands are told it.
    pub(crate) fn environment(&self) -> [(&'static str, &str); 2] {
        [("SHARED_CONTEXT_URL", self.server.url()), ("SHARED_CONTEXT_TOKEN", &self.credential)]
    }
}
