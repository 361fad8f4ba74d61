//! Router: finds the row of a request's path in the table of routes, and the parameters in it.
//!
//! # Invariant
//!
//! A path has one form. Segments are split before they are percent-decoded, so `%2F` in a key is
//! part of the key. A trailing or doubled slash makes a different, unknown path.

use std::borrow::Cow;

use http::Method;
use percent_encoding::percent_decode_str;
use shared_context_codec::Failure;
use shared_context_core::ScopeKind;

use super::table::{Endpoint, Operation, operations};

/// A matched path with its parameters, which are still percent-encoded.
#[derive(Debug)]
pub(crate) struct RouteMatch<'p> {
    pub(crate) template: &'static str,
    /// Operation of the method; `None` if the path has none for it.
    pub(crate) operation: Option<Operation>,
    values: Vec<(&'static str, &'p str)>,
}

/// Finds the route of `path`. The match has an operation if `method` has one there.
pub(crate) fn find<'p>(path: &'p str, method: &Method) -> Option<RouteMatch<'p>> {
    let mut found = None;
    for (operation, values) in matches(path) {
        let template = operation.template;
        if operation.serves(method) {
            return Some(RouteMatch { template, operation: Some(operation), values });
        }
        found.get_or_insert(RouteMatch { template, operation: None, values });
    }
    found
}

/// Returns the operations at `path` whose endpoint `is_offered`, as the `Allow` header lists them.
pub(crate) fn allow(path: &str, is_offered: impl Fn(Endpoint) -> bool) -> String {
    let mut allow = String::new();
    for (operation, _) in matches(path).filter(|(it, _)| is_offered(it.endpoint)) {
        allow.push_str(operation.method.as_str());
        allow.push_str(if operation.answers_head() { ", HEAD, " } else { ", " });
    }
    allow.push_str("OPTIONS");
    allow
}

/// Returns the endpoint at `path` if there is exactly one.
pub(crate) fn only_endpoint(path: &str) -> Option<Endpoint> {
    let mut matches = matches(path);
    let (first, _) = matches.next()?;
    matches.next().is_none().then_some(first.endpoint)
}

/// Returns the operations at `path`, with its parameters.
fn matches(path: &str) -> impl Iterator<Item = (Operation, Vec<(&'static str, &str)>)> {
    operations().filter_map(move |operation| {
        let mut values = Vec::new();
        let mut given = path.split('/');
        for expected in operation.template.split('/') {
            let segment = given.next()?;
            match parameter_name(expected) {
                Some(_) if is_fixed(operation.template, expected, segment) => return None,
                Some(name) if !segment.is_empty() => values.push((name, segment)),
                _ if expected == segment => {}
                _ => return None,
            }
        }
        given.next().is_none().then_some((operation, values))
    })
}

/// The parameters that are never the name of a route: ids of memories and handoffs, and markers. The
/// id of a session can be.
const NEVER_A_NAME: [&str; 2] = ["{id}", "{marker}"];

/// Returns whether there is a route with `segment` where `template` has the parameter `expected`.
fn is_fixed(template: &str, expected: &str, segment: &str) -> bool {
    NEVER_A_NAME.contains(&expected) && {
        let fixed = template.replace(expected, segment);
        operations().any(|it| it.template == fixed)
    }
}

/// Returns the name of the parameter if `segment` of a template is one.
pub(crate) fn parameter_name(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

impl<'p> RouteMatch<'p> {
    /// Returns the kind and id of the session or project in the path. The id need not be valid.
    /// Without either it is a session with an empty id.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: the path is not UTF-8 when decoded.
    pub(crate) fn scope(&self) -> Result<(ScopeKind, Cow<'p, str>), Failure> {
        let is_named = |it: &ScopeKind| self.values.iter().any(|(name, _)| *name == it.as_str());
        let kind = ScopeKind::ALL.into_iter().find(is_named).unwrap_or(ScopeKind::Session);
        Ok((kind, self.value(kind.as_str())?))
    }

    /// Returns the parameter `name` of the path; empty if it has none.
    ///
    /// # Errors
    ///
    /// `MALFORMED_REQUEST`: it is not UTF-8 when decoded.
    pub(crate) fn value(&self, name: &str) -> Result<Cow<'p, str>, Failure> {
        let found = self.values.iter().find(|(it, _)| *it == name);
        found.map_or(Ok(Cow::Borrowed("")), |(_, it)| decode(it))
    }
}

fn decode(segment: &str) -> Result<Cow<'_, str>, Failure> {
    percent_decode_str(segment).decode_utf8().map_err(|_| {
        Failure::new("MALFORMED_REQUEST", "the path is not UTF-8 once percent-decoded")
    })
}

/// Longest path, in bytes, that is compared with the templates: a longer one is not a typo.
const COMPARED_BYTES_MAX: usize = 200;

/// Builds the error for an unknown path, with similar routes.
pub(crate) fn unknown(path: &str) -> Failure {
    let mut message = String::from("there is no such route");
    if path.len() > 1 && path.ends_with('/') && matches(path.trim_end_matches('/')).next().is_some()
    {
        message.push_str("; send the path without the slash at its end");
    } else {
        let close = close_templates(path);
        let named = if close.is_empty() { &["GET /openapi.json".to_owned()] } else { &close[..] };
        message.push_str("; did you mean ");
        message.push_str(&named.join(" or "));
        message.push('?');
    }
    Failure::new("NOT_FOUND", message)
}

/// Words that people use for a part of a path, and the part.
const SYNONYMS: [(&str, &str); 7] = [
    ("keys", "entries"),
    ("key", "entries"),
    ("values", "entries"),
    ("participants", "credentials"),
    ("tokens", "credentials"),
    ("events", "changes"),
    ("feed", "changes"),
];

/// Returns at most three templates that are similar to `path`, best first.
fn close_templates(path: &str) -> Vec<String> {
    const ALIKE: f64 = 0.6;
    if path.len() > COMPARED_BYTES_MAX {
        return Vec::new();
    }
    let part = |it| SYNONYMS.iter().find(|known| known.0 == it).map_or(it, |known| known.1);
    let path = &path.split('/').map(part).collect::<Vec<_>>().join("/");
    let mut close: Vec<(f64, &'static str)> = operations()
        .skip(1)
        .map(|it| (likeness(path, it.template), it.template))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    close.dedup();
    // A synonym of a part is all that differs.
    let is_exact = close.first().is_some_and(|it| it.0 >= 1.0);
    close.truncate(if is_exact { 1 } else { 3 });
    close.into_iter().map(|(_, template)| template.to_owned()).collect()
}

/// Returns the similarity of `path` and `template`, from 0 to 1. Parameters of the template count
/// as equal.
fn likeness(path: &str, template: &str) -> f64 {
    let mut meant = String::new();
    let mut given = path.split('/');
    for expected in template.split('/').skip(1) {
        given.next();
        meant.push('/');
        let segment = given.clone().next().filter(|_| expected.starts_with('{'));
        meant.push_str(segment.unwrap_or(expected));
    }
    strsim::normalized_damerau_levenshtein(path, &meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, template: Option<&str>, session: &str, key: &str) {
        let found = find(path, &Method::GET);
        assert_eq!(found.as_ref().map(|it| it.template), template, "{path}");
        if let Some(found) = found {
            assert_eq!(found.value("session").unwrap(), session, "{path}");
            assert_eq!(found.value("key").unwrap(), key, "{path}");
        }
    }

    #[test]
    fn a_path_matches_its_route_and_parameters() {
        let entry = Some("/v1/sessions/{session}/entries/{key}");
        check("/", Some("/"), "", "");
        check("/healthz", Some("/healthz"), "", "");
        check("/v1/sessions", Some("/v1/sessions"), "", "");
        check("/v1/sessions/a", Some("/v1/sessions/{session}"), "a", "");
        check("/v1/sessions/a/entries", Some("/v1/sessions/{session}/entries"), "a", "");
        check("/v1/sessions/a/entries/scope", entry, "a", "scope");
        check("/v1/sessions/a/entries/a%2Fb", entry, "a", "a/b");
        check("/v1/sessions/a%2fb/entries/%7Bkey%7D", entry, "a/b", "{key}");
        check("/v1/sessions/{session}/entries/{key}", entry, "{session}", "{key}");
        check("/v1/sessions/entries/entries/entries", entry, "entries", "entries");
        check("/v1/sessions/a/entries/%C3%A4", entry, "a", "ä");
        check("/v1/sessions/a/entries/%zz+%", entry, "a", "%zz+%");
        check("/v1/sessions/../entries/%2e%2e", entry, "..", "..");
    }

    #[test]
    fn a_label_varies_beside_a_key() {
        let path = "/v1/sessions/a/snapshots/v1.0-rc/entries/inv%3Ascope";
        let found = find(path, &Method::GET).unwrap();
        assert_eq!(found.value("label").unwrap(), "v1.0-rc");
        assert_eq!(found.value("key").unwrap(), "inv:scope");
        check(
            "/v1/sessions/a/entries/inv:scope/history",
            Some("/v1/sessions/{session}/entries/{key}/history"),
            "a",
            "inv:scope",
        );
    }

    #[test]
    fn a_session_may_have_the_name_of_a_route() {
        #[track_caller]
        fn check(method: &Method, template: &str) {
            let found = find("/v1/sessions/import", method).unwrap();
            assert_eq!(found.template, template, "{method}");
        }
        check(&Method::POST, "/v1/sessions/import");
        for method in [Method::GET, Method::HEAD, Method::PATCH, Method::DELETE] {
            check(&method, "/v1/sessions/{session}");
        }
        assert_eq!(
            allow("/v1/sessions/import", |_| true),
            "POST, GET, HEAD, PATCH, DELETE, OPTIONS"
        );
        let is_offered = |it| it != Endpoint::ImportSession;
        assert_eq!(allow("/v1/sessions/import", is_offered), "GET, HEAD, PATCH, DELETE, OPTIONS");
    }

    /// `PATCH .../memories/search` was taken for a change of the memory with the id `search`.
    #[test]
    fn a_memory_never_has_the_name_of_a_route() {
        let search = "/v1/projects/a/memories/search";
        assert_eq!(allow(search, |_| true), "POST, OPTIONS");
        let found = find(search, &Method::PATCH).unwrap();
        assert_eq!(
            (found.template, found.operation),
            ("/v1/projects/{project}/memories/search", None)
        );
        let found = find("/v1/projects/a/memories/DEC-2026-03-02-001", &Method::PATCH).unwrap();
        assert_eq!(found.value("id").unwrap(), "DEC-2026-03-02-001");
    }

    #[test]
    fn other_forms_of_a_path_do_not_match() {
        for path in [
            "",
            "*",
            "//",
            "/healthz/",
            "/Healthz",
            "/v1",
            "/v1/",
            "/v1/sessions/",
            "/v1//sessions",
            "/v1/sessions//entries",
            "/v1/sessions/a/entries/",
            "/v1/sessions/a/entries/b/c",
            "/v1/%73essions",
            "v1/sessions",
            "/v2/sessions",
        ] {
            check(path, None, "", "");
        }
    }

    #[test]
    fn a_segment_that_is_not_utf8_is_malformed() {
        let found = find("/v1/sessions/%ff/entries/%C3", &Method::GET).unwrap();
        assert_eq!(found.value("session").unwrap_err().code, "MALFORMED_REQUEST");
        assert_eq!(found.value("key").unwrap_err().code, "MALFORMED_REQUEST");
    }

    #[test]
    fn an_unknown_path_suggests_similar_routes() {
        #[track_caller]
        fn check(path: &str, named: &str) {
            let message = unknown(path).message;
            assert!(message.contains(named), "{path}: {message}");
        }
        check("/v1/sessions/", "without the slash");
        check("/v1/session", "did you mean /v1/sessions?");
        check("/v1/sessions/ticket-7/entry/scope", "/v1/sessions/{session}/entries/{key}");
        check("/v1/sessions/ticket-7/keys", "did you mean /v1/sessions/{session}/entries?");
        check("/v1/sessions/ticket-7/promt", "/v1/sessions/{session}/prompt");
        check("/sessions/ticket-7/entries", "/v1/sessions/{session}/entries");
        check("/health", "/healthz");
        check("/wp-login.php", "GET /openapi.json");
        check(&"/x".repeat(10_000), "GET /openapi.json");
    }
}
