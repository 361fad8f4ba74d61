//! Withdrawal and rejection of deltas: which are valid, and the outcomes that they leave.

use shared_context_core::{
    Code, ExcludeDeltas,
    rounds::{DeltaOutcome, ExclusionResult, KeptRound, Status},
};

use super::super::state::name;

/// Returns true if a delta with this status is left out of the merge.
pub(super) fn is_excluded(status: Status) -> bool {
    ["withdrawn", "rejected"].contains(&status.as_str())
}

/// Returns the expected reply to `request` by `who` in the round `open`.
///
/// # Errors
///
/// The code of the first delta that `who` may not exclude.
pub(super) fn check(
    open: &KeptRound,
    request: &ExcludeDeltas,
    who: &str,
) -> Result<ExclusionResult, Code> {
    for sequence in &request.sequences {
        let delta = open.deltas.iter().find(|it| it.sequence == *sequence);
        let delta = delta.ok_or(Code::DeltaNotFound)?;
        if request.reason.is_none() && delta.participant.as_str() != name(who) {
            return Err(Code::Forbidden);
        }
    }
    let is_known = |it: &u32| open.outcomes.iter().any(|of| of.sequence == *it);
    let mut all = request.sequences.clone();
    all.sort_unstable();
    let (unchanged, sequences) = all.into_iter().partition(is_known);
    let status = if request.reason.is_none() { Status::Withdrawn } else { Status::Rejected };
    Ok(ExclusionResult { round: open.round.number, status, sequences, unchanged })
}

/// Returns the round `open` after `request`, which had `reply`.
pub(super) fn after(
    open: &KeptRound,
    request: &ExcludeDeltas,
    reply: &ExclusionResult,
) -> KeptRound {
    let mut open = open.clone();
    open.outcomes.extend(reply.sequences.iter().map(|it| DeltaOutcome {
        sequence: *it,
        status: reply.status,
        losses: Vec::new(),
        clipped: Vec::new(),
        reason: request.reason.clone(),
    }));
    open.outcomes.sort_by_key(|it| it.sequence);
    open
}
