//! The coordination state: the facts about its work that a team shares (spec 20.7).

use crate::{Error, key::Line, participant::Participant, time::Timestamp};

/// The most tasks, blockers and resources.
pub const STATE_ITEMS_MAX: usize = 64;

/// The tasks of a participant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The participant.
    pub participant: Participant,
    /// Its tasks.
    pub tasks: Vec<Line>,
}

/// Something that the team shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub name: Line,
    /// Its location, or a fact about it.
    pub value: Line,
}

/// The state that a team shares, besides the ownership of sections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoordinationState {
    /// Its version; 0 if it was never written.
    pub version: u64,
    /// The time when it was written.
    pub changed_at: Timestamp,
    /// The participants and their tasks.
    pub assignments: Vec<Assignment>,
    /// The problems that block everyone.
    pub blockers: Vec<Line>,
    /// The shared resources.
    pub resources: Vec<Resource>,
}

/// A change of the state. What is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoordinationChange {
    /// The version that it is based on.
    pub if_version: u64,
    /// The participants and their tasks.
    pub assignments: Option<Vec<Assignment>>,
    /// The problems that block everyone.
    pub blockers: Option<Vec<Line>>,
    /// The shared resources.
    pub resources: Option<Vec<Resource>>,
}

impl CoordinationChange {
    /// Validates the number of items, and that each resource is named once.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn checked(self) -> Result<Self, Error> {
        self.check_counts()?;
        let mut names: Vec<&str> = Vec::new();
        for name in self.resources.iter().flatten().map(|it| it.name.as_str()) {
            if names.contains(&name) {
                return Err(Error::malformed(
                    ["shared_resources has ", name, " twice; name each resource once"].concat(),
                ));
            }
            names.push(name);
        }
        Ok(self)
    }

    /// Validates the number of items. States that were stored earlier may name a resource twice.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub(crate) fn check_counts(&self) -> Result<(), Error> {
        let tasks = self.assignments.iter().flatten().map(|it| it.tasks.len().max(1)).sum();
        let blockers = self.blockers.as_ref().map_or(0, Vec::len);
        let resources = self.resources.as_ref().map_or(0, Vec::len);
        if [tasks, blockers, resources].into_iter().max() > Some(STATE_ITEMS_MAX) {
            return Err(Error::malformed(
                "at most 64 tasks, 64 blockers and 64 shared resources fit; remove what is done",
            ));
        }
        Ok(())
    }

    /// Returns true if it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.assignments.is_none() && self.blockers.is_none() && self.resources.is_none()
    }
}
