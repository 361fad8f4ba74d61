//! Builders of commands of the context pipeline (spec 16).

use shared_context_core::{
    Command, ContextCommand, Error,
    context::{
        PlanWindow, Sample, Share,
        capacity::{Situation, Trigger},
        plan::{Allocation, Part, Parts},
    },
    tokens::Tokens,
};

/// The triggers that a client reports. The system sees the others itself.
pub(crate) const REPORTS: [Trigger; 5] = [
    Trigger::PlanningEnded,
    Trigger::Handoff,
    Trigger::Asked,
    Trigger::Degradation,
    Trigger::CriticalDecision,
];

/// A request for the plan of a window, not yet validated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WindowInput {
    /// The size of the window.
    pub window_tokens: Option<u32>,
    /// The sizes of its parts in percent.
    pub shares: Option<Parts<Option<f64>>>,
    /// The sizes of its parts in tokens.
    pub parts: Option<Parts<Option<u32>>>,
    /// The tokens in the window.
    pub used_tokens: Option<u32>,
    /// The tokens that are about to be loaded.
    pub to_load_tokens: Option<u32>,
    /// The operations since the last compaction.
    pub operations: Option<u32>,
    /// The names of triggers.
    pub reports: Vec<String>,
    /// A text whose estimate is compared with its exact count.
    pub sample: Option<String>,
    /// The encoding of the exact count.
    pub encoding: Option<String>,
}

/// Builds the command to plan a window.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn plan_window(it: WindowInput) -> Result<Command, Error> {
    let allocation = allocation(it.shares, it.parts)?;
    let reports = it.reports.iter().map(|it| report(it)).collect::<Result<Vec<_>, _>>()?;
    let has = |trigger| reports.contains(&trigger);
    let situation = Situation {
        used: Tokens(it.used_tokens.unwrap_or(0)),
        to_load: Tokens(it.to_load_tokens.unwrap_or(0)),
        operations: it.operations.unwrap_or(0),
        has_planned: has(Trigger::PlanningEnded),
        is_handoff: has(Trigger::Handoff),
        is_asked: has(Trigger::Asked),
        is_degraded: has(Trigger::Degradation),
        is_decision_next: has(Trigger::CriticalDecision),
    };
    let sample = match (it.sample, it.encoding.as_deref()) {
        (Some(text), encoding) => Some(Sample::new(text, encoding)?),
        (None, Some(_)) => {
            return Err(Error::malformed(
                "encoding is for the text in sample, and there is none; send both or neither",
            ));
        }
        (None, None) => None,
    };
    let window = it.window_tokens.map(Tokens);
    let request = PlanWindow::new(window, &allocation, situation, sample)?;
    Ok(Command::Context(ContextCommand::PlanWindow(Box::new(request))))
}

/// Parses a trigger that a client reports.
fn report(name: &str) -> Result<Trigger, Error> {
    let found = REPORTS.into_iter().find(|it| it.as_str() == name);
    found.ok_or_else(|| {
        let shown: String = name.chars().take(40).collect();
        let why = match Trigger::parse(name) {
            Ok(_) => "follows from the numbers of the request",
            Err(_) => "is not known",
        };
        let names = REPORTS.map(Trigger::as_str).join(", ");
        Error::malformed(format!("reports: {shown:?} {why}; it can have {names}"))
    })
}

/// Returns the sizes that a request asks for.
fn allocation(
    shares: Option<Parts<Option<f64>>>,
    parts: Option<Parts<Option<u32>>>,
) -> Result<Allocation, Error> {
    Ok(match (shares, parts) {
        (None, None) => Allocation::default(),
        (Some(it), None) => Allocation::Shares(Parts {
            knowledge: share(&it, Part::Knowledge)?,
            active: share(&it, Part::Active)?,
            session_memory: share(&it, Part::SessionMemory)?,
            buffer: share(&it, Part::Buffer)?,
        }),
        (None, Some(it)) => Allocation::Tokens(Parts {
            knowledge: it.knowledge.map(Tokens),
            active: it.active.map(Tokens),
            session_memory: it.session_memory.map(Tokens),
            buffer: it.buffer.map(Tokens),
        }),
        (Some(_), Some(_)) => {
            return Err(Error::malformed(
                "a plan has shares or parts, and the request has both; send one of them",
            ));
        }
    })
}

/// Returns the share of a part.
fn share(percent: &Parts<Option<f64>>, part: Part) -> Result<Option<Share>, Error> {
    let named = |error| Error::malformed(format!("shares.{}: {error}", part.as_str()));
    percent.of(part).map(Share::from_percent).transpose().map_err(named)
}
