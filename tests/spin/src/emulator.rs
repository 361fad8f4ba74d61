//! The emulator inside the process of a test.

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

/// The maximum time that running statements may take when the emulator is dropped.
const GRACE: Duration = Duration::from_secs(5);

/// The settings for starting an application in the emulator or in Spin.
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
    /// Creates a setup for the application of `manifest` with its state in `state_dir`, on a
    /// free port of loopback.
    pub fn new(manifest: impl Into<PathBuf>, state_dir: impl Into<PathBuf>) -> Self {
        Self {
            manifest: manifest.into(),
            state_dir: state_dir.into(),
            variables: Vec::new(),
            listen: "127.0.0.1:0".to_owned(),
            leaving: Leaving::default(),
        }
    }

    /// Sets the application's variable `name` to `value`.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the address to listen on.
    #[must_use]
    pub fn listen(self, address: &str) -> Self {
        Self { listen: address.to_owned(), ..self }
    }

    /// Sets the behaviour after a client disconnects. Spin itself ignores this.
    #[must_use]
    pub fn leaving(self, leaving: Leaving) -> Self {
        Self { leaving, ..self }
    }
}

/// An emulator of Spin on wasmtime that serves an application.
///
/// Variables have the values of the [`Setup`], of the environment, or of `.env` beside the
/// manifest, in this order. Dropping the emulator ends all instances. Stored data remains
/// for the next emulator over the same folder.
pub struct Emulator {
    url: String,
    routes: Vec<(String, String)>,
    shared: Arc<Shared>,
    lines: Lines,
    /// `None` when it is being dropped.
    runtime: Option<Runtime>,
}

impl Emulator {
    /// Starts an emulator. It accepts requests when this returns.
    ///
    /// # Errors
    ///
    /// The application is not built, a variable has no value, Spin would reject the
    /// application, or the address is in use.
    pub fn start(setup: &Setup) -> anyhow::Result<Self> {
        let folder = setup.manifest.parent().unwrap_or(Path::new(""));
        Self::start_with(setup, &folder.join(".env"), Lines::collect(), Lines::collect())
    }

    /// Starts an emulator like [`Emulator::start`], with `.env` at `env_file`. Components log
    /// to `lines`, the emulator to `failures`.
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

    /// Returns its URL, such as `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the routes and the components that serve them.
    pub(crate) fn routes(&self) -> &[(String, String)] {
        &self.routes
    }

    /// Stops the wall clock of all instances at `time_ms`, in milliseconds since 1970, or
    /// lets it follow the system clock.
    pub fn set_clock(&self, time_ms: Option<u64>) {
        self.shared.clock.set(time_ms);
    }

    /// Sets the behaviour of storage.
    pub fn set_storage(&self, storage: Storage) {
        self.shared.faults.set_storage(storage);
    }

    /// Aborts instances at the given moment. This replaces an earlier setting.
    pub fn kill(&self, kill: Kill) {
        self.shared.faults.set_kill(kill);
    }

    /// Returns the number of calls to storage: SQL statements and operations on key-value
    /// stores, including those with a fault. Opening is not a call.
    pub fn calls(&self) -> u64 {
        self.shared.faults.calls()
    }

    /// Returns the number of instances that [`Emulator::kill`] has aborted.
    pub fn killed(&self) -> u64 {
        self.shared.faults.killed()
    }

    /// Returns the lines that components have written to standard error.
    pub fn log(&self) -> Vec<String> {
        self.lines.collected()
    }

    /// Removes and returns the same lines.
    pub fn take_log(&self) -> Vec<String> {
        self.lines.take()
    }

    /// Returns the errors of failed requests: traps, including those of [`Emulator::kill`], and
    /// components that did not answer.
    pub fn failures(&self) -> Vec<String> {
        self.shared.failures.collected()
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

#[cfg(test)]
mod tests;
