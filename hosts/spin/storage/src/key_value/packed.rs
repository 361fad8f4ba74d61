//! Encodes a bucket as one value.

use serde::{Deserialize, Serialize, Serializer};
use shared_context_core::port::{KvError, Revision};

use crate::rows::Rows;

/// The format written by this version. Values of other formats are rejected.
const FORMAT: u8 = 1;

/// A bucket at one revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BucketState {
    pub(super) revision: Revision,
    pub(super) rows: Rows,
}

/// The content of the value after its format byte.
type Content<B> = (u64, Vec<(B, B)>);

/// Bytes that are serialized as a slice and deserialized without copying.
#[derive(Deserialize)]
struct Bytes<'b>(#[serde(borrow)] &'b [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Packs a bucket.
pub(super) fn pack(state: &BucketState) -> Result<Vec<u8>, KvError> {
    let rows = state.rows.0.iter();
    let rows = rows.map(|(name, value)| (Bytes(name.as_bytes()), Bytes(value))).collect();
    let content: Content<Bytes<'_>> = (state.revision.0, rows);
    postcard::to_extend(&content, vec![FORMAT]).map_err(|error| KvError(error.to_string()))
}

/// Unpacks the bucket from `value`; error messages name its `key`.
pub(super) fn unpack(key: &str, value: &[u8]) -> Result<BucketState, KvError> {
    let damaged = || {
        KvError(format!(
            "the value of {key} in the key-value store is not as it was written: restore it from \
             a backup, or delete it and with it all that it holds"
        ))
    };
    let (format, content) = value.split_first().ok_or_else(damaged)?;
    if *format != FORMAT {
        return Err(KvError(format!(
            "the value of {key} in the key-value store has format {format}, and this version \
             knows {FORMAT}: run the version that wrote it, or a newer one"
        )));
    }
    let (revision, rows): Content<Bytes<'_>> =
        postcard::from_bytes(content).map_err(|_| damaged())?;
    let rows = rows.into_iter().map(|(Bytes(name), Bytes(value))| {
        let name = String::from_utf8(name.to_vec()).map_err(|_| damaged())?;
        Ok::<_, KvError>((name, value.to_vec()))
    });
    Ok(BucketState { revision: Revision(revision), rows: Rows(rows.collect::<Result<_, _>>()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> BucketState {
        let rows = [("meta", vec![0, 255]), ("k/é", vec![]), ("", vec![7; 300])];
        let rows = rows.map(|(name, value)| (name.to_owned(), value));
        BucketState { revision: Revision(300), rows: Rows(rows.into()) }
    }

    #[track_caller]
    fn unpack_error(value: &[u8]) -> String {
        unpack("shared-context/a", value).unwrap_err().0
    }

    #[test]
    fn a_packed_bucket_is_unpacked_unchanged() {
        for state in [BucketState::default(), state()] {
            assert_eq!(unpack("a", &pack(&state).unwrap()), Ok(state));
        }
    }

    /// Stored values must stay readable, so the bytes of format 1 are fixed.
    #[test]
    fn the_bytes_of_format_1_are_fixed() {
        let rows = Rows([("ab".to_owned(), vec![9, 8, 7])].into());
        let state = BucketState { revision: Revision(5), rows };
        let value = [1, 5, 1, 2, b'a', b'b', 3, 9, 8, 7];
        assert_eq!(pack(&state).unwrap(), value);
        assert_eq!(unpack("a", &value), Ok(state));
    }

    #[test]
    fn a_damaged_value_is_rejected() {
        let value = pack(&state()).unwrap();
        for length in 0..value.len() {
            let text = unpack_error(&value[..length]);
            assert!(text.starts_with("the value of shared-context/a in the key-value"), "{text}");
        }
        let mut other = value;
        other[0] = 2;
        let text = unpack_error(&other);
        assert!(text.contains("has format 2, and this version knows 1"), "{text}");
        assert!(unpack_error(&[1, 0, 1, 1, 0xff, 0]).contains("not as it was written"));
    }
}
