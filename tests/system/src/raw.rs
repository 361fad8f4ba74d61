//! Requests byte by byte, to send what no well-behaved client sends.

use std::{
    fmt::Write as _,
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use serde_json::Value;

use crate::{Server, secrets};

/// The time limit for an answer before the test fails.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// The bytes that were read and do not belong to an answer yet.
    read: Vec<u8>,
}

/// One answer, or what came of it.
#[derive(Debug, Clone)]
pub struct RawAnswer {
    /// The status.
    pub status: u16,
    /// The status line and the headers.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Connection {
    /// Connects to `server`.
    pub fn open(server: &Server) -> Self {
        Self::to(server.address())
    }

    /// Connects to the server at `address`.
    pub fn to(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(ANSWER_MAX)).unwrap();
        stream.set_write_timeout(Some(ANSWER_MAX)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, read: Vec::new() }
    }

    /// Sends `bytes`. Returns true if all were taken: a server that rejects early
    /// may stop reading.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let body = bytes.as_ref().windows(4).position(|it| it == b"\r\n\r\n");
        secrets::request("", [], body.and_then(|at| bytes.as_ref().get(at + 4..)));
        match self.stream.write_all(bytes.as_ref()) {
            Ok(()) => true,
            Err(error) if is_hung_up(error.kind()) => false,
            Err(error) => panic!("the server does not read: {error}"),
        }
    }

    /// Says that nothing more will be sent.
    pub fn finish(&mut self) {
        // A server that has closed already does not mind.
        drop(self.stream.shutdown(Shutdown::Write));
    }

    /// Returns the head of the next answer; `None` when the server closed the connection instead.
    pub fn head(&mut self) -> Option<String> {
        let head_end = loop {
            if let Some(at) = self.read.windows(4).position(|it| it == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.read_more() {
                assert!(self.read.is_empty(), "half an answer: {}", self.read.escape_ascii());
                return None;
            }
        };
        Some(String::from_utf8(self.read.drain(..head_end).collect()).unwrap())
    }

    /// Returns the next answer; `None` when the server closed the connection instead.
    pub fn answer(&mut self) -> Option<RawAnswer> {
        let head = self.head()?;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = header(&head, "content-length").map_or(0, |it| it.parse().unwrap());
        let length = if status < 200 { 0 } else { length };
        while self.read.len() < length {
            assert!(self.read_more(), "half a body after {head}");
        }
        let body = String::from_utf8(self.read.drain(..length).collect()).unwrap();
        Some(RawAnswer { status, head, body })
    }

    /// Returns all that comes before the server ends a body that it sends in chunks, as it comes.
    pub fn rest(&mut self) -> String {
        while !self.read.ends_with(b"0\r\n\r\n") && self.read_more() {}
        String::from_utf8(std::mem::take(&mut self.read)).unwrap()
    }

    /// Returns whether the server closes the connection instead of sending another answer.
    pub fn is_closed(&mut self) -> bool {
        self.read.is_empty() && !self.read_more()
    }

    fn read_more(&mut self) -> bool {
        let mut chunk = [0; 16 * 1024];
        match self.stream.read(&mut chunk) {
            Ok(count) => {
                self.read.extend_from_slice(&chunk[..count]);
                count > 0
            }
            Err(error) if is_hung_up(error.kind()) => false,
            Err(error) => panic!("no answer: {error}"),
        }
    }
}

impl RawAnswer {
    /// Returns the code of an error, if the body is one.
    pub fn code(&self) -> Option<String> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        body["error"]["code"].as_str().map(str::to_owned)
    }

    /// Returns the header `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

/// Sends `bytes` to `server` over a new connection; returns the first answer,
/// or `None` when the server closed the connection instead.
pub fn exchange(server: &Server, bytes: impl AsRef<[u8]>) -> Option<RawAnswer> {
    let mut connection = Connection::open(server);
    connection.send(bytes);
    connection.answer()
}

/// Returns a request as it goes over the wire, with a body and its length.
pub fn request(line: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!("{line}\r\nHost: localhost\r\n");
    for (name, value) in headers {
        let _ = write!(bytes, "{name}: {value}\r\n");
    }
    if !body.is_empty() {
        let _ = write!(bytes, "Content-Length: {}\r\n", body.len());
    }
    bytes.push_str("\r\n");
    [bytes.as_bytes(), body].concat()
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

fn is_hung_up(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted
    )
}
