//! A host with a session in it, for one test: the started server, the Worker under
//! workerd, or the application of Spin.

use std::env;

use serde_json::json;
use shared_context_spin_tests as spin;
use shared_context_system::{Client, Server};
use shared_context_workers::Workerd;
use tempfile::TempDir;

/// The session every test works in.
pub(crate) const SESSION: &str = "incident-0218";

/// What the tests look at, all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    /// The program of `hosts/wasmtime`.
    Server,
    /// The Worker of `hosts/cloudflare`.
    Workerd,
    /// The application of `hosts/spin`: on Spin where `SPIN_BIN` names it, else in the
    /// stand-in.
    Spin,
}

impl Host {
    /// Reads from the environment which one.
    ///
    /// # Errors
    ///
    /// It names none, or one that is not there.
    pub(crate) fn chosen() -> Result<Self, String> {
        match env::var("STRANGERS_HOST").unwrap_or_default().as_str() {
            "" | "server" => Ok(Self::Server),
            "workerd" => shared_context_workers::Place::find().map(|_| Self::Workerd),
            "spin" => spin::Place::find().map(|_| Self::Spin),
            other => Err(format!("STRANGERS_HOST is server, workerd or spin, not {other}")),
        }
    }

    /// Returns what it is called in `STRANGERS_HOST`, and its folder of baselines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Workerd => "workerd",
            Self::Spin => "spin",
        }
    }

    /// Returns what the names of its tests begin with.
    pub(crate) fn prefix(self) -> String {
        if self == Self::Server { String::new() } else { format!("{}::", self.name()) }
    }

    /// Returns whether it remembers one request at the next, and so offers what the older
    /// protocols need that for: sessions, subscriptions and the log.
    pub(crate) fn is_kept(self) -> bool {
        self != Self::Spin
    }
}

/// A host of its own, and the credential of the session's orchestrator.
#[derive(Debug)]
pub(crate) struct Place {
    // Dropped first: it has files in the folder.
    running: Running,
    _folder: TempDir,
    pub(crate) credential: String,
}

#[derive(Debug)]
enum Running {
    Server(Server),
    Workerd(Workerd),
    Spin(spin::Program),
}

impl Place {
    /// Starts a host and creates the session.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let (running, admin) = match Host::chosen().unwrap() {
            Host::Server => {
                let server = shared_context_system::Setup::new(path).without_rate_limit().start();
                let admin = server.admin();
                (Running::Server(server), admin)
            }
            Host::Workerd => {
                // As workerd.capnp has it, for a workerd that only this machine reaches.
                let setup = shared_context_workers::Setup::new(path).without_rate_limit();
                let workerd = setup.text("SHARED_CONTEXT_LOCAL", "yes").start();
                let admin = workerd.admin();
                (Running::Workerd(workerd), admin)
            }
            Host::Spin => {
                let place = spin::Place::find().unwrap();
                let setup = place.setup(spin::Over::Sqlite, path);
                let runtime = spin::Runtime::spin().unwrap_or(spin::Runtime::StandIn);
                let program = spin::Program::start(&runtime, &setup).unwrap();
                let admin = Client::new(program.url(), setup.admin_key());
                (Running::Spin(program), admin)
            }
        };
        let orchestrator = admin.create_session(SESSION, &json!({}));
        let credential = orchestrator.credential().to_owned();
        Self { running, _folder: folder, credential }
    }

    /// Returns where the host answers, such as `http://127.0.0.1:40001`.
    pub(crate) fn url(&self) -> &str {
        match &self.running {
            Running::Server(server) => server.url(),
            Running::Workerd(workerd) => workerd.url(),
            Running::Spin(program) => program.url(),
        }
    }

    /// Returns the same without `http://`.
    pub(crate) fn address(&self) -> &str {
        self.url().strip_prefix("http://").unwrap()
    }

    /// Returns the session's orchestrator.
    pub(crate) fn orchestrator(&self) -> Client {
        Client::new(self.url(), &self.credential)
    }

    /// Returns where the host is and who asks, as the program's commands are told it.
    pub(crate) fn environment(&self) -> [(&'static str, &str); 2] {
        [("SHARED_CONTEXT_URL", self.url()), ("SHARED_CONTEXT_TOKEN", &self.credential)]
    }
}
