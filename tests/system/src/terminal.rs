//! A person at a terminal: commands of the program against a separate server.
//!
//! Invariant: every process that still runs is killed when the value is dropped.

use std::{
    io::Write as _,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::{
    Server, program, secrets,
    server::{Captured, send},
};

/// The data folder, as someone may well name it.
pub const DATA: &str = "it's 100 % our data";
/// The time limit for a command that runs beside the test.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

/// Someone at a terminal, with a server.
#[derive(Debug)]
pub struct Place {
    /// The server.
    pub server: Server,
    /// The place of the data folder, and the home of the program.
    pub folder: TempDir,
}

/// The output of a command.
#[derive(Debug)]
pub struct Printed {
    /// The exit code.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    out: Captured,
    err: Captured,
}

/// Returns what a process printed that has ended.
pub fn printed(output: Output) -> Printed {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Printed {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Runs the program with these variables and a separate home.
pub fn run(home: &Path, environment: &[(&str, &str)], arguments: &[&str], input: &str) -> Printed {
    let mut child = command(home, environment, arguments).spawn().unwrap();
    secrets::request("", [], Some(input.as_bytes()));
    // Most commands do not read it.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    printed(child.wait_with_output().unwrap())
}

fn command(home: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut command = program::command(program::path());
    for argument in arguments.iter().filter(|it| it.starts_with('{')) {
        secrets::request("", [], Some(argument.as_bytes()));
    }
    command.args(arguments).env("HOME", home);
    command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
    command.envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Place {
    /// With a server on an empty folder.
    #[expect(clippy::new_without_default, reason = "it starts a process")]
    pub fn new() -> Self {
        let folder = tempdir().unwrap();
        Self { server: Server::start(&folder.path().join(DATA)), folder }
    }

    /// Creates the same with another server on the same folder, at another address.
    #[must_use]
    pub fn restarted(self) -> Self {
        let Self { server, folder } = self;
        server.stop();
        Self { server: Server::start(&folder.path().join(DATA)), folder }
    }

    /// Returns the data folder.
    pub fn data(&self) -> String {
        self.folder.path().join(DATA).to_str().unwrap().to_owned()
    }

    /// Returns the path of a separate file, for commands to read or write.
    pub fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a command that finds the server by its data folder.
    pub fn run(&self, arguments: &[&str]) -> Printed {
        self.piped(arguments, "")
    }

    /// Returns the same with `input` on its standard input.
    pub fn piped(&self, arguments: &[&str], input: &str) -> Printed {
        let data = self.data();
        run(self.folder.path(), &[("SHARED_CONTEXT_DATA", &data)], arguments, input)
    }

    /// Runs a command that must succeed; returns what it printed for people.
    #[track_caller]
    pub fn told(&self, arguments: &[&str]) -> String {
        let Printed { code, out, err } = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
        assert!(!out.contains('\u{1b}'), "colours where nobody sees them: {out:?}");
        out
    }

    /// Returns the same with `--json`: one document and nothing else.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        let out = self.told(&arguments);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}"))
    }

    /// Runs a command that must fail with `exit` and `code`, both for people and
    /// for programs, and say `parts`.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str], exit: i32, code: &str, parts: &[&str]) {
        check_refused(self.run(arguments), exit, parts);
        let arguments = [arguments, &["--json"]].concat();
        let Printed { code: seen, out, .. } = self.run(&arguments);
        assert_eq!(seen, exit, "{out}");
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(document["error"]["code"], code, "{out}");
        assert!(document["error"]["message"].is_string(), "{out}");
    }

    /// Starts a command that does not end by itself.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let data = self.data();
        let environment = [("SHARED_CONTEXT_DATA", &*data)];
        let mut child = command(self.folder.path(), &environment, arguments).spawn().unwrap();
        let out = Captured::new(child.stdout.take().unwrap());
        let err = Captured::new(child.stderr.take().unwrap());
        Running { child, out, err }
    }
}

/// Checks that a command failed with `exit` and said `parts`, and no more than
/// that.
#[track_caller]
pub fn check_refused(printed: Printed, exit: i32, parts: &[&str]) {
    let Printed { code, out, err } = printed;
    assert_eq!(code, exit, "{out}{err}");
    assert_eq!(out, "", "standard output is for answers");
    for part in parts {
        assert!(err.contains(part), "{part:?} is not in: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
}

impl Running {
    /// Returns what it printed on standard output so far.
    pub fn out(&self) -> String {
        self.out.text()
    }

    /// Returns what it printed on standard error so far.
    pub fn err(&self) -> String {
        self.err.text()
    }

    /// Waits until what it printed is so.
    #[track_caller]
    pub fn wait_until(&self, is_so: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            assert!(begin.elapsed() < PATIENCE, "still: {}{}", self.out(), self.err());
            thread::sleep(POLL);
        }
    }

    /// Presses Ctrl-C.
    pub fn interrupt(&self) {
        send(&self.child, Signal::INT);
    }

    /// Waits for its end.
    #[track_caller]
    pub fn ended(mut self) -> Printed {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < PATIENCE, "it does not end: {}{}", self.out(), self.err());
            thread::sleep(POLL);
        };
        self.out.whole();
        self.err.whole();
        Printed { code: status.code().unwrap(), out: self.out(), err: self.err() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
