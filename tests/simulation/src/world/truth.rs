//! What has been committed, as the model has it, and what was promised of it.

use std::{collections::BTreeMap, rc::Rc};

use shared_context_core::{Command, audit::AuditRecord};

use crate::model::Place;

/// How many earlier states of a bucket are kept.
const PAST_MAX: usize = 48;

/// A bucket, as it must be and was.
#[derive(Debug, Default)]
pub(super) struct Truth {
    pub(super) now: Rc<Place>,
    /// The last states, by the revision of the session.
    pub(super) past: BTreeMap<u64, Rc<Place>>,
    /// Requests with ids that were committed: by incarnation, participant and id, what
    /// was asked and the revision.
    requests: BTreeMap<(u64, String, String), (Command, u64)>,
    /// Acknowledged changes: incarnation and revision.
    pub(super) acknowledged: Vec<(u64, u64)>,
}

/// A commit.
#[derive(Debug)]
pub(super) struct Committed {
    pub(super) expected: crate::model::Expected,
    pub(super) next: Rc<Place>,
    /// What is to be logged of it.
    pub(super) records: Vec<AuditRecord>,
    /// Whether the instance was told so.
    pub(super) is_told: bool,
}

impl Truth {
    /// Takes in a commit.
    ///
    /// # Errors
    ///
    /// What no commit may do.
    pub(super) fn commit(&mut self, next: &Rc<Place>) -> Result<(), String> {
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

    /// Notes that a request with an id was committed.
    ///
    /// # Errors
    ///
    /// It was before, and is to be remembered.
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
