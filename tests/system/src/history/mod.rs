//! Histories of one session under many clients, and whether they are linearizable
//! (Herlihy and Wing, 1990): whether all answers are those of one client after the
//! other, in an order in which whatever was answered before something else was asked
//! comes before it.
//!
//! [`play`] lets clients read and change the keys of a session over HTTP and writes
//! down each request and answer, and when; somebody may kill the server
//! meanwhile. [`History::check`] looks for the order, [`model`] says what answers fit
//! one, and [`Offence`] shows a person where no order exists. [`forge`] stands between
//! clients and a server and lies, so that it can be seen that lies are found.
//!
//! # Invariants
//!
//! - An operation that was not answered, or only that nothing is known, may have
//!   happened at any later time, or never. Nothing else is presumed of it.
//! - Clients of one participant may write equal values ([`Workload`]): a change
//!   is known by its number, and never by what it writes.

mod check;
pub mod forge;
pub mod model;
mod play;
mod player;
mod timeline;
mod workload;

use std::{fmt, ops::AddAssign, time::Duration};

pub use check::Offence;
pub(crate) use check::has_order;
pub use play::{Plan, play, seeds};
pub use workload::Workload;

use model::{Answer, Request};

/// The requests and answers of one client.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Which client.
    pub client: usize,
    /// What it asked.
    pub request: Request,
    /// When it asked.
    pub asked: Instant,
    /// The answer and its time; `None` without one.
    pub told: Option<(Instant, Answer)>,
}

/// A moment: its place among all moments of a history, and the time since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    /// Its place: no two are the same.
    pub place: u64,
    /// Only for people.
    pub time: Duration,
}

/// What all clients of one session did, from its creation on.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// What it is called when something is wrong with it.
    pub name: String,
    /// In any order.
    pub operations: Vec<Operation>,
}

/// What was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Histories.
    pub histories: usize,
    /// Operations in them.
    pub operations: usize,
    /// Operations whose outcome was unknown.
    pub unknown: usize,
    /// Requests that were sent again.
    pub repeated: usize,
    /// How often the server was killed.
    pub kills: usize,
    /// The longest that a check took.
    pub longest_check: Duration,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.histories += other.histories;
        self.operations += other.operations;
        self.unknown += other.unknown;
        self.repeated += other.repeated;
        self.kills += other.kills;
        self.longest_check = self.longest_check.max(other.longest_check);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { histories, operations, unknown, repeated, kills, longest_check } = self;
        write!(
            f,
            "{histories} histories are linearizable: {operations} operations, {unknown} of \
             unknown outcome, {repeated} sent again, {kills} kills; the longest check took \
             {longest_check:.1?}"
        )
    }
}
