//! Exclusions: deltas that were withdrawn or rejected while their round was open. The merge
//! leaves them out; the history keeps them.
//!
//! # Invariant
//!
//! An exclusion is final. A delta is withdrawn or rejected at most once.

use super::{Delta, DeltaOutcome, Status};
use crate::{key::Line, order::sorted};

/// The outcomes of the excluded deltas of a round, by sequence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exclusions(pub(crate) Vec<DeltaOutcome>);

impl Exclusions {
    /// Returns the exclusions in `outcomes`.
    pub(crate) fn of_outcomes(outcomes: &[DeltaOutcome]) -> Self {
        Self(outcomes.iter().filter(|it| it.status.is_excluded()).cloned().collect())
    }

    /// Returns true if the delta `sequence` is excluded.
    pub(crate) fn contains(&self, sequence: u32) -> bool {
        self.0.binary_search_by(|it| it.sequence.cmp(&sequence)).is_ok()
    }

    /// Adds the deltas with these sequences: rejected with `reason`, or withdrawn without
    /// one.
    pub(crate) fn add(&mut self, sequences: &[u32], reason: Option<&Line>) {
        let outcome = |sequence: &u32| Self::outcome(*sequence, reason.cloned());
        self.0.extend(sequences.iter().map(outcome));
        self.0 = sorted(std::mem::take(&mut self.0), |a, b| a.sequence.cmp(&b.sequence));
    }

    /// Returns the outcome of the delta `sequence`.
    pub(crate) fn outcome(sequence: u32, reason: Option<Line>) -> DeltaOutcome {
        let status = if reason.is_some() { Status::Rejected } else { Status::Withdrawn };
        DeltaOutcome { reason, ..DeltaOutcome::new(sequence, status) }
    }

    /// Returns those of `deltas` that are not excluded.
    pub(crate) fn pending(&self, deltas: &[Delta]) -> Vec<Delta> {
        deltas.iter().filter(|it| !self.contains(it.sequence)).cloned().collect()
    }

    /// Returns the exclusions and `others`, by sequence.
    pub(crate) fn and(mut self, others: Vec<DeltaOutcome>) -> Vec<DeltaOutcome> {
        if self.0.is_empty() {
            return others;
        }
        self.0.extend(others);
        sorted(self.0, |a, b| a.sequence.cmp(&b.sequence))
    }
}
