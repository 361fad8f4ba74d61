//! A host with one session for one test: the server, the Worker under workerd, or the Spin
//! application.

use std::env;

use serde_json::json;
use shared_context_spin_tests as spin;
use shared_context_system::{Client, Server};
use shared_context_workers::Workerd;
use tempfile::TempDir;

/// The session of every test.
pub(crate) const SESSION: &str = "incident-0218";

/// The kind of host that all tests of a run use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// The program of `hosts/wasmtime`.
    Server,
    /// The Worker of `hosts/cloudflare`.
    Workerd,
    /// The application of `hosts/spin`: on Spin if `SPIN_BIN` names it, otherwise in the emulator.
    Spin,
}

impl Host {
    /// Reads the kind from the environment.
    ///
    /// # Errors
    ///
    /// The environment names an unknown or unavailable host.
    pub(crate) fn chosen() -> Result<Self, String> {
        match env::var("MCP_TEST_HOST").unwrap_or_default().as_str() {
            "" | "server" => Ok(Self::Server),
            "workerd" => shared_context_workers::Place::find().map(|_| Self::Workerd),
            "spin" => spin::Place::find().map(|_| Self::Spin),
            other => Err(format!("MCP_TEST_HOST is server, workerd or spin, not {other}")),
        }
    }

    /// Returns the name in `MCP_TEST_HOST`, which is also that of the baseline folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Workerd => "workerd",
            Self::Spin => "spin",
        }
    }

    /// Returns the prefix of the test names.
    pub(crate) fn prefix(self) -> String {
        if self == Self::Server { String::new() } else { format!("{}::", self.name()) }
    }

    /// Returns true if the host has in-process state. The sessions, subscriptions and log of the
    /// legacy protocols require it.
    pub(crate) fn keeps_state(self) -> bool {
        self != Self::Spin
    }
}

/// A running host, and the credential of the session's orchestrator.
#[derive(Debug)]
pub(crate) struct TestHost {
    // Dropped first, because it uses files in the folder.
    running: RunningHost,
    _folder: TempDir,
    pub(crate) credential: String,
    /// The admin key.
    pub(crate) admin_key: String,
}

#[derive(Debug)]
enum RunningHost {
    Server(Server),
    Workerd(Workerd),
    Spin(spin::Program),
}

impl TestHost {
    /// Starts a host and creates the session.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let (running, admin) = match Host::chosen().unwrap() {
            Host::Server => {
                let server = shared_context_system::Setup::new(path).without_rate_limit().start();
                let admin = server.admin();
                (RunningHost::Server(server), admin)
            }
            Host::Workerd => {
                // As in workerd.capnp, for a workerd on loopback.
                let setup = shared_context_workers::Setup::new(path).without_rate_limit();
                let workerd = setup.text("SHARED_CONTEXT_LOCAL", "yes").start();
                let admin = workerd.admin();
                (RunningHost::Workerd(workerd), admin)
            }
            Host::Spin => {
                let place = spin::Place::find().unwrap();
                let setup = place.setup(spin::Over::Sqlite, path);
                let runtime = spin::Runtime::spin().unwrap_or(spin::Runtime::Emulator);
                let program = spin::Program::start(&runtime, &setup).unwrap();
                let admin = Client::new(program.url(), setup.admin_key());
                (RunningHost::Spin(program), admin)
            }
        };
        let orchestrator = admin.create_session(SESSION, &json!({}));
        let credential = orchestrator.credential().to_owned();
        let admin_key = admin.credential().to_owned();
        Self { running, _folder: folder, credential, admin_key }
    }

    /// Returns the URL of the host, such as `http://127.0.0.1:40001`.
    pub(crate) fn url(&self) -> &str {
        match &self.running {
            RunningHost::Server(server) => server.url(),
            RunningHost::Workerd(workerd) => workerd.url(),
            RunningHost::Spin(program) => program.url(),
        }
    }

    /// Returns host and port of the URL.
    pub(crate) fn address(&self) -> &str {
        self.url().strip_prefix("http://").unwrap()
    }

    /// Returns a client with the credential of the orchestrator.
    pub(crate) fn orchestrator(&self) -> Client {
        Client::new(self.url(), &self.credential)
    }

    /// Returns the environment variables with URL and credential for the program.
    pub(crate) fn environment(&self) -> [(&'static str, &str); 2] {
        [("SHARED_CONTEXT_URL", self.url()), ("SHARED_CONTEXT_TOKEN", &self.credential)]
    }
}
