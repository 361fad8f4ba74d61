//! The caller of a command: a participant or the operator. One rule decides for all
//! commands.
//!
//! 1. `--as PARTICIPANT`, or `SHARED_CONTEXT_AS`: that participant, by a credential that is
//!    minted with the operator's key. `--as admin` is the operator.
//! 2. The holder of the credential in `SHARED_CONTEXT_TOKEN`.
//! 3. The holder of the credential in the profile.
//! 4. The operator, by `SHARED_CONTEXT_ADMIN_KEY`, the profile's key or that in the data
//!    folder.
//!
//! What only participants may do fails in the last case; `prompt` and `mcp`, which are for
//! a participant, and the commands for packets, which are the orchestrator's, take the orchestrator
//! there. What only the operator may do, such as
//! `session create`, `token` or `export`, has no `--as` and is always the operator's.
//!
//! On a project the same rule holds, and `--in` names the session of the participant.
//!
//! # Invariant
//!
//! A credential minted for a single call is valid for one minute.

use serde_json::json;

use super::{
    argument::SessionName,
    client::{Bearer, parse},
    problem::{Kind, Problem},
    reply::IssuedCredential,
    server::Server,
};

/// The lifetime of a credential minted for a single call, in seconds. It is the shortest
/// that a server issues.
pub(crate) const CALL_TTL_SECONDS: u64 = 60;
/// The operator's name as a participant.
const OPERATOR: &str = "admin";
/// The orchestrator's name as a participant.
const ORCHESTRATOR: &str = "orchestrator";

/// The option that names the caller.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct CallerArgs {
    /// Call as this participant, by a credential that is minted for it, or as
    /// admin [default: by the credential of `SHARED_CONTEXT_TOKEN` or of the
    /// profile, else as the operator, where a command allows it]
    #[arg(long = "as", env = "SHARED_CONTEXT_AS", value_name = "PARTICIPANT")]
    participant: Option<String>,
}

/// The options that name the caller of a command about a project. A project mints no credentials:
/// participants call it with those of a session that names it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ProjectCallerArgs {
    #[command(flatten)]
    caller: CallerArgs,
    /// With --as: the session of the project that the participant is in [default:
    /// the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(long = "in", value_name = "SESSION", requires = "participant")]
    within: Option<SessionName>,
}

/// The caller of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A participant, by a credential to be minted.
    Participant(String),
    /// The holder of this credential.
    Holder(Bearer),
    /// The operator.
    Operator,
}

impl CallerArgs {
    /// Returns the caller, as the rule above decides.
    pub(crate) fn caller(&self, server: &Server) -> Caller {
        match (self.participant.as_deref(), server.participant()) {
            (Some(OPERATOR), _) | (None, None) => Caller::Operator,
            (Some(participant), _) => Caller::Participant(participant.to_owned()),
            (None, Some(credential)) => Caller::Holder(credential),
        }
    }

    /// Returns the credential for a call on `session`.
    ///
    /// # Errors
    ///
    /// There is no admin key, or minting failed.
    pub(crate) fn bearer(&self, server: &Server, session: &str) -> Result<Bearer, Problem> {
        self.caller(server).bearer(server, session, Some(CALL_TTL_SECONDS))
    }

    /// Returns the credential for a call on `session` that only participants may make. With
    /// `--as admin` it is the operator's key, and the server rejects the call.
    ///
    /// # Errors
    ///
    /// No participant or credential is given, or minting failed.
    pub(crate) fn participant_bearer(
        &self,
        server: &Server,
        session: &str,
    ) -> Result<Bearer, Problem> {
        self.check_named(server, "--as PARTICIPANT")?;
        self.bearer(server, session)
    }

    /// Rejects a call without a participant: only the admin key was given. `options` name one.
    fn check_named(&self, server: &Server, options: &str) -> Result<(), Problem> {
        if self.participant.is_some() || self.caller(server) != Caller::Operator {
            return Ok(());
        }
        Err(Problem::new(Kind::Usage, "NO_CREDENTIAL", "this command needs a participant")
            .next(format!("add {options}, or set SHARED_CONTEXT_TOKEN to a credential")))
    }

    /// Returns the credential for a call on `session` that the orchestrator makes if nobody else is
    /// named.
    ///
    /// # Errors
    ///
    /// There is no admin key, or minting failed.
    pub(crate) fn orchestrator_bearer(
        &self,
        server: &Server,
        session: &str,
    ) -> Result<Bearer, Problem> {
        if self.participant.is_none() && self.caller(server) == Caller::Operator {
            return minted(server, session, ORCHESTRATOR, Some(CALL_TTL_SECONDS));
        }
        self.bearer(server, session)
    }

    /// Returns the credential for a long-running call on `session`.
    pub(crate) fn lasting_bearer(&self, server: &Server, session: &str) -> Result<Bearer, Problem> {
        self.caller(server).bearer(server, session, None)
    }

    /// Returns true if an option or its variable names the caller: then its credential is minted, and
    /// can be replaced.
    pub(crate) fn is_named(&self) -> bool {
        self.participant.is_some()
    }
}

impl ProjectCallerArgs {
    /// Returns the credential for a call on a project.
    ///
    /// # Errors
    ///
    /// Nothing says in which session a participant calls, there is no admin key, or minting failed.
    pub(crate) fn bearer(&self, server: &Server) -> Result<Bearer, Problem> {
        self.bearer_for(server, Some(CALL_TTL_SECONDS))
    }

    /// Returns the credential for a long-running call on a project.
    ///
    /// # Errors
    ///
    /// As for [`bearer`](Self::bearer).
    pub(crate) fn lasting_bearer(&self, server: &Server) -> Result<Bearer, Problem> {
        self.bearer_for(server, None)
    }

    /// Returns true if an option or its variable names the caller, as
    /// [`CallerArgs::is_named`] does.
    pub(crate) fn is_named(&self) -> bool {
        self.caller.is_named()
    }

    fn bearer_for(&self, server: &Server, ttl_seconds: Option<u64>) -> Result<Bearer, Problem> {
        let caller = self.caller.caller(server);
        let session = match caller {
            Caller::Participant(_) => server.session(&self.within.clone().unwrap_or_default())?,
            // Neither is of a session that must be known here.
            Caller::Holder(_) | Caller::Operator => String::new(),
        };
        caller.bearer(server, &session, ttl_seconds)
    }

    /// Returns the credential for a call on a project that only participants may make. With
    /// `--as admin` it is the operator's key, and the server rejects the call.
    ///
    /// # Errors
    ///
    /// No participant or credential is given, nothing says in which session, or minting failed.
    pub(crate) fn participant_bearer(&self, server: &Server) -> Result<Bearer, Problem> {
        self.caller.check_named(server, "--as PARTICIPANT --in SESSION")?;
        self.bearer(server)
    }
}

impl Caller {
    fn bearer(
        &self,
        server: &Server,
        session: &str,
        ttl_seconds: Option<u64>,
    ) -> Result<Bearer, Problem> {
        match self {
            Self::Participant(participant) => minted(server, session, participant, ttl_seconds),
            Self::Holder(credential) => Ok(credential.clone()),
            Self::Operator => server.admin(),
        }
    }
}

/// Mints a credential for `participant`. Without `ttl_seconds` the server chooses the
/// lifetime.
pub(crate) fn minted(
    server: &Server,
    session: &str,
    participant: &str,
    ttl_seconds: Option<u64>,
) -> Result<Bearer, Problem> {
    let reply = mint(server, session, participant, ttl_seconds, &[], None)?;
    parse(&reply, &server.client).map(|it: IssuedCredential| Bearer::credential(it.credential))
}

/// Mints a credential that is limited to `keys` and to `tools`, and returns the server's
/// reply. An empty list means all keys, and `None` the tools of the session.
pub(crate) fn mint(
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
