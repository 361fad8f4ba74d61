//! Options of the interface, which a host sets.

use http::Uri;

use super::{cors::CorsOrigins, limit::RateLimit};
use crate::credential::Keys;

/// Options that a host sets once.
#[derive(Debug)]
pub struct Options {
    /// Secrets.
    pub keys: Keys,
    /// Rate limits of each participant and each session; `None` for no limits. An interface that is
    /// not [kept](Self::is_kept) has no limits either, because it cannot count requests. Counting
    /// requires the feature `rate-limits`.
    pub rate_limit: Option<RateLimit>,
    /// Most connections that the host serves at a time, if bounded. Requests of one session may
    /// take a quarter of them. Without `rate_limit` they may take all.
    pub connections_max: Option<u32>,
    /// Prefix of this server's request ids: a different number for each interface, such as a random
    /// one.
    pub request_id_seed: u64,
    /// Guarantee for concurrent changes to a session, as shown by `/healthz`.
    pub consistency: Consistency,
    /// Public address of the server, such as `https://memory.example.com`, if it differs from the
    /// address it is reached by.
    pub public_url: Option<Uri>,
    /// Origins whose web pages may use the server from a browser, besides its own.
    pub cors_origins: CorsOrigins,
    /// True if only this machine can reach the server: `/mcp` then rejects requests that name
    /// another host.
    pub is_local: bool,
    /// True if the host has sockets (RFC 6455) that stay open while it forgets everything but a
    /// text about each. Clients can then request changes over one, by
    /// [`Body::Socket`](super::Body::Socket).
    pub has_sockets: bool,
    /// True if one interface serves all requests of a server. Otherwise it serves one request, and
    /// features that need state between requests are not offered: rate limits, the bound on open
    /// streams, `/metrics`, and, in MCP before 2026-07-28, sessions with their subscriptions,
    /// stream and log.
    pub is_kept: bool,
}

/// Guarantee for concurrent changes to one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Each change takes effect at one instant between its request and its reply, completely or not
    /// at all. Every later read sees it.
    Linearizable,
    /// One of them may be lost, though each was confirmed.
    LastWriteWins,
}

impl Options {
    /// Creates the defaults: [`RateLimit::default`], request ids that start with 0, linearizable
    /// sessions, reachable by everyone under any name but by no other web page, no sockets, kept
    /// between requests.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            rate_limit: Some(RateLimit::default()),
            connections_max: None,
            request_id_seed: 0,
            consistency: Consistency::Linearizable,
            public_url: None,
            cors_origins: CorsOrigins::None,
            is_local: false,
            has_sockets: false,
            is_kept: true,
        }
    }
}

/// Parses [`Options::public_url`] as an operator writes it.
///
/// # Errors
///
/// The text is not such a URL: the message shows a valid one.
pub fn parse_public_url(text: &str) -> Result<Uri, String> {
    let url: Option<Uri> = text.trim_end_matches('/').parse().ok();
    let is_base = |it: &Uri| {
        matches!(it.scheme_str(), Some("http" | "https"))
            && it.path() == "/"
            && it.query().is_none()
    };
    url.filter(is_base)
        .ok_or_else(|| "write a scheme and a name, such as https://memory.example.com".to_owned())
}

/// Parses [`Options::rate_limit`] as an operator writes it: requests per second, or `off`.
///
/// # Errors
///
/// The text is neither: the message describes a valid one.
pub fn parse_rate(text: &str) -> Result<Option<RateLimit>, String> {
    match text {
        "off" => Ok(None),
        _ => text
            .parse()
            .map(|it| Some(RateLimit::per_second(it)))
            .map_err(|_| "write a number of requests a second from 1 on, or off".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_a_scheme_and_a_name() {
        let seen = parse_public_url("https://memory.example.com/").unwrap();
        assert_eq!(seen.host(), Some("memory.example.com"));
        assert!(parse_public_url("http://10.0.0.1:8080").is_ok());
        for text in ["", "memory.example.com", "ftp://x", "https://x/path", "https://x?a=b", "/"] {
            assert!(parse_public_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_rate_is_a_number_or_off() {
        let limit = parse_rate("50").unwrap().unwrap();
        assert_eq!((limit.per_second.get(), limit.burst.get()), (50, 100));
        assert_eq!(parse_rate("off"), Ok(None));
        for text in ["", "0", "-1", "1.5", "OFF", "unlimited"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }
}
