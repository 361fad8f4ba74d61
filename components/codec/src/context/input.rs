//! Builders of commands of the context pipeline (spec 16).

use shared_context_core::{
    Command, ContextCommand, Error,
    context::{
        AnswerMissing, AssembleContext, ListMissing, PlanWindow, RecordInjection, ReportMissing,
        Sample, Share,
        assembly::{Format, RankBy, Rules},
        capacity::{Situation, Trigger},
        kept::{KeptId, Missing},
        kinds::{MissingKind, Place, Purpose},
        plan::{Allocation, Part, Parts, WINDOW_TOKENS_DEFAULT, WindowPlan},
    },
    item::Target,
    pattern::KeyPattern,
    text::Score,
    tokens::Tokens,
};

use super::forms::{BudgetForm, WindowForm};
use crate::{
    checks,
    item::{self, ItemForm},
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

/// A request to assemble a context, not yet validated.
#[derive(Debug, Default)]
pub(crate) struct AssembleInput {
    pub(crate) task: Option<String>,
    pub(crate) items: Vec<ItemForm>,
    pub(crate) entries: Option<String>,
    pub(crate) round_state: Option<bool>,
    pub(crate) pinned: Vec<String>,
    pub(crate) pruned: Vec<String>,
    pub(crate) budget: BudgetForm,
    pub(crate) window: Option<WindowForm>,
    pub(crate) target: Option<String>,
    pub(crate) place: Option<String>,
    pub(crate) purpose: Option<String>,
    pub(crate) rank_by: Option<String>,
    pub(crate) relevance_min: Option<f64>,
    pub(crate) format: Option<String>,
    pub(crate) previous: Option<String>,
    pub(crate) keep: Option<bool>,
}

/// Builds the command to assemble a context.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn assemble(it: AssembleInput) -> Result<Command, Error> {
    let (items, uncounted) = item::items(it.items)?;
    let defaults = Rules::default();
    let window = it.window.map(|it| {
        let window = it.window_tokens.map_or(WINDOW_TOKENS_DEFAULT, Tokens);
        let named = |error| Error::malformed(format!("window.{error}"));
        let plan = WindowPlan::new(window, &Allocation::default()).map_err(named)?;
        Ok::<_, Error>((plan, Tokens(it.used_tokens.unwrap_or(0))))
    });
    let previous = it.previous.as_deref().map(|it| KeptId::parse_envelope("previous", it));
    let request = AssembleContext {
        task: it.task.unwrap_or_default(),
        items,
        uncounted,
        entries: it.entries.as_deref().map(KeyPattern::parse).transpose()?,
        has_round_state: it.round_state.unwrap_or(false),
        rules: Rules {
            budget: it.budget.budget(defaults.budget.tokens),
            target: named(it.target, Target::parse, defaults.target)?,
            place: named(it.place, Place::parse, defaults.place)?,
            purpose: named(it.purpose, Purpose::parse, defaults.purpose)?,
            rank_by: named(it.rank_by, RankBy::parse, defaults.rank_by)?,
            relevance_min: it.relevance_min.map_or(Ok(Score(0)), relevance)?,
            format: named(it.format, Format::parse, defaults.format)?,
            pinned: it.pinned.into_iter().collect(),
            pruned: it.pruned.into_iter().collect(),
            window: window.transpose()?,
        },
        previous: previous.transpose()?,
        keeps: it.keep.unwrap_or(false),
    };
    request.check()?;
    Ok(Command::Context(ContextCommand::Assemble(Box::new(request))))
}

/// Parses a name of a closed list, or returns the default.
fn named<T>(
    name: Option<String>,
    parse: impl Fn(&str) -> Result<T, Error>,
    default: T,
) -> Result<T, Error> {
    name.map_or(Ok(default), |it| parse(&it))
}

/// Parses the least relevance.
fn relevance(it: f64) -> Result<Score, Error> {
    if !(0.0..=1.0).contains(&it) {
        return Err(Error::malformed(format!(
            "relevance_min is {it}; it must be 0 to 1, for example 0.3"
        )));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 10,000, as was just checked"
    )]
    let units = (it * 10_000.0).round() as u16;
    Ok(Score(units))
}

/// Builds the command to read an envelope.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn read_envelope(envelope: &str) -> Result<Command, Error> {
    let id = KeptId::parse_envelope("envelope", envelope)?;
    Ok(Command::Context(ContextCommand::ReadEnvelope(id)))
}

/// Builds the command to export the evidence of an envelope.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn export_evidence(envelope: &str) -> Result<Command, Error> {
    let id = KeptId::parse_envelope("envelope", envelope)?;
    Ok(Command::Context(ContextCommand::ExportEvidence(id)))
}

/// Builds the command to record an injection.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn record_injection(
    envelope: &str,
    place: &str,
    target: Option<&str>,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let it = RecordInjection {
        envelope: KeptId::parse_envelope("envelope", envelope)?,
        place: Place::parse(place)?,
        target: target.map_or(Ok(Target::Model), Target::parse)?,
    };
    let command = Command::Context(ContextCommand::RecordInjection(it));
    Ok(checks::named(checks::request_id(request_id)?, command))
}

/// Builds the command to report missing context.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn report_missing(
    kind: &str,
    text: String,
    envelope: Option<&str>,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    Missing::check_text("text", &text)?;
    let envelope = envelope.map(|it| KeptId::parse_envelope("envelope", it)).transpose()?;
    let it = ReportMissing { kind: MissingKind::parse(kind)?, text, envelope };
    let command = Command::Context(ContextCommand::ReportMissing(it));
    Ok(checks::named(checks::request_id(request_id)?, command))
}

/// Builds the command to answer missing context.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn answer_missing(
    missing: &str,
    answer: String,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    Missing::check_text("answer", &answer)?;
    let it = AnswerMissing { missing: KeptId::parse_missing("missing", missing)?, answer };
    let command = Command::Context(ContextCommand::AnswerMissing(it));
    Ok(checks::named(checks::request_id(request_id)?, command))
}

/// Builds the command to list missing context: what is `open`, what is `answered`, or all.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn list_missing(state: Option<&str>) -> Result<Command, Error> {
    let is_answered = match state {
        None => None,
        Some("open") => Some(false),
        Some("answered") => Some(true),
        Some(_) => return Err(Error::malformed("state must be open or answered")),
    };
    Ok(Command::Context(ContextCommand::ListMissing(ListMissing { is_answered })))
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
