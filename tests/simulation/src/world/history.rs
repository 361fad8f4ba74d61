//! Committed states according to the model, and acknowledged changes.

use std::{collections::BTreeMap, rc::Rc};

use shared_context_core::{Command, audit::AuditRecord};

use crate::model::BucketModel;

/// Number of earlier states stored per bucket.
const PAST_MAX: usize = 48;

/// Expected current and earlier states of a bucket.
#[derive(Debug, Default)]
pub(super) struct BucketHistory {
    pub(super) now: Rc<BucketModel>,
    /// The latest states, by session revision.
    pub(super) past: BTreeMap<u64, Rc<BucketModel>>,
    /// Commits with a request id: the command and revision by incarnation, participant and id.
    requests: BTreeMap<(u64, String, String), (Command, u64)>,
    /// Acknowledged changes: incarnation and revision.
    pub(super) acknowledged: Vec<(u64, u64)>,
}

/// A commit.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) expected: crate::model::ExpectedAnswer,
    pub(super) next: Rc<BucketModel>,
    /// The audit records to be logged.
    pub(super) records: Vec<AuditRecord>,
    /// True if the instance received the answer.
    pub(super) is_acknowledged: bool,
}

impl BucketHistory {
    /// Records a commit.
    ///
    /// # Errors
    ///
    /// The revision did not increase.
    pub(super) fn commit(&mut self, next: &Rc<BucketModel>) -> Result<(), String> {
        if next.latest() <= self.now.latest() && self.now.revision > 0 {
            return Err(format!("revision {} after {}", next.latest(), self.now.latest()));
        }
        self.now = next.clone();
        self.past.insert(next.latest(), next.clone());
        while self.past.len() > PAST_MAX {
            self.past.pop_first();
        }
        Ok(())
    }

    /// Records the commit of a request with an id.
    ///
    /// # Errors
    ///
    /// The request was committed before and must still be remembered.
    pub(super) fn once(&mut self, who: &str, id: &str, asked: &Command) -> Result<(), String> {
        let Some(model) = &self.now.session else { return Ok(()) };
        let (incarnation, revision) = (model.about.incarnation, model.revision);
        let name = (incarnation, who.to_owned(), id.to_owned());
        let before = self.requests.insert(name, (asked.clone(), revision));
        match before {
            Some((first, then)) if then + 256 >= revision => Err(format!(
                "request {id} of {who} was committed at revision {then} and again at {revision}: \
                 {first:?}"
            )),
            _ => Ok(()),
        }
    }
}
