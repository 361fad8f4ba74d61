//! A parser of server-sent events in an endless body.
//!
//! It supports the part of the format (WHATWG HTML, 9.2) that our server sends: lines that
//! end with a line feed, or a carriage return and a line feed. Invariant: the length of a
//! line is limited.

use std::{
    io::{self, BufRead, Read as _},
    mem,
};

/// The longest line, in bytes. An event may name thousands of keys.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The event's type; empty for a plain message.
    pub(crate) name: String,
    /// The event's data.
    pub(crate) data: String,
}

/// The event stream of a body.
#[derive(Debug)]
pub(crate) struct Events<R> {
    body: R,
    last_id: String,
}

impl<R: BufRead> Events<R> {
    /// Creates an event stream over `body`.
    pub(crate) fn new(body: R) -> Self {
        Self { body, last_id: String::new() }
    }

    /// Returns the last id that was read, to resume from. An id can come without an event,
    /// in place of events that were left out.
    pub(crate) fn last_id(&self) -> &str {
        &self.last_id
    }

    /// Returns the next event, or `None` at the end of the body. An incomplete event at the
    /// end is dropped.
    ///
    /// # Errors
    ///
    /// The body cannot be read, or is not an event stream.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event::default();
        let mut data: Option<String> = None;
        let mut id = None;
        while let Some(line) = self.line()? {
            if line.is_empty() {
                self.last_id = id.take().unwrap_or(mem::take(&mut self.last_id));
                match data.take() {
                    Some(data) => return Ok(Some(Event { data, ..event })),
                    // A block without data is a heartbeat, not an event.
                    None => event = Event::default(),
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match (field, &mut data) {
                ("id", _) => id = Some(value.to_owned()),
                ("event", _) => value.clone_into(&mut event.name),
                ("data", None) => data = Some(value.to_owned()),
                ("data", Some(data)) => {
                    data.push('\n');
                    data.push_str(value);
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns the next line without its line break, or `None` if the body ends first.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        self.body.by_ref().take(LINE_BYTES_MAX).read_line(&mut line)?;
        let Some(whole) = line.strip_suffix('\n') else {
            if u64::try_from(line.len()).is_ok_and(|it| it < LINE_BYTES_MAX) {
                return Ok(None);
            }
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line does not end"));
        };
        Ok(Some(whole.strip_suffix('\r').unwrap_or(whole).to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(body: &[u8]) -> Vec<(String, String)> {
        let mut events = Events::new(body);
        let mut all = Vec::new();
        while let Some(Event { name, data }) = events.next().unwrap() {
            all.push((name, data));
        }
        all
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn an_event_ends_with_an_empty_line() {
        let body = b"event: change\nid: 7\ndata: {}\n\nevent: end\r\ndata:x\r\n\r\n";
        assert_eq!(events(body), [event("change", "{}"), event("end", "x")]);
    }

    #[test]
    fn heartbeats_and_unknown_fields_are_no_events() {
        assert_eq!(events(b": heartbeat\n\nretry: 500\n\nevent: x\n\ndata\n\n"), [event("", "")]);
    }

    #[test]
    fn an_id_counts_when_its_block_is_whole_even_without_an_event() {
        let mut events =
            Events::new(&b"id: 3\n: opening\n\nid: 4\ndata: a\n\nid: 9\n\nid: 10\n"[..]);
        assert_eq!(events.last_id(), "");
        assert_eq!(events.next().unwrap().unwrap().data, "a");
        assert_eq!(events.last_id(), "4");
        assert_eq!(events.next().unwrap(), None);
        assert_eq!(events.last_id(), "9");
    }

    #[test]
    fn data_may_have_several_lines() {
        assert_eq!(events(b"data: a\ndata:\ndata:  b\n\n"), [event("", "a\n\n b")]);
    }

    #[test]
    fn what_is_cut_off_is_no_event() {
        assert_eq!(events(b"data: a\n\ndata: b\n"), [event("", "a")]);
        assert_eq!(events(b"data: a\n\ndata: b"), [event("", "a")]);
        assert_eq!(events(b""), []);
    }

    #[test]
    fn a_body_that_is_no_text_or_has_no_lines_is_an_error() {
        assert!(Events::new(&b"data: \xff\n\n"[..]).next().is_err());
        let endless = io::BufReader::new(io::repeat(b'a'));
        assert!(Events::new(endless).next().is_err());
    }
}
