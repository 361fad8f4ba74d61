//! One request being performed: its calls of the host, and what happens at them.

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

use super::{World, truth::Committed};
use crate::{
    canary::Canary,
    cast::MARK,
    counts::Counts,
    model::{Asker, Place},
    script::{At, Call, Deed, Event},
};

/// With what an instance unwinds that was killed.
#[derive(Debug)]
pub(super) struct Killed;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Fail,
    LoseAnswer,
    Conflict,
    Move,
    KillAfter,
    Disconnect,
}

/// One request being performed.
#[derive(Debug)]
pub(super) struct Instance<'w> {
    pub(super) world: &'w World,
    pub(super) session: &'w str,
    pub(super) asker: Asker,
    /// What is asked; `None` when it is no request.
    pub(super) command: Option<Command>,
    events: &'w [Event],
    calls: [Cell<u32>; Call::ALL.len()],
    /// The bucket as it was opened last.
    pub(super) opened: RefCell<Option<Rc<Place>>>,
    /// The time that was told last.
    pub(super) clock: Cell<u64>,
    /// How often it was told that another one came first.
    pub(super) overtaken: Cell<u32>,
    /// Whether it was told that storage failed.
    pub(super) has_failed: Cell<bool>,
    pub(super) committed: RefCell<Option<Committed>>,
    pub(super) logged: RefCell<Vec<AuditRecord>>,
}

impl<'w> Instance<'w> {
    pub(super) fn new(
        world: &'w World,
        session: &'w str,
        asker: Asker,
        command: Option<Command>,
        events: &'w [Event],
    ) -> Self {
        Self {
            world,
            session,
            asker,
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

    /// Lets happen what is to happen at the next call of this kind.
    pub(super) fn call(&self, call: Call) -> Option<Fault> {
        let nth = self.calls[call as usize].get() + 1;
        self.calls[call as usize].set(nth);
        let is_storage = matches!(call, Call::Open | Call::Read | Call::Commit);
        let is_open = matches!(call, Call::Read | Call::Commit);
        let mut fault = None;
        for event in self.events.iter().filter(|it| it.at == At(call, nth)) {
            let world = self.world;
            let count = || {
                let name = format!("{}: {}", call.as_str(), event.deed.name());
                Counts::more(&mut world.counts.borrow_mut().faults, &name);
            };
            match &event.deed {
                Deed::Meanwhile(step) => {
                    world.meanwhile(step);
                    continue;
                }
                Deed::SlowMs(ms) => {
                    world.pass(i64::from(*ms));
                }
                Deed::ClockMs(by) => {
                    world.pass(*by);
                }
                Deed::Away(calls) => {
                    world.away.set(*calls);
                }
                Deed::Kill => {
                    count();
                    resume_unwind(Box::new(Killed));
                }
                Deed::Fail if is_storage => fault = Some(Fault::Fail),
                Deed::Disconnect if is_open => fault = Some(Fault::Disconnect),
                Deed::Move if call == Call::Read => fault = Some(Fault::Move),
                Deed::Conflict if call == Call::Commit => fault = Some(Fault::Conflict),
                Deed::LoseAnswer if call == Call::Commit => fault = Some(Fault::LoseAnswer),
                Deed::KillAfter if call == Call::Commit => fault = Some(Fault::KillAfter),
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

    /// Returns a value that the request tells, for who lets it slip.
    fn value(&self) -> Option<Line> {
        let Some(Command::Write(write)) = &self.command else { return None };
        write.value.contains(MARK).then(|| Line::parse("reason", &write.value).ok())?
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
                let place = self.world.place(self.session);
                Timestamp(place.session.as_ref().map_or(now, |it| it.now(now)))
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
