//! Follows the changes of a session over connections that break.
//!
//! Invariant: it reports each commit it is given once and in order.

use std::{
    io,
    ops::ControlFlow::{self, Break, Continue},
    thread,
    time::Duration,
};

use crate::cli::{
    caller::AnyoneArgs,
    client::{Stream, parse, refusal},
    event::{Event, Events},
    problem::{Kind, Problem},
    reply::Commit,
    server::{Server, ServerArgs},
};

/// How long to wait before a second attempt to connect, and at most between two.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// Whom to follow, and how far it got.
#[derive(Debug)]
pub(super) struct Follow {
    pub(super) session: String,
    pub(super) keys: Option<String>,
    pub(super) anyone: AnyoneArgs,
    pub(super) server_args: ServerArgs,
    pub(super) server: Server,
    /// The revision of the last commit that was reported, or need not be.
    pub(super) after: u64,
}

/// One report.
#[derive(Debug)]
pub(super) enum Told {
    /// There is a connection, the first or another; it begins after this revision.
    Connected(u64),
    /// A commit: as it came, and as it was read.
    Commit(String, Commit),
    /// The connection broke, for this reason.
    Lost(String),
}

impl Follow {
    /// Reports changes until `tell` breaks.
    ///
    /// # Errors
    ///
    /// There is no connection to begin with, or no going on.
    pub(super) fn run(
        mut self,
        mut tell: impl FnMut(Told) -> ControlFlow<()>,
    ) -> Result<(), Problem> {
        let mut events = self.connect()?;
        loop {
            if tell(Told::Connected(self.after)).is_break() {
                return Ok(());
            }
            let Continue(reason) = self.read(&mut events, &mut tell)? else { return Ok(()) };
            // What was left out of the stream need not be asked for again.
            self.after = events.last_id().parse().map_or(self.after, |id| self.after.max(id));
            if tell(Told::Lost(reason)).is_break() {
                return Ok(());
            }
            events = self.reconnect()?;
        }
    }

    /// Tells the commits of one connection; returns why it broke.
    fn read(
        &mut self,
        events: &mut Events<Stream>,
        tell: &mut impl FnMut(Told) -> ControlFlow<()>,
    ) -> Result<ControlFlow<(), String>, Problem> {
        loop {
            let Event { name, data } = match events.next() {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(Continue("the server ended it".to_owned())),
                Err(error) => return Ok(Continue(broken(&error))),
            };
            match name.as_str() {
                "change" => {
                    let commit: Commit = parse(data.as_bytes(), &self.server.client)?;
                    if commit.revision > self.after {
                        self.after = commit.revision;
                        if tell(Told::Commit(data, commit)).is_break() {
                            return Ok(Break(()));
                        }
                    }
                }
                "end" => {
                    let Some(failure) = refusal(data.as_bytes()) else {
                        return Ok(Continue("the server ended it".to_owned()));
                    };
                    let problem = Problem::refused(failure);
                    // A credential that expired is replaced where that can be done.
                    let is_renewed = problem.code() == "UNAUTHENTICATED" && self.anyone.is_minted();
                    return if is_renewed || is_passing(&problem) {
                        Ok(Continue(problem.message().to_owned()))
                    } else {
                        Err(problem)
                    };
                }
                _ => {}
            }
        }
    }

    /// Connects as soon as it can be done.
    ///
    /// # Errors
    ///
    /// It will not be possible.
    fn reconnect(&mut self) -> Result<Events<Stream>, Problem> {
        let mut pause = PAUSE_MIN;
        loop {
            thread::sleep(pause);
            match self.connect() {
                Err(problem) if is_passing(&problem) => {}
                connected => return connected,
            }
            pause = pause.saturating_mul(2).min(PAUSE_MAX);
        }
    }

    fn connect(&mut self) -> Result<Events<Stream>, Problem> {
        let found = self.server_args.server()?;
        // A server that is restarted may be elsewhere; while it is away, what
        // listens at the default address is another.
        if found.is_expected() {
            self.server = found;
        }
        let bearer = self.anyone.lasting_bearer(&self.server, &self.session)?;
        let query: Vec<_> = self.keys.iter().map(|it| ("keys", it.clone())).collect();
        let client = &self.server.client;
        let call = client.get(&["v1", "sessions", &self.session, "changes"], &query);
        client.stream(&call, &bearer, self.after).map(Events::new)
    }
}

/// Returns why a stream cannot be read on, in the words of people.
fn broken(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => error.to_string(),
        io::ErrorKind::TimedOut => "no sign of life came".to_owned(),
        _ => "it was cut off".to_owned(),
    }
}

/// Returns whether it may be otherwise in a moment.
fn is_passing(problem: &Problem) -> bool {
    problem.kind() == Kind::Unreachable
        || matches!(problem.code(), "STORAGE_UNAVAILABLE" | "RATE_LIMITED")
}
