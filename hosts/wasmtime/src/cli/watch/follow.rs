//! Follows the changes of a session or project across broken connections.
//!
//! Invariant: each commit is reported once and in order.

use std::{
    io,
    ops::ControlFlow::{self, Break, Continue},
    thread,
    time::Duration,
};

use super::feed::Feed;
use crate::cli::{
    client::{Stream, parse, rejection},
    event::{Event, Events},
    problem::{Kind, Problem},
    reply::Commit,
    server::{Server, ServerArgs},
};

/// The pause before the second attempt to connect, and the longest pause.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// The feed to follow, and the position in it.
#[derive(Debug)]
pub(super) struct Follow {
    pub(super) feed: Feed,
    pub(super) server_args: ServerArgs,
    pub(super) server: Server,
    /// The revision of the last commit that was reported or can be skipped.
    pub(super) after: u64,
}

/// An update for the watching user.
#[derive(Debug)]
pub(super) enum Update {
    /// A connection was opened; it starts after this revision.
    Connected(u64),
    /// A commit: its JSON and the parsed value.
    Commit(String, Commit),
    /// The connection broke, with the reason.
    Lost(String),
}

impl Follow {
    /// Reports updates through `report` until it breaks.
    ///
    /// # Errors
    ///
    /// The first connection fails, or the stream ends for good.
    pub(super) fn run(
        mut self,
        mut report: impl FnMut(Update) -> ControlFlow<()>,
    ) -> Result<(), Problem> {
        let mut events = self.first_connection()?;
        loop {
            if report(Update::Connected(self.after)).is_break() {
                return Ok(());
            }
            let Continue(reason) = self.read(&mut events, &mut report)? else { return Ok(()) };
            // Changes that were left out of the stream need not be requested again.
            self.after = events.last_id().parse().map_or(self.after, |id| self.after.max(id));
            if report(Update::Lost(reason)).is_break() {
                return Ok(());
            }
            events = self.reconnect()?;
        }
    }

    /// Connects for the first time. After the revision 0 it begins with the oldest change that is
    /// kept: the server rejects 0 once the feed was cut or what is followed was created anew.
    ///
    /// # Errors
    ///
    /// No server answers, or it rejects the request.
    fn first_connection(&mut self) -> Result<Events<Stream>, Problem> {
        let wants_all = self.after == 0;
        loop {
            match self.connect() {
                Err(problem) if wants_all => match oldest(&problem) {
                    // The feed may be cut again before the next attempt.
                    Some(oldest) if oldest > self.after => self.after = oldest,
                    _ => return Err(problem),
                },
                connected => return connected,
            }
        }
    }

    /// Reports the commits of one connection; returns the reason why it broke.
    fn read(
        &mut self,
        events: &mut Events<Stream>,
        report: &mut impl FnMut(Update) -> ControlFlow<()>,
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
                        if report(Update::Commit(data, commit)).is_break() {
                            return Ok(Break(()));
                        }
                    }
                }
                "end" => {
                    let Some(failure) = rejection(data.as_bytes()) else {
                        return Ok(Continue("the server ended it".to_owned()));
                    };
                    let problem = Problem::rejected(failure);
                    // An expired credential is replaced if another can be minted.
                    let is_renewed =
                        problem.code() == "UNAUTHENTICATED" && self.feed.is_renewable();
                    return if is_renewed || is_temporary(&problem) {
                        Ok(Continue(problem.message().to_owned()))
                    } else {
                        Err(problem)
                    };
                }
                _ => {}
            }
        }
    }

    /// Reconnects, with growing pauses between attempts.
    ///
    /// # Errors
    ///
    /// The error is permanent.
    fn reconnect(&mut self) -> Result<Events<Stream>, Problem> {
        let mut pause = PAUSE_MIN;
        loop {
            thread::sleep(pause);
            match self.connect() {
                Err(problem) if is_temporary(&problem) => {}
                connected => return connected,
            }
            pause = pause.saturating_mul(2).min(PAUSE_MAX);
        }
    }

    fn connect(&mut self) -> Result<Events<Stream>, Problem> {
        let found = self.server_args.server()?;
        // A restarted server may have another address. While it is down, the program at the
        // default address is a different one.
        if found.is_expected() {
            self.server = found;
        }
        let bearer = self.feed.bearer(&self.server)?;
        let client = &self.server.client;
        let stream = client.stream(&self.feed.call(&self.server), &bearer, self.after);
        stream.map(Events::new).map_err(|problem| bearer.explain(problem, client.url()))
    }
}

/// Returns the oldest revision to begin after, if changes before it are no longer kept.
pub(super) fn oldest(problem: &Problem) -> Option<u64> {
    let oldest = || problem.detail("oldest")?.as_u64();
    if problem.code() == "CHANGES_TRUNCATED" { oldest() } else { None }
}

/// Returns the reason why a stream cannot be read, as text.
fn broken(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => error.to_string(),
        io::ErrorKind::TimedOut => "no sign of life came".to_owned(),
        _ => "it was cut off".to_owned(),
    }
}

/// Returns true if the problem is temporary.
fn is_temporary(problem: &Problem) -> bool {
    problem.kind() == Kind::Unreachable
        || matches!(problem.code(), "STORAGE_UNAVAILABLE" | "RATE_LIMITED")
}
