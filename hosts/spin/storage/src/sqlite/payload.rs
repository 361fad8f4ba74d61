//! The parameters of a commit: its changes, made independent of each other and encoded
//! for the one statement that applies them.

use std::{collections::BTreeMap, fmt::Write as _};

use shared_context_core::{
    kv::prefix_end,
    port::{Change, Revision},
};

use super::sql::Value;
use crate::rows;

/// Changes that may be applied in any order, except that dropped prefixes come first.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Prefixes whose rows are deleted.
    dropped: Vec<String>,
    /// New values by row; `None` deletes the row.
    rows: BTreeMap<String, Option<Vec<u8>>>,
}

impl Changes {
    /// Combines `changes`, with the effect of applying them in order.
    pub(super) fn of(changes: Vec<Change>) -> Self {
        let mut all = Self::default();
        for change in changes {
            match change {
                Change::Put(name, value) => drop(all.rows.insert(name, Some(value))),
                Change::Delete(name) => drop(all.rows.insert(name, None)),
                Change::DeletePrefix(prefix) => {
                    rows::remove(&mut all.rows, &prefix);
                    all.dropped.push(prefix);
                }
            }
        }
        all
    }

    /// Returns the parameters of the statement that applies the changes to `bucket` if it
    /// is at `revision`, or `None` if no bucket can have that revision.
    pub(super) fn values(&self, bucket: &str, revision: Revision) -> Option<Vec<Value>> {
        let (mut deleted, mut put) = (SpanPairs::default(), SpanPairs::default());
        let mut bytes = Bytes::default();
        for prefix in &self.dropped {
            let end = prefix_end(prefix);
            let end = end.as_ref().map_or(AFTER_ALL, |end| end.as_bytes());
            deleted.add(bytes.add(prefix.as_bytes()), bytes.add(end));
        }
        let length = |(name, value): (&String, &Option<Vec<u8>>)| {
            name.len().saturating_add(value.as_ref().map_or(0, Vec::len))
        };
        bytes.0.reserve(self.rows.iter().map(length).sum());
        for (name, value) in &self.rows {
            let (begin, length) = bytes.add(name.as_bytes());
            if let Some(value) = value {
                put.add((begin, length), bytes.add(value));
            } else {
                // With this byte appended, the name becomes the least name after it.
                bytes.add(b"\0");
                deleted.add((begin, length), (begin, length.saturating_add(1)));
            }
        }
        // The blob must not be empty, because `SQLite` takes no substring of an empty one.
        bytes.add(b"\0");
        Some(vec![
            Value::Text(bucket.to_owned()),
            Value::Integer(revision.0.try_into().ok()?),
            deleted.into_value(),
            put.into_value(),
            Value::Blob(bytes.0),
        ])
    }
}

/// A byte string that sorts after every name: no UTF-8 text starts with this byte.
const AFTER_ALL: &[u8] = &[0xff];

/// Concatenated names and values.
#[derive(Default)]
struct Bytes(Vec<u8>);

/// The start of a name or value, counted from 1, and its length.
type Span = (usize, usize);

impl Bytes {
    fn add(&mut self, bytes: &[u8]) -> Span {
        let span = (self.0.len().saturating_add(1), bytes.len());
        self.0.extend_from_slice(bytes);
        span
    }
}

/// Pairs of spans as JSON: a list of lists of four numbers.
#[derive(Default)]
struct SpanPairs(String);

impl SpanPairs {
    fn add(&mut self, (first, first_length): Span, (second, second_length): Span) {
        let separator = if self.0.is_empty() { '[' } else { ',' };
        // Writing to a string does not fail.
        let _ = write!(self.0, "{separator}[{first},{first_length},{second},{second_length}]");
    }

    fn into_value(mut self) -> Value {
        self.0.push_str(if self.0.is_empty() { "[]" } else { "]" });
        Value::Text(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(name: &str, value: &str) -> Change {
        Change::Put(name.to_owned(), value.into())
    }

    fn delete(name: &str) -> Change {
        Change::Delete(name.to_owned())
    }

    fn drop(prefix: &str) -> Change {
        Change::DeletePrefix(prefix.to_owned())
    }

    #[track_caller]
    fn check(changes: Vec<Change>, deleted: &str, put: &str, bytes: &[u8]) {
        let text = |it: &str| Value::Text(it.to_owned());
        let bytes = Value::Blob(bytes.to_vec());
        let expected = [text("b"), Value::Integer(7), text(deleted), text(put), bytes];
        assert_eq!(Changes::of(changes).values("b", Revision(7)).unwrap(), expected);
    }

    #[test]
    fn a_commit_may_have_no_changes() {
        check(vec![], "[]", "[]", b"\0");
    }

    #[test]
    fn names_and_values_are_given_by_their_spans() {
        let changes = vec![put("é", "v"), delete("xx"), drop("k/"), put("a", ""), delete("y")];
        let bytes = "k/k0axx\0y\0év\0".as_bytes();
        check(changes, "[[1,2,3,2],[6,2,6,3],[9,1,9,2]]", "[[5,1,6,0],[11,2,13,1]]", bytes);
    }

    #[test]
    fn an_empty_prefix_covers_all_rows() {
        check(vec![drop("")], "[[1,0,1,1]]", "[]", b"\xff\0");
    }

    #[test]
    fn the_last_change_of_a_row_counts() {
        check(vec![put("a", "1"), put("a", "2")], "[]", "[[1,1,2,1]]", b"a2\0");
        check(vec![put("a", "1"), delete("a")], "[[1,1,1,2]]", "[]", b"a\0\0");
        check(vec![delete("a"), put("a", "2")], "[]", "[[1,1,2,1]]", b"a2\0");
        check(vec![put("ab", "1"), drop("a")], "[[1,1,2,1]]", "[]", b"ab\0");
        check(vec![drop("a"), put("a", "2")], "[[1,1,2,1]]", "[[3,1,4,1]]", b"aba2\0");
    }

    #[test]
    fn an_impossible_revision_has_no_values() {
        assert_eq!(Changes::of(vec![]).values("b", Revision(u64::MAX)), None);
    }
}
