//! Checks `Host` and `Origin` of requests to `/mcp` and to web sockets.
//!
//! A web page elsewhere must not reach a server on its reader's machine (Streamable HTTP, Security
//! & Endpoint: DNS rebinding), and browsers let any page read a socket (RFC 6455 §10.2).
//!
//! These requests also need a credential, which no browser adds by itself; this is the second line
//! of defense.
//!
//! # Invariant
//!
//! A name in `Host` or `Origin` that is neither this machine's nor the server's own is rejected
//! before anything else is checked.

use std::net::IpAddr;

use http::{
    HeaderMap, Uri, Version,
    header::{HOST, ORIGIN},
    request::Parts,
    uri::Authority,
};
use shared_context_codec::Failure;

use super::{cors::CorsOrigins, precondition::single};

/// Names and addresses under which a server accepts requests.
#[derive(Debug, Clone)]
pub(crate) struct ServerAddress {
    /// Public address, without a slash at the end.
    public_url: Option<Uri>,
    /// Origins of other pages that may use it.
    cors_origins: CorsOrigins,
    /// True if only this machine can reach it.
    is_local: bool,
}

impl ServerAddress {
    /// Creates the address of a server; `is_local` if only this machine can reach it.
    pub(crate) fn new(public_url: Option<Uri>, cors_origins: CorsOrigins, is_local: bool) -> Self {
        Self { public_url, cors_origins, is_local }
    }

    /// Checks that the request is meant for this server, and does not come from a page of another.
    ///
    /// # Errors
    ///
    /// `FORBIDDEN`; `MALFORMED_REQUEST` for a repeated header or an invalid `Host`.
    pub(crate) fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Failure> {
        let host = host(headers, uri)?;
        if let Some(host) = &host
            && self.is_local
            && !is_unforgeable(host.host())
            && !self.is_ours(host)
        {
            return Err(forbidden(
                "the Host header names another server; call this one by its address, or start it \
                 with --public-url for this name",
            ));
        }
        let Some(origin) = single(headers, &ORIGIN)? else { return Ok(()) };
        let page: Option<Uri> = origin.parse().ok();
        let page = page.as_ref().and_then(Uri::authority);
        let is_own = page.is_some_and(|it| host.as_ref() == Some(it) || self.is_ours(it));
        let is_neighbour = page.is_some_and(|it| self.is_local && is_loopback(it.host()));
        if is_own || is_neighbour || self.cors_origins.allows(origin) {
            return Ok(());
        }
        Err(forbidden(
            "a web page of another origin may not use this server; start it with --cors-origins for \
             the page's own origin, or call it from a program",
        ))
    }

    /// Returns the server's address as the client knows it.
    pub(crate) fn url(&self, headers: &HeaderMap, uri: &Uri) -> String {
        if let Some(url) = &self.public_url {
            return url.to_string().trim_end_matches('/').to_owned();
        }
        let host = host(headers, uri).ok().flatten();
        host.map_or_else(|| "http://localhost".to_owned(), |host| format!("http://{host}"))
    }

    fn is_ours(&self, authority: &Authority) -> bool {
        let ours = self.public_url.as_ref().and_then(Uri::host);
        ours.is_some_and(|it| it.eq_ignore_ascii_case(authority.host()))
    }
}

/// Checks that a request names its server exactly once (RFC 9112 §3.2). The header is optional
/// before HTTP/1.1, and the target replaces it since HTTP/2.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn expect_host(head: &Parts) -> Result<(), Failure> {
    let is_needed = head.version == Version::HTTP_11;
    match host_header(&head.headers)? {
        None if is_needed => Err(malformed(
            "the header Host is missing; name the server that the request is for, such as \
             Host: localhost",
        )),
        _ => Ok(()),
    }
}

/// Returns the server that the request was sent to; `None` if it names none.
fn host(headers: &HeaderMap, uri: &Uri) -> Result<Option<Authority>, Failure> {
    match uri.authority() {
        Some(authority) => Ok(Some(authority.clone())),
        None => host_header(headers),
    }
}

/// Parses the header `Host`.
fn host_header(headers: &HeaderMap) -> Result<Option<Authority>, Failure> {
    let Some(text) = single(headers, &HOST)? else { return Ok(None) };
    let has_port = |it: &Authority| it.host().len() == text.len() || it.port_u16().is_some();
    let host_header = text.parse().ok().filter(|it| !text.contains('@') && has_port(it));
    host_header
        .map(Some)
        .ok_or_else(|| malformed("the header Host is no name of a server and its port"))
}

/// Returns true if DNS cannot point the name `host` here from outside: it is an address, or means
/// this machine.
fn is_unforgeable(host: &str) -> bool {
    address(host).is_some() || is_loopback(host)
}

/// Returns true if `host` means this machine.
fn is_loopback(host: &str) -> bool {
    let name = host.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || address(host).is_some_and(|it| it.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn malformed(message: &str) -> Failure {
    Failure::new("MALFORMED_REQUEST", message)
}

fn forbidden(message: &str) -> Failure {
    Failure::new("FORBIDDEN", message)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(server: &ServerAddress, host: &str, origin: &str, is_allowed: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if !origin.is_empty() {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        let seen = server.check(&headers, &Uri::from_static("/mcp"));
        assert_eq!(seen.is_ok(), is_allowed, "{host} {origin}: {seen:?}");
    }

    #[test]
    fn a_local_server_accepts_only_this_machine() {
        let server = ServerAddress::new(None, CorsOrigins::None, true);
        for host in ["localhost:8787", "127.0.0.1:8787", "[::1]:8787", "127.9.9.9", "a.localhost"] {
            check(&server, host, "", true);
            check(&server, host, "http://localhost:3000", true);
            check(&server, host, "http://evil.example.com", false);
            check(&server, host, "null", false);
            // DNS rebinding cannot use an address, but its pages are still foreign.
            check(&server, host, "http://203.0.113.5", false);
            check(&server, host, "http://[2001:db8::1]:80", false);
        }
        for host in ["evil.example.com", "localhost.evil.example.com", "127.0.0.1.evil.example"] {
            check(&server, host, "", false);
            check(&server, host, &format!("http://{host}"), false);
        }
    }

    #[test]
    fn a_named_server_accepts_its_own_name() {
        let server = ServerAddress::new(
            Some(Uri::from_static("https://memory.example.com")),
            CorsOrigins::None,
            true,
        );
        check(&server, "memory.example.com", "", true);
        check(&server, "memory.example.com", "https://memory.example.com", true);
        check(&server, "127.0.0.1:8787", "https://memory.example.com", true);
        check(&server, "memory.example.com", "https://evil.example.com", false);
        check(&server, "other.example.com", "", false);
        assert_eq!(
            server.url(&HeaderMap::new(), &Uri::from_static("/")),
            "https://memory.example.com"
        );
    }

    #[test]
    fn a_listed_origin_is_accepted() {
        let listed = CorsOrigins::parse("https://app.example.com").unwrap();
        for is_local in [true, false] {
            let server = ServerAddress::new(None, listed.clone(), is_local);
            check(&server, "127.0.0.1:8787", "https://app.example.com", true);
            check(&server, "127.0.0.1:8787", "http://app.example.com", false);
            check(&server, "127.0.0.1:8787", "https://evil.example.com", false);
            check(&server, "evil.example.com", "https://app.example.com", !is_local);
        }
    }

    #[test]
    fn a_public_server_accepts_any_host_but_only_its_own_origin() {
        let server = ServerAddress::new(None, CorsOrigins::None, false);
        check(&server, "server.lan:8787", "", true);
        check(&server, "server.lan:8787", "http://server.lan:8787", true);
        check(&server, "server.lan:8787", "http://localhost:3000", false);
        check(&server, "server.lan:8787", "http://evil.example.com", false);
    }
}
