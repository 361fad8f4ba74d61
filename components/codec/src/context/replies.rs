//! Replies of the context pipeline (spec 16).

use serde::Serialize;
use shared_context_core::{
    context::{
        PlannedWindow, Reply, SampleEstimate, Share,
        capacity::{Action, Trigger},
        plan::{ActiveUse, Part, Parts},
    },
    tokens::Tokens,
};

use crate::json::to_vec;

/// The plan of a context window, and how full it is.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "window_reply"))]
pub(crate) struct WindowReply {
    /// The size of the window.
    window_tokens: u32,
    /// The sizes of its parts.
    parts: PartsReply,
    /// How the active part is used.
    active_use: ActiveUseReply,
    /// The tokens of the window that are in no part.
    unplanned_tokens: u32,
    /// The tokens that are used.
    used_tokens: u32,
    /// Their share of the window in percent, rounded down to two decimals.
    used_percent: f64,
    /// How full the window is: `green`, `yellow` from 80 %, `orange` from 90 %, `red` from 95 %.
    level: &'static str,
    /// What that means.
    meaning: &'static str,
    /// What it demands, in order.
    actions: Vec<ActionReply>,
    /// The reasons to compact that are due.
    due: Vec<TriggerReply>,
    /// The estimate of the sample. Absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<EstimateReply>,
    /// The session's revision.
    revision: u64,
}

/// The parts of a window.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "window_parts_in_tokens"))]
struct PartsReply {
    /// The tokens of instructions and knowledge.
    knowledge: u32,
    /// The tokens of the task.
    active: u32,
    /// The tokens of decisions and the state that persists.
    session_memory: u32,
    /// The tokens that stay free.
    buffer: u32,
}

/// How the active part is used.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "active_use"))]
struct ActiveUseReply {
    /// The tokens that loading may fill.
    load: u32,
    /// The tokens for outputs of tools.
    tool_outputs: u32,
    /// The tokens for context that turns out to be needed.
    expansion: u32,
    /// The tokens that stay free.
    safety: u32,
}

/// An action that a level demands.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "capacity_action"))]
struct ActionReply {
    /// Its name.
    action: &'static str,
    /// What to do.
    meaning: &'static str,
}

/// A reason to compact that is due.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "trigger"))]
struct TriggerReply {
    /// Its name.
    trigger: &'static str,
    /// What happened.
    meaning: &'static str,
    /// False for the decision of a person or an agent.
    is_automatic: bool,
}

/// The estimate of a text beside its exact count.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "estimate"))]
struct EstimateReply {
    /// A quarter of the characters, rounded up.
    estimated_tokens: u32,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    exact: Option<ExactReply>,
}

/// The exact count of a text.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "exact_count"))]
struct ExactReply {
    /// The encoding that counted exactly. Absent, with what follows, if there is none.
    encoding: String,
    /// The exact count.
    exact_tokens: u32,
    /// The error of the estimate in percent of the exact count, with one decimal; negative if the
    /// estimate is too low. Null if the exact count is 0 and the estimate is not.
    error_percent: Option<f64>,
    /// True if the error is more than 10 %, so that the estimate should not be relied upon.
    is_off: bool,
}

/// Serializes a reply of the context pipeline.
pub(crate) fn encode(reply: &Reply, revision: u64) -> Vec<u8> {
    match reply {
        Reply::Window(it) => to_vec(&window(it, revision)),
    }
}

fn window(it: &PlannedWindow, revision: u64) -> WindowReply {
    let ActiveUse { load, tool_outputs, expansion, safety } = it.plan.active_use;
    WindowReply {
        window_tokens: it.plan.window.0,
        parts: parts(&it.plan.parts),
        active_use: ActiveUseReply {
            load: load.0,
            tool_outputs: tool_outputs.0,
            expansion: expansion.0,
            safety: safety.0,
        },
        unplanned_tokens: it.plan.unplanned.0,
        used_tokens: it.used.0,
        used_percent: f64::from(Share::of(it.used, it.plan.window).0) / 100.0,
        level: it.level.as_str(),
        meaning: it.level.description(),
        actions: it.level.actions().iter().map(|it| action(*it)).collect(),
        due: it.due.iter().map(|it| trigger(*it)).collect(),
        estimate: it.estimate.as_ref().map(estimate),
        revision,
    }
}

fn parts(it: &Parts<Tokens>) -> PartsReply {
    PartsReply {
        knowledge: it.of(Part::Knowledge).0,
        active: it.of(Part::Active).0,
        session_memory: it.of(Part::SessionMemory).0,
        buffer: it.of(Part::Buffer).0,
    }
}

fn action(it: Action) -> ActionReply {
    ActionReply { action: it.as_str(), meaning: it.description() }
}

fn trigger(it: Trigger) -> TriggerReply {
    TriggerReply {
        trigger: it.as_str(),
        meaning: it.description(),
        is_automatic: it.is_automatic(),
    }
}

fn estimate(it: &SampleEstimate) -> EstimateReply {
    let exact = it.exact.as_ref().map(|(by, it)| ExactReply {
        encoding: by.as_str().to_owned(),
        exact_tokens: it.exact.0,
        // At most 2^32 units of 0.1 %, which a double has exactly.
        #[expect(clippy::cast_precision_loss, reason = "see above")]
        error_percent: it.error_permille().map(|permille| permille as f64 / 10.0),
        is_off: it.is_off(),
    });
    EstimateReply { estimated_tokens: it.estimated.0, exact }
}
