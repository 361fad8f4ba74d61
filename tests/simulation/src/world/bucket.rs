//! Simulated storage: rows in memory, with events at each call.

use std::{cell::Cell, panic::resume_unwind, rc::Rc};

use shared_context_core::{
    Command, RoundsCommand,
    memory_kv::MemoryBucket,
    port::{Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row},
};

use super::{
    World,
    history::Commit,
    instance::{Fault, Instance, KillSignal},
};
use crate::{
    canary::Canary,
    model::{BucketModel, ExpectedAnswer},
    request,
    script::{Call, Storage},
};

/// A bucket opened by one instance.
#[derive(Debug)]
pub(super) struct SimBucket<'i> {
    inner: MemoryBucket,
    instance: &'i Instance<'i>,
    opened: Rc<BucketModel>,
    is_connected: Cell<bool>,
}

fn failed() -> KvError {
    KvError("as planned".to_owned())
}

impl<'i> Kv for &'i Instance<'i> {
    type Bucket = SimBucket<'i>;

    fn open(&self, name: &str) -> Result<SimBucket<'i>, KvError> {
        let fault = self.call(Call::Open);
        if fault.is_some() {
            self.has_failed.set(true);
            return Err(failed());
        }
        let world = self.world;
        if name != format!("session/{}", self.session) {
            world.fail("another bucket", format!("{name} was opened for {}", self.session));
        }
        let opened = world.bucket(self.session);
        self.opened.replace(Some(opened.clone()));
        let mut inner = world.kv.borrow().open(name)?;
        if world.canary == Some(Canary::ReadsStale)
            && let Some(before) = world.stale.borrow_mut().get_mut(name)
        {
            inner = std::mem::replace(before, inner);
        } else if world.canary == Some(Canary::ReadsStale) {
            let now = world.kv.borrow().open(name)?;
            world.stale.borrow_mut().insert(name.to_owned(), now);
        } else if inner.revision().0 != opened.revision {
            let what = format!("{}, the model at {}", inner.revision(), opened.revision);
            world.fail("revision of storage", format!("storage is at revision {what}"));
        }
        Ok(SimBucket { inner, instance: self, opened, is_connected: Cell::new(true) })
    }
}

impl SimBucket<'_> {
    fn world(&self) -> &World {
        self.instance.world
    }

    /// Returns the fault of a call, if any.
    fn fault(&self, call: Call) -> Option<Fault> {
        let fault = self.instance.call(call);
        if fault == Some(Fault::Disconnect) {
            self.is_connected.set(false);
        }
        if self.is_connected.get() { fault } else { Some(Fault::Fail) }
    }

    fn read(&self) -> Result<(), ReadError> {
        let fault = self.fault(Call::Read);
        let is_now = self.world().bucket(self.instance.session).revision;
        let has_moved = self.world().storage == Storage::Moving
            && is_now != self.opened.revision
            && self.world().canary != Some(Canary::TearsReads);
        match fault {
            Some(Fault::Fail) => {
                self.instance.has_failed.set(true);
                Err(ReadError::Failed(failed()))
            }
            Some(Fault::Move) => Err(self.moved()),
            _ if has_moved => Err(self.moved()),
            _ => Ok(()),
        }
    }

    fn moved(&self) -> ReadError {
        self.instance.overtaken.set(self.instance.overtaken.get() + 1);
        self.world().counts.borrow_mut().moved += 1;
        ReadError::Moved
    }

    /// Returns the current rows if the canary mixes revisions.
    fn rows(&self) -> Option<MemoryBucket> {
        let is_torn = self.world().canary == Some(Canary::TearsReads);
        let name = format!("session/{}", self.instance.session);
        is_torn.then(|| self.world().kv.borrow().open(&name).ok())?
    }

    /// Commits, with the defects of the canary.
    fn change(
        &mut self,
        expected: Revision,
        mut changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        let world = self.instance.world;
        let now = Revision(world.bucket(self.instance.session).revision);
        let name = format!("session/{}", self.instance.session);
        let mut expected = expected;
        match world.canary {
            Some(Canary::IgnoresExpected) => expected = now,
            Some(Canary::DropsAChange) => drop(changes.remove(0)),
            Some(Canary::LosesDeletes) => changes.retain(|it| !matches!(it, Change::Delete(_))),
            Some(Canary::ForgetsRequests) => {
                changes.retain(|it| !matches!(it, Change::Put(row, _) if row.starts_with("q/")));
            }
            Some(Canary::LeavesARow) if changes.iter().any(is_all) => {
                let bucket = world.kv.borrow().open(&name);
                let rows = bucket.map(|it| it.scan("", None, u32::MAX).unwrap_or_default());
                let last = rows.ok().and_then(|it| it.into_iter().last());
                changes.extend(last.map(|(row, bytes)| Change::Put(row, bytes)));
            }
            Some(Canary::TiresOfDepth) if self.closes_deep_value() => {
                return Err(CommitError::Failed(failed()));
            }
            Some(Canary::LeavesEnvelopes) if self.redacts() => {
                changes.retain(|it| !matches!(it, Change::Put(row, _) if row.starts_with("a/e/")));
            }
            Some(Canary::BindsLists) => changes.iter_mut().for_each(bind_lists),
            Some(Canary::AcknowledgesEarly) if now.0 % 8 == 7 && now == expected => {
                return Ok(now.next());
            }
            _ => {}
        }
        let mut bucket = world.kv.borrow().open(&name).map_err(CommitError::Failed)?;
        std::mem::swap(&mut self.inner, &mut bucket);
        drop(bucket);
        self.inner.commit(expected, changes)
    }

    /// Returns true if the command redacts something.
    fn redacts(&self) -> bool {
        let command = match &self.instance.command {
            Some(Command::Named { command, .. }) => Some(&**command),
            command => command.as_ref(),
        };
        let is_redaction = |it: &Command| {
            matches!(it, Command::Redact { .. } | Command::Rounds(RoundsCommand::Redact(_)))
        };
        command.is_some_and(is_redaction)
    }

    /// Returns true if the command closes a round with a deeply nested value.
    fn closes_deep_value(&self) -> bool {
        let closes = matches!(&self.instance.command, Some(Command::Rounds(RoundsCommand::Close(it))) if !it.discards);
        let deltas = self.opened.session.iter().filter_map(|it| it.rounds.open());
        let mut values = deltas.flat_map(|it| &it.deltas).filter_map(|it| it.value.as_ref());
        closes && values.any(|it| it.as_str().contains(&"[".repeat(20)))
    }

    /// Checks a commit against the model, and records the new expected state.
    fn record_commit(&self, revision: Revision, is_acknowledged: bool) {
        let (world, instance) = (self.world(), self.instance);
        let is_now = world.bucket(instance.session).revision;
        if is_now != self.opened.revision {
            let what =
                format!("decided upon revision {}, committed upon {is_now}", self.opened.revision);
            return world.fail("lost update", what);
        }
        let Some(command) = &instance.command else {
            return world.fail("commit", "what was no request was committed".to_owned());
        };
        let clock = instance.clock.get();
        let decided = self.opened.decide(clock, instance.session, &instance.requester, command);
        let (mut expected, Some(mut next)) = decided else {
            let what = format!("{command:?} was committed, the model answers {:?}", decided.0);
            return world.fail("commit", what);
        };
        if let (ExpectedAnswer::Rejected(_), Some(model)) = (&expected, &mut next.session) {
            let stored = world.exported(instance.session).map(|it| it.rounds);
            let take = |it| Rc::make_mut(model).take_rounds(&instance.requester.who, command, it);
            match stored.and_then(take) {
                Ok(answer) => expected = ExpectedAnswer::Exactly(answer),
                Err(what) => return world.fail("rounds", format!("{command:?}: {what}")),
            }
        }
        if next.revision != revision.0 {
            let what = format!("{revision} after {}", self.opened.revision);
            return world
                .fail("revision of storage", format!("a commit was told to be revision {what}"));
        }
        let records = next.commit_records(&self.opened, clock);
        let next = Rc::new(next);
        let recorded = world.history_mut(instance.session, |history| {
            history.commit(&next)?;
            match request::request_id(command) {
                Some(id) => history.once(instance.requester.name(), id.as_str(), command),
                None => Ok(()),
            }
        });
        if let Err(what) = recorded {
            world.fail("at most once", what);
        }
        world.counts.borrow_mut().commits += 1;
        world.touched.borrow_mut().insert(instance.session.to_owned());
        instance.committed.replace(Some(Commit { expected, next, records, is_acknowledged }));
    }
}

/// Replaces each term's concept by a list of the same length: `"c:0"` becomes `["0"]`.
fn bind_lists(change: &mut Change) {
    let Change::Put(row, bytes) = change else { return };
    if !row.starts_with("r/s/") {
        return;
    }
    for at in 0..bytes.len() {
        if let Some([b':', concept @ ..]) = bytes.get_mut(at..at + 6)
            && let [b'"', b'c', b':', nth, b'"'] = *concept
        {
            concept.copy_from_slice(&[b'[', b'"', nth, b'"', b']']);
        }
    }
}

fn is_all(change: &Change) -> bool {
    matches!(change, Change::DeletePrefix(_))
}

impl Bucket for SimBucket<'_> {
    fn revision(&self) -> Revision {
        Revision(self.opened.revision)
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.read()?;
        self.rows().as_ref().unwrap_or(&self.inner).get(row)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.read()?;
        let rows = self.rows();
        let mut rows = rows.as_ref().unwrap_or(&self.inner).scan(prefix, after, limit)?;
        if self.world().canary == Some(Canary::ShortScan) && rows.len() > 4 {
            rows.pop();
        }
        Ok(rows)
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        let fault = self.fault(Call::Commit);
        let fail = || {
            self.instance.has_failed.set(true);
            Err(CommitError::Failed(failed()))
        };
        let conflict = || {
            self.instance.overtaken.set(self.instance.overtaken.get() + 1);
            self.instance.world.counts.borrow_mut().conflicts += 1;
            Err(CommitError::Conflict)
        };
        match fault {
            Some(Fault::Fail) if self.world().canary == Some(Canary::HidesAFailure) => {
                return Ok(expected.next());
            }
            Some(Fault::Fail | Fault::Disconnect | Fault::Move) => return fail(),
            Some(Fault::Conflict) => return conflict(),
            Some(Fault::LoseAnswer | Fault::KillAfter) | None => {}
        }
        for change in &changes {
            self.world().note_change(change);
        }
        let revision = match self.change(expected, changes) {
            Ok(revision) => revision,
            Err(CommitError::Conflict) => return conflict(),
            Err(other) => return Err(other),
        };
        self.record_commit(revision, fault != Some(Fault::LoseAnswer));
        match fault {
            Some(Fault::KillAfter) => resume_unwind(Box::new(KillSignal)),
            Some(Fault::LoseAnswer) => {
                self.world().counts.borrow_mut().unknown += 1;
                fail()
            }
            _ => Ok(revision),
        }
    }
}
