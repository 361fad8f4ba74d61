//! Starts the real workerd on a data folder, with the deployed Worker alone or with the
//! test module around it.
//!
//! Invariant: dropping a [`Workerd`] kills its process, and only that one.

use std::{
    env, fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use shared_context_system::{
    Client, Killable, secrets,
    server::{Captured, send},
    tell_last,
};

use crate::{UnderTest, config::Config};

/// The maximum time to start.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time to end after `SIGTERM` before it is killed; open streams keep it running.
const GRACE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(2);
/// The default secret of tests, which signs credentials.
const SECRET: &str = "workers: signs the credentials of tests";
/// The default admin key of tests.
const ADMIN_KEY: &str = "workers-admin-key-0123456789abcdef";

/// The locations of workerd and the Worker.
#[derive(Debug, Clone)]
pub struct Place {
    program: PathBuf,
    /// The folder of `wrangler.jsonc`.
    worker: PathBuf,
}

impl Place {
    /// Finds both through the environment variables `WORKERD` and `WORKERD_WORKER`.
    ///
    /// # Errors
    ///
    /// A variable is not set, or the files do not exist.
    pub fn find() -> Result<Self, String> {
        let path = |name: &str| {
            env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from).ok_or_else(|| {
                format!("{name} is not set: `cargo xtask workers` brings workerd, and sets it")
            })
        };
        let place = Self { program: path("WORKERD")?, worker: path("WORKERD_WORKER")? };
        let module = place.built().join("worker.mjs");
        if !module.exists() {
            return Err(format!("{} is not there: `cargo xtask build` makes it", module.display()));
        }
        // workerd is started in another folder, so the paths must be absolute.
        let whole = |path: &Path| {
            path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Self { program: whole(&place.program)?, worker: whole(&place.worker)? })
    }

    /// Returns the folder of the Worker's modules.
    pub(crate) fn built(&self) -> PathBuf {
        self.worker.join("build")
    }

    /// Returns the path of the settings with which users deploy it.
    pub(crate) fn settings(&self) -> PathBuf {
        self.worker.join("wrangler.jsonc")
    }
}

/// The settings for starting a workerd.
#[derive(Debug, Clone)]
pub struct Setup {
    pub(crate) place: Place,
    pub(crate) folder: PathBuf,
    pub(crate) is_under_test: bool,
    /// The values of the Worker's text bindings.
    pub(crate) texts: Vec<(String, String)>,
    address: String,
}

impl Setup {
    /// Creates a setup for the deployed Worker on the data folder `folder`, on a free port of
    /// loopback.
    ///
    /// # Errors
    ///
    /// As for [`Place::find`].
    pub fn find(folder: impl Into<PathBuf>) -> Result<Self, String> {
        let setup = Self {
            place: Place::find()?,
            folder: folder.into(),
            is_under_test: false,
            texts: Vec::new(),
            address: "127.0.0.1:0".to_owned(),
        };
        Ok(setup.keys(SECRET, ADMIN_KEY))
    }

    /// Creates a setup like [`Setup::find`] for another Worker. Its folder `worker` has a
    /// `wrangler.jsonc` and its modules in `build`, of which `worker.mjs` is the main one.
    ///
    /// # Errors
    ///
    /// As for [`Place::find`].
    pub fn foreign(worker: PathBuf, folder: impl Into<PathBuf>) -> Result<Self, String> {
        let mut setup = Self::find(folder)?;
        setup.place.worker = worker;
        Ok(Self { texts: Vec::new(), ..setup })
    }

    /// Creates a setup like [`Setup::find`]. Panics on an error, for tests run by
    /// [`main`](crate::main), which has checked the prerequisites.
    #[track_caller]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::find(folder).unwrap_or_else(|it| panic!("{it}"))
    }

    /// Adds the test module around the Worker.
    #[must_use]
    pub fn under_test(self) -> Self {
        Self { is_under_test: true, ..self }
    }

    /// Sets the Worker's binding `name` to `value`.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.texts.retain(|(other, _)| other != name);
        self.texts.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the secret and the admin key.
    #[must_use]
    pub fn keys(self, secret: &str, admin_key: &str) -> Self {
        secrets::secret(secret);
        secrets::secret(admin_key);
        self.text("SHARED_CONTEXT_SECRET", secret).text("SHARED_CONTEXT_ADMIN_KEY", admin_key)
    }

    /// Turns the rate limit off.
    #[must_use]
    pub fn without_rate_limit(self) -> Self {
        self.text("SHARED_CONTEXT_RATE", "off")
    }

    /// Sets the address to listen on.
    #[must_use]
    pub fn listen(self, address: &str) -> Self {
        Self { address: address.to_owned(), ..self }
    }

    /// Starts workerd and waits until it answers. Panics on an error.
    #[track_caller]
    pub fn start(self) -> Workerd {
        self.try_start().unwrap_or_else(|it| panic!("{it}"))
    }

    /// Starts workerd and waits until it answers.
    ///
    /// # Errors
    ///
    /// It ended or does not answer. The error has its output.
    pub fn try_start(self) -> Result<Workerd, String> {
        let described = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        let config = Config::of(&self)?.write(&self.folder).map_err(described)?;
        let mut command = Command::new(&self.place.program);
        command.args(["serve", "--verbose", "--control-fd=1", "--socket-addr"]);
        command.arg(format!("http={}", self.address)).arg(config);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|it| format!("{}: {it}", self.place.program.display()))?;
        let out = Captured::new(child.stdout.take().unwrap());
        let err = Captured::new(child.stderr.take().unwrap());
        let mut workerd = Workerd { setup: self, url: String::new(), child, out, err };
        workerd.wait_until_ready()?;
        Ok(workerd)
    }
}

/// A running workerd.
#[derive(Debug)]
pub struct Workerd {
    setup: Setup,
    url: String,
    child: Child,
    out: Captured,
    err: Captured,
}

impl Workerd {
    /// Returns its URL, such as `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its URL without `http://`.
    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its output so far, from stdout and stderr.
    pub fn log(&self) -> String {
        self.out.text() + &self.err.text()
    }

    /// Returns a client with the admin key.
    pub fn admin(&self) -> Client {
        let of = |(name, _): &&(String, String)| name == "SHARED_CONTEXT_ADMIN_KEY";
        let key = self.setup.texts.iter().find(of).map_or("", |(_, key)| key);
        Client::new(&self.url, key)
    }

    /// Returns a client without a credential.
    pub fn stranger(&self) -> Client {
        Client::new(&self.url, "")
    }

    /// Returns a client of the test module around the Worker. Panics if the setup has none.
    pub fn under_test(&self) -> UnderTest {
        assert!(self.setup.is_under_test, "the test module is not there");
        UnderTest::new(self.stranger())
    }

    /// Kills it (`SIGKILL`) and waits for its end. Returns the setup for another start on
    /// the same folder.
    pub fn kill(mut self) -> Setup {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{}", self.log());
        self.setup.clone()
    }

    /// Stops it like an operator: with `SIGTERM`, and with `SIGKILL` if it does not end soon.
    /// Returns the setup for another start on the same folder.
    pub fn stop(mut self) -> Setup {
        send(&self.child, Signal::TERM);
        if self.ended_within(GRACE).is_none() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
        self.setup.clone()
    }

    /// Waits for its end, for at most `patience`.
    fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return Some(status),
                None if Instant::now() < deadline => thread::sleep(POLL),
                None => return None,
            }
        }
    }

    /// Waits until it reports its port and answers there.
    fn wait_until_ready(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let port = loop {
            if let Some(port) = parse_port(&self.out.text()) {
                break port;
            }
            if let Some(status) = self.child.try_wait().map_err(|it| it.to_string())? {
                self.err.whole();
                return Err(format!("workerd did not start ({status}): {}", self.log()));
            }
            if Instant::now() > deadline {
                return Err(format!("workerd does not listen: {}", self.log()));
            }
            thread::sleep(POLL);
        };
        self.url = format!("http://127.0.0.1:{port}");
        if self.setup.is_under_test {
            // Unlike `/healthz`, this command does not count as a request to the Worker.
            let ready = self.under_test().try_tell("objects", &json!({})).map(drop);
            return ready.map_err(|it| format!("{it}; its output: {}", self.log()));
        }
        match self.stranger().try_send("GET", "/healthz", &[], None) {
            // Other Workers do not have this path.
            Ok(answer) if matches!(answer.status, 200 | 404) => Ok(()),
            other => Err(format!("workerd does not answer: {other:?}; its output: {}", self.log())),
        }
    }
}

impl Killable for Workerd {
    fn admin(&self) -> Client {
        self.admin()
    }

    fn kill(self) {
        drop(self.kill());
    }
}

impl Drop for Workerd {
    fn drop(&mut self) {
        if thread::panicking() {
            tell_last("output of workerd", &self.log());
        }
        // Errors are ignored: it may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
        if !thread::panicking() {
            secrets::check(&self.log());
        }
    }
}

/// Returns the port from workerd's output once it listens.
fn parse_port(out: &str) -> Option<u64> {
    let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().find_map(|line| {
        let event: Value = serde_json::from_str(line).ok()?;
        (event["event"] == "listen").then(|| event["port"].as_u64())?
    })
}

/// Returns the names of a Worker's modules in `folder`, in order.
///
/// # Errors
///
/// The folder cannot be read.
pub(crate) fn modules(folder: &Path) -> Result<Vec<String>, String> {
    let described = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for file in fs::read_dir(folder).map_err(described)? {
        let name = file.map_err(described)?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|it| it == "mjs" || it == "wasm") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
