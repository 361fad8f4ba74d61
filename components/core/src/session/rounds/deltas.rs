//! The deltas of the open round: propose, withdraw, reject.

use super::{super::draft::Draft, Decision, OpenSession, finish, put};
use crate::{
    Error,
    audit::AuditAction,
    kv::Bucket,
    order::sorted,
    rounds::{
        self, Delta, ExcludeDeltas, ExclusionResult, Proposal, Reply, Round, RoundError, SentDelta,
        Share, State, Status, rows,
    },
};

impl<B: Bucket> OpenSession<'_, B> {
    pub(super) fn propose_deltas(&self, proposal: &Proposal) -> Result<Decision, Error> {
        let idempotency_key =
            self.idempotency_key(proposal.request_id.as_ref(), || rows::proposal_digest(proposal))?;
        if let Some(first) =
            self.authorized_replay(idempotency_key.as_ref(), self.require_participant())?
        {
            return Ok(first);
        }
        let mut rounds = self.stored().rounds()?;
        let last = rounds.last;
        let round = rounds.open.as_mut().ok_or(RoundError::NotOpen { last })?;
        let state = self.stored().state(last)?;
        let (mut own, mut all) = (self.stored().share(&self.caller.participant)?, Share::default());
        (all.deltas, all.bytes) = (round.deltas, rounds.open_bytes);
        let (mut deltas, first) = (Vec::new(), round.deltas.saturating_add(1));
        for ((nth, sent), sequence) in (1..).zip(&proposal.deltas).zip(first..) {
            let delta = self.check_delta(sent, sequence, &state, round);
            let (delta, bytes) =
                delta.map_err(|error| RoundError::InProposal { nth, error: Box::new(error) })?;
            deltas.push(delta);
            own.add(bytes);
            all.add(bytes);
        }
        own.check_own()?;
        all.check_all()?;
        (round.deltas, rounds.open_bytes) = (all.deltas, all.bytes);
        let (number, has_losses) = (round.number, rounds::has_losses(all));
        let mut pending = Vec::new();
        if has_losses {
            let before = self.stored().deltas(number)?;
            pending = self.stored().exclusions(number)?.pending(&before);
        }
        pending.extend_from_slice(&deltas);
        let proposed = rounds::preview(round, &state, &pending, deltas.len(), has_losses)?;
        let mut draft = Draft::new(self)?;
        let row = rows::delta_row(number, first);
        draft.changes.push(put(row, rows::encode_deltas(&deltas)?));
        let row = rows::share_row(&self.caller.participant);
        draft.changes.push(put(row, rows::encode_share(own)?));
        let reply = Reply::Proposed(proposed);
        finish(draft, &rounds, AuditAction::ProposeDeltas, number, idempotency_key, reply)
    }

    pub(super) fn exclude_deltas(&self, exclude: &ExcludeDeltas) -> Result<Decision, Error> {
        let idempotency_key =
            self.idempotency_key(exclude.request_id.as_ref(), || rows::exclude_digest(exclude))?;
        let (status, action, authorization) = match &exclude.reason {
            None => (Status::Withdrawn, AuditAction::WithdrawDeltas, self.require_participant()),
            Some(_) => (Status::Rejected, AuditAction::RejectDeltas, self.require_orchestrator()),
        };
        if let Some(first) = self.authorized_replay(idempotency_key.as_ref(), authorization)? {
            return Ok(first);
        }
        let rounds = self.stored().rounds()?;
        let round = rounds.open.as_ref().ok_or(RoundError::NotOpen { last: rounds.last })?;
        self.check_excluded(exclude, round)?;
        let mut exclusions = self.stored().exclusions(round.number)?;
        let (mut sequences, mut unchanged) = (Vec::new(), Vec::new());
        for sequence in sorted(exclude.sequences.clone(), u32::cmp) {
            let list = if exclusions.contains(sequence) { &mut unchanged } else { &mut sequences };
            list.push(sequence);
        }
        exclusions.add(&sequences, exclude.reason.as_ref());
        let is_unchanged = sequences.is_empty();
        let result = ExclusionResult { round: round.number, status, sequences, unchanged };
        let reply = Reply::Excluded(result);
        if is_unchanged {
            return Ok(self.told(reply));
        }
        let mut draft = Draft::new(self)?;
        let row = rows::exclusions_row(round.number);
        draft.changes.push(put(row, rows::encode_exclusions(&exclusions)?));
        finish(draft, &rounds, action, round.number, idempotency_key, reply)
    }

    /// Rejects a request about a delta that `round` does not have, and the withdrawal of
    /// another participant's delta.
    fn check_excluded(&self, exclude: &ExcludeDeltas, round: &Round) -> Result<(), Error> {
        let is_withdrawal = exclude.reason.is_none();
        let deltas = if is_withdrawal { self.stored().deltas(round.number)? } else { Vec::new() };
        for &sequence in &exclude.sequences {
            if !(1..=round.deltas).contains(&sequence) {
                let (round, deltas) = (round.number, round.deltas);
                return Err(RoundError::DeltaNotFound { round, sequence, deltas }.into());
            }
            let delta = deltas.iter().find(|it| it.sequence == sequence);
            let foreign = delta.filter(|it| it.participant != self.caller.participant);
            if let Some(Delta { participant, .. }) = foreign {
                let participant = participant.clone();
                return Err(RoundError::NotOwn { sequence, participant }.into());
            }
        }
        Ok(())
    }

    /// Validates `sent` against the state. Returns the delta, and the bytes it counts
    /// toward the round's limit.
    fn check_delta(
        &self,
        sent: &SentDelta,
        sequence: u32,
        state: &State,
        round: &Round,
    ) -> Result<(Delta, u32), Error> {
        let delta = Delta {
            sequence,
            participant: self.caller.participant.clone(),
            proposed_at: self.at,
            operation: sent.operation,
            path: state.place(&sent.path)?,
            value: sent.value.clone(),
            provenance: sent.provenance.clone(),
        };
        let bytes = rounds::check(&delta, state, &round.plan)?;
        Ok((delta, bytes))
    }
}
