//! Who calls: a participant, or the operator.
//!
//! # Invariant
//!
//! A credential that is minted for one call lives for a minute.

use serde_json::json;

use super::{
    client::{Bearer, parse},
    problem::{Kind, Problem},
    reply::Issued,
    server::Server,
};

/// How long a credential lives that is minted for one call, in seconds: the
/// shortest life there is.
const CALL_TTL_SECONDS: u64 = 60;

/// The participant who calls.
#[derive(Debug, clap::Args)]
pub(crate) struct CallerArgs {
    /// Call as this participant, by a credential that is minted for this one call
    /// [default: the one of `SHARED_CONTEXT_TOKEN`]
    #[arg(long = "as", value_name = "PARTICIPANT")]
    participant: Option<String>,
}

/// Who calls, where the operator may as well.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AnyoneArgs {
    /// Call as this participant, by a credential that is minted for it [default:
    /// the one of `SHARED_CONTEXT_TOKEN`, else the operator]
    #[arg(long = "as", value_name = "PARTICIPANT")]
    participant: Option<String>,
}

impl CallerArgs {
    /// Returns what to show the server at a call on `session`.
    ///
    /// # Errors
    ///
    /// Nobody said who calls; no credential could be minted.
    pub(crate) fn bearer(&self, server: &Server, session: &str) -> Result<Bearer, Problem> {
        match &self.participant {
            Some(participant) => minted(server, session, participant, Some(CALL_TTL_SECONDS)),
            None => Server::participant().ok_or_else(|| {
                Problem::new(Kind::Usage, "NO_CREDENTIAL", "nothing says who calls")
                    .next("add --as PARTICIPANT, or set SHARED_CONTEXT_TOKEN to a credential")
            }),
        }
    }
}

impl AnyoneArgs {
    /// Returns what to show the server at a call on `session`.
    ///
    /// # Errors
    ///
    /// There is no admin key; no credential could be minted.
    pub(crate) fn bearer(&self, server: &Server, session: &str) -> Result<Bearer, Problem> {
        self.bearer_for(server, session, Some(CALL_TTL_SECONDS))
    }

    /// Returns the same for a call that lasts.
    pub(crate) fn lasting_bearer(&self, server: &Server, session: &str) -> Result<Bearer, Problem> {
        self.bearer_for(server, session, None)
    }

    /// Returns whether the credential is minted, and another can be.
    pub(crate) fn is_minted(&self) -> bool {
        self.participant.is_some()
    }

    fn bearer_for(
        &self,
        server: &Server,
        session: &str,
        ttl_seconds: Option<u64>,
    ) -> Result<Bearer, Problem> {
        match (&self.participant, Server::participant()) {
            (Some(participant), _) => minted(server, session, participant, ttl_seconds),
            (None, Some(credential)) => Ok(credential),
            (None, None) => server.admin(),
        }
    }
}

/// Returns a fresh credential of `participant`.
fn minted(
    server: &Server,
    session: &str,
    participant: &str,
    ttl_seconds: Option<u64>,
) -> Result<Bearer, Problem> {
    if participant == "admin" {
        return server.admin();
    }
    let reply = mint(server, session, participant, ttl_seconds)?;
    parse(&reply, &server.client).map(|it: Issued| Bearer(it.credential))
}

/// Asks for a credential of `participant`, good for `ttl_seconds` or as long as
/// the server finds right; returns the answer.
pub(crate) fn mint(
    server: &Server,
    session: &str,
    participant: &str,
    ttl_seconds: Option<u64>,
) -> Result<Vec<u8>, Problem> {
    mint_for_keys(server, session, participant, ttl_seconds, &[])
}

/// Returns the same for `keys` only, unless there are none.
pub(crate) fn mint_for_keys(
    server: &Server,
    session: &str,
    participant: &str,
    ttl_seconds: Option<u64>,
    keys: &[String],
) -> Result<Vec<u8>, Problem> {
    let keys = Some(keys).filter(|it| !it.is_empty());
    let body = json!({"participant": participant, "ttl_seconds": ttl_seconds, "keys": keys});
    let path = ["v1", "sessions", session, "credentials"];
    let admin = server.admin()?;
    server.send(&server.client.post(&path, body.to_string()), Some(&admin))
}
