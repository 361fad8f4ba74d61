//! Media types: the type of a request's body, and the types that its sender accepts.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE},
};
use shared_context_codec::Failure;

use super::{
    precondition::single,
    table::{Endpoint, Operation},
};

/// `application/json`.
pub(crate) const JSON: &str = "application/json";
/// A merge patch (RFC 7396).
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
/// Markdown in UTF-8.
const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// Plain text in UTF-8.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
/// An event stream.
pub(crate) const EVENTS: &str = "text/event-stream";
/// An error (RFC 9457).
pub(crate) const PROBLEM: &str = "application/problem+json";

/// The header with the types of a patch (RFC 5789).
const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// Media type of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/json`.
    Json,
    /// `text/plain`.
    Text,
}

/// Checks that the body is JSON. A body without a type is taken as JSON.
///
/// # Errors
///
/// `UNSUPPORTED_MEDIA_TYPE`; `MALFORMED_REQUEST` for two types.
pub(crate) fn expect_json(headers: &HeaderMap) -> Result<(), Failure> {
    match of_body(headers)? {
        None | Some(Media::Json) => Ok(()),
        Some(Media::Text) => Err(unsupported("text/plain", "Content-Type: application/json")),
    }
}

/// Checks that the body is a merge patch (RFC 7396), which `application/json` may also name.
///
/// # Errors
///
/// As [`expect_json`].
pub(crate) fn expect_merge_patch(headers: &HeaderMap) -> Result<(), Failure> {
    match essence(headers)? {
        Some(other) if ![JSON, MERGE_PATCH].iter().any(|it| other.eq_ignore_ascii_case(it)) => {
            Err(unsupported(other, "Content-Type: application/merge-patch+json"))
        }
        _ => Ok(()),
    }
}

/// Returns the type of the body; `None` if the request has no type.
///
/// # Errors
///
/// `UNSUPPORTED_MEDIA_TYPE` if it is neither JSON nor plain text, not UTF-8, or compressed;
/// `MALFORMED_REQUEST` for two types.
pub(crate) fn of_body(headers: &HeaderMap) -> Result<Option<Media>, Failure> {
    let Some(essence) = essence(headers)? else { return Ok(None) };
    if essence.eq_ignore_ascii_case(JSON) {
        Ok(Some(Media::Json))
    } else if essence.eq_ignore_ascii_case("text/plain") {
        Ok(Some(Media::Text))
    } else {
        Err(unsupported(essence, "Content-Type: application/json (PUT takes text/plain too)"))
    }
}

/// Returns the media type of the body without its parameters.
fn essence(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    if single(headers, &CONTENT_ENCODING)?.is_some_and(is_compressed) {
        return Err(unsupported("a compressed body", "no Content-Encoding"));
    }
    let Some(text) = single(headers, &CONTENT_TYPE)? else { return Ok(None) };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let is_utf8 = parameters.split(';').all(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"');
        !name.trim().eq_ignore_ascii_case("charset")
            || value.eq_ignore_ascii_case("utf-8")
            || value.eq_ignore_ascii_case("us-ascii")
    });
    if !is_utf8 {
        return Err(unsupported(text, "UTF-8 (charset=utf-8)"));
    }
    Ok(Some(essence.trim()))
}

/// Checks that the client accepts one of the types that `operation` offers.
///
/// # Errors
///
/// `NOT_ACCEPTABLE`.
pub(crate) fn expect_acceptable(headers: &HeaderMap, operation: &Operation) -> Result<(), Failure> {
    let offered: &[&str] = match operation.endpoint {
        Endpoint::Welcome | Endpoint::Metrics => &["text/plain"],
        Endpoint::UseMemory => &[JSON, "text/plain"],
        Endpoint::ReadChanges | Endpoint::ReadProjectChanges => &[JSON, EVENTS],
        Endpoint::ActionRoute(it) if it.route.text.is_some() => {
            &[JSON, "text/markdown", "text/plain"]
        }
        _ => &[JSON],
    };
    expect_one_of(headers, offered)
}

/// Checks that the client accepts one of the types in `offered`.
///
/// # Errors
///
/// `NOT_ACCEPTABLE`.
pub(super) fn expect_one_of(headers: &HeaderMap, offered: &[&str]) -> Result<(), Failure> {
    if offered.iter().any(|it| is_acceptable(headers, it)) {
        return Ok(());
    }
    Err(Failure::new(
        "NOT_ACCEPTABLE",
        format!(
            "the header Accept rules out all that this route has; accept {}",
            offered.join(" or ")
        ),
    ))
}

/// Returns true if `media` has a weight other than 0 in `Accept`: that of the most specific range
/// (RFC 9110 §12.5.1). Without the header everything is acceptable.
fn is_acceptable(headers: &HeaderMap, media: &str) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let mut ranges = values.flat_map(|it| it.split(',')).map(str::trim);
    let kind = media.split('/').next().unwrap_or_default();
    let (mut is_limited, mut best) = (false, None);
    for range in ranges.by_ref().filter(|it| !it.is_empty()) {
        is_limited = true;
        let (name, parameters) = range.split_once(';').unwrap_or((range, ""));
        let specific = match name.trim() {
            it if it.eq_ignore_ascii_case(media) => 3,
            "*/*" => 1,
            it if it.strip_suffix("/*").is_some_and(|it| it.eq_ignore_ascii_case(kind)) => 2,
            _ => continue,
        };
        let is_accepted = !parameters.split(';').any(is_zero_weight);
        best = best.max(Some((specific, is_accepted)));
    }
    !is_limited || best.is_some_and(|(_, is_accepted)| is_accepted)
}

/// Returns true if the client accepts plain text and not JSON.
#[cfg(any(feature = "memory-tool", test))]
pub(crate) fn wants_text(headers: &HeaderMap) -> bool {
    let is_text = accepts(headers, "text/plain") && !accepts(headers, JSON);
    is_text || is_acceptable(headers, "text/plain") && !is_acceptable(headers, JSON)
}

/// Returns the type of text that the client accepts in place of JSON: Markdown or plain text.
pub(crate) fn accepted_text(headers: &HeaderMap) -> Option<&'static str> {
    if accepts(headers, JSON) {
        return None;
    }
    let is_json_out = !is_acceptable(headers, JSON);
    let is_wanted = |media| {
        let is_named = accepts(headers, media) || accepts(headers, "text/*") || is_json_out;
        is_named && is_acceptable(headers, media)
    };
    if is_wanted("text/markdown") {
        Some(MARKDOWN)
    } else {
        is_wanted("text/plain").then_some(TEXT)
    }
}

/// Returns true if the client accepts an event stream by name, or by a range that has no JSON.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    accepts(headers, EVENTS) || (is_acceptable(headers, EVENTS) && !is_acceptable(headers, JSON))
}

/// Returns true if the client accepts `wanted` by name, with a weight other than 0.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let values = headers.get_all(ACCEPT).iter();
    values.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(',')).any(|range| {
        let (name, parameters) = range.split_once(';').unwrap_or((range, ""));
        name.trim().eq_ignore_ascii_case(wanted) && !parameters.split(';').any(is_zero_weight)
    })
}

/// Returns true for a parameter such as `q=0.0` (RFC 9110 §12.4.2).
fn is_zero_weight(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0_f32)
}

/// Returns true if a `Content-Encoding` is not the plain body.
fn is_compressed(encoding: &str) -> bool {
    !encoding.eq_ignore_ascii_case("identity")
}

/// Returns the header of a 415 that names what its operation takes (RFC 9110 §15.5.16, RFC 5789).
pub(crate) fn wanted(headers: &HeaderMap, operation: &Operation) -> (HeaderName, HeaderValue) {
    let (name, types) = match operation {
        _ if matches!(single(headers, &CONTENT_ENCODING), Ok(Some(it)) if is_compressed(it)) => {
            (ACCEPT_ENCODING, "identity")
        }
        Operation { method, .. } if *method == Method::PATCH => return patch_types(),
        Operation { endpoint: Endpoint::WriteEntry, .. } => {
            (ACCEPT, "application/json, text/plain")
        }
        _ => (ACCEPT, JSON),
    };
    (name, HeaderValue::from_static(types))
}

/// Returns the header that names the types of a patch.
pub(crate) fn patch_types() -> (HeaderName, HeaderValue) {
    (ACCEPT_PATCH, HeaderValue::from_static(MERGE_PATCH))
}

fn unsupported(got: &str, wanted: &str) -> Failure {
    let got: String = got.chars().take(80).collect();
    Failure::new("UNSUPPORTED_MEDIA_TYPE", format!("this route does not take {got}; send {wanted}"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.append(name, HeaderValue::from_static(value));
        headers
    }

    #[test]
    fn a_body_is_json_or_text_in_utf8() {
        #[track_caller]
        fn check(value: &'static str, media: Option<Media>) {
            let seen = of_body(&headers("content-type", value));
            assert_eq!(seen.as_ref().ok().copied().flatten(), media, "{value}");
            if media.is_none() {
                assert_eq!(seen.unwrap_err().code, "UNSUPPORTED_MEDIA_TYPE", "{value}");
            }
        }
        check("application/json", Some(Media::Json));
        check("Application/JSON ; Charset=\"UTF-8\"", Some(Media::Json));
        check("text/plain", Some(Media::Text));
        check("text/plain;charset=utf-8;format=flowed", Some(Media::Text));
        check("text/plain;charset=us-ascii", Some(Media::Text));
        check("text/plain; charset=latin1", None);
        check("text/html", None);
        check("application/x-www-form-urlencoded", None);
        check("application/jsonx", None);
        check("", None);
        assert_eq!(of_body(&HeaderMap::new()).unwrap(), None);
        assert!(of_body(&headers("content-encoding", "gzip")).is_err());
        assert!(of_body(&headers("content-encoding", "identity")).is_ok());
    }

    /// `text/markdown;q=0` once got Markdown.
    #[test]
    fn a_type_of_weight_zero_is_not_accepted() {
        let accepted = |value| accepted_text(&headers("accept", value));
        assert_eq!(accepted("text/markdown"), Some(MARKDOWN));
        assert_eq!(accepted("text/markdown; Q=0.1"), Some(MARKDOWN));
        assert_eq!(accepted("text/markdown;q=0, text/plain;q=0.001"), Some(TEXT));
        assert_eq!(accepted("text/plain;charset=utf-8;q=0.000"), None);
        assert_eq!(accepted("application/json;q=0, text/markdown"), Some(MARKDOWN));
    }

    #[test]
    fn the_most_specific_range_decides() {
        #[track_caller]
        fn check(value: &'static str, json: bool, events: bool) {
            let headers = headers("accept", value);
            let seen = (is_acceptable(&headers, JSON), is_acceptable(&headers, EVENTS));
            assert_eq!(seen, (json, events), "{value}");
        }
        check("", true, true);
        check(" , ", true, true);
        check("*/*", true, true);
        check("*/*;q=0", false, false);
        check("application/xml", false, false);
        check("Application/*", true, false);
        check("application/json;q=0, */*", false, true);
        check("*/*;q=0, application/json;q=0.1", true, false);
        check("text/*;q=0, */*", true, false);
        assert!(is_acceptable(&HeaderMap::new(), JSON));
    }

    #[test]
    fn a_merge_patch_is_json_by_either_name() {
        #[track_caller]
        fn check(value: &'static str, is_one: bool) {
            let seen = expect_merge_patch(&headers("content-type", value));
            assert_eq!(seen.is_ok(), is_one, "{value}");
            if let Err(failure) = seen {
                assert_eq!(failure.code, "UNSUPPORTED_MEDIA_TYPE", "{value}");
            }
        }
        check("application/merge-patch+json", true);
        check("Application/Merge-Patch+JSON; charset=utf-8", true);
        check("application/json", true);
        check("application/json-patch+json", false);
        check("text/plain", false);
        check("application/merge-patch+json; charset=latin1", false);
        assert!(expect_merge_patch(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn plain_text_is_only_for_clients_that_accept_no_json() {
        #[track_caller]
        fn check(accept: &'static str, text: bool) {
            assert_eq!(wants_text(&headers("accept", accept)), text, "{accept}");
        }
        check("text/plain", true);
        check("Text/Plain;q=0.9, */*;q=0.1", true);
        check("*/*", false);
        check("application/json, text/plain, */*", false);
        check("text/*", true);
        check("", false);
        let accepted = |accept| accepted_text(&headers("accept", accept));
        assert_eq!(accepted("text/markdown, text/plain"), Some(MARKDOWN));
        assert_eq!((accepted("text/plain"), accepted("*/*")), (Some(TEXT), None));
        assert_eq!(accepted("text/markdown, application/json"), None);
        // `text/*` once got JSON.
        assert_eq!(accepted("text/*"), Some(MARKDOWN));
        assert_eq!(accepted("text/*, text/markdown;q=0"), Some(TEXT));
        assert_eq!(accepted("application/json;q=0, */*"), Some(MARKDOWN));
        assert!(wants_events(&headers("accept", "text/event-stream, */*;q=0.1")));
        assert!(!wants_events(&headers("accept", "text/*, */*")));
    }
}
