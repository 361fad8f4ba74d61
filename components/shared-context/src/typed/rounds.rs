//! The interface `rounds`.

use shared_context_codec::parts::rounds::{
    self as parts, SentDelta, SentPlan, SentStrategy, SentWeight,
};
use shared_context_core::{
    Command, Error, Line, Outcome, RedactRounds, Reply,
    reply::DeltaRead,
    rounds::{self as core, Clipped, Json, Plan},
};

use super::{perform, store::parse_request_id, types};
use crate::{
    Component,
    bindings::exports::shared_context::core::rounds::{
        self as wit, ClippedPart, Delta, Ended, EndedRounds, Fate, Guest, Loss, Page, Position,
        Proposed, ProposedDelta, Redacted, Round, RoundChanged, State, StrategyRule, WeightRule,
    },
};

impl Guest for Component {
    fn open(
        session: String,
        caller: types::Caller,
        query: Option<String>,
        plan: wit::Plan,
        request_id: Option<String>,
    ) -> Result<RoundChanged, types::Error> {
        let command = || parts::open_round(query, sent_plan(plan), parse_request_id(request_id)?);
        perform(&session, caller, command(), round_changed)
    }

    fn propose(
        session: String,
        caller: types::Caller,
        deltas: Vec<Delta>,
        request_id: Option<String>,
    ) -> Result<Proposed, types::Error> {
        let command = || -> Result<Command, Error> {
            let request_id = parse_request_id(request_id)?;
            parts::propose_deltas(deltas.iter().map(sent_delta).collect(), request_id)
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Proposed(it) = outcome.reply else { return None };
            Some(Proposed {
                round: it.round,
                first_sequence: it.first,
                last_sequence: it.last(),
                revision: outcome.revision.0,
            })
        })
    }

    fn close(
        session: String,
        caller: types::Caller,
        clip: Option<String>,
        discard: bool,
        request_id: Option<String>,
    ) -> Result<RoundChanged, types::Error> {
        let command =
            || parts::close_round(clip.as_deref(), discard, parse_request_id(request_id)?);
        perform(&session, caller, command(), round_changed)
    }

    fn read_state(
        session: String,
        caller: types::Caller,
        round: Option<u64>,
    ) -> Result<State, types::Error> {
        perform(&session, caller, Ok(Command::ReadState { round }), |outcome| {
            let Reply::State(it) = outcome.reply else { return None };
            Some(State {
                round: it.round,
                document: it.document.as_str().to_owned(),
                bytes_max: it.bytes_max,
                open_round: it.open.as_ref().map(round_of),
                revision: outcome.revision.0,
            })
        })
    }

    fn read_deltas(
        session: String,
        caller: types::Caller,
        path: Option<String>,
        round: Option<u64>,
        after: Option<Position>,
        limit: Option<u32>,
    ) -> Result<Page, types::Error> {
        let after = after.map(|it| (it.round, it.sequence));
        let command = parts::read_deltas(path.as_deref(), round, after, limit);
        perform(&session, caller, command, |outcome| {
            let Reply::Deltas(it) = outcome.reply else { return None };
            Some(Page {
                deltas: it.deltas.iter().map(proposed_delta).collect(),
                next_after: it.next_after.map(|(round, sequence)| Position { round, sequence }),
                revision: outcome.revision.0,
            })
        })
    }

    fn redact(
        session: String,
        caller: types::Caller,
        text: String,
        reason: String,
    ) -> Result<Redacted, types::Error> {
        let command = || -> Result<Command, Error> {
            let reason = Line::parse("reason", &reason)?;
            Ok(Command::RedactRounds(RedactRounds::new(&text, reason)?))
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::RoundsRedacted(it) = outcome.reply else { return None };
            Some(Redacted { places: it.places, markers: it.markers, revision: outcome.revision.0 })
        })
    }

    fn convergence(session: String, caller: types::Caller) -> Result<EndedRounds, types::Error> {
        perform(&session, caller, Ok(Command::ReadConvergence), |outcome| {
            let Reply::Convergence(rounds) = outcome.reply else { return None };
            let rounds = rounds.iter().map(round_of).collect();
            Some(EndedRounds { rounds, revision: outcome.revision.0 })
        })
    }
}

fn sent_plan(it: wit::Plan) -> SentPlan {
    let weights = it.weights.into_iter();
    let strategies = it.strategies.into_iter();
    SentPlan {
        weights: weights
            .map(|it| SentWeight { participant: it.participant, weight: it.weight })
            .collect(),
        strategies: strategies
            .map(|it| SentStrategy { path: it.path, strategy: it.strategy, experts: it.experts })
            .collect(),
        clip: it.clip,
        bytes_max: it.bytes_max,
    }
}

fn sent_delta(it: &Delta) -> SentDelta<'_> {
    SentDelta {
        operation: &it.operation,
        path: &it.path,
        value: it.value.as_deref(),
        provenance: &it.provenance,
    }
}

fn round_changed(outcome: Outcome) -> Option<RoundChanged> {
    let Reply::Round(it) = outcome.reply else { return None };
    Some(RoundChanged { round: round_of(&it), revision: outcome.revision.0 })
}

fn round_of(it: &core::Round) -> Round {
    Round {
        number: it.number,
        opened_at_ms: it.opened_at.0,
        opened_by: it.opened_by.as_str().to_owned(),
        plan: plan(&it.plan, it.bytes_max),
        delta_count: it.deltas,
        ended: it.ended.as_ref().map(ended),
    }
}

fn plan(it: &Plan, bytes_max: u32) -> wit::Plan {
    let weights = it.weights.iter().map(|it| WeightRule {
        participant: it.participants.as_str().to_owned(),
        weight: it.weight.as_f64(),
    });
    let strategies = it.strategies.iter().map(|it| StrategyRule {
        path: it.paths.as_str().to_owned(),
        strategy: it.strategy.name().to_owned(),
        experts: it.strategy.experts().map(super::patterns),
    });
    wit::Plan {
        weights: weights.collect(),
        strategies: strategies.collect(),
        clip: Some(it.clip.as_str().to_owned()),
        bytes_max: Some(bytes_max),
    }
}

fn ended(it: &core::Ended) -> Ended {
    let clipped = |it: &Clipped| ClippedPart {
        path: it.path.to_string(),
        round: it.mark.round,
        weight: it.mark.weight.as_f64(),
        bytes: it.bytes,
    };
    Ended {
        at_ms: it.at.0,
        by: it.by.as_str().to_owned(),
        is_discarded: it.is_discarded,
        applied: it.applied,
        lost: it.lost,
        refused: it.refused,
        clipped: it.clipped.iter().map(clipped).collect(),
        clip: it.clip.as_str().to_owned(),
        bytes: it.bytes,
        unchanged_paths: it.convergence.unchanged,
        paths: it.convergence.paths,
    }
}

fn proposed_delta(DeltaRead { round, delta, weight, fate }: &DeltaRead) -> ProposedDelta {
    ProposedDelta {
        round: *round,
        sequence: delta.sequence,
        participant: delta.participant.as_str().to_owned(),
        weight: weight.as_f64(),
        proposed_at_ms: delta.proposed_at.0,
        delta: Delta {
            operation: delta.operation.as_str().to_owned(),
            path: delta.path.to_string(),
            value: delta.value.as_ref().map(Json::as_str).map(str::to_owned),
            provenance: delta.provenance.as_str().to_owned(),
        },
        fate: fate.as_ref().map(fate_of),
    }
}

fn fate_of(it: &core::Fate) -> Fate {
    let loss = |it: &core::Loss| Loss {
        path: it.path.to_string(),
        why: it.why.as_str().to_owned(),
        to_sequence: it.to,
        to_participant: it.by.as_str().to_owned(),
    };
    Fate {
        status: it.status.as_str().to_owned(),
        losses: it.losses.iter().map(loss).collect(),
        clipped: it.clipped.iter().map(ToString::to_string).collect(),
    }
}
