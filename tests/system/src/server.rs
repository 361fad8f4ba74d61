//! The program, started as a server on a data folder.
//!
//! # Invariants
//!
//! - Dropping a [`Server`] kills its process, and only that one.
//! - However a server ends, its log shows nothing that [`secrets`] knows, although it
//!   logs all it can.

use std::{
    fs,
    io::{self, Read},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{Client, program, secrets};

/// The time limit for a server to start or to stop. It compiles the component once a machine; later
/// it starts within milliseconds.
const PATIENCE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(5);
/// Whatever the program itself can log, where a test does not choose.
const LOG: &str = "info,shared_context=trace";

/// The settings of a server to be started.
#[derive(Debug)]
pub struct Setup {
    folder: PathBuf,
    program: PathBuf,
    listen: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    user: Option<u32>,
    open_files_max: Option<u32>,
    is_unheard: bool,
}

impl Setup {
    /// On the data folder `folder`, on a free port of loopback.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            program: program::path().to_owned(),
            listen: "127.0.0.1:0".to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            user: None,
            open_files_max: None,
            is_unheard: false,
        }
    }

    /// On `address`.
    #[must_use]
    pub fn listen(mut self, address: &str) -> Self {
        address.clone_into(&mut self.listen);
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(ToString::to_string));
        self
    }

    /// Without a limit on how many requests a participant may make.
    #[must_use]
    pub fn without_rate_limit(self) -> Self {
        self.arguments(&["--rate", "off"])
    }

    /// With so few files and connections that it may have open.
    #[must_use]
    pub fn open_files_max(self, open_files_max: u32) -> Self {
        Self { open_files_max: Some(open_files_max), ..self }
    }

    /// Sets up a log without a reader: the other end of the server's standard error is closed.
    #[must_use]
    pub fn unheard(self) -> Self {
        Self { is_unheard: true, ..self }
    }

    /// With an environment variable.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// As another user, which only the superuser may ask for. The program at
    /// `program` is run, which that user must be able to reach.
    #[must_use]
    pub fn as_user(mut self, user: u32, program: &Path) -> Self {
        self.user = Some(user);
        program.clone_into(&mut self.program);
        self
    }

    /// Starts the server and waits until it answers.
    #[track_caller]
    pub fn start(self) -> Server {
        self.try_start().unwrap_or_else(|it| panic!("the server did not start: {it:?}"))
    }

    /// Starts the server, which must fail.
    #[track_caller]
    pub fn refused(self) -> Refusal {
        match self.try_start() {
            Err(refusal) => refusal,
            Ok(server) => panic!("the server started; it said: {}", server.log()),
        }
    }

    /// Starts the server and waits until it answers, or ends.
    ///
    /// # Errors
    ///
    /// It ended.
    pub fn try_start(self) -> Result<Server, Refusal> {
        let mut server = self.spawn();
        server.url = loop {
            if let Some(url) = server.told_url() {
                break url;
            }
            if let Some(status) = server.child.try_wait().unwrap() {
                return Err(server.refusal(status));
            }
            server.wait_a_little();
        };
        // Connections wait in the listening socket: it answers, or it ends.
        let health = Client::new(&server.url, "").try_send("GET", "/healthz", &[], None);
        let Ok(answer) = health else {
            let status = server.wait();
            return Err(server.refusal(status));
        };
        assert!(matches!(answer.status, 200 | 503), "{}", answer.text);
        Ok(server)
    }

    /// Starts the server and kills it as soon as there is a file `name` in its
    /// folder.
    pub fn kill_at(self, name: &str) {
        let mut server = self.spawn();
        while !server.folder.join(name).exists() {
            assert_eq!(server.child.try_wait().unwrap(), None, "{}", server.log());
            // As soon as can be: waiting would miss the moment.
            thread::yield_now();
        }
        server.kill();
    }

    fn spawn(self) -> Server {
        let mut command = match self.open_files_max {
            None => program::command(&self.program),
            Some(count) => {
                let mut shell = program::command("sh".as_ref());
                let limited = format!("ulimit -n {count} && exec \"$@\"");
                shell.args(["-c", &limited, "sh"]).arg(&self.program);
                shell
            }
        };
        command.args(["serve", "--listen", &self.listen, "--data"]).arg(&self.folder);
        for (name, text) in &self.environment {
            if name.ends_with("_SECRET") || name.ends_with("_KEY") {
                secrets::secret(text);
            }
        }
        command.env("SHARED_CONTEXT_LOG", LOG).args(self.arguments).envs(self.environment);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let greeting = Captured::new(child.stdout.take().unwrap());
        let log = child.stderr.take().unwrap();
        let log = if self.is_unheard { Captured::new(io::empty()) } else { Captured::new(log) };
        Server { folder: self.folder, url: String::new(), child, greeting, log }
    }
}

/// The output of a server that ended instead of serving.
#[derive(Debug)]
pub struct Refusal {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its standard error.
    pub said: String,
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    folder: PathBuf,
    url: String,
    child: Child,
    greeting: Captured,
    log: Captured,
}

impl Server {
    /// Starts one on `folder`.
    #[track_caller]
    pub fn start(folder: &Path) -> Self {
        Setup::new(folder).start()
    }

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

    /// Returns its whole standard output. It answers a moment before it says that it does, and its
    /// first lines come before its last.
    pub fn greeting(&self) -> String {
        loop {
            let greeting = self.greeting.text();
            if greeting.contains("Ctrl-C stops it") && greeting.ends_with('\n') {
                return greeting;
            }
            self.wait_a_little();
        }
    }

    /// Returns what it printed on standard error so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Returns a client with the admin key.
    pub fn admin(&self) -> Client {
        Client::new(&self.url, &self.secrets().1)
    }

    /// Returns a client without credential.
    pub fn stranger(&self) -> Client {
        Client::new(&self.url, "")
    }

    /// Returns what it signs credentials with, and the admin key, as kept in the folder.
    pub fn secrets(&self) -> (String, String) {
        let file: Value =
            serde_json::from_slice(&fs::read(self.folder.join("keys.json")).unwrap()).unwrap();
        let text = |name: &str| file[name].as_str().unwrap().to_owned();
        (text("secret"), text("admin_key"))
    }

    /// Checks that it still serves.
    #[track_caller]
    pub fn assert_alive(&self) {
        let answer = self.stranger().get("/healthz");
        assert!(matches!(answer.status, 200 | 503), "{}", answer.text);
    }

    /// Kills it (`SIGKILL`) and waits for its end.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        let status = self.wait();
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{}", self.log());
    }

    /// Asks it to stop (`SIGTERM`), without waiting.
    pub fn ask_to_stop(&self) {
        self.signal(Signal::TERM);
    }

    /// Asks it to stop as a terminal does (`SIGINT`), without waiting.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Stops all its threads (`SIGSTOP`) until [`Server::resume`].
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on (`SIGCONT`).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    /// Waits for its end and returns how it ended, and all it logged.
    pub fn ended(mut self) -> (ExitStatus, String) {
        let status = self.wait();
        self.log.whole();
        (status, self.log())
    }

    /// Stops it as an operator does; it must end well. Returns what it logged.
    #[track_caller]
    pub fn stop(self) -> String {
        self.ask_to_stop();
        let (status, log) = self.ended();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }

    fn told_url(&self) -> Option<String> {
        let told = fs::read(self.folder.join("server.json")).unwrap_or_default();
        let told: Value = serde_json::from_slice(&told).unwrap_or_default();
        if told["pid"].as_u64() == Some(self.child.id().into()) {
            return Some(told["url"].as_str().unwrap().to_owned());
        }
        // A full disk has no room for the file.
        let log = self.log();
        let (_, told) = log.split_once("started url=\"").filter(|_| log.contains("by itself"))?;
        told.split_once('"').map(|(url, _)| url.to_owned())
    }

    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the server does not end: {}", self.log());
            thread::sleep(POLL);
        }
    }

    fn wait_a_little(&self) {
        assert!(self.log.started.elapsed() < PATIENCE, "no answer: {}", self.log());
        thread::sleep(POLL);
    }

    fn refusal(&mut self, status: ExitStatus) -> Refusal {
        self.log.whole();
        Refusal { code: status.code(), said: self.log() }
    }
}

/// Sends `signal` to `child`, which must not have been waited for: its number
/// could be another process's by then.
pub fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended long ago.
        drop(self.child.kill());
        drop(self.child.wait());
        if !thread::panicking() {
            self.log.whole();
            let keys = fs::read(self.folder.join("keys.json"));
            secrets::request("", [], keys.ok().as_deref());
            secrets::check(&self.log());
        }
    }
}

/// The output of a process on one of its pipes, read as it comes.
#[derive(Debug)]
pub struct Captured {
    started: Instant,
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Captured {
    /// Begins to read `pipe`.
    pub fn new(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..count]);
            }
        });
        Self { started: Instant::now(), bytes, reader: Some(reader) }
    }

    /// Returns what came so far.
    pub fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the process has written its last byte.
    pub fn whole(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }
}
