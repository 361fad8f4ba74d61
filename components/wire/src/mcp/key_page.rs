//! Pages of `context_list`: a session may have 10,000 keys, more than a model can use at once.
//!
//! The cursor is a key, so a page is complete whatever was written or deleted since the page
//! before: only keys in front of the cursor can be missed.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared_context_codec::Failure;
use shared_context_core::Key;

use crate::http::invalid_reply;

/// Most keys of one page.
const PAGE: usize = 200;

/// Reply of `list_keys`, and a page of it.
#[derive(Deserialize, Serialize)]
struct KeyPage<'r> {
    #[serde(borrow)]
    keys: Vec<&'r RawValue>,
    total_tokens: u64,
    max_tokens: u64,
    /// The number of all keys that the caller sees.
    key_count: u64,
    revision: u64,
    /// The key to go on after, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_after: Option<&'r str>,
}

/// Returns the page of `reply`, a reply to `list_keys`, that begins after the key `after`, or at
/// the first.
///
/// # Errors
///
/// `INVALID_KEY`: `after` is no key. `INTERNAL`: the reply is invalid.
pub(super) fn page(reply: &[u8], after: Option<&str>) -> Result<Vec<u8>, Failure> {
    let mut page: KeyPage<'_> = serde_json::from_slice(reply).map_err(|_| invalid_reply())?;
    if let Some(after) = after {
        let after = Key::parse(after)?;
        let seen = page.keys.partition_point(|it| key(it).is_some_and(|it| it <= after.as_str()));
        page.keys.drain(..seen);
    }
    if page.keys.len() > PAGE {
        page.keys.truncate(PAGE);
        page.next_after = page.keys.last().and_then(|it| key(it));
    }
    serde_json::to_vec(&page).map_err(|_| invalid_reply())
}

/// Returns the key of a listed entry.
fn key<'r>(entry: &'r RawValue) -> Option<&'r str> {
    #[derive(Deserialize)]
    struct Entry<'r> {
        key: &'r str,
    }
    serde_json::from_str::<Entry<'r>>(entry.get()).ok().map(|it| it.key)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns a reply to `list_keys` with this number of keys.
    fn reply(count: usize) -> Vec<u8> {
        let keys: Vec<Value> =
            (0..count).map(|it| json!({"key": format!("k{it:05}"), "version": it})).collect();
        let reply = json!({"keys": keys, "total_tokens": 7, "max_tokens": 9, "key_count": count,
                           "revision": 3});
        reply.to_string().into_bytes()
    }

    fn read(reply: &[u8], after: Option<&str>) -> Value {
        serde_json::from_slice(&page(reply, after).unwrap()).unwrap()
    }

    #[test]
    fn the_pages_have_every_key_once() {
        for count in [0, 1, 199, 200, 201, 400, 401, 10_000] {
            let (reply, mut seen, mut after) = (reply(count), Vec::new(), None);
            loop {
                let page = read(&reply, after.as_deref());
                assert_eq!(page["key_count"], count);
                let keys = page["keys"].as_array().unwrap();
                assert!(keys.len() <= PAGE);
                seen.extend(keys.iter().map(|it| it["key"].as_str().unwrap().to_owned()));
                after = page["next_after"].as_str().map(str::to_owned);
                if after.is_none() {
                    break;
                }
                assert_eq!(keys.len(), PAGE, "only the last page is shorter");
            }
            let expected: Vec<String> = (0..count).map(|it| format!("k{it:05}")).collect();
            assert_eq!(seen, expected, "{count}");
        }
    }

    /// The key of the cursor may be gone.
    #[test]
    fn a_page_begins_at_the_first_key_after_the_cursor() {
        let reply = reply(3);
        let keys = |after: &str| read(&reply, Some(after))["keys"].as_array().unwrap().len();
        assert_eq!((keys("a"), keys("k00000"), keys("k000001")), (3, 2, 2));
        assert_eq!((keys("k00002"), keys("z")), (0, 0));
    }

    #[test]
    fn what_fits_on_a_page_stays_as_it_is() {
        let whole = reply(200);
        let seen: Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(read(&whole, None), seen);
    }

    #[test]
    fn a_cursor_that_is_no_key_is_rejected() {
        for bad in ["", "Project Notes", "a/b", "ä"] {
            assert_eq!(page(&reply(1), Some(bad)).unwrap_err().code, "INVALID_KEY", "{bad:?}");
        }
        assert_eq!(page(b"{}", None).unwrap_err().code, "INTERNAL");
    }
}
