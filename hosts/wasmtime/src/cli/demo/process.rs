//! The server of a demonstration: a separate process with its own data.
//!
//! # Invariant
//!
//! The process ends when its value is dropped, even after an error.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;
use shared_context_wasmtime::folder::Secrets;
use tempfile::TempDir;

use crate::cli::{
    client::{Bearer, Client},
    problem::{Kind, Problem},
    signals::on_signal,
};

/// The time in which a server must stop before it is killed.
const STOP_TIME_MAX: Duration = Duration::from_secs(15);
/// In the demonstration's folder: the data folder and the server's log.
const DATA: &str = "data";
const LOG: &str = "server.log";

/// A running server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Running,
    /// Removed after the process has ended.
    folder: TempDir,
    address: SocketAddr,
    pub(super) client: Client,
    pub(super) admin: Bearer,
}

/// A process that is killed when this value is dropped.
#[derive(Debug)]
struct Running(Child);

/// The output of `serve --json`.
#[derive(Deserialize)]
struct Started {
    url: String,
}

impl ServerProcess {
    /// Starts this program as a server, on a free port and an empty folder.
    pub(super) fn start() -> Result<Self, Problem> {
        let folder = tempfile::Builder::new()
            .prefix("shared-context-demo-")
            .tempdir()
            .map_err(|error| failed(format!("cannot make a folder for the data: {error}")))?;
        let (child, url) = spawn(folder.path(), "127.0.0.1:0")?;
        let address = url.trim_start_matches("http://").parse();
        let address = address.map_err(|_| failed(format!("the server says it is at {url}")))?;
        let client = Client::new(&url, None)?;
        let secrets = Secrets::read(&folder.path().join(DATA))?;
        let admin = secrets
            .map(|it| Bearer::admin_key(it.admin_key, "the demo".to_owned()))
            .ok_or_else(|| failed("the server made no keys in its folder".to_owned()))?;
        Ok(Self { child, folder, address, client, admin })
    }

    /// Returns the process id.
    pub(super) fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Stops the process as an operator would, and starts another on the same data. Returns
    /// the duration of the outage.
    pub(super) fn restart(&mut self) -> Result<Duration, Problem> {
        let since = Instant::now();
        self.stop()?;
        let (child, url) = spawn(self.folder.path(), &self.address.to_string())?;
        self.child = child;
        self.client = Client::new(&url, None)?;
        Ok(since.elapsed())
    }

    /// Stops the process and waits for its end.
    pub(super) fn stop(&mut self) -> Result<(), Problem> {
        terminate(&mut self.child.0)
            .map_err(|error| failed(format!("the server cannot be stopped: {error}")))?;
        let since = Instant::now();
        while since.elapsed() < STOP_TIME_MAX {
            match self.child.0.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    let log = log(self.folder.path());
                    return Err(Problem::check(format!("the server stopped with {status}{log}")));
                }
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Err(error) => return Err(failed(format!("the server is lost: {error}"))),
            }
        }
        Err(Problem::check(format!(
            "the server did not stop within {} s of being asked to",
            STOP_TIME_MAX.as_secs()
        )))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }
}

/// True after a signal asked this process to stop.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Starts handling signals. From then on they do not end this process, so that its server
/// and data are not left behind; [`check_interrupted`] reports them.
pub(super) fn handle_signals() -> Result<(), Problem> {
    on_signal(|| IS_INTERRUPTED.store(true, Ordering::Relaxed))
}

/// Returns an error if a signal asked this process to stop.
pub(super) fn check_interrupted() -> Result<(), Problem> {
    if IS_INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Problem::check("the demonstration was interrupted")
            .next("nothing of it is left; start it again"));
    }
    Ok(())
}

/// Starts the process and waits until it prints its address.
fn spawn(folder: &Path, listen: &str) -> Result<(Running, String), Problem> {
    let cannot = |error: std::io::Error| failed(format!("the server cannot be started: {error}"));
    let program = env::current_exe().map_err(cannot)?;
    let log_file = fs::File::create(folder.join(LOG)).map_err(cannot)?;
    let mut command = Command::new(program);
    command.args(["serve", "--json", "--listen", listen, "--data"]).arg(folder.join(DATA));
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("SHARED_CONTEXT_") {
            command.env_remove(name);
        }
    }
    // Ctrl-C must reach only the demonstration, which stops its server itself.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log_file);
    let mut child = Running(command.spawn().map_err(cannot)?);
    let mut line = String::new();
    if let Some(stdout) = child.0.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(cannot)?;
    }
    let Ok(Started { url }) = serde_json::from_str(&line) else {
        drop(child);
        return Err(failed(format!("the server did not start{}", log(folder))));
    };
    Ok((child, url))
}

/// Returns the last lines of the server's log, for a problem.
fn log(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len().saturating_sub(5);
    lines.get(last..).unwrap_or_default().iter().fold(String::new(), |all, it| all + "\n  " + it)
}

#[cfg(unix)]
fn terminate(child: &mut Child) -> std::io::Result<()> {
    let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    match id {
        Some(id) => Ok(rustix::process::kill_process(id, rustix::process::Signal::TERM)?),
        None => child.kill(),
    }
}

#[cfg(not(unix))]
fn terminate(child: &mut Child) -> std::io::Result<()> {
    child.kill()
}

fn failed(message: String) -> Problem {
    Problem::new(Kind::Start, "DEMO_FAILED", message)
        .next("`shared-context doctor` lists what is missing on this machine")
}
