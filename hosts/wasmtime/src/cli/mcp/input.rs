//! Reads the client's lines.
//!
//! # Invariant
//!
//! A line uses a bounded amount of memory, however long it is.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
};

use serde::{Deserialize, Deserializer, de::Visitor};
use serde_json::Value;

use super::message::Id;

/// The longest accepted line, in bytes. It is far above the server's limit.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;
/// The number of bytes of a longer line that are searched for its request id.
const SEARCHED_BYTES_MAX: u64 = 16 << 20;

/// A line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A line without its line break.
    Line(Vec<u8>),
    /// A line that was too long and was skipped, with the id of its request if it was
    /// found.
    TooLong(Option<Id>),
}

/// Reads the next line that is not blank; `None` at the end of the input.
///
/// # Errors
///
/// The input cannot be read.
pub(super) fn next(input: &mut impl BufRead) -> io::Result<Option<Input>> {
    loop {
        let mut line = Vec::new();
        let bytes_max = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        if input.by_ref().take(bytes_max).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > LINE_BYTES_MAX {
            let rest = Rest { input, is_over: false };
            return too_long(&line, rest).map(|id| Some(Input::TooLong(id)));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Input::Line(line)));
        }
    }
}

/// Skips the rest of a line that starts with `begin`, and returns the id found in it.
fn too_long(begin: &[u8], mut rest: Rest<'_, impl BufRead>) -> io::Result<Option<Id>> {
    /// The only member that is stored.
    #[derive(Deserialize)]
    struct Identified {
        #[serde(default)]
        id: Option<ShortId>,
    }
    let searched = BufReader::new(begin.chain(rest.by_ref()).take(SEARCHED_BYTES_MAX));
    let found = serde_json::from_reader(searched).ok().and_then(|Identified { id }| id);
    let id = found.and_then(|ShortId(id)| Id::new(&id));
    if !rest.is_over {
        rest.input.skip_until(b'\n')?;
    }
    Ok(id)
}

/// An id in a line. No other type is parsed, so that nothing else uses memory.
struct ShortId(Value);

impl<'de> Deserialize<'de> for ShortId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = ShortId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a whole number")
            }
            fn visit_i64<E>(self, id: i64) -> Result<ShortId, E> {
                Ok(ShortId(id.into()))
            }
            fn visit_u64<E>(self, id: u64) -> Result<ShortId, E> {
                Ok(ShortId(id.into()))
            }
            fn visit_str<E>(self, id: &str) -> Result<ShortId, E> {
                Ok(ShortId(id.into()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// A reader of the rest of a line.
struct Rest<'i, R> {
    input: &'i mut R,
    is_over: bool,
}

impl<R: BufRead> Read for Rest<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_over {
            return Ok(0);
        }
        let available = self.input.fill_buf()?;
        let end = available.iter().position(|it| *it == b'\n');
        let line = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        let read = line.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(line) {
            *to = *from;
        }
        let ends = read == line.len() && (end.is_some() || line.is_empty());
        self.is_over = ends;
        let is_break = ends && end.is_some();
        self.input.consume(read.saturating_add(usize::from(is_break)));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all(input: &[u8]) -> Vec<Input> {
        // A small buffer splits the lines.
        let mut input = BufReader::with_capacity(7, input);
        std::iter::from_fn(|| next(&mut input).unwrap()).collect()
    }

    fn line(text: &str) -> Input {
        Input::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_end_with_a_line_feed_or_with_the_input() {
        assert_eq!(all(b""), []);
        assert_eq!(all(b"a\n\n  \r\nb\r\nc"), [line("a"), line("b\r"), line("c")]);
    }

    #[test]
    fn the_longest_line_is_taken_and_a_longer_one_is_not() {
        let longest = "x".repeat(LINE_BYTES_MAX);
        assert_eq!(all(format!("{longest}\nb\n").as_bytes()), [line(&longest), line("b")]);
        assert_eq!(all(longest.as_bytes()), [line(&longest)]);
        assert_eq!(all(format!("{longest}x\nb\n").as_bytes()), [Input::TooLong(None), line("b")]);
        assert_eq!(all(format!("{longest}x").as_bytes()), [Input::TooLong(None)]);
        assert_eq!(all(format!("{longest}xx\n\n").as_bytes()), [Input::TooLong(None)]);
    }

    /// Some clients write the id last. Without an answer their agent would wait for ever.
    #[test]
    fn who_sent_a_line_that_is_too_long_is_told() {
        let value = "x".repeat(LINE_BYTES_MAX + 5);
        let check = |text: String, id: Option<Value>| {
            let expected = Input::TooLong(id.as_ref().and_then(Id::new));
            assert_eq!(all(format!("{text}\nb").as_bytes()), [expected, line("b")]);
        };
        check(format!(r#"{{"id":7,"params":{{"id":1,"v":"{value}"}}}}"#), Some(json!(7)));
        check(format!(r#"{{"params":{{"v":"{value}"}},"id":"seven"}}  "#), Some(json!("seven")));
        check(format!(r#"{{"params":{{"id":1,"v":"{value}"}}}}"#), None);
        check(format!(r#"{{"params":"{value}","id":7"#), None);
        check(format!(r#"{{"params":"{value}","id":[7]}}"#), None);
    }

    #[test]
    fn what_is_far_too_long_is_not_even_searched() {
        let long = 2 * usize::try_from(SEARCHED_BYTES_MAX).unwrap();
        let text = format!("{{\"v\":\"{}\",\"id\":1}}\nb\n", "x".repeat(long));
        assert_eq!(all(text.as_bytes()), [Input::TooLong(None), line("b")]);
    }
}
