//! Members of requests about packets (spec 18.3).

use shared_context_core::{
    Error,
    packets::{File, Given, Link, MadeBy, Part},
};

use crate::form::form;

/// A file: its text, or a summary of it.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_file"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct FileForm {
    /// Its path, one line of 1 to 200 characters.
    path: String,
    /// Its text, or a summary of it.
    text: String,
}

form! { FileForm: path, text }

/// What you state yourself. It goes before everything that is found elsewhere.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_facts"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct FactsForm {
    /// What to accomplish, if the task does not say it.
    goal: Option<String>,
    /// When it is accomplished.
    success_criteria: Option<Vec<String>>,
    /// Rules that must be kept.
    constraints: Option<Vec<String>>,
    /// Decisions that were made.
    decisions: Option<Vec<DecisionForm>>,
    /// Conventions to follow.
    patterns: Option<Vec<String>>,
    /// Conventions to avoid.
    anti_patterns: Option<Vec<String>>,
    /// Paths of files that show a pattern.
    examples: Option<Vec<String>>,
    /// Attempts that failed.
    failed_attempts: Option<Vec<AttemptForm>>,
    /// Changes of direction.
    pivots: Option<Vec<PivotForm>>,
    /// Questions without an answer.
    open_questions: Option<Vec<String>>,
}

form! {
    FactsForm:
    goal, success_criteria, constraints, decisions, patterns, anti_patterns, examples,
    failed_attempts, pivots, open_questions
}

/// A decision.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_fact_decision"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct DecisionForm {
    /// What was chosen.
    choice: String,
    /// Why.
    reason: Option<String>,
    /// Who chose it: `user`, `orchestrator` or `agent`; you when absent.
    made_by: Option<String>,
}

form! { DecisionForm: choice, reason, made_by }

/// An attempt that failed.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_fact_attempt"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct AttemptForm {
    /// What was tried.
    approach: String,
    /// Why it failed.
    reason_failed: Option<String>,
}

form! { AttemptForm: approach, reason_failed }

/// A change of direction.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_fact_pivot"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct PivotForm {
    /// What is done now, and what was left.
    change: String,
    /// Why.
    reason: Option<String>,
}

form! { PivotForm: change, reason }

/// A packet of another session that this one refers to.
#[derive(Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "packet_link"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(crate) struct LinkForm {
    /// The id of the session.
    session: String,
    /// The id of the packet, such as PKT-3.
    packet: String,
    /// The decision that is meant, in its words.
    decision: Option<String>,
    /// The digest of the decision, or the checksum of the packet.
    digest: Option<String>,
}

form! { LinkForm: session, packet, decision, digest }

impl FileForm {
    pub(super) fn file(self) -> File {
        File { path: self.path, text: self.text }
    }
}

impl FactsForm {
    pub(super) fn facts(self) -> Result<Vec<Given>, Error> {
        let mut facts = Vec::new();
        for (part, texts) in [
            (Part::Goal, self.goal.map(|it| vec![it])),
            (Part::SuccessCriterion, self.success_criteria),
            (Part::Constraint, self.constraints),
            (Part::Pattern, self.patterns),
            (Part::AntiPattern, self.anti_patterns),
            (Part::Example, self.examples),
            (Part::OpenQuestion, self.open_questions),
        ] {
            facts.extend(texts.into_iter().flatten().map(|it| Given::new(part, it)));
        }
        for it in self.decisions.unwrap_or_default() {
            let made_by = it.made_by.as_deref().map(MadeBy::parse).transpose()?;
            let given = Given::new(Part::Decision, it.choice);
            facts.push(Given { detail: it.reason, made_by, ..given });
        }
        for it in self.failed_attempts.unwrap_or_default() {
            let given = Given::new(Part::FailedAttempt, it.approach);
            facts.push(Given { detail: it.reason_failed, ..given });
        }
        for it in self.pivots.unwrap_or_default() {
            facts.push(Given { detail: it.reason, ..Given::new(Part::Pivot, it.change) });
        }
        Ok(facts)
    }
}

impl LinkForm {
    pub(super) fn link(self) -> Link {
        let Self { session, packet, decision, digest } = self;
        Link { session, packet, decision, digest }
    }
}
