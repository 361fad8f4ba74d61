//! The caller of a command: a participant or the operator.
//!
//! # Invariant
//!
//! A credential minted for a single call is valid for one minute.

use serde_json::json;

use super::{
    client::{Bearer, parse},
    problem::{Kind, Problem},
    reply::IssuedCredential,
    server::Server,
};

/// The lifetime of a credential minted for a single call, in seconds. It is the shortest
/// that a server issues.
const CALL_TTL_SECONDS: u64 = 60;

/// The participant that calls.
#[derive(Debug, clap::Args)]
pub(crate) struct CallerArgs {
    /// Call as this participant, by a credential that is minted for this one call
    /// [default: the one of `SHARED_CONTEXT_TOKEN`]
    #[arg(long = "as", value_name = "PARTICIPANT")]
    participant: Option<String>,
}

/// The caller of a command that the operator may also run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CallerOrAdminArgs {
    /// Call as this participant, by a credential that is minted for it [default:
    /// the one of `SHARED_CONTEXT_TOKEN`, else the operator]
    #[arg(long = "as", value_name = "PARTICIPANT")]
    participant: Option<String>,
}

impl CallerArgs {
    /// Returns the credential for a call on `session`.
    ///
    /// # Errors
    ///
    /// No participant or credential is given, or minting failed.
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

impl CallerOrAdminArgs {
    /// Returns the credential for a call on `session`.
    ///
    /// # Errors
    ///
    /// There is no admin key, or minting failed.
    pub(crate) fn bearer(&self, server: &Server, session: &str) -> Result<Bearer, Problem> {
        self.bearer_for(server, session, Some(CALL_TTL_SECONDS))
    }

    /// Returns the credential for a long-running call on `session`.
    pub(crate) fn lasting_bearer(&self, server: &Server, session: &str) -> Result<Bearer, Problem> {
        self.bearer_for(server, session, None)
    }

    /// Returns true if the credential is minted, so that it can be replaced.
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

/// Mints a credential for `participant`, or returns the admin key for `admin`.
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
    parse(&reply, &server.client).map(|it: IssuedCredential| Bearer(it.credential))
}

/// Mints a credential for `participant` and returns the server's reply. Without
/// `ttl_seconds` the server chooses the lifetime.
pub(crate) fn mint(
    server: &Server,
    session: &str,
    participant: &str,
    ttl_seconds: Option<u64>,
) -> Result<Vec<u8>, Problem> {
    mint_limited(server, session, participant, ttl_seconds, &[], None)
}

/// Mints a credential that is limited to `keys` and to `tools`; an empty list means all keys, and
/// `None` the tools of the session.
pub(crate) fn mint_limited(
    server: &Server,
    session: &str,
    participant: &str,
    ttl_seconds: Option<u64>,
    keys: &[String],
    tools: Option<&[String]>,
) -> Result<Vec<u8>, Problem> {
    let keys = Some(keys).filter(|it| !it.is_empty());
    let body = json!({
        "participant": participant, "ttl_seconds": ttl_seconds, "keys": keys, "tools": tools,
    });
    let path = ["v1", "sessions", session, "credentials"];
    let admin = server.admin()?;
    server.send(&server.client.post(&path, body.to_string()), Some(&admin))
}
