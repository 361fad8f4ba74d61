//! The real workerd, started on a data folder, with the Worker as it is deployed or
//! with the test module around it.
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
    Client, secrets,
    server::{Captured, send},
    tell,
};

use crate::{UnderTest, config::Config};

/// How long it may take to start, or to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to end by itself before it is killed; open streams keep it.
const GRACE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(2);
/// How much is repeated of what it said when a test fails, in lines.
const LINES_REPEATED: usize = 30;
/// What credentials are signed with where a test does not say.
const SECRET: &str = "workers: signs the credentials of tests";
/// The admin key where a test does not say.
const ADMIN_KEY: &str = "workers-admin-key-0123456789abcdef";

/// Where workerd and the Worker are.
#[derive(Debug, Clone)]
pub struct Place {
    program: PathBuf,
    /// The folder of `wrangler.jsonc`.
    worker: PathBuf,
}

impl Place {
    /// Reads from the environment where they are.
    ///
    /// # Errors
    ///
    /// It does not say, or nothing is there.
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
        // Where workerd is started, paths mean something else.
        let whole = |path: &Path| {
            path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Self { program: whole(&place.program)?, worker: whole(&place.worker)? })
    }

    /// Returns where the Worker's modules are.
    pub(crate) fn built(&self) -> PathBuf {
        self.worker.join("build")
    }

    /// Returns what users deploy it with.
    pub(crate) fn settings(&self) -> PathBuf {
        self.worker.join("wrangler.jsonc")
    }
}

/// How a workerd is to be started.
#[derive(Debug, Clone)]
pub struct Setup {
    pub(crate) place: Place,
    pub(crate) folder: PathBuf,
    pub(crate) is_under_test: bool,
    /// The values of the Worker's bindings that are texts.
    pub(crate) texts: Vec<(String, String)>,
    address: String,
}

impl Setup {
    /// On the data folder `folder`, on a free port of loopback, with the Worker as it
    /// is deployed.
    ///
    /// # Errors
    ///
    /// As [`Place::find`].
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

    /// As [`Setup::find`], with the Worker in the folder `worker` instead, which is not
    /// ours: a `wrangler.jsonc`, and its modules in `build`, `worker.mjs` the first.
    ///
    /// # Errors
    ///
    /// As [`Place::find`].
    pub fn foreign(worker: PathBuf, folder: impl Into<PathBuf>) -> Result<Self, String> {
        let mut setup = Self::find(folder)?;
        setup.place.worker = worker;
        Ok(Self { texts: Vec::new(), ..setup })
    }

    /// As [`Setup::find`], where [`main`](crate::main) found that it can.
    #[track_caller]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::find(folder).unwrap_or_else(|it| panic!("{it}"))
    }

    /// With the test module around the Worker.
    #[must_use]
    pub fn under_test(self) -> Self {
        Self { is_under_test: true, ..self }
    }

    /// With `value` for the Worker's binding `name`.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.texts.retain(|(other, _)| other != name);
        self.texts.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With these secrets.
    #[must_use]
    pub fn keys(self, secret: &str, admin_key: &str) -> Self {
        secrets::secret(secret);
        secrets::secret(admin_key);
        self.text("SHARED_CONTEXT_SECRET", secret).text("SHARED_CONTEXT_ADMIN_KEY", admin_key)
    }

    /// Without a limit on how many requests a participant may make.
    #[must_use]
    pub fn without_rate_limit(self) -> Self {
        self.text("SHARED_CONTEXT_RATE", "off")
    }

    /// On `address`.
    #[must_use]
    pub fn listen(self, address: &str) -> Self {
        Self { address: address.to_owned(), ..self }
    }

    /// Starts it and waits until it answers.
    #[track_caller]
    pub fn start(self) -> Workerd {
        self.try_start().unwrap_or_else(|it| panic!("{it}"))
    }

    /// Starts it and waits until it answers.
    ///
    /// # Errors
    ///
    /// It ended, or does not answer: what it said.
    pub fn try_start(self) -> Result<Workerd, String> {
        let told = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        let config = Config::of(&self)?.write(&self.folder).map_err(told)?;
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

/// A workerd that runs.
#[derive(Debug)]
pub struct Workerd {
    setup: Setup,
    url: String,
    child: Child,
    out: Captured,
    err: Captured,
}

impl Workerd {
    /// Returns where it answers, such as `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the same without `http://`.
    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Returns its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns what it printed so far, on both of its outputs.
    pub fn log(&self) -> String {
        self.out.text() + &self.err.text()
    }

    /// Returns a client with the admin key.
    pub fn admin(&self) -> Client {
        let of = |(name, _): &&(String, String)| name == "SHARED_CONTEXT_ADMIN_KEY";
        let key = self.setup.texts.iter().find(of).map_or("", |(_, key)| key);
        Client::new(&self.url, key)
    }

    /// Returns a client without credential.
    pub fn stranger(&self) -> Client {
        Client::new(&self.url, "")
    }

    /// Returns what tests tell the module around the Worker; it must have been asked for.
    pub fn under_test(&self) -> UnderTest {
        assert!(self.setup.is_under_test, "the test module is not there");
        UnderTest::new(self.stranger())
    }

    /// Kills it (`SIGKILL`) and waits for its end. Returns how to start it anew on the
    /// same folder.
    pub fn kill(mut self) -> Setup {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{}", self.log());
        self.setup.clone()
    }

    /// Stops it as an operator does: it is asked to (`SIGTERM`), and killed when it does
    /// not end soon. Returns how to start it anew on the same folder.
    pub fn stop(mut self) -> Setup {
        send(&self.child, Signal::TERM);
        if self.ended_within(GRACE).is_none() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
        self.setup.clone()
    }

    /// Waits for its end.
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

    /// Waits until it says where it listens, and answers there.
    fn wait_until_ready(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let port = loop {
            if let Some(port) = told_port(&self.out.text()) {
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
            // The Worker has counted no request when the test begins.
            let told = self.under_test().try_tell("objects", &json!({})).map(drop);
            return told.map_err(|it| format!("{it}; it said: {}", self.log()));
        }
        match self.stranger().try_send("GET", "/healthz", &[], None) {
            // One that is not ours has no such path.
            Ok(answer) if matches!(answer.status, 200 | 404) => Ok(()),
            other => Err(format!("workerd does not answer: {other:?}; it said: {}", self.log())),
        }
    }
}

impl Drop for Workerd {
    fn drop(&mut self) {
        if thread::panicking() {
            let log = self.log();
            let skipped = log.lines().count().saturating_sub(LINES_REPEATED);
            let last: Vec<_> = log.lines().skip(skipped).collect();
            tell(&format!("workerd said last:\n{}", last.join("\n")));
        }
        // It may have ended long ago.
        drop(self.child.kill());
        drop(self.child.wait());
        if !thread::panicking() {
            secrets::check(&self.log());
        }
    }
}

/// Returns the port in what workerd prints when it listens.
fn told_port(out: &str) -> Option<u64> {
    let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().find_map(|line| {
        let told: Value = serde_json::from_str(line).ok()?;
        (told["event"] == "listen").then(|| told["port"].as_u64())?
    })
}

/// Returns the names of the files in `folder` that are modules of a Worker, in order.
///
/// # Errors
///
/// It cannot be read.
pub(crate) fn modules(folder: &Path) -> Result<Vec<String>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for file in fs::read_dir(folder).map_err(told)? {
        let name = file.map_err(told)?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|it| it == "mjs" || it == "wasm") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
