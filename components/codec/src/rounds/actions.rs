//! The actions of rounds (spec 11).

use shared_context_core::RoundsCommand;

#[cfg(feature = "schema")]
use super::{
    deltas::{DeltasReply, ExcludedReply, ProposedReply},
    replies::{ConvergenceReply, RedactRoundsReply, RoundReply, StateReply},
};
use super::{
    forms::{DeltaForm, StrategyForm, WeightForm, position},
    input::{self as parts, DeltaFilter, PlanInput},
};
use crate::action::{ANYONE, ORCHESTRATOR, PARTICIPANTS, REDACTORS, declare::actions};

actions! {
    of Rounds:

    /// Open a round, in which participants propose deltas to the shared state; say how much
    /// each counts and how disagreements are settled.
    open_round: ORCHESTRATOR, change;
        at Post "/rounds", r#"{"clip":"reject"}"# -> 201;
        rejects InvalidPath, SessionArchived, RoundOpen;
        needs {}
        takes {
            /// What the session is about; for its first round only.
            query: String,
            /// How much participants count: for each the first that fits, 1 where none does.
            weights: Vec<WeightForm>,
            /// How disagreements are settled: for each path the first that fits,
            /// weighted-merge where none does.
            strategies: Vec<StrategyForm>,
            /// What goes when the state would be too large; lowest-weight-first when absent,
            /// on closing what the round was opened with.
            clip: String,
            /// The most bytes the state may have, 1000 to 262144; as before when absent, at
            /// first 50000.
            bytes_max: u32,
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers RoundReply<'_>;
        |it| {
            let plan = PlanInput {
                weights: it.weights.into_iter().flatten().map(Into::into).collect(),
                strategies: it.strategies.into_iter().flatten().map(Into::into).collect(),
                clip: it.clip,
                bytes_max: it.bytes_max,
            };
            parts::open_round(it.query, plan, it.request_id.as_deref())
        };

    /// Propose changes of the shared state to the open round: all or nothing. Each says where,
    /// what, and why; closing the round decides.
    propose_deltas: PARTICIPANTS, change;
        at Post "/rounds/deltas",
        r#"{"deltas":[{"operation":"add","path":"$.bindings.customer","value":"sea:customer:001","provenance":"matched by lookup"}]}"#
        -> 201;
        rejects InvalidPath, SessionArchived, RoundNotOpen, PathNotFound, PathExists,
        IdentityConflict, RoundFull;
        needs {
            /// The changes that are proposed, 1 to 200.
            deltas: Vec<DeltaForm>,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers ProposedReply<'_>;
        |it| {
            let deltas: Vec<_> = it.deltas.into_iter().map(Into::into).collect();
            parts::propose_deltas(&deltas, it.request_id.as_deref())
        };

    /// Withdraw deltas of your own from the open round: all or nothing. They stay in the history;
    /// closing the round leaves them out.
    withdraw_deltas: PARTICIPANTS, change;
        at Post "/rounds/deltas/withdraw", r#"{"sequences":[1]}"# -> 200;
        rejects SessionArchived, RoundNotOpen, DeltaNotFound;
        needs {
            /// The sequences of the deltas, 1 to 200, each once.
            sequences: Vec<u32>,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers ExcludedReply<'_>;
        |it| parts::withdraw_deltas(it.sequences, it.request_id.as_deref());

    /// Reject deltas of the open round, with a reason: all or nothing. They stay in the history;
    /// closing the round leaves them out.
    reject_deltas: ORCHESTRATOR, change;
        at Post "/rounds/deltas/reject", r#"{"sequences":[1],"reason":"out of scope"}"# -> 200;
        rejects SessionArchived, RoundNotOpen, DeltaNotFound;
        needs {
            /// The sequences of the deltas, 1 to 200, each once.
            sequences: Vec<u32>,
            /// Why, in one line.
            reason: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers ExcludedReply<'_>;
        |it| parts::reject_deltas(it.sequences, &it.reason, it.request_id.as_deref());

    /// Merge the deltas of the open round into the next state, or discard them; every delta is
    /// told what became of it.
    close_round: ORCHESTRATOR, change;
        at Post "/rounds/close", r#"{"discard":true}"# -> 200;
        rejects SessionArchived, RoundNotOpen, StateTooLarge;
        needs {}
        takes {
            /// What goes when the state would be too large; lowest-weight-first when absent,
            /// on closing what the round was opened with.
            clip: String,
            /// Whether the round ends without applying any of its deltas.
            discard: bool,
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers RoundReply<'_>;
        |it| {
            let discards = it.discard.unwrap_or(false);
            parts::close_round(it.clip.as_deref(), discards, it.request_id.as_deref())
        };

    /// Read the shared state as it is, with the round that is open, or as it was after an
    /// earlier round.
    read_state: ANYONE, read;
        at Get "/rounds/state" -> 200;
        rejects RoundNotFound;
        needs {}
        takes {
            /// A round: the state as it was after this one, or only its deltas.
            round: u64,
        }
        answers StateReply<'_>;
        |it| Ok(Command::Rounds(RoundsCommand::ReadState { round: it.round }));

    /// Read who proposed what and why, and what became of it, oldest first; of all places, or
    /// of one and what is below it.
    read_deltas: ANYONE, read;
        at Get "/rounds/deltas" -> 200;
        rejects InvalidPath, RoundNotFound, PathNotFound;
        needs {}
        takes {
            /// Only deltas about this place, or what is below it: a `JSONPath` such as
            /// $.bindings.customer.
            path: String,
            /// A round: the state as it was after this one, or only its deltas.
            round: u64,
            /// Only deltas of this participant.
            participant: String,
            /// Only deltas with this outcome: pending, applied, lost, refused, withdrawn or
            /// rejected.
            outcome: String,
            /// full, as when absent, or brief: without values and provenances.
            form: String,
            /// Begin after this delta: its round and sequence, as `next_after` returned them.
            after: String,
            /// How many commits or deltas at most, 1 to 1000; 100 when absent.
            limit: u32,
        }
        answers DeltasReply<'_>;
        |it| {
            let after = it.after.as_deref().map(position).transpose()?;
            let filter = DeltaFilter {
                path: it.path,
                round: it.round,
                participant: it.participant,
                outcome: it.outcome,
                form: it.form,
            };
            parts::read_deltas(&filter, after, it.limit)
        };

    /// Tell of each round how much of the state it left as it was: near 1, the participants
    /// agree.
    convergence: ANYONE, read;
        at Get "/rounds" -> 200 as list_rounds;
        needs {}
        takes {}
        answers ConvergenceReply;
        |_it| Ok(Command::Rounds(RoundsCommand::ReadConvergence));

    /// Replace every text of states and deltas that has this text in it by a marker, everywhere
    /// it is kept. For a secret that slipped in.
    redact_rounds: REDACTORS, change;
        at Post "/rounds/redact", r#"{"text":"sk-live-51H","reason":"an API key"}"# -> 200;
        rejects SessionArchived;
        needs {
            /// The secret, or a part of it that identifies every text with it: 4 to
            /// 1000 characters.
            text: String,
            /// Why, in one line.
            reason: String,
        }
        takes {}
        answers RedactRoundsReply<'_>;
        |it| parts::redact_rounds(&it.text, &it.reason);
}
