//! The actions of rounds (003).

use super::{ANYONE, ActionInfo, ORCHESTRATOR, PARTICIPANTS, REDACTORS, System};

pub(super) const OPEN_ROUND: ActionInfo = ActionInfo {
    name: "open_round",
    system: System::Rounds,
    roles: ORCHESTRATOR,
    is_change: true,
    description: "Open a round, in which participants propose deltas to the shared state; say how \
                  much each counts and how disagreements are settled.",
    required: &[],
    optional: &["query", "weights", "strategies", "clip", "bytes_max", "request_id"],
};

pub(super) const PROPOSE_DELTAS: ActionInfo = ActionInfo {
    name: "propose_deltas",
    system: System::Rounds,
    roles: PARTICIPANTS,
    is_change: true,
    description: "Propose changes of the shared state to the open round: all or nothing. Each says \
                  where, what, and why; closing the round decides.",
    required: &["deltas"],
    optional: &["request_id"],
};

pub(super) const CLOSE_ROUND: ActionInfo = ActionInfo {
    name: "close_round",
    system: System::Rounds,
    roles: ORCHESTRATOR,
    is_change: true,
    description: "Merge the deltas of the open round into the next state, or discard them; every \
                  delta is told what became of it.",
    required: &[],
    optional: &["clip", "discard", "request_id"],
};

pub(super) const REDACT_ROUNDS: ActionInfo = ActionInfo {
    name: "redact_rounds",
    system: System::Rounds,
    roles: REDACTORS,
    is_change: true,
    description: "Replace every text of states and deltas that has this text in it by a marker, \
                  everywhere it is kept. For a secret that slipped in.",
    required: &["text", "reason"],
    optional: &[],
};

pub(super) const READ_STATE: ActionInfo = ActionInfo {
    name: "read_state",
    system: System::Rounds,
    roles: ANYONE,
    is_change: false,
    description: "Read the shared state as it is, with the round that is open, or as it was after \
                  an earlier round.",
    required: &[],
    optional: &["round"],
};

pub(super) const READ_DELTAS: ActionInfo = ActionInfo {
    name: "read_deltas",
    system: System::Rounds,
    roles: ANYONE,
    is_change: false,
    description: "Read who proposed what and why, and what became of it, oldest first; of all \
                  places, or of one and what is below it.",
    required: &[],
    optional: &["path", "round", "after", "limit"],
};

pub(super) const CONVERGENCE: ActionInfo = ActionInfo {
    name: "convergence",
    system: System::Rounds,
    roles: ANYONE,
    is_change: false,
    description: "Tell of each round how much of the state it left as it was: near 1, the \
                  participants agree.",
    required: &[],
    optional: &[],
};
