//! What a host decides about the interface.

use http::Uri;

use super::limit::RateLimit;
use crate::credential::Keys;

/// What a host sets once.
#[derive(Debug)]
pub struct Options {
    /// The secrets.
    pub keys: Keys,
    /// How many requests each participant may make; `None` for any number.
    pub rate_limit: Option<RateLimit>,
    /// What the ids of this server's requests start with: another number at each
    /// start, such as a random one.
    pub request_id_seed: u64,
    /// What readers see of concurrent changes to a session, for `/healthz`.
    pub consistency: &'static str,
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
}

impl Options {
    /// The defaults: rate limit as in [`RateLimit::default`], request ids that
    /// start with 0, linearizable sessions, reached by everyone under any name,
    /// without sockets.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            rate_limit: Some(RateLimit::default()),
            request_id_seed: 0,
            consistency: "linearizable",
            public_url: None,
            is_local: false,
            has_sockets: false,
        }
    }
}
