//! Correlation of responses and requests in logs: `X-Request-Id`, and the `traceparent` of W3C
//! Trace Context.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// Header of request ids.
pub(crate) static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Longest request id that is accepted from a request, in bytes.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// Generator of ids for requests without one.
#[derive(Debug)]
pub(crate) struct RequestIds {
    seed: u64,
    last: AtomicU64,
}

impl RequestIds {
    /// Creates a generator of ids that start with `seed`, so that ids differ between servers, and
    /// across restarts.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, last: AtomicU64::new(0) }
    }

    /// Returns the id of the request with these headers: its own, or a new one.
    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        match headers.get(&X_REQUEST_ID) {
            Some(id) if is_safe(id.as_bytes()) => id.clone(),
            _ => {
                let nth = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
                let id = format!("{:x}-{nth}", self.seed);
                HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("unnumbered"))
            }
        }
    }
}

/// Copies a valid `traceparent` from a request to its response.
pub(crate) fn pass_on(request: &HeaderMap, response: &mut HeaderMap) {
    if let Some(parent) = request.get(&TRACEPARENT)
        && is_traceparent(parent.as_bytes())
    {
        response.insert(TRACEPARENT.clone(), parent.clone());
    }
}

/// Returns true for letters, digits and `-_.`, which are safe in logs and in relative references.
fn is_safe(id: &[u8]) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
        && id.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

fn is_traceparent(text: &[u8]) -> bool {
    let mut parts = text.split(|b| *b == b'-');
    let mut hex = |length: usize| {
        parts.next().filter(|part| {
            part.len() == length
                && part.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
        })
    };
    let (version, trace, parent, flags) = (hex(2), hex(32), hex(16), hex(2));
    let is_set = |id: Option<&[u8]>| id.is_some_and(|id| id.iter().any(|b| *b != b'0'));
    version.is_some_and(|it| it != b"ff")
        && is_set(trace)
        && is_set(parent)
        && flags.is_some()
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safe_request_id_is_used_and_others_are_replaced() {
        let ids = RequestIds::new(0xabc);
        let mut headers = HeaderMap::new();
        assert_eq!(ids.of(&headers), "abc-1");
        for (sent, kept) in [("job.7_a-B", true), ("", false), ("a b", false), ("a\"b", false)] {
            headers.insert(&X_REQUEST_ID, HeaderValue::from_static(sent));
            assert_eq!(ids.of(&headers) == sent, kept, "{sent}");
        }
        assert_eq!(ids.of(&headers), "abc-5");
        for (length, kept) in [(128, true), (129, false)] {
            let sent = "x".repeat(length);
            headers.insert(&X_REQUEST_ID, HeaderValue::try_from(&sent).unwrap());
            assert_eq!(ids.of(&headers) == sent, kept);
        }
    }

    #[test]
    fn only_a_valid_traceparent_is_passed_on() {
        #[track_caller]
        fn check(sent: &str, passed_on: bool) {
            let (mut request, mut response) = (HeaderMap::new(), HeaderMap::new());
            request.insert(&TRACEPARENT, HeaderValue::try_from(sent).unwrap());
            pass_on(&request, &mut response);
            assert_eq!(response.contains_key(&TRACEPARENT), passed_on, "{sent}");
        }
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true);
        check("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false);
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false);
        check("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false);
        check("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false);
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", false);
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", false);
        check("", false);
    }
}
