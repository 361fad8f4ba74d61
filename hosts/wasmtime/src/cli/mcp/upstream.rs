//! The server behind the bridge, and what the bridge shows it.
//!
//! A server that was named is the one, whether it answers or not. Otherwise it is
//! the one that runs on the data folder, and without one, a server that is
//! started here. Servers come and go: the other process that had started one ends,
//! or an operator restarts it, at another port.
//!
//! # Invariants
//!
//! - A server is shown a credential after it was asked, without one, whether it is
//!   one. At the start the folder's lock decides whether any runs: the file that
//!   names an address may be from another day.
//! - A server that went away is given [`COME_BACK_TIME`] before another takes the
//!   folder, which would keep it from coming back; and only a request is a reason
//!   to start one, not a stream that waits.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::json;

use super::own::{NotStarted, OwnServer};
use crate::cli::{
    caller::mint,
    client::{Bearer, parse},
    output::remark,
    problem::{Kind, Problem},
    reply::Issued,
    server::{Server, ServerArgs},
};

/// How long a server that went away may take to come back.
const COME_BACK_TIME: Duration = Duration::from_secs(1);
/// How long to wait for the process that uses the data folder to answer.
const START_TIME_MAX: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// Who asks.
#[derive(Debug, Clone)]
pub(super) enum Who {
    /// Who holds this credential.
    Holder(Bearer),
    /// A participant of a session, by a credential that is minted for it.
    Participant { session: String, participant: String },
}

/// A server, and the credential it is shown.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) server: Arc<Server>,
    pub(super) bearer: Bearer,
    /// How often one was looked for before.
    generation: u64,
    /// Whether it may have gone: it did not answer somebody.
    is_doubtful: bool,
}

/// Why a server is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// For a request.
    Request,
    /// For a stream, which can wait until there is one.
    Stream,
}

/// The server behind the bridge.
#[derive(Debug)]
pub(super) struct Upstream {
    args: ServerArgs,
    who: Who,
    target: Mutex<Target>,
    /// Apart, so that it can be stopped while somebody looks for another.
    own: Mutex<Option<OwnServer>>,
}

impl Upstream {
    /// Finds the server or starts one, and makes sure that it knows who asks. A
    /// session that does not exist yet is created.
    ///
    /// # Errors
    ///
    /// There is no server and none can be started; it does not let this one in.
    pub(super) fn start(
        args: ServerArgs,
        who: Who,
        session: Option<&str>,
    ) -> Result<Self, Problem> {
        let (server, own) = if args.server()?.is_named() {
            (look(&args)?, None)
        } else {
            wait_or_start(&args, Duration::ZERO)?
        };
        let server = Arc::new(server);
        let bearer = match &who {
            Who::Holder(bearer) => {
                if let Some(session) = session {
                    let call = server.client.get(&["v1", "sessions", session], &[]);
                    server.send(&call, Some(bearer))?;
                }
                bearer.clone()
            }
            Who::Participant { session, participant } => {
                match minted(&server, session, participant) {
                    Err(problem) if problem.code() == "SESSION_NOT_FOUND" => {
                        create(&server, session)?;
                        minted(&server, session, participant)?
                    }
                    minted => minted?,
                }
            }
        };
        let target = Mutex::new(Target { server, bearer, generation: 0, is_doubtful: false });
        Ok(Self { args, who, target, own: Mutex::new(own) })
    }

    /// Returns the server that was asked last.
    pub(super) fn target(&self) -> Target {
        lock(&self.target).clone()
    }

    /// Returns the server to ask. When it did not answer somebody before, it is looked for
    /// first: one that is being killed may still take connections.
    ///
    /// # Errors
    ///
    /// As [`Upstream::replaced`].
    pub(super) fn found(&self, need: Need) -> Result<Target, Problem> {
        let target = self.target();
        if target.is_doubtful { self.replaced(&target, need) } else { Ok(target) }
    }

    /// `target` did not answer.
    pub(super) fn doubt(&self, target: &Target) {
        let mut current = lock(&self.target);
        current.is_doubtful |= current.generation == target.generation;
    }

    /// Returns the server to ask instead of `lost`, which does not answer any more. It may
    /// be the same one.
    ///
    /// # Errors
    ///
    /// No server runs, and none is started.
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

    /// Returns the same server with another credential than that of `refused`, which is not
    /// good any more; `None` when this one has no other.
    ///
    /// # Errors
    ///
    /// No other could be had.
    pub(super) fn renewed(&self, refused: &Target) -> Result<Option<Target>, Problem> {
        let mut target = lock(&self.target);
        if target.bearer == refused.bearer {
            let Who::Participant { session, participant } = &self.who else { return Ok(None) };
            target.bearer = minted(&target.server, session, participant)?;
        }
        Ok(Some(target.clone()))
    }

    /// Returns whether [`Upstream::renewed`] may have another credential.
    pub(super) fn is_renewable(&self) -> bool {
        matches!(self.who, Who::Participant { .. })
    }

    /// Returns whether the server is one of this process.
    pub(super) fn is_own(&self) -> bool {
        lock(&self.own).is_some()
    }

    /// Stops the server that was started here, if one was.
    pub(super) fn stop(&self, time_max: Duration) {
        if let Some(own) = mem::take(&mut *lock(&self.own)) {
            own.stop(time_max);
        }
    }
}

/// Looks for the server, once.
///
/// # Errors
///
/// None answers, or what does is no server of ours.
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
        let message = format!("no server runs on {}", args.folder()?.display());
        return Err(Problem::new(Kind::Unreachable, "SERVER_UNREACHABLE", message)
            .next("start one with `shared-context serve`, or name one with --url"));
    }
    let _: Health = parse(&server.health()?, &server.client)?;
    Ok(server)
}

/// Waits for a server on the data folder; after `patience` starts one, unless
/// another process has taken the folder by then. Whether one has is known from the
/// folder's lock: the file that names an address may be from another day.
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
                Err(NotStarted::FolderInUse(_)) if begin.elapsed() < START_TIME_MAX => {}
                Err(NotStarted::FolderInUse(problem) | NotStarted::Other(problem)) => {
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

/// Returns a fresh credential of `participant`.
fn minted(server: &Server, session: &str, participant: &str) -> Result<Bearer, Problem> {
    let reply = mint(server, session, participant, None)?;
    parse(&reply, &server.client).map(|it: Issued| Bearer(it.credential))
}

/// Creates `session`, unless another process is faster.
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
