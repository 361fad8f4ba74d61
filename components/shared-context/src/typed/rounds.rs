//! The interface `rounds`.

use shared_context_codec::parts::rounds::{
    self as parts, DeltaInput, PlanInput, StrategyInput, WeightInput,
};
use shared_context_core::{
    Command, Error, Line, Outcome, RedactRounds, Reply, RoundsCommand, RoundsReply,
};

use super::{answer, perform, store::parse_request_id, types};
use crate::{
    Component,
    bindings::exports::shared_context::core::rounds::{
        Delta, DeltaFilter, Guest, Page, Plan, Position, RoundAnswer,
    },
};

impl Guest for Component {
    fn open(
        session: String,
        caller: types::Caller,
        query: Option<String>,
        plan: Plan,
        request_id: Option<String>,
    ) -> Result<RoundAnswer, types::Error> {
        let command = || parts::open_round(query, plan_input(plan), parse_request_id(request_id)?);
        perform(&session, caller, command(), round_answer)
    }

    fn propose(
        session: String,
        caller: types::Caller,
        deltas: Vec<Delta>,
        request_id: Option<String>,
    ) -> Result<RoundAnswer, types::Error> {
        let command = || -> Result<Command, Error> {
            let request_id = parse_request_id(request_id)?;
            parts::propose_deltas(deltas.iter().map(delta_input).collect(), request_id)
        };
        perform(&session, caller, command(), round_answer)
    }

    fn withdraw(
        session: String,
        caller: types::Caller,
        sequences: Vec<u32>,
        request_id: Option<String>,
    ) -> Result<RoundAnswer, types::Error> {
        let command = || parts::withdraw_deltas(sequences, parse_request_id(request_id)?);
        perform(&session, caller, command(), round_answer)
    }

    fn reject(
        session: String,
        caller: types::Caller,
        sequences: Vec<u32>,
        reason: String,
        request_id: Option<String>,
    ) -> Result<RoundAnswer, types::Error> {
        let command = || parts::reject_deltas(sequences, &reason, parse_request_id(request_id)?);
        perform(&session, caller, command(), round_answer)
    }

    fn close(
        session: String,
        caller: types::Caller,
        clip: Option<String>,
        discard: bool,
        request_id: Option<String>,
    ) -> Result<RoundAnswer, types::Error> {
        let command =
            || parts::close_round(clip.as_deref(), discard, parse_request_id(request_id)?);
        perform(&session, caller, command(), round_answer)
    }

    fn read_state(
        session: String,
        caller: types::Caller,
        round: Option<u64>,
    ) -> Result<RoundAnswer, types::Error> {
        perform(
            &session,
            caller,
            Ok(Command::Rounds(RoundsCommand::ReadState { round })),
            round_answer,
        )
    }

    fn read_deltas(
        session: String,
        caller: types::Caller,
        filter: DeltaFilter,
        after: Option<Position>,
        limit: Option<u32>,
    ) -> Result<Page, types::Error> {
        let after = after.map(|it| (it.round, it.sequence));
        let filter = parts::DeltaFilter {
            path: filter.path.as_deref(),
            round: filter.round,
            participant: filter.participant.as_deref(),
            outcome: filter.outcome.as_deref(),
            form: filter.form.as_deref(),
        };
        let command = parts::read_deltas(filter, after, limit);
        perform(&session, caller, command, |outcome| {
            let types::Answer { json, revision } = answer(&outcome);
            let Reply::Rounds(RoundsReply::Deltas(it)) = outcome.reply else { return None };
            let next_after = it.next_after.map(|(round, sequence)| Position { round, sequence });
            Some(Page { json, next_after, revision })
        })
    }

    fn redact(
        session: String,
        caller: types::Caller,
        text: String,
        reason: String,
    ) -> Result<types::Answer, types::Error> {
        let command = || -> Result<Command, Error> {
            let reason = Line::parse("reason", &reason)?;
            Ok(Command::Rounds(RoundsCommand::Redact(RedactRounds::new(&text, reason)?)))
        };
        perform(&session, caller, command(), |outcome| Some(answer(&outcome)))
    }

    fn convergence(session: String, caller: types::Caller) -> Result<types::Answer, types::Error> {
        let command = Ok(Command::Rounds(RoundsCommand::ReadConvergence));
        perform(&session, caller, command, |outcome| Some(answer(&outcome)))
    }
}

fn round_answer(outcome: Outcome) -> Option<RoundAnswer> {
    let types::Answer { json, revision } = answer(&outcome);
    let round = match outcome.reply {
        Reply::Rounds(RoundsReply::Round(it)) => it.number,
        Reply::Rounds(RoundsReply::Closed(it)) => it.round.number,
        Reply::Rounds(RoundsReply::Proposed(it)) => it.round,
        Reply::Rounds(RoundsReply::Excluded(it)) => it.round,
        Reply::Rounds(RoundsReply::State(it)) => it.round,
        _ => return None,
    };
    Some(RoundAnswer { round, json, revision })
}

fn plan_input(it: Plan) -> PlanInput {
    let weights = it.weights.into_iter();
    let strategies = it.strategies.into_iter();
    PlanInput {
        weights: weights
            .map(|it| WeightInput { participant: it.participant, weight: it.weight })
            .collect(),
        strategies: strategies
            .map(|it| StrategyInput { path: it.path, strategy: it.strategy, experts: it.experts })
            .collect(),
        clip: it.clip,
        bytes_max: it.bytes_max,
    }
}

fn delta_input(it: &Delta) -> DeltaInput<'_> {
    DeltaInput {
        operation: &it.operation,
        path: &it.path,
        value: it.value.as_deref(),
        provenance: &it.provenance,
    }
}
