//! The operations of the context pipeline, and their replies.

use super::{
    assembly::{self, Heading, Previous, Request, Rules},
    capacity::{Estimate, Level, Situation, Trigger},
    kept::{Injection, KeptEnvelope, KeptId, Missing},
    kinds::{MissingKind, Place},
    plan::{Allocation, WINDOW_TOKENS_DEFAULT, WindowPlan},
};
use crate::{
    Error,
    item::{self, Item, Target},
    pattern::KeyPattern,
    time::Timestamp,
    tokens::{Estimator, Tokens},
};

/// The longest text whose estimate is compared with its exact count, in bytes.
pub const SAMPLE_BYTES_MAX: usize = 65_536;

/// An operation of the context pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Plans a context window, and returns how full it is. Nothing is stored.
    PlanWindow(Box<PlanWindow>),
    /// Assembles a context.
    Assemble(Box<AssembleContext>),
    /// Returns a kept envelope, without texts.
    ReadEnvelope(KeptId),
    /// Returns a kept envelope with the texts that were shown.
    ExportEvidence(KeptId),
    /// Records where a context became visible.
    RecordInjection(RecordInjection),
    /// Reports missing context.
    ReportMissing(ReportMissing),
    /// Answers missing context.
    AnswerMissing(AnswerMissing),
    /// Lists missing context.
    ListMissing(ListMissing),
}

/// A request to assemble a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssembleContext {
    /// The task or question.
    pub task: String,
    /// The candidates that the client sends.
    pub items: Vec<Item>,
    /// The places of those whose tokens the session counts.
    pub uncounted: Vec<usize>,
    /// The entries of the session that are candidates, too.
    pub entries: Option<KeyPattern>,
    /// True if the state of the last round is a candidate, too.
    pub has_round_state: bool,
    /// The rules.
    pub rules: Rules,
    /// The previous envelope.
    pub previous: Option<KeptId>,
    /// True if the envelope is kept.
    pub keeps: bool,
}

/// A record of where a context became visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordInjection {
    /// The envelope.
    pub envelope: KeptId,
    /// The place.
    pub place: Place,
    /// The target that saw it.
    pub target: Target,
}

/// A report of missing context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportMissing {
    /// The kind.
    pub kind: MissingKind,
    /// A description of the missing context.
    pub text: String,
    /// The envelope in which it is missing.
    pub envelope: Option<KeptId>,
}

/// An answer to missing context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerMissing {
    /// The missing context that is answered.
    pub missing: KeptId,
    /// The answer.
    pub answer: String,
}

/// A request for the list of missing context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListMissing {
    /// List only what is answered, or only what is open.
    pub is_answered: Option<bool>,
}

impl AssembleContext {
    /// Validates the request.
    ///
    /// # Errors
    ///
    /// As [`assembly::check`].
    pub fn check(&self) -> Result<(), Error> {
        assembly::check(&self.task, &self.items, &self.rules)
    }
}

/// A request for the plan of a context window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanWindow {
    /// The plan.
    plan: WindowPlan,
    /// The state of the window, as the client reports it.
    situation: Situation,
    /// A text whose estimate is compared with its exact count.
    sample: Option<Sample>,
}

/// A text of the window, as a sample for the error of estimates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The text.
    text: String,
    /// The encoding of the exact count; `None` for that of the session.
    encoding: Option<Estimator>,
}

/// The reply to an operation of the context pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The reply to [`Command::PlanWindow`].
    Window(Box<PlannedWindow>),
    /// The reply to [`Command::Assemble`].
    Assembled(Box<Assembled>),
    /// The reply to [`Command::Assemble`], as it is stored for retries: the texts are in the
    /// envelope only.
    KeptEnvelope(KeptId),
    /// The reply to [`Command::ReportMissing`] or, if the flag is set, [`Command::AnswerMissing`], as
    /// it is stored for retries.
    KeptMissing(KeptId, bool),
    /// The reply to [`Command::ReadEnvelope`].
    Envelope(Box<EnvelopeRead>),
    /// The reply to [`Command::ExportEvidence`].
    Evidence(Box<EnvelopeRead>),
    /// The reply to [`Command::RecordInjection`].
    Injection(Box<Injection>),
    /// The reply to [`Command::ReportMissing`] and [`Command::AnswerMissing`].
    Missing(Box<Missing>),
    /// The reply to [`Command::ListMissing`].
    MissingList(MissingList),
}

/// An assembled context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The id of its envelope, if it is kept.
    pub id: Option<KeptId>,
    /// The envelope as canonical JSON.
    pub envelope: String,
    /// The text.
    pub text: String,
}

/// A kept envelope, and where it became visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeRead {
    /// The envelope. Texts that the caller may not see are left out as if they had been redacted.
    pub envelope: KeptEnvelope,
    /// Its injections, oldest first.
    pub injections: Vec<Injection>,
}

/// Missing context: blockers first, then the other kinds, each oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingList {
    /// The missing context.
    pub missing: Vec<Missing>,
    /// The number of reports that are open.
    pub open: u32,
}

/// The plan of a context window, and how full it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedWindow {
    /// The plan.
    pub plan: WindowPlan,
    /// The tokens in the window.
    pub used: Tokens,
    /// The capacity level of the window.
    pub level: Level,
    /// The reasons to compact that are due.
    pub due: Vec<Trigger>,
    /// The estimate of the sample, and its exact count.
    pub estimate: Option<SampleEstimate>,
}

/// The estimate of a sample, beside its exact count if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleEstimate {
    /// The estimate.
    pub estimated: Tokens,
    /// The encoding of the exact count, and the comparison; `None` if the session estimates and
    /// the request names no encoding.
    pub exact: Option<(Estimator, Estimate)>,
}

impl AssembleContext {
    /// Assembles the items of the request, without a session. `count` counts the tokens of a text.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the request needs a session, or pins or prunes an item that it does
    /// not have; those of [`assembly::assemble`].
    pub fn assemble_alone(
        &self,
        now: Timestamp,
        count: &dyn Fn(&str) -> Result<Tokens, Error>,
    ) -> Result<Assembled, Error> {
        if self.entries.is_some() || self.has_round_state || self.previous.is_some() || self.keeps {
            return Err(Error::malformed(
                "entries, round_state, previous and keep need a session, and there is none; leave \
                 them out, and send what is to be shown as items",
            ));
        }
        let items = item::counted(&self.items, &self.uncounted, count)?;
        assembly::check_ids(&items, &self.rules)?;
        let request = Request {
            task: &self.task,
            items: &items,
            rules: &self.rules,
            previous: &Previous::default(),
            now,
        };
        let assembly = assembly::assemble(&request, count)?;
        let heading = Heading { id: None, owner: None, shows_hidden: true };
        let envelope = assembly.envelope(&request, &heading);
        Ok(Assembled { id: None, envelope, text: assembly.text })
    }
}

impl PlanWindow {
    /// Creates a request; `window` is [`WINDOW_TOKENS_DEFAULT`] when `None`.
    ///
    /// # Errors
    ///
    /// As [`WindowPlan::new`].
    pub fn new(
        window: Option<Tokens>,
        allocation: &Allocation,
        situation: Situation,
        sample: Option<Sample>,
    ) -> Result<Self, Error> {
        let plan = WindowPlan::new(window.unwrap_or(WINDOW_TOKENS_DEFAULT), allocation)?;
        Ok(Self { plan, situation, sample })
    }

    /// Returns the encoding that the request names.
    pub(crate) fn encoding(&self) -> Option<&Estimator> {
        self.sample.as_ref().and_then(|it| it.encoding.as_ref())
    }

    /// Answers the request in a session with this estimator. `count` counts a text.
    ///
    /// # Errors
    ///
    /// Those of `count`.
    pub fn answer(
        &self,
        session: &Estimator,
        count: impl Fn(&Estimator, &str) -> Result<Tokens, Error>,
    ) -> Result<PlannedWindow, Error> {
        let Self { plan, situation, sample } = self;
        let estimate = sample.as_ref().map(|it| it.estimate(session, count)).transpose()?;
        Ok(PlannedWindow {
            plan: plan.clone(),
            used: situation.used,
            level: Level::of(situation.used, plan.window),
            due: situation.due(plan.window),
            estimate,
        })
    }
}

impl Sample {
    /// Creates a sample; without an encoding it is counted exactly if the session counts exactly.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for a text over [`SAMPLE_BYTES_MAX`], or the name of no encoding.
    pub fn new(text: String, encoding: Option<&str>) -> Result<Self, Error> {
        if text.len() > SAMPLE_BYTES_MAX {
            return Err(Error::malformed(format!(
                "sample has {} bytes, at most {SAMPLE_BYTES_MAX} are counted; a part of it shows the \
                 error as well",
                text.len()
            )));
        }
        let encoding = encoding.map(|name| match Estimator::parse(name) {
            Ok(it @ Estimator::Encoding(_)) => Ok(it),
            _ => Err(Error::malformed(
                "encoding must be the name of an encoding of the host, such as o200k_base",
            )),
        });
        Ok(Self { text, encoding: encoding.transpose()? })
    }

    fn estimate(
        &self,
        session: &Estimator,
        count: impl Fn(&Estimator, &str) -> Result<Tokens, Error>,
    ) -> Result<SampleEstimate, Error> {
        let estimated = count(&Estimator::Approximate, &self.text)?;
        let by = self.encoding.as_ref().unwrap_or(session);
        if *by == Estimator::Approximate {
            return Ok(SampleEstimate { estimated, exact: None });
        }
        let exact = count(by, &self.text)?;
        Ok(SampleEstimate { estimated, exact: Some((by.clone(), Estimate { estimated, exact })) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(session: &str, sample: Option<Sample>) -> Result<PlannedWindow, Error> {
        let situation = Situation { used: Tokens(164_000), ..Situation::default() };
        let request = PlanWindow::new(None, &Allocation::default(), situation, sample)?;
        request.answer(&Estimator::parse(session)?, |by, text| match by.as_str() {
            "approximate" => Ok(crate::tokens::approximate(text)),
            "words" => Ok(Tokens(u32::try_from(text.split(' ').count()).unwrap())),
            other => Err(Error::TokenizerUnavailable { encoding: other.to_owned() }),
        })
    }

    #[test]
    fn a_plan_tells_how_full_its_window_is() {
        let it = planned("approximate", None).unwrap();
        assert_eq!((it.plan.window, it.level), (Tokens(200_000), Level::Yellow));
        assert_eq!((it.due, it.estimate), (vec![Trigger::Capacity], None));
    }

    #[test]
    fn an_estimate_is_compared_with_a_count_by_an_encoding() {
        let sample = |encoding| Some(Sample::new("one two three".to_owned(), encoding).unwrap());
        let estimate = |session, encoding| {
            let estimate = planned(session, sample(encoding))?.estimate.unwrap();
            Ok((estimate.estimated.0, estimate.exact.map(|(by, it)| (by, it.exact.0))))
        };
        let words = || Some((Estimator::parse("words").unwrap(), 3));
        assert_eq!(estimate("approximate", None), Ok((4, None)));
        assert_eq!(estimate("approximate", Some("words")), Ok((4, words())));
        assert_eq!(estimate("words", None), Ok((4, words())));
        let missing: Error = estimate("approximate", Some("letters")).unwrap_err();
        assert_eq!(missing.code(), crate::Code::TokenizerUnavailable);
    }

    #[test]
    fn samples_have_a_limit_and_an_encoding() {
        let sample = |bytes, encoding| Sample::new("x".repeat(bytes), encoding);
        assert!(sample(SAMPLE_BYTES_MAX, Some("o200k_base")).is_ok());
        let error = sample(SAMPLE_BYTES_MAX + 1, None).unwrap_err().to_string();
        assert!(error.starts_with("sample has 65537 bytes"), "{error}");
        for name in ["", "approximate", "O200K"] {
            let error = sample(1, Some(name)).unwrap_err().to_string();
            assert!(error.starts_with("encoding must be"), "{error}");
        }
    }
}
