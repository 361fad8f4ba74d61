//! A reader of a live stream of changes, as a browser or an agent's program is
//! one: it reads events, and remembers where it was.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

use crate::Client;

/// The time limit for the next event before the test fails. It is longer than the interval at which
/// the server reports that nothing happened.
const EVENT_MAX: Duration = Duration::from_secs(30);

/// A stream that is open, or was.
#[derive(Debug)]
pub struct Watch {
    stream: TcpStream,
    /// The head of the answer.
    pub head: String,
    /// The received bytes that are not a whole chunk yet.
    raw: Vec<u8>,
    /// The received text that is not a whole block yet.
    text: String,
    is_over: bool,
    /// The id to come back with.
    pub last_id: Option<u64>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `change` or `end`.
    pub name: String,
    /// Its data.
    pub data: Value,
}

impl Watch {
    /// Opens a stream of changes of `session` as `client`; it must be given.
    #[track_caller]
    pub fn open(client: &Client, session: &str, query: &str) -> Self {
        Self::resume(client, session, query, None)
    }

    /// Opens a stream as [`Watch::open`] does, for a reader that reconnects after `last_id`.
    #[track_caller]
    pub fn resume(client: &Client, session: &str, query: &str, last_id: Option<u64>) -> Self {
        let mut stream = TcpStream::connect(client.address()).unwrap();
        stream.set_read_timeout(Some(EVENT_MAX)).unwrap();
        let last = last_id.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET /v1/sessions/{session}/changes{query} HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {}\r\nAccept: text/event-stream\r\n{last}\r\n",
            client.credential()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut watch = Self {
            stream,
            head: String::new(),
            raw: Vec::new(),
            text: String::new(),
            is_over: false,
            last_id,
        };
        let end = loop {
            if let Some(at) = watch.raw.windows(4).position(|it| it == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(watch.read_more(), "no answer");
        };
        watch.head = String::from_utf8(watch.raw.drain(..end).collect()).unwrap();
        assert!(watch.head.starts_with("HTTP/1.1 200 "), "{}", watch.head);
        // What came along with the head.
        watch.unpack();
        watch
    }

    /// Returns the next event, which must come.
    #[track_caller]
    pub fn event(&mut self) -> Event {
        self.next_event().unwrap_or_else(|| panic!("the stream is over: {self:?}"))
    }

    /// Returns the next event; `None` when the stream ends before.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(event) = self.take(&block) {
                    return Some(event);
                }
            }
            if self.is_over || !self.read_more() {
                return None;
            }
            self.unpack();
        }
    }

    /// Returns the events up to the end of the stream.
    pub fn rest(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next_event()).collect()
    }

    fn take(&mut self, block: &str) -> Option<Event> {
        let field = |name: &str| block.lines().find_map(|it| it.strip_prefix(name));
        if let Some(id) = field("id: ") {
            self.last_id = Some(id.parse().unwrap());
        }
        let data = serde_json::from_str(field("data: ")?).unwrap();
        Some(Event { name: field("event: ").unwrap_or("message").to_owned(), data })
    }

    fn read_more(&mut self) -> bool {
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk) {
            Ok(count) => {
                self.raw.extend_from_slice(&chunk[..count]);
                count > 0
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing comes: {error}"),
        }
    }

    /// Takes whole chunks out of what came (RFC 9112 §7.1).
    fn unpack(&mut self) {
        while let Some(line) = self.raw.windows(2).position(|it| it == b"\r\n") {
            let size = std::str::from_utf8(&self.raw[..line]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            let end = line + 2 + size;
            if self.raw.len() < end + 2 {
                return;
            }
            self.text.push_str(std::str::from_utf8(&self.raw[line + 2..end]).unwrap());
            self.raw.drain(..end + 2);
            self.is_over |= size == 0;
        }
    }
}

impl Event {
    /// Returns the revision of a change.
    pub fn revision(&self) -> u64 {
        assert_eq!(self.name, "change", "{self:?}");
        self.data["revision"].as_u64().unwrap()
    }

    /// Returns what was done to which keys, in order: such as `write a`.
    pub fn told(&self) -> Vec<String> {
        let changes = self.data["changes"].as_array().unwrap().iter();
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let told = |it: &Value| format!("{} {}", text(&it["action"]), text(&it["key"]));
        changes.map(|it| told(it).trim_end().to_owned()).collect()
    }

    /// Returns the code of the error a stream ended with.
    pub fn code(&self) -> &str {
        assert_eq!(self.name, "end", "{self:?}");
        self.data["error"]["code"].as_str().unwrap()
    }
}
