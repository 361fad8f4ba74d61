//! The storage of the project, with the events and faults of a request.

use std::{cell::Cell, panic::resume_unwind};

use serde_json::{Value, json};
use shared_context_core::{
    memory_kv::MemoryBucket,
    port::{Bucket, Change, CommitError, Kv, KvError, ReadError, Revision, Row},
};

use super::{BUCKET, ProjectCall};
use crate::{
    script::{Call, Storage},
    world::{
        World,
        instance::{Fault, KillSignal},
    },
};

/// The bucket, opened by one request.
pub(super) struct ProjectBucket<'i> {
    inner: MemoryBucket,
    call: &'i ProjectCall<'i>,
    is_connected: Cell<bool>,
}

fn failed() -> KvError {
    KvError("as planned".to_owned())
}

impl<'i> Kv for &'i ProjectCall<'i> {
    type Bucket = ProjectBucket<'i>;

    fn open(&self, name: &str) -> Result<ProjectBucket<'i>, KvError> {
        let instance = &self.instance;
        if instance.call(Call::Open).is_some() {
            instance.has_failed.set(true);
            return Err(failed());
        }
        if name != BUCKET {
            instance.world.fail("another bucket", format!("{name} was opened for the project"));
        }
        let inner = instance.world.kv.borrow().open(name)?;
        self.opened.set(inner.revision().0);
        Ok(ProjectBucket { inner, call: self, is_connected: Cell::new(true) })
    }
}

impl ProjectBucket<'_> {
    fn world(&self) -> &World {
        self.call.instance.world
    }

    fn fault(&self, call: Call) -> Option<Fault> {
        let fault = self.call.instance.call(call);
        if fault == Some(Fault::Disconnect) {
            self.is_connected.set(false);
        }
        if self.is_connected.get() { fault } else { Some(Fault::Fail) }
    }

    fn read(&self) -> Result<(), ReadError> {
        let instance = &self.call.instance;
        let fault = self.fault(Call::Read);
        let has_moved = self.world().storage == Storage::Moving
            && self.world().project.borrow().revision != self.inner.revision().0;
        match fault {
            Some(Fault::Fail) => {
                instance.has_failed.set(true);
                Err(ReadError::Failed(failed()))
            }
            _ if has_moved || fault == Some(Fault::Move) => {
                instance.overtaken.set(instance.overtaken.get() + 1);
                self.world().counts.borrow_mut().moved += 1;
                Err(ReadError::Moved)
            }
            _ => Ok(()),
        }
    }

    fn fail(&self) -> Result<Revision, CommitError> {
        self.call.instance.has_failed.set(true);
        Err(CommitError::Failed(failed()))
    }

    fn conflict(&self) -> Result<Revision, CommitError> {
        let instance = &self.call.instance;
        instance.overtaken.set(instance.overtaken.get() + 1);
        self.world().counts.borrow_mut().conflicts += 1;
        Err(CommitError::Conflict)
    }

    /// Notes what a dry run does on the rows that a maintenance is about to change.
    fn rehearse(&self) {
        let call = &self.call.call;
        if call["action"] != "maintain" || call["dry_run"] == true {
            return;
        }
        let rows = self.inner.scan("", None, u32::MAX).unwrap_or_default();
        let dry_run = json!({"action": "maintain", "dry_run": true});
        let reply = World::ask_rows(rows, self.call.instance.clock.get(), &dry_run);
        let body = reply.map(|it| serde_json::from_slice::<Value>(&it.body).unwrap_or_default());
        self.call.dry_run.replace(body.ok().map(|it| it["actions"].clone()));
    }
}

impl Bucket for ProjectBucket<'_> {
    fn revision(&self) -> Revision {
        self.inner.revision()
    }

    fn get(&self, row: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.read()?;
        self.inner.get(row)
    }

    fn scan(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<Row>, ReadError> {
        self.read()?;
        self.inner.scan(prefix, after, limit)
    }

    fn commit(
        &mut self,
        expected: Revision,
        changes: Vec<Change>,
    ) -> Result<Revision, CommitError> {
        let fault = self.fault(Call::Commit);
        match fault {
            Some(Fault::Fail | Fault::Disconnect | Fault::Move) => return self.fail(),
            Some(Fault::Conflict) => return self.conflict(),
            Some(Fault::LoseAnswer | Fault::KillAfter) | None => {}
        }
        self.rehearse();
        for change in &changes {
            self.world().note_change(change);
        }
        let changes = self.call.broken(changes);
        let opened = self.world().kv.borrow().open(BUCKET);
        let mut bucket = opened.map_err(CommitError::Failed)?;
        let revision = match bucket.commit(expected, changes) {
            Ok(revision) => revision,
            Err(CommitError::Conflict) => {
                // The next attempt decides anew.
                self.call.dry_run.take();
                return self.conflict();
            }
            Err(other) => return Err(other),
        };
        self.call.committed.set(Some(fault != Some(Fault::LoseAnswer)));
        self.world().check_project_commit(self.call, revision);
        match fault {
            Some(Fault::KillAfter) => resume_unwind(Box::new(KillSignal)),
            Some(Fault::LoseAnswer) => {
                self.world().counts.borrow_mut().unknown += 1;
                self.fail()
            }
            _ => Ok(revision),
        }
    }
}
