//! The server behind the bridge, and its credential.
//!
//! A server named by an option or the environment is used, whether it answers or not.
//! Otherwise the bridge uses the server that runs on the data folder, or starts one.
//! Servers come and go: the process that started one ends, or an operator restarts it at
//! another port.
//!
//! # Invariants
//!
//! - A credential is sent only after an unauthenticated call confirmed a shared-context
//!   server. At the start the folder's lock decides whether a server runs, because the
//!   address file may be outdated.
//! - A server that went away has [`COME_BACK_TIME`] to return before another one locks the
//!   folder, which would keep it from starting. A request may start a server, a waiting
//!   stream may not.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde::Deserialize;
use serde_json::json;

use super::own::{OwnServer, StartFailure};
use crate::cli::{
    caller::minted,
    client::{Bearer, parse},
    output::remark,
    problem::Problem,
    server::{Server, ServerArgs, not_running},
};

/// The time in which a server that went away may return.
const COME_BACK_TIME: Duration = Duration::from_secs(1);
/// The time limit for an answer of the process that uses the data folder.
const START_TIME_MAX: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// The caller of the bridge's requests.
#[derive(Debug, Clone)]
pub(super) enum Caller {
    /// The holder of this credential.
    Holder(Bearer),
    /// A participant of a session, with a minted credential.
    Participant { session: String, participant: String },
}

/// A server and the credential for it.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) server: Arc<Server>,
    pub(super) bearer: Bearer,
    /// The path and query of its MCP endpoint.
    pub(super) path: Arc<str>,
    /// The number of earlier lookups.
    generation: u64,
    /// True if it may be gone: it did not answer a request.
    is_doubtful: bool,
    /// True if no other credential may be minted: the credentials of the session were revoked, or it
    /// was created anew.
    is_void: bool,
}

/// The purpose of a server lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// A request.
    Request,
    /// A stream, which can wait until a server is there.
    Stream,
}

/// The server behind the bridge.
#[derive(Debug)]
pub(super) struct Upstream {
    args: ServerArgs,
    caller: Caller,
    target: Mutex<Target>,
    /// Separate from `target`, so that it can be stopped during a lookup.
    own: Mutex<Option<OwnServer>>,
}

impl Upstream {
    /// Finds the server or starts one, and checks that it accepts the caller. A missing
    /// session is created.
    ///
    /// # Errors
    ///
    /// There is no server and none can be started, or it rejects the caller.
    pub(super) fn start(
        args: ServerArgs,
        caller: Caller,
        session: Option<&str>,
        path: &str,
    ) -> Result<Self, Problem> {
        let (server, own) = if args.find()?.is_named() {
            (look(&args)?, None)
        } else {
            wait_or_start(&args, Duration::ZERO)?
        };
        let server = Arc::new(server);
        let bearer = match &caller {
            Caller::Holder(bearer) => {
                if let Some(session) = session {
                    let call = server.client.get(&["v1", "sessions", session], &[]);
                    server.send(&call, Some(bearer))?;
                }
                bearer.clone()
            }
            Caller::Participant { session, participant } => {
                match minted(&server, session, participant, None) {
                    Err(problem) if problem.code() == "SESSION_NOT_FOUND" => {
                        create(&server, session)?;
                        minted(&server, session, participant, None)?
                    }
                    minted => minted?,
                }
            }
        };
        let target = Mutex::new(Target {
            server,
            bearer,
            path: path.into(),
            generation: 0,
            is_doubtful: false,
            is_void: false,
        });
        Ok(Self { args, caller, target, own: Mutex::new(own) })
    }

    /// Returns the server that was used last.
    pub(super) fn target(&self) -> Target {
        lock(&self.target).clone()
    }

    /// Returns the server to call. If it did not answer before, it is looked up first: a
    /// process that is being killed may still accept connections.
    ///
    /// # Errors
    ///
    /// The errors of [`Upstream::replaced`].
    pub(super) fn found(&self, need: Need) -> Result<Target, Problem> {
        let target = self.target();
        if target.is_doubtful { self.replaced(&target, need) } else { Ok(target) }
    }

    /// Records that `target` did not answer.
    pub(super) fn doubt(&self, target: &Target) {
        let mut current = lock(&self.target);
        current.is_doubtful |= current.generation == target.generation;
    }

    /// Returns the server to call instead of `lost`, which does not answer. It may be the
    /// same one.
    ///
    /// # Errors
    ///
    /// There is no server and none is started.
    pub(super) fn replaced(&self, lost: &Target, need: Need) -> Result<Target, Problem> {
        let mut target = lock(&self.target);
        if target.generation != lost.generation {
            return Ok(target.clone());
        }
        let server = if need == Need::Stream || target.server.is_named() {
            look(&self.args)?
        } else {
            let (server, own) = wait_or_start(&self.args, COME_BACK_TIME)?;
            if own.is_some() {
                *lock(&self.own) = own;
            }
            server
        };
        if server.client.url() != target.server.client.url() {
            remark(&format!("the server went away; going on with {}", server.client.url()));
        }
        target.server = Arc::new(server);
        target.generation = target.generation.saturating_add(1);
        target.is_doubtful = false;
        Ok(target.clone())
    }

    /// Returns the server with a new credential instead of that of `rejected`. Returns `None` if no
    /// other can be minted, or if the operator revoked the credentials of the session or created it
    /// anew: then the agent must not go on as if nothing had happened.
    ///
    /// # Errors
    ///
    /// Minting failed.
    pub(super) fn renewed(&self, rejected: &Target) -> Result<Option<Target>, Problem> {
        let mut target = lock(&self.target);
        if target.is_void {
            return Ok(None);
        }
        if target.bearer == rejected.bearer {
            let Caller::Participant { session, participant } = &self.caller else {
                return Ok(None);
            };
            let bearer = minted(&target.server, session, participant, None)?;
            if incarnation(&bearer) != incarnation(&target.bearer) {
                remark(&format!(
                    "the credentials of {session} were revoked, or it was created anew; start this \
                     command again to go on with it"
                ));
                target.is_void = true;
                return Ok(None);
            }
            target.bearer = bearer;
        }
        Ok(Some(target.clone()))
    }

    /// Returns true if [`Upstream::renewed`] can mint a new credential.
    pub(super) fn is_renewable(&self) -> bool {
        matches!(self.caller, Caller::Participant { .. }) && !lock(&self.target).is_void
    }

    /// Returns true if the server runs in this process.
    pub(super) fn is_own(&self) -> bool {
        lock(&self.own).is_some()
    }

    /// Stops the server of this process, if there is one.
    pub(super) fn stop(&self, time_max: Duration) {
        if let Some(own) = mem::take(&mut *lock(&self.own)) {
            own.stop(time_max);
        }
    }
}

/// Returns what a credential says of its session: which one of its name it is, and how many times
/// its credentials were revoked. Returns `None` if it cannot be read.
fn incarnation(bearer: &Bearer) -> Option<(u64, u64)> {
    #[derive(Deserialize)]
    struct Claims {
        inc: u64,
        epo: u64,
    }
    let payload = bearer.secret.split('.').nth(1)?;
    let claims = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
    let Claims { inc, epo } = serde_json::from_slice(&claims).ok()?;
    Some((inc, epo))
}

/// Looks up the server, once.
///
/// # Errors
///
/// No server answers, or the program that answers is not a shared-context server.
fn look(args: &ServerArgs) -> Result<Server, Problem> {
    #[derive(Deserialize)]
    struct Health {
        #[serde(rename = "status")]
        _status: String,
        #[serde(rename = "version")]
        _version: String,
    }
    let server = args.server()?;
    if !server.is_expected() {
        return Err(not_running(&args.folder()?));
    }
    let _: Health = parse(&server.health()?, &server.client)?;
    Ok(server)
}

/// Waits for a server on the data folder. After `patience` it starts one, unless another
/// process has locked the folder. The lock decides, because the address file may be
/// outdated.
fn wait_or_start(
    args: &ServerArgs,
    patience: Duration,
) -> Result<(Server, Option<OwnServer>), Problem> {
    let folder = args.folder()?;
    let begin = Instant::now();
    loop {
        if begin.elapsed() >= patience {
            match OwnServer::start(&folder) {
                Ok(own) => {
                    let (url, folder) = (own.url(), folder.display());
                    remark(&format!("started a server at {url} on the data folder {folder}"));
                    return Ok((args.server()?, Some(own)));
                }
                Err(StartFailure::FolderInUse(_)) if begin.elapsed() < START_TIME_MAX => {}
                Err(StartFailure::FolderInUse(problem) | StartFailure::Other(problem)) => {
                    return Err(problem);
                }
            }
        }
        if let Ok(server) = look(args) {
            return Ok((server, None));
        }
        thread::sleep(POLL);
    }
}

/// Creates `session`. It is not an error if another process was faster.
fn create(server: &Server, session: &str) -> Result<(), Problem> {
    let body = json!({"session_id": session}).to_string();
    let call = server.client.post(&["v1", "sessions"], body);
    match server.send(&call, Some(&server.admin()?)) {
        Ok(_) => {
            remark(&format!("created the session {session}"));
            Ok(())
        }
        Err(problem) if problem.code() == "SESSION_EXISTS" => Ok(()),
        Err(problem) => Err(problem),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
