//! A desktop agent: a program that starts `shared-context mcp` and talks to it over
//! pipes, in one of the versions of MCP.
//!
//! # Invariant
//!
//! Whatever comes on standard output is a message of MCP, or the test fails.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    program, secrets,
    server::{Captured, send},
    terminal::Printed,
};

/// The time limit for an answer, or for the end, before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);
/// The version without a handshake.
pub const MODERN: &str = "2026-07-28";

/// An agent's program and the command it started.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    /// The output until it is read.
    output: Option<ChildStdout>,
    lines: Receiver<String>,
    err: Captured,
    version: String,
    last_id: u64,
    /// Notifications that came while something else was waited for.
    told: VecDeque<Value>,
    /// Answers that came while another was waited for.
    answers: BTreeMap<u64, Value>,
}

impl Agent {
    /// One that speaks `version`, on the data folder `folder`. The handshake is
    /// done if that version has one.
    #[track_caller]
    pub fn start(folder: &Path, version: &str, arguments: &[&str]) -> Self {
        Self::spawn(folder, version, arguments, &[]).ready()
    }

    /// Creates the same, shown this credential.
    #[track_caller]
    pub fn holding(folder: &Path, version: &str, credential: &str) -> Self {
        Self::spawn(folder, version, &[], &[("SHARED_CONTEXT_TOKEN", credential)]).ready()
    }

    /// Returns an agent that has sent nothing yet.
    pub fn spawn(
        folder: &Path,
        version: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut agent = Self::new(folder, version, arguments, environment);
        let (sender, lines) = channel();
        let output = BufReader::new(agent.output.take().unwrap());
        thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                // The test may be over.
                drop(sender.send(line));
            }
        });
        agent.lines = lines;
        agent
    }

    /// Creates the same, of a program that closed its end of the standard output.
    pub fn spawn_deaf(folder: &Path, version: &str, arguments: &[&str]) -> Self {
        let mut agent = Self::new(folder, version, arguments, &[]);
        agent.output = None;
        agent
    }

    /// Creates the same, of a program that does not read its input.
    pub fn spawn_stalled(folder: &Path, version: &str, arguments: &[&str]) -> Self {
        Self::new(folder, version, arguments, &[])
    }

    fn new(folder: &Path, version: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = program::command(program::path());
        command.arg("mcp").args(arguments).arg("--data").arg(folder);
        command.envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Self {
            input: child.stdin.take(),
            err: Captured::new(child.stderr.take().unwrap()),
            output: child.stdout.take(),
            child,
            lines: channel().1,
            version: version.to_owned(),
            last_id: 0,
            told: VecDeque::new(),
            answers: BTreeMap::new(),
        }
    }

    fn is_modern(&self) -> bool {
        self.version == MODERN
    }

    /// Does the handshake, if this version has one.
    #[must_use]
    #[track_caller]
    pub fn ready(mut self) -> Self {
        if self.is_modern() {
            return self;
        }
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": self.version, "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], self.version, "{answer}");
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    /// Returns its output on standard error so far.
    pub fn err(&self) -> String {
        self.err.text()
    }

    /// Sends a line.
    pub fn write(&mut self, line: impl AsRef<[u8]>) {
        secrets::request("", [], Some(line.as_ref()));
        let input = self.input.as_mut().unwrap();
        input.write_all(&[line.as_ref(), b"\n"].concat()).unwrap();
    }

    /// Sends a message.
    pub fn say(&mut self, message: &Value) {
        self.write(message.to_string());
    }

    /// Sends a request; returns its id.
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.last_id += 1;
        if self.is_modern() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.last_id;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a call of the tool `name`; returns its id.
    pub fn send_call(&mut self, name: &str, arguments: &Value) -> u64 {
        self.send("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool, which must succeed; returns its result.
    #[track_caller]
    pub fn use_tool(&mut self, name: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        said(&answer)
    }

    /// Mints the credential of a subagent for `task`; returns the reply.
    #[track_caller]
    pub fn add_subagent(&mut self, task: &str) -> Value {
        self.use_tool("context_session", &json!({"action": "add_subagent", "task": task}))
    }

    /// Writes an entry.
    #[track_caller]
    pub fn write_entry(&mut self, key: &str, value: &str) -> Value {
        self.use_tool("context_write", &json!({"key": key, "value": value}))
    }

    /// Reads an entry's value.
    #[track_caller]
    pub fn read_entry(&mut self, key: &str) -> String {
        let read = self.use_tool("context_read", &json!({"keys": [key]}));
        read["entries"][0]["value"].as_str().unwrap().to_owned()
    }

    /// Returns the keys there are, in order.
    #[track_caller]
    pub fn keys(&mut self) -> Vec<String> {
        let listed = self.use_tool("context_list", &json!({}));
        let keys = listed["keys"].as_array().unwrap().iter();
        keys.map(|it| it["key"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the answer to the request `id`.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            let line = self.line();
            self.sort(line);
        }
    }

    /// Returns the next notification, as `method uri`.
    #[track_caller]
    pub fn notification(&mut self) -> String {
        loop {
            if let Some(told) = self.told.pop_front() {
                let uri = told["params"]["uri"].as_str().unwrap_or_default();
                return format!("{} {uri}", told["method"].as_str().unwrap()).trim_end().to_owned();
            }
            let line = self.line();
            self.sort(line);
        }
    }

    /// Waits for a notification that is `expected`; returns those before it.
    #[track_caller]
    pub fn wait_for(&mut self, expected: &str) -> Vec<String> {
        let mut before = Vec::new();
        loop {
            match self.notification() {
                told if told == expected => return before,
                told => before.push(told),
            }
        }
    }

    /// Returns the notifications and unrequested answers that were received.
    pub fn rest(&mut self) -> Vec<Value> {
        while let Ok(line) = self.lines.try_recv() {
            self.sort(message(&line));
        }
        self.told.drain(..).chain(std::mem::take(&mut self.answers).into_values()).collect()
    }

    fn sort(&mut self, message: Value) {
        match message["id"].as_u64() {
            Some(id) => drop(self.answers.insert(id, message)),
            None => self.told.push_back(message),
        }
    }

    /// Returns the next message of any kind.
    #[track_caller]
    pub fn line(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => message(&line),
            Err(error) => panic!("no line: {error}; it said: {}", self.err()),
        }
    }

    /// Waits until it has written `text` to standard error.
    #[track_caller]
    pub fn wait_until_said(&self, text: &str) {
        let begin = Instant::now();
        while !self.err().contains(text) {
            assert!(begin.elapsed() < PATIENCE, "{text:?} is not in: {}", self.err());
            thread::sleep(POLL);
        }
    }

    /// Kills it (`SIGKILL`).
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop (`SIGTERM`).
    pub fn ask_to_stop(&self) {
        send(&self.child, Signal::TERM);
    }

    /// Says nothing more to it, and waits for its end.
    #[track_caller]
    pub fn close(mut self) -> Printed {
        drop(self.input.take());
        self.ended()
    }

    /// Waits for its end. The rest of its standard output must be messages.
    #[track_caller]
    pub fn ended(mut self) -> Printed {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < PATIENCE, "it does not end: {}", self.err());
            thread::sleep(POLL);
        };
        let mut out = String::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    message(&line);
                    out.push_str(&line);
                    out.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("its output does not end"),
            }
        }
        self.err.whole();
        Printed { code: status.code().unwrap(), out, err: self.err() }
    }
}

/// Returns the structured content of the tool result `answer`.
#[track_caller]
pub fn said(answer: &Value) -> Value {
    let result = &answer["result"];
    assert_ne!(result["isError"], true, "{answer}");
    assert!(result["content"][0]["text"].is_string(), "{answer}");
    result["structuredContent"].clone()
}

#[track_caller]
fn message(line: &str) -> Value {
    let message: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    message
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended long ago.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
