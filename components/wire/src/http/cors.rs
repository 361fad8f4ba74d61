//! Cross-origin requests of web pages (Fetch, CORS protocol): which pages may call the server from
//! a browser. None, unless the operator names them.
//!
//! No credential is sent by a browser itself: pages show one in a header. So no response says
//! `Access-Control-Allow-Credentials`.

use http::{
    HeaderMap, HeaderValue, Method, Uri,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
        ORIGIN, VARY,
    },
};

/// Request headers that pages may send, besides those that every page may.
const ALLOWED: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, \
     Mcp-Method, Mcp-Name, Mcp-Param-Session, Mcp-Protocol-Version, Mcp-Session-Id, traceparent, \
     X-Request-Id",
);
/// Response headers that pages may read, besides those that every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Allow, Content-Disposition, ETag, Location, Mcp-Session-Id, RateLimit, RateLimit-Policy, \
     Retry-After, traceparent, WWW-Authenticate, X-Request-Id",
);
/// Seconds for which a browser may remember the answer to a preflight request: two hours, the most
/// that all browsers accept.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// The origins whose pages may use the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CorsOrigins {
    /// No page but the server's own.
    #[default]
    None,
    /// Pages of these origins, such as `https://app.example.com`.
    Listed(Vec<String>),
    /// Every page.
    Any,
}

impl CorsOrigins {
    /// Parses a list of origins as an operator writes it: with commas between them, or `*`. An
    /// empty text is no origin.
    ///
    /// # Errors
    ///
    /// One of them is not an origin: the message shows a valid one.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "*" {
            return Ok(Self::Any);
        }
        let sent = text.split(',').map(str::trim).filter(|it| !it.is_empty());
        let origins: Vec<String> = sent.map(origin).collect::<Result<_, _>>()?;
        Ok(if origins.is_empty() { Self::None } else { Self::Listed(origins) })
    }

    /// Returns true if pages of `origin` may use the server.
    pub(super) fn allows(&self, origin: &str) -> bool {
        match self {
            Self::None => false,
            // Browsers send the same lower-case form that is listed.
            Self::Listed(origins) => origins.iter().any(|it| it == origin),
            Self::Any => true,
        }
    }

    /// Adds to the headers of a response what the browser asks for on behalf of the page that sent
    /// the request with `sent`. The answer to a preflight request has no other purpose.
    pub(super) fn add_headers(&self, method: &Method, sent: &HeaderMap, headers: &mut HeaderMap) {
        if *self == Self::None {
            return;
        }
        if let Self::Listed(_) = self {
            // Also where the origin is not one of them: caches must not mix the two.
            headers.append(VARY, HeaderValue::from_name(ORIGIN));
        }
        let Some(origin) = sent.get(ORIGIN) else { return };
        if !origin.to_str().is_ok_and(|it| self.allows(it)) {
            return;
        }
        let any = HeaderValue::from_static("*");
        let allowed = if *self == Self::Any { any } else { origin.clone() };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        if *method == Method::OPTIONS && sent.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            if let Some(methods) = headers.get(http::header::ALLOW).cloned() {
                headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            }
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED);
            headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        } else {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}

/// Returns `text` in the form in which browsers send it, if it is an origin.
fn origin(text: &str) -> Result<String, String> {
    let uri: Option<Uri> = text.parse().ok();
    let written = uri.as_ref().and_then(|it| {
        let authority = it.authority().filter(|it| !it.as_str().contains(['@', '*']))?;
        let scheme = it.scheme_str().filter(|it| matches!(*it, "http" | "https"))?;
        let port = match (scheme, authority.port_u16()) {
            (_, None) | ("http", Some(80)) | ("https", Some(443)) => String::new(),
            (_, Some(port)) => format!(":{port}"),
        };
        let origin = format!("{scheme}://{}{port}", authority.host().to_ascii_lowercase());
        let is_bare = it.path() == "/" && it.query().is_none() && !text.ends_with('/');
        is_bare.then_some(origin)
    });
    written.ok_or_else(|| {
        format!(
            "{text:?} is no origin; write scheme and name without a path, such as \
             https://app.example.com, with commas between several, or * for every page"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_listed_as_browsers_send_them() {
        #[track_caller]
        fn check(text: &str, origins: &[&str]) {
            let expected = match origins {
                [] => CorsOrigins::None,
                ["*"] => CorsOrigins::Any,
                _ => CorsOrigins::Listed(origins.iter().map(|it| (*it).to_owned()).collect()),
            };
            assert_eq!(CorsOrigins::parse(text), Ok(expected), "{text}");
        }
        check("", &[]);
        check(" , ", &[]);
        check("*", &["*"]);
        check("https://App.Example.com", &["https://app.example.com"]);
        check(
            "https://a.example:443,http://b:80 , http://b:81",
            &["https://a.example", "http://b", "http://b:81"],
        );
        check("http://[::1]:3000", &["http://[::1]:3000"]);
        for wrong in [
            "app.example.com",
            "https://a/",
            "https://a/path",
            "https://a?b",
            "ftp://a",
            "null",
            "https://u@a",
            "https://*.a",
            "*,https://a",
            "https://",
        ] {
            assert!(CorsOrigins::parse(wrong).is_err(), "{wrong}");
        }
    }
}
