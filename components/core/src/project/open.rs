//! An open project: its metadata, and the reads of its memories.

use super::{Request, outcome, record::Meta, retries::Retry};
use crate::{
    Error,
    decision::Decision,
    estimate,
    kv::{Bucket, Row},
    memories::{
        DecisionId, Kind, Memory, MemoryId, MemoryRef, Origins, Use,
        rows::{self, SessionUse},
        signature::{self, Signature},
    },
    participant::Caller,
    port::Tokenizer,
    reply::Reply,
    row::damaged,
    scope::ProjectId,
    time::Timestamp,
    tokens::Tokens,
};

/// The number of rows of signatures that are read at once.
const ROWS_READ: u32 = 16;

/// A project, on the rows of one revision.
pub(crate) struct OpenProject<'a, B> {
    pub(super) bucket: &'a B,
    pub(super) tokenizer: &'a dyn Tokenizer,
    pub(super) project: &'a ProjectId,
    pub(super) caller: &'a Caller,
    pub(super) now: Timestamp,
    /// The recorded time of a change: it never goes back.
    pub(super) at: Timestamp,
    pub(super) meta: Meta,
    /// The origins of the memories' ids.
    pub(super) origins: Origins,
    /// The idempotency record of a request with a request id.
    pub(super) retry: Option<Retry>,
}

impl<'a, B: Bucket> OpenProject<'a, B> {
    pub(super) fn new(request: &Request<'a, B>, meta: Meta) -> Self {
        Self {
            bucket: request.bucket,
            project: request.project,
            caller: request.caller,
            now: request.now,
            at: request.now.max(meta.changed_at),
            origins: meta.origins(request.project),
            tokenizer: request.tokenizer,
            meta,
            retry: None,
        }
    }

    /// Returns the decision of a read.
    pub(super) fn answer(&self, reply: Reply) -> Decision {
        Decision::Answer(outcome(self.bucket.revision(), reply))
    }

    /// Counts the tokens of a text with the estimator of the project.
    pub(super) fn count(&self, text: &str) -> Result<Tokens, Error> {
        estimate::count(self.tokenizer, &self.meta.config.estimator, text)
    }

    /// Rejects a change of an archived project, and of one whose import is not finished.
    pub(super) fn check_active(&self) -> Result<(), Error> {
        self.check_imported()?;
        if self.meta.is_archived {
            return Err(Error::ProjectArchived { project: self.project.to_string() });
        }
        Ok(())
    }

    /// Rejects a change of a project whose import is not finished.
    pub(super) fn check_imported(&self) -> Result<(), Error> {
        match self.meta.import {
            Some(_) => Err(Error::ImportUnfinished { project: self.project.to_string() }),
            None => Ok(()),
        }
    }

    /// Returns the id of a memory.
    pub(super) fn id(&self, number: u64) -> MemoryId {
        self.origins.id(number)
    }

    /// Returns a stored memory, expired or not.
    pub(super) fn stored(&self, number: u64) -> Result<Option<Memory>, Error> {
        let Some(bytes) = self.bucket.get(&rows::memory_row(number))? else { return Ok(None) };
        let memory = rows::decode_memory(&bytes)?;
        if memory.number() != number {
            return Err(damaged("a memory is in the row of another"));
        }
        Ok(Some(memory))
    }

    /// Returns the earlier versions of a memory, the oldest first.
    pub(super) fn versions(&self, number: u64) -> Result<Vec<Memory>, Error> {
        let bytes = self.bucket.get(&rows::versions_row(number))?;
        bytes.map_or_else(|| Ok(Vec::new()), |it| rows::decode_versions(&it))
    }

    /// Returns what a session did; `None` if it did nothing yet.
    pub(super) fn session(&self) -> Result<Option<SessionUse>, Error> {
        let Some(session) = &self.caller.session else { return Ok(None) };
        let bytes = self.bucket.get(&rows::session_row(session))?;
        bytes.map(|it| rows::decode_session(&it)).transpose()
    }

    /// Calls `visit` for each signature.
    pub(super) fn each_signature(
        &self,
        mut visit: impl FnMut(&Signature<'_>),
    ) -> Result<(), Error> {
        self.each_row(signature::SEGMENTS, |row, bytes| {
            signature::each_signature(row, bytes, |it| visit(&it))
        })
    }

    /// Returns the uses of all memories, by their numbers from 1.
    pub(super) fn uses(&self) -> Result<Uses, Error> {
        let mut uses = Uses(Vec::new());
        self.each_row(rows::USES, |row, bytes| {
            let digits = row.strip_prefix(rows::USES).unwrap_or(row);
            let segment = u64::from_str_radix(digits, 16).map_err(damaged)?;
            let start = segment.saturating_mul(signature::SEGMENT);
            if start >= self.meta.totals.last_memory {
                return Err(damaged("uses of memories that were never there"));
            }
            uses.0.resize(usize::try_from(start).unwrap_or_default(), Use::default());
            uses.0.extend(rows::decode_uses(bytes)?);
            Ok(())
        })?;
        Ok(uses)
    }

    /// Calls `visit` for each row of a prefix.
    fn each_row(
        &self,
        prefix: &str,
        mut visit: impl FnMut(&str, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut last: Option<String> = None;
        loop {
            let rows: Vec<Row> = self.bucket.scan(prefix, last.as_deref(), ROWS_READ)?;
            let count = rows.len();
            for (row, bytes) in rows {
                visit(&row, &bytes)?;
                last = Some(row);
            }
            if u32::try_from(count).is_ok_and(|it| it < ROWS_READ) {
                return Ok(());
            }
        }
    }

    /// Returns the numbers of memories by their references.
    ///
    /// # Errors
    ///
    /// [`Error::MemoryNotFound`] for the first that does not exist.
    pub(super) fn numbers(&self, refs: &[MemoryRef]) -> Result<Vec<u64>, Error> {
        let mut days: Vec<(DecisionId, u64)> = Vec::new();
        if refs.iter().any(|it| matches!(it, MemoryRef::Decision(_))) {
            self.each_signature(|it| {
                let head = &it.head;
                let day = DecisionId::day_of(head.created_at);
                if head.kind == Kind::Decision {
                    days.push((DecisionId { day, ordinal: head.ordinal }, head.number));
                }
            })?;
        }
        let number = |it: &MemoryRef| {
            let found = match it {
                MemoryRef::Id(id) => self.origins.number(*id),
                MemoryRef::Decision(id) => days.iter().find(|it| it.0 == *id).map(|it| it.1),
            };
            found.ok_or_else(|| Error::MemoryNotFound { id: it.to_string() })
        };
        refs.iter().map(number).collect()
    }

    /// Returns the memories of numbers.
    ///
    /// # Errors
    ///
    /// [`Error::MemoryNotFound`] for the first that does not exist, or no longer.
    pub(super) fn existing(&self, refs: &[MemoryRef]) -> Result<Vec<Memory>, Error> {
        let mut memories = Vec::new();
        for (number, id) in self.numbers(refs)?.into_iter().zip(refs) {
            let memory = self.stored(number)?.filter(|it| !it.is_expired(self.now));
            memories.push(memory.ok_or_else(|| Error::MemoryNotFound { id: id.to_string() })?);
        }
        Ok(memories)
    }
}

/// The counts of reads of memories.
pub(super) struct Uses(Vec<Use>);

impl Uses {
    pub(super) fn of(&self, number: u64) -> Use {
        let place = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        self.0.get(place).copied().unwrap_or_default()
    }
}
