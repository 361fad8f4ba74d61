//! Questions about the sources of a packet (spec 18.10).

use super::{
    gather::{Gathered, gather},
    kinds::Part,
    recipe::Recipe,
    source::Sources,
    statement::{Source, Statement},
};
use crate::{
    Error,
    budget::Reason,
    order::sorted,
    text::{Candidate, Score, relevance},
    tokens::Tokens,
};

/// The tokens for the source and the score of a statement.
const SOURCE_TOKENS: Tokens = Tokens(10);
/// A statement is part of an answer from this share of the best score on.
const SCORE_MIN: Score = Score(2_500);
/// The most statements of an answer.
const FINDINGS_MAX: usize = 12;
/// The longest statement of an answer, in bytes: an estimate, before it is counted.
const BYTES_MAX: usize = 2_400;

/// The most tokens of an answer.
pub const ANSWER_TOKENS_MAX: Tokens = Tokens(300);
/// The longest question, in bytes.
pub const QUESTION_BYTES_MAX: usize = 2_000;

/// The answer to a question: the statements that have most in common with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The statements, best first. None is an answer, too.
    pub findings: Vec<Found>,
    /// Their tokens.
    pub tokens: Tokens,
    /// The number of other statements with words in common with the question.
    pub left_out: u32,
}

/// A statement that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The part of a packet that it belongs to.
    pub part: Part,
    /// The statement, with its reason.
    pub text: String,
    /// The source of the statement.
    pub source: Source,
    /// Its similarity to the question.
    pub score: Score,
}

/// Validates a question.
///
/// # Errors
///
/// [`Error::Malformed`] if it is empty or too long.
pub fn check_question(question: &str) -> Result<(), Error> {
    if question.trim().is_empty() || question.len() > QUESTION_BYTES_MAX {
        return Err(Error::malformed(format!(
            "question has {} bytes; ask one question of 1 to {QUESTION_BYTES_MAX}",
            question.len()
        )));
    }
    Ok(())
}

/// Answers a question from everything that a packet was made from.
///
/// # Errors
///
/// Those of `count`.
pub fn query(
    question: &str,
    recipe: &Recipe,
    sources: &Sources,
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<Answer, Error> {
    let Gathered { statements, reasons, .. } = gather(recipe, sources);
    // What is irrelevant for the task may answer a question; what was replaced does not.
    let is_current = |place: &usize| {
        let reason = reasons.get(*place).copied().flatten();
        reason.is_none_or(|it| it.0 == Reason::Irrelevant)
    };
    let places: Vec<usize> = (0..statements.len()).filter(is_current).collect();
    let current: Vec<&Statement> = places.iter().filter_map(|it| statements.get(*it)).collect();
    let texts: Vec<String> = current.iter().map(|it| it.told()).collect();
    let candidates: Vec<Candidate<'_>> = texts.iter().map(|it| Candidate::alone(it)).collect();
    let scores = relevance(question, &candidates);
    let scored: Vec<(Score, usize)> =
        scores.into_iter().zip(0..).filter(|it| it.0 > Score(0)).collect();
    let best_first = sorted(scored, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut answer = Answer { findings: Vec::new(), tokens: Tokens(0), left_out: 0 };
    for (score, place) in best_first {
        let Some((it, text)) = current.get(place).zip(texts.get(place)) else { continue };
        let is_close = score >= SCORE_MIN || answer.findings.is_empty();
        // What cannot fit is not counted.
        let is_short = text.len() <= BYTES_MAX && answer.findings.len() < FINDINGS_MAX;
        let tokens = if is_short { count(text)? } else { ANSWER_TOKENS_MAX };
        let sum = answer.tokens.plus(tokens).plus(SOURCE_TOKENS);
        if is_close && is_short && sum <= ANSWER_TOKENS_MAX {
            answer.tokens = sum;
            answer.findings.push(Found {
                part: it.part,
                text: text.clone(),
                source: it.source.clone(),
                score,
            });
        } else {
            answer.left_out = answer.left_out.saturating_add(1);
        }
    }
    Ok(answer)
}
