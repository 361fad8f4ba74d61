//! What a host decides about the interface.

use http::Uri;

use super::limit::RateLimit;
use crate::credential::Keys;

/// What a host sets once.
#[derive(Debug)]
pub struct Options {
    /// The secrets.
    pub keys: Keys,
    /// How much each participant and each session may ask for; `None` for any number. Any
    /// number as well where the interface is not [kept](Self::is_kept): who forgets each
    /// request cannot count them. Requests are counted by the feature `rate-limits`.
    pub rate_limit: Option<RateLimit>,
    /// How many connections the host serves at one time, where it has a bound: of that,
    /// requests of one session take a quarter at most. Without `rate_limit` they may take
    /// all.
    pub connections_max: Option<u32>,
    /// What the ids of this server's requests start with: another number for each
    /// interface, such as a random one.
    pub request_id_seed: u64,
    /// What becomes of concurrent changes to a session, for `/healthz`.
    pub consistency: Consistency,
    /// The server's address for the world, such as `https://memory.example.com`,
    /// when it has another one than it is reached by.
    pub public_url: Option<Uri>,
    /// Whether only this machine reaches the server: then `/mcp` refuses requests
    /// that name another one.
    pub is_local: bool,
    /// Whether the host has sockets (RFC 6455) that stay while it forgets all but a
    /// text about each: then changes are told over one to who asks for it, by
    /// [`Body::Socket`](super::Body::Socket).
    pub has_sockets: bool,
    /// Whether one interface serves all requests of a server. If not it serves one
    /// request, and what it would remember from one to the next is not offered: rate
    /// limits and the bound on open streams, `/metrics`, and of MCP before 2026-07-28
    /// sessions with their subscriptions, stream and log.
    pub is_kept: bool,
}

/// What becomes of changes to one session that come at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Each takes effect at one instant between its request and its answer, whole or
    /// not at all, and whoever reads after that sees it.
    Linearizable,
    /// One of them may be lost, though each was confirmed.
    LastWriteWins,
}

impl Options {
    /// Creates the defaults: rate limit as in [`RateLimit::default`], request ids that
    /// start with 0, linearizable sessions, reached by everyone under any name,
    /// without sockets, kept from request to request.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            rate_limit: Some(RateLimit::default()),
            connections_max: None,
            request_id_seed: 0,
            consistency: Consistency::Linearizable,
            public_url: None,
            is_local: false,
            has_sockets: false,
            is_kept: true,
        }
    }
}

/// Reads [`Options::public_url`] as an operator writes it.
///
/// # Errors
///
/// It is no such URL: what to write instead.
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

/// Reads [`Options::rate_limit`] as an operator writes it: requests a second, or
/// `off`.
///
/// # Errors
///
/// It is neither: what to write instead.
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
