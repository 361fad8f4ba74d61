//! Delta rounds (spec 11): open and close; the state, the deltas, convergence. The deltas of
//! the open round are in `deltas`.

mod deltas;

use super::{
    Decision, Draft, OpenSession,
    draft::EventDetails,
    put, redact,
    retries::{IdempotencyKey, answer_row},
};
use crate::{
    Error,
    audit::AuditAction,
    context::{kept::Part, stored::StoredContext},
    count::widen,
    kv::{Bucket, Change},
    packets::{conceal::Secrets, stored::StoredPackets},
    record,
    reply::{self, PAGE_BYTES_MAX},
    rounds::{
        self, CloseRound, Closed, Closing, Command, Delta, DeltaRead, DeltasPage, Ended, Json,
        KeptRound, OpenRound, Path, ReadDeltas, RedactRounds, Redaction, Reply, Reported, Round,
        RoundError, Rounds, RoundsRedacted, State, StateRead, Status, rows, stored::StoredRounds,
    },
};

impl<B: Bucket> OpenSession<'_, B> {
    /// Decides `command`.
    pub(super) fn rounds(&self, command: &Command) -> Result<Decision, Error> {
        match command {
            Command::Open(open) => self.open_round(open),
            Command::Propose(proposal) => self.propose_deltas(proposal),
            Command::Exclude(exclude) => self.exclude_deltas(exclude),
            Command::Close(close) => self.close_round(close),
            Command::ReadState { round } => self.read_state(*round),
            Command::ReadDeltas(read) => self.read_deltas(read),
            Command::ReadConvergence => self.read_convergence(),
            Command::Redact(redact) => self.redact_rounds(redact),
        }
    }

    fn open_round(&self, open: &OpenRound) -> Result<Decision, Error> {
        let idempotency_key =
            self.idempotency_key(open.request_id.as_ref(), || rows::open_digest(open))?;
        if let Some(first) =
            self.authorized_replay(idempotency_key.as_ref(), self.require_orchestrator())?
        {
            return Ok(first);
        }
        let mut rounds = self.stored().rounds()?;
        if open.query.is_some() && rounds.last > 0 {
            return Err(Error::malformed(
                "query is for the first round of a session; change it by a delta that modifies \
                 $.query",
            ));
        }
        if let Some(round) = &rounds.open {
            return Err(RoundError::Open { round: round.number }.into());
        }
        let bytes_max = open.plan.bytes_max.unwrap_or(rounds.bytes_max);
        let mut draft = Draft::new(self)?;
        if let Some(query) = &open.query {
            let state = State::new(query)?;
            rounds::check_size(&state, bytes_max)?;
            draft.changes.push(put(rows::state_row(0), rows::encode_state(&state)?));
        }
        let round = Round {
            number: rounds.last.saturating_add(1),
            opened_at: draft.at,
            opened_by: self.caller.participant.clone(),
            plan: open.plan.clone(),
            bytes_max,
            deltas: 0,
            ended: None,
        };
        (rounds.open, rounds.open_bytes) = (Some(round.clone()), 0);
        let reply = Reply::Round(Box::new(round.clone()));
        finish(draft, &rounds, AuditAction::OpenRound, round.number, idempotency_key, reply)
    }

    fn close_round(&self, close: &CloseRound) -> Result<Decision, Error> {
        let idempotency_key =
            self.idempotency_key(close.request_id.as_ref(), || rows::close_digest(close))?;
        if let Some(first) =
            self.authorized_replay(idempotency_key.as_ref(), self.require_orchestrator())?
        {
            return self.with_losses(first);
        }
        let mut rounds = self.stored().rounds()?;
        let last = rounds.last;
        let mut round = rounds.open.take().ok_or(RoundError::NotOpen { last })?;
        let (state, deltas) = (self.stored().state(last)?, self.stored().deltas(round.number)?);
        let clip = close.clip.unwrap_or(round.plan.clip);
        let exclusions = self.stored().exclusions(round.number)?;
        let pending = exclusions.pending(&deltas);
        let Closing { state, outcomes, clipped, convergence } = if close.discards {
            rounds::discard(&state, &pending)
        } else {
            rounds::close(&round, &state, clip, &pending)?
        };
        let outcomes = exclusions.and(outcomes);
        let mut draft = Draft::new(self)?;
        round.ended = Some(Ended {
            at: draft.at,
            by: self.caller.participant.clone(),
            is_discarded: close.discards,
            bytes: state.bytes(),
            counts: Status::counts(&outcomes),
            clipped,
            clip,
            convergence,
        });
        let number = round.number;
        rounds.last = number;
        rounds.bytes_max = round.bytes_max;
        draft.changes.push(put(rows::state_row(number), rows::encode_state(&state)?));
        draft.changes.push(put(rows::ended_row(number), rows::encode_ended(&round, &outcomes)?));
        if !outcomes.is_empty() {
            draft.changes.push(Change::DeletePrefix(rows::SHARES.to_owned()));
        }
        let kept = KeptRound { round, deltas, outcomes, state: Some(state) };
        self.stored().prune(&mut draft.changes, &mut rounds, rounds::weight::of_round(&kept))?;
        let KeptRound { round, deltas, outcomes, .. } = kept;
        let reply = Reply::Closed(Box::new(Closed::new(round, &deltas, &outcomes)));
        finish(draft, &rounds, AuditAction::CloseRound, number, idempotency_key, reply)
    }

    /// Adds to the stored reply to a close what lost in the round and what was excluded, if it is
    /// still retained: these are stored with the round only. The size stays that of the first
    /// reply, also after a redaction.
    fn with_losses(&self, first: Decision) -> Result<Decision, Error> {
        let Decision::Answer(mut outcome) = first else { return Ok(first) };
        if let reply::Reply::Rounds(Reply::Round(round)) = outcome.reply {
            let (number, mut round) = (round.number, *round);
            let bytes = round.ended.as_ref().map(|it| it.bytes);
            let (mut deltas, mut outcomes) = (Vec::new(), Vec::new());
            if number >= self.stored().rounds()?.oldest {
                deltas = self.stored().deltas(number)?;
                (round, outcomes) = self.stored().ended(number)?;
                if let (Some(ended), Some(bytes)) = (&mut round.ended, bytes) {
                    ended.bytes = bytes;
                }
            }
            let closed = Closed::new(round, &deltas, &outcomes);
            outcome.reply = reply::Reply::Rounds(Reply::Closed(Box::new(closed)));
        }
        Ok(Decision::Answer(outcome))
    }

    fn read_state(&self, round: Option<u64>) -> Result<Decision, Error> {
        self.require_unlimited()?;
        let rounds = self.stored().rounds()?;
        let number = round.unwrap_or(rounds.last);
        check_retained(&rounds, number, rounds.last)?;
        let open = if round.is_none() { rounds.open } else { None };
        Ok(self.told(Reply::State(Box::new(StateRead {
            round: number,
            document: self.stored().document(number)?,
            bytes_max: open.as_ref().map_or(rounds.bytes_max, |it| it.bytes_max),
            open,
        }))))
    }

    fn read_deltas(&self, read: &ReadDeltas) -> Result<Decision, Error> {
        self.require_unlimited()?;
        let rounds = self.stored().rounds()?;
        let newest = rounds.open.as_ref().map_or(rounds.last, |it| it.number);
        if let Some(round) = read.round {
            check_retained(&rounds, round, newest)?;
        }
        let path =
            read.path.as_ref().map(|it| self.stored().state(rounds.last)?.place(it)).transpose()?;
        let from = read.after.map_or(rounds.oldest, |(round, _)| round.max(rounds.oldest));
        let limit = widen(read.limit);
        let mut page = DeltasPage { deltas: Vec::new(), is_brief: read.is_brief, next_after: None };
        let mut room = PAGE_BYTES_MAX;
        for number in from.max(1)..=newest {
            if read.round.is_some_and(|it| it != number) {
                continue;
            }
            for it in self.round_deltas(&rounds, number)? {
                let is_requested = path.as_ref().is_none_or(|path| touches(&it.delta, path));
                let participant = &it.delta.participant;
                if !is_requested
                    || read.participant.as_ref().is_some_and(|it| it != participant)
                    || read.outcome.is_some_and(|of| of != Reported::new(it.outcome.as_ref()))
                    || read.after.is_some_and(|after| (number, it.delta.sequence) <= after)
                {
                    continue;
                }
                let value = it.delta.value.as_ref().filter(|_| !read.is_brief);
                let bytes = value.map_or(0, Json::bytes);
                let last = page.deltas.last().map(|it| (it.round, it.delta.sequence));
                if last.is_some() && (page.deltas.len() == limit || bytes > room) {
                    page.next_after = last;
                    return Ok(self.told(Reply::Deltas(page)));
                }
                room = room.saturating_sub(bytes);
                page.deltas.push(it);
            }
        }
        Ok(self.told(Reply::Deltas(page)))
    }

    fn read_convergence(&self) -> Result<Decision, Error> {
        self.require_unlimited()?;
        let rounds = self.stored().rounds()?;
        let all = (rounds.oldest.max(1)..=rounds.last).map(|it| Ok(self.stored().ended(it)?.0));
        Ok(self.told(Reply::Convergence(all.collect::<Result<_, Error>>()?)))
    }

    fn redact_rounds(
        &self,
        RedactRounds { text, reason }: &RedactRounds,
    ) -> Result<Decision, Error> {
        self.require_redactor()?;
        let mut redaction = Redaction::new(text);
        let mut changes = self.stored().redacted(&mut redaction)?;
        for (row, bytes) in self.bucket.scan(record::REQUESTS, None, u32::MAX)? {
            let places = redaction.places;
            let answer = record::redact_answer(&bytes, &mut redaction)?;
            if let Some(answer) = answer.filter(|_| redaction.places > places) {
                changes.push(put(row, answer));
            }
        }
        let is_secret = |_: Option<&Part>, it: &str| it.contains(text.as_str());
        let (places, kept) = StoredContext(self.bucket).redacted(reason.as_str(), &is_secret)?;
        changes.extend(kept);
        let values = [text.as_str().to_owned()];
        let secrets = Secrets { values: &values, has_parts: false, mark: redact::mark(reason) };
        let (in_packets, kept) =
            StoredPackets(self.bucket).redacted(&secrets, &|text| self.count(text))?;
        changes.extend(kept);
        let places = places.saturating_add(in_packets);
        let reply = Reply::Redacted(RoundsRedacted {
            places: redaction.places.saturating_add(places),
            markers: redaction.markers.into_iter().collect(),
        });
        if changes.is_empty() {
            return Ok(self.told(reply));
        }
        let mut draft = Draft::new(self)?;
        draft.changes.extend(changes);
        let details = EventDetails { reason: Some(reason), ..EventDetails::default() };
        draft.add_event(AuditAction::RedactRounds, details);
        draft.commit(reply::Reply::Rounds(reply), None)
    }

    /// Creates the decision of a read.
    fn told(&self, reply: Reply) -> Decision {
        self.answer(reply::Reply::Rounds(reply))
    }

    /// Returns the stored rounds of the session.
    fn stored(&self) -> StoredRounds<'_, B> {
        StoredRounds(self.bucket)
    }

    /// Returns the deltas of a round with their outcomes.
    fn round_deltas(&self, rounds: &Rounds, number: u64) -> Result<Vec<DeltaRead>, Error> {
        let (round, mut outcomes) = match &rounds.open {
            Some(open) if open.number == number => {
                (open.clone(), self.stored().exclusions(number)?.0)
            }
            _ => self.stored().ended(number)?,
        };
        outcomes.reverse();
        let deltas = self.stored().deltas(number)?.into_iter();
        Ok(deltas
            .map(|delta| DeltaRead {
                round: number,
                weight: round.plan.weight(&delta.participant),
                outcome: outcomes.pop_if(|it| it.sequence == delta.sequence),
                delta,
            })
            .collect())
    }

    /// Returns the stored reply if the same request was executed before, and the caller
    /// is authorized to make it.
    fn authorized_replay(
        &self,
        idempotency_key: Option<&IdempotencyKey>,
        authorization: Result<(), Error>,
    ) -> Result<Option<Decision>, Error> {
        let replay = self.replay(idempotency_key)?;
        authorization?;
        self.require_unlimited()?;
        replay
    }

    /// Rejects credentials limited to some keys: a round state has no keys.
    pub(super) fn require_unlimited(&self) -> Result<(), Error> {
        if !self.is_limited() {
            return Ok(());
        }
        Err(Error::Forbidden {
            message: "your credential is limited to some keys, rounds are of the whole session; \
                      write what you would propose to one of your keys",
        })
    }
}

/// Commits the change of `round`.
fn finish<B: Bucket>(
    mut draft: Draft<'_, B>,
    rounds: &Rounds,
    action: AuditAction,
    round: u64,
    idempotency_key: Option<IdempotencyKey>,
    reply: Reply,
) -> Result<Decision, Error> {
    draft.changes.push(put(rows::ROUNDS, rows::encode_rounds(rounds)?));
    draft.add_event(action, EventDetails { round: Some(round), ..EventDetails::default() });
    let reply = reply::Reply::Rounds(reply);
    let request = answer_row(idempotency_key, draft.revision, &reply)?;
    draft.commit(reply, request)
}

/// Rejects a round that is not retained.
fn check_retained(rounds: &Rounds, round: u64, newest: u64) -> Result<(), Error> {
    let oldest = rounds.oldest;
    if (oldest..=newest).contains(&round) {
        return Ok(());
    }
    Err(RoundError::NotFound { round, oldest, newest }.into())
}

/// Returns true if `delta` concerns `path` or anything below it.
fn touches(delta: &Delta, path: &Path) -> bool {
    if path.covers(&delta.path) {
        return true;
    }
    let Some(below) = delta.path.below(path) else { return false };
    delta.value.as_ref().is_none_or(|it| it.has(below))
}
