//! A request in progress: its calls to the host, and the events at them.

use std::{
    cell::{Cell, RefCell},
    panic::resume_unwind,
    rc::Rc,
};

use shared_context_core::{
    Command, Line,
    audit::AuditRecord,
    port::{Clock, Log},
    time::Timestamp,
};

use super::{World, history::Commit};
use crate::{
    canary::Canary,
    counts::Counts,
    fixtures::VALUE_MARKER,
    model::{BucketModel, Requester},
    script::{Call, Event, EventKind, NthCall},
};

/// Panic payload that unwinds a killed instance.
#[derive(Debug)]
pub(super) struct KillSignal;

/// A fault at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Fail,
    LoseAnswer,
    Conflict,
    Move,
    KillAfter,
    Disconnect,
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct Instance<'w> {
    pub(super) world: &'w World,
    pub(super) session: &'w str,
    pub(super) requester: Requester,
    /// The command, or `None` for an invalid request.
    pub(super) command: Option<Command>,
    events: &'w [Event],
    calls: [Cell<u32>; Call::ALL.len()],
    /// The expected state of the bucket when it was last opened.
    pub(super) opened: RefCell<Option<Rc<BucketModel>>>,
    /// The last clock reading.
    pub(super) clock: Cell<u64>,
    /// Number of conflicts and moves reported to it.
    pub(super) overtaken: Cell<u32>,
    /// True if a storage failure was reported to it.
    pub(super) has_failed: Cell<bool>,
    pub(super) committed: RefCell<Option<Commit>>,
    pub(super) logged: RefCell<Vec<AuditRecord>>,
}

impl<'w> Instance<'w> {
    pub(super) fn new(
        world: &'w World,
        session: &'w str,
        requester: Requester,
        command: Option<Command>,
        events: &'w [Event],
    ) -> Self {
        Self {
            world,
            session,
            requester,
            command,
            events,
            calls: Default::default(),
            opened: RefCell::default(),
            clock: Cell::new(0),
            overtaken: Cell::new(0),
            has_failed: Cell::new(false),
            committed: RefCell::default(),
            logged: RefCell::default(),
        }
    }

    /// Triggers the events at the next call of this kind. Returns the fault, if any.
    pub(super) fn call(&self, call: Call) -> Option<Fault> {
        let nth = self.calls[call as usize].get() + 1;
        self.calls[call as usize].set(nth);
        let is_storage = matches!(call, Call::Open | Call::Read | Call::Commit);
        let is_open = matches!(call, Call::Read | Call::Commit);
        let mut fault = None;
        for event in self.events.iter().filter(|it| it.at == NthCall(call, nth)) {
            let world = self.world;
            let count = || {
                let name = format!("{}: {}", call.as_str(), event.kind.name());
                Counts::increment(&mut world.counts.borrow_mut().faults, &name);
            };
            match &event.kind {
                EventKind::Meanwhile(step) => {
                    world.meanwhile(step);
                    continue;
                }
                EventKind::SlowMs(ms) => {
                    world.advance_clock(i64::from(*ms));
                }
                EventKind::ClockMs(by) => {
                    world.advance_clock(*by);
                }
                EventKind::Away(calls) => {
                    world.away.set(*calls);
                }
                EventKind::Kill => {
                    count();
                    resume_unwind(Box::new(KillSignal));
                }
                EventKind::Fail if is_storage => fault = Some(Fault::Fail),
                EventKind::Disconnect if is_open => fault = Some(Fault::Disconnect),
                EventKind::Move if call == Call::Read => fault = Some(Fault::Move),
                EventKind::Conflict if call == Call::Commit => fault = Some(Fault::Conflict),
                EventKind::LoseAnswer if call == Call::Commit => fault = Some(Fault::LoseAnswer),
                EventKind::KillAfter if call == Call::Commit => fault = Some(Fault::KillAfter),
                _ => continue,
            }
            count();
        }
        if is_storage && self.world.away.get() > 0 {
            self.world.away.set(self.world.away.get() - 1);
            fault = Some(Fault::Fail);
        }
        fault
    }

    /// Returns the value in the request, for the canary that logs it.
    fn value(&self) -> Option<Line> {
        let Some(Command::Write(write)) = &self.command else { return None };
        write.value.contains(VALUE_MARKER).then(|| Line::parse("reason", &write.value).ok())?
    }
}

impl Clock for Instance<'_> {
    fn now(&self) -> Timestamp {
        self.call(Call::Clock);
        let now = self.world.now.get();
        self.clock.set(now);
        match self.world.canary {
            Some(Canary::ClockBehind) => Timestamp(now - 3_000),
            Some(Canary::ClockNeverBack) => {
                let bucket = self.world.bucket(self.session);
                Timestamp(bucket.session.as_ref().map_or(now, |it| it.now(now)))
            }
            _ => Timestamp(now),
        }
    }
}

impl Log for Instance<'_> {
    fn record(&self, record: &AuditRecord) {
        self.call(Call::Log);
        let mut record = record.clone();
        match self.world.canary {
            Some(Canary::LogsValues) => record.reason = self.value().or(record.reason),
            Some(Canary::LogsTwice) => self.logged.borrow_mut().push(record.clone()),
            _ => {}
        }
        self.world.note("log", format!("{record:?}").as_bytes());
        self.logged.borrow_mut().push(record);
    }
}
