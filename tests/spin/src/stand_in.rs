//! A stand-in inside the process of a test.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
};

use crate::{
    app::{App, Shared},
    faults::{Kill, Storage},
    manifest::Manifest,
    output::Lines,
    server::{self, Leaving},
    variables::Sources,
};

/// How long statements that are under way may take when the stand-in is dropped.
const GRACE: Duration = Duration::from_secs(5);

/// How an application is to be started, by the stand-in or by Spin.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The file `spin.toml`, whatever its name.
    pub manifest: PathBuf,
    /// The folder of databases and logs.
    pub state_dir: PathBuf,
    /// Values of the application's variables.
    pub variables: Vec<(String, String)>,
    pub(crate) listen: String,
    pub(crate) leaving: Leaving,
}

impl Setup {
    /// Creates the application of `manifest` over the state in `state_dir`, on a free port of
    /// loopback.
    pub fn new(manifest: impl Into<PathBuf>, state_dir: impl Into<PathBuf>) -> Self {
        Self {
            manifest: manifest.into(),
            state_dir: state_dir.into(),
            variables: Vec::new(),
            listen: "127.0.0.1:0".to_owned(),
            leaving: Leaving::default(),
        }
    }

    /// With `value` for the application's variable `name`.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// On `address`.
    #[must_use]
    pub fn listen(self, address: &str) -> Self {
        Self { listen: address.to_owned(), ..self }
    }

    /// With the versions of Spin that `leaving` is for. Spin itself does as it does.
    #[must_use]
    pub fn leaving(self, leaving: Leaving) -> Self {
        Self { leaving, ..self }
    }
}

/// Spin's interfaces on wasmtime, serving an application: not Spin.
///
/// Variables have the values of the [`Setup`], those of the environment, or those in
/// `.env` beside the manifest, in this order. Dropping it ends it and all instances;
/// what was stored is there for the next over the same folder.
pub struct StandIn {
    url: String,
    routes: Vec<(String, String)>,
    shared: Arc<Shared>,
    lines: Lines,
    /// `None` when it is being dropped.
    runtime: Option<Runtime>,
}

impl StandIn {
    /// Starts one. It answers when this returns.
    ///
    /// # Errors
    ///
    /// The application is not built, a variable has no value, Spin would refuse it, or
    /// the address is taken.
    pub fn start(setup: &Setup) -> anyhow::Result<Self> {
        let folder = setup.manifest.parent().unwrap_or(Path::new(""));
        Self::start_with(setup, &folder.join(".env"), Lines::to_keep(), Lines::to_keep())
    }

    /// As [`StandIn::start`], with `.env` at `env_file`, and what components and the
    /// stand-in say given to `lines` and `failures`.
    pub(crate) fn start_with(
        setup: &Setup,
        env_file: &Path,
        lines: Lines,
        failures: Lines,
    ) -> anyhow::Result<Self> {
        let manifest = Manifest::read(&setup.manifest)?;
        let shared = Arc::new(Shared::new(&setup.state_dir, failures)?);
        let sources = Sources {
            given: &setup.variables,
            environment: &|name| env::var(name).ok(),
            file: env_file,
        };
        let app = App::load(manifest, &sources, &shared, &setup.state_dir, &lines)?;
        let routes = app.router.routes().iter();
        let routes = routes.map(|it| (it.component.clone(), it.listed())).collect();
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let listener = runtime
            .block_on(TcpListener::bind(&setup.listen))
            .with_context(|| format!("cannot listen on {}", setup.listen))?;
        let url = format!("http://{}", listener.local_addr()?);
        runtime.spawn(server::serve(listener, Arc::new(app), setup.leaving));
        Ok(Self { url, routes, shared, lines, runtime: Some(runtime) })
    }

    /// Returns where it answers, such as `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the routes and the components that serve them.
    pub(crate) fn routes(&self) -> &[(String, String)] {
        &self.routes
    }

    /// Stops the wall clock of all instances at `time_ms`, in milliseconds since 1970,
    /// or lets it go as the machine's does.
    pub fn set_clock(&self, time_ms: Option<u64>) {
        self.shared.clock.set(time_ms);
    }

    /// Lets storage behave as told, until told otherwise.
    pub fn set_storage(&self, storage: Storage) {
        self.shared.faults.set_storage(storage);
    }

    /// Ends instances in the middle of what they do. What was asked for before is
    /// forgotten.
    pub fn kill(&self, kill: Kill) {
        self.shared.faults.set_kill(kill);
    }

    /// Returns how many calls to storage there were: statements of SQL and operations on
    /// key-value stores, those that a fault met included. Opening is none.
    pub fn calls(&self) -> u64 {
        self.shared.faults.calls()
    }

    /// Returns how many instances [`StandIn::kill`] ended.
    pub fn killed(&self) -> u64 {
        self.shared.faults.killed()
    }

    /// Returns the lines that components wrote to their standard error so far.
    pub fn log(&self) -> Vec<String> {
        self.lines.kept()
    }

    /// Returns the same, each line once.
    pub fn take_log(&self) -> Vec<String> {
        self.lines.take()
    }

    /// Returns why requests failed so far: traps, those of [`StandIn::kill`] among them, and
    /// components that did not answer.
    pub fn failures(&self) -> Vec<String> {
        self.shared.failures.kept()
    }
}

impl fmt::Debug for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandIn").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

#[cfg(test)]
mod tests;
