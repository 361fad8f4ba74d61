//! The interface `rounds`.

use shared_context_codec::parts::rounds::{self as parts, DeltaFilter, DeltaInput, PlanInput};
use shared_context_core::{Command, Error, Reply, RoundsCommand, RoundsReply};

use super::{Answer, Caller, Result, answer, perform, perform_to_json};
use crate::{
    Component,
    bindings::exports::shared_context::core::rounds::{Guest, Page, Position, RoundAnswer},
};

impl Guest for Component {
    fn open(
        session: String,
        caller: Caller,
        query: Option<String>,
        plan: PlanInput,
        request_id: Option<String>,
    ) -> Result<RoundAnswer> {
        round(&session, caller, parts::open_round(query, plan, request_id.as_deref()))
    }

    fn propose(
        session: String,
        caller: Caller,
        deltas: Vec<DeltaInput>,
        request_id: Option<String>,
    ) -> Result<RoundAnswer> {
        round(&session, caller, parts::propose_deltas(&deltas, request_id.as_deref()))
    }

    fn withdraw(
        session: String,
        caller: Caller,
        sequences: Vec<u32>,
        request_id: Option<String>,
    ) -> Result<RoundAnswer> {
        round(&session, caller, parts::withdraw_deltas(sequences, request_id.as_deref()))
    }

    fn reject(
        session: String,
        caller: Caller,
        sequences: Vec<u32>,
        reason: String,
        request_id: Option<String>,
    ) -> Result<RoundAnswer> {
        round(&session, caller, parts::reject_deltas(sequences, &reason, request_id.as_deref()))
    }

    fn close(
        session: String,
        caller: Caller,
        clip: Option<String>,
        discard: bool,
        request_id: Option<String>,
    ) -> Result<RoundAnswer> {
        let command = parts::close_round(clip.as_deref(), discard, request_id.as_deref());
        round(&session, caller, command)
    }

    fn read_state(session: String, caller: Caller, at: Option<u64>) -> Result<RoundAnswer> {
        round(&session, caller, Ok(Command::Rounds(RoundsCommand::ReadState { round: at })))
    }

    fn read_deltas(
        session: String,
        caller: Caller,
        filter: DeltaFilter,
        after: Option<Position>,
        limit: Option<u32>,
    ) -> Result<Page> {
        let after = after.map(|it| (it.round, it.sequence));
        perform(&session, caller, parts::read_deltas(&filter, after, limit), |outcome| {
            let Answer { json, revision } = answer(&outcome);
            let Reply::Rounds(RoundsReply::Deltas(it)) = outcome.reply else { return None };
            let next_after = it.next_after.map(|(round, sequence)| Position { round, sequence });
            Some(Page { json, next_after, revision })
        })
    }

    fn redact(session: String, caller: Caller, text: String, reason: String) -> Result<Answer> {
        perform_to_json(&session, caller, parts::redact_rounds(&text, &reason))
    }

    fn convergence(session: String, caller: Caller) -> Result<Answer> {
        perform_to_json(&session, caller, Ok(Command::Rounds(RoundsCommand::ReadConvergence)))
    }
}

/// Performs a command whose reply is about one round.
fn round(session: &str, caller: Caller, command: Result<Command, Error>) -> Result<RoundAnswer> {
    perform(session, caller, command, |outcome| {
        let Answer { json, revision } = answer(&outcome);
        let Reply::Rounds(reply) = outcome.reply else { return None };
        Some(RoundAnswer { round: reply.round()?, json, revision })
    })
}
