//! Tests of the bridge over a scripted server: failures on the way, and their reports to
//! the client.
//!
//! This module has the server and the client; `requests` tests single requests, `lasting`
//! tests handshakes and subscriptions.

mod lasting;
mod requests;

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use clap::Parser;
use serde_json::{Value, json};
use shared_context_wasmtime::folder::SECRETS_FILE;
use tempfile::{TempDir, tempdir};

use super::{
    bridge::{Bridge, Lanes},
    input::Input,
    output::Output,
    upstream::{Caller, Upstream},
    *,
};
use crate::cli::client::Bearer;

/// The time limit for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A writer that sends each line to a channel.
pub(super) struct Lines {
    line: Vec<u8>,
    lines: Sender<String>,
}

impl Lines {
    pub(super) fn new() -> (Self, Receiver<String>) {
        let (lines, written) = channel();
        (Self { line: Vec::new(), lines }, written)
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match byte {
                b'\n' => {
                    let line = String::from_utf8(std::mem::take(&mut self.line)).unwrap();
                    drop(self.lines.send(line));
                }
                byte => self.line.push(*byte),
            }
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    mcp: Arguments,
}

/// A server that answers each request to `/mcp` with the next scripted answer, and then no
/// more. It is always healthy and mints every requested credential.
struct ScriptedServer {
    url: String,
    answers: Arc<Mutex<VecDeque<String>>>,
    /// Summaries of the requests: method, RPC method, credential and MCP session.
    asked: Receiver<String>,
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
/// No answer: the connection is closed.
const NOTHING: &str = "";

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

fn json_answer(body: &Value) -> String {
    answer("200 OK", "content-type: application/json\r\n", &body.to_string())
}

fn result(id: u64, text: &str) -> String {
    json_answer(&json!({"jsonrpc": "2.0", "id": id, "result": {"text": text}}))
}

fn problem(status: &str, headers: &str, code: &str) -> String {
    let body = json!({"title": "t", "error": {"code": code, "message": format!("so: {code}")}});
    answer(status, headers, &body.to_string())
}

impl ScriptedServer {
    fn new(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, asked) = channel();
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        let script = Arc::clone(&answers);
        thread::spawn(move || {
            let mut minted = 0;
            while let Ok((stream, _)) = listener.accept() {
                let Some((head, body)) = request(&stream) else { continue };
                let reply = if head[0].starts_with("GET /healthz ") {
                    json_answer(&json!({"status": "ok", "version": "0"}))
                } else if head[0].starts_with("POST /v1/sessions/s/credentials ") {
                    minted += 1;
                    json_answer(&json!({"credential": format!("c{minted}"), "expires_at": ""}))
                } else {
                    drop(sender.send(summary(&head, &body)));
                    script.lock().unwrap().pop_front().unwrap_or_default()
                };
                drop((&stream).write_all(reply.as_bytes()));
            }
        });
        Self { url, answers, asked }
    }

    /// Returns the summaries of all requests so far.
    fn asked(&self) -> Vec<String> {
        self.asked.try_iter().collect()
    }
}

fn request(stream: &TcpStream) -> Option<(Vec<String>, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = header(&head, "content-length").map_or(0, |it| it.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn header<'h>(head: &'h [String], name: &str) -> Option<&'h str> {
    let value = head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim())
}

fn summary(head: &[String], body: &[u8]) -> String {
    let method = head[0].split(' ').next().unwrap();
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let rpc = message["method"].as_str().unwrap_or("-");
    let bearer = header(head, "authorization").unwrap().trim_start_matches("Bearer ");
    let session = header(head, "mcp-session-id").unwrap_or("-");
    format!("{method} {rpc} {bearer} {session}")
}

/// A client, the bridge and a scripted server.
struct Fixture {
    server: ScriptedServer,
    bridge: Arc<Bridge>,
    lanes: Lanes,
    written: Receiver<String>,
    _folder: TempDir,
}

impl Fixture {
    /// Creates a client whose credential can be minted anew.
    fn new(answers: Vec<String>) -> Self {
        let participant = "orchestrator".to_owned();
        Self::with(Caller::Participant { session: "s".to_owned(), participant }, answers)
    }

    fn with(caller: Caller, answers: Vec<String>) -> Self {
        let server = ScriptedServer::new(answers);
        let folder = tempdir().unwrap();
        let [secret, admin_key] = ["s", "k"].map(|it| it.repeat(64));
        let mut keys = tempfile::NamedTempFile::new_in(folder.path()).unwrap();
        write!(keys, r#"{{"secret":"{secret}","admin_key":"{admin_key}"}}"#).unwrap();
        keys.persist(folder.path().join(SECRETS_FILE)).unwrap();
        let data = folder.path().to_str().unwrap();
        let arguments = ["mcp", "s", "--url", &server.url, "--data", data];
        let arguments = Command::try_parse_from(arguments).unwrap().mcp;
        let upstream = Upstream::start(arguments.server, caller, None, "/mcp").unwrap();
        let (lines, written) = Lines::new();
        let bridge = Arc::new(Bridge::new(upstream, Output::new(lines, channel().0)));
        let lanes = Lanes::new(&bridge).unwrap();
        Self { server, bridge, lanes, written, _folder: folder }
    }

    fn send(&self, message: &Value) {
        let line = message.to_string().into_bytes();
        self.bridge.take(Input::Line(line), &self.lanes);
    }

    /// Returns the next line; fails the test if none arrives.
    #[track_caller]
    fn line(&self) -> Value {
        let line = self.written.recv_timeout(ANSWER_MAX);
        let line = line.unwrap_or_else(|_| panic!("no line; asked: {:?}", self.server.asked()));
        serde_json::from_str(&line).unwrap()
    }

    /// Sends `message` and returns the answer.
    #[track_caller]
    fn ask(&self, message: &Value) -> Value {
        self.send(message);
        let line = self.line();
        assert_eq!(line["id"], message["id"], "{line}");
        line
    }
}

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

fn call(name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

fn write() -> Value {
    call("context_write", &json!({"key": "k", "value": "v"}))
}
