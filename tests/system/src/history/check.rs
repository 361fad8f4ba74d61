//! The search for an order: by Wing and Gong (1993) with the memory of Lowe (2017), as
//! `todc-utils` has it.
//!
//! `stateright` has a tester too, which tries all orders, each anew: for thousands of
//! operations it is no use. `todc-utils` wants every operation to have ended. One whose
//! outcome is unknown ends after all others, where it may have happened without anybody
//! seeing it: that it never did need not be told apart from that.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Instant as Clock,
};

use todc_utils::{
    linearizability::{
        WGLChecker,
        history::{self, Action},
    },
    specifications::Specification,
};

use super::{
    Figures, History, Operation,
    model::{Answer, Change, Claims, Request, Session, Step},
    timeline,
};

/// An answer that nothing explains.
#[derive(Debug)]
pub struct Offence {
    /// Which operation of the history was answered so.
    pub operation: usize,
    told: String,
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told)
    }
}

impl History {
    /// Looks for an order that explains all answers.
    ///
    /// # Errors
    ///
    /// No order exists: the first answer that nothing explains, beside what was answered
    /// before it.
    pub fn check(&self) -> Result<Figures, Offence> {
        let began = Clock::now();
        let prepared = Prepared::of(self);
        if prepared.explains(u64::MAX) {
            let is_unknown = |it: &&Operation| it.told.is_none();
            return Ok(Figures {
                histories: 1,
                operations: self.operations.len(),
                unknown: self.operations.iter().filter(is_unknown).count(),
                repeated: prepared.repeated,
                kills: 0,
                longest_check: began.elapsed(),
            });
        }
        // Whatever comes after an answer that nothing explains, nothing will.
        let mut answers: Vec<_> = (0..self.operations.len())
            .filter_map(|nth| Some((self.operations[nth].told.as_ref()?.0.place, nth)))
            .collect();
        answers.sort_unstable();
        let first = answers.partition_point(|(place, _)| prepared.explains(*place));
        let operation = answers[first.min(answers.len() - 1)].1;
        let told = timeline::of(self, operation, first + 1);
        Err(Offence { operation, told })
    }
}

/// A history, ready to be searched.
struct Prepared<'h> {
    history: &'h History,
    /// What is known of each change from the answers to all.
    claims: Arc<Claims>,
    /// The changes that were sent more than once: only of those answers are remembered.
    sent_again: BTreeSet<u64>,
    repeated: usize,
}

impl<'h> Prepared<'h> {
    fn of(history: &'h History) -> Self {
        let mut claims = Claims::default();
        let mut sent = BTreeMap::<u64, usize>::new();
        for operation in &history.operations {
            let Request::Change(Change { wish, .. }) = &operation.request else { continue };
            *sent.entry(*wish).or_default() += 1;
            if let Some((_, Answer::Changed { revision, .. })) = &operation.told {
                claims.of.entry(*revision).or_default().insert(*wish);
            }
        }
        claims.last = last_revision(history);
        sent.retain(|_, times| *times > 1);
        let repeated = sent.values().map(|times| times - 1).sum();
        Self { history, claims: Arc::new(claims), sent_again: sent.into_keys().collect(), repeated }
    }

    /// Returns whether some order explains all that was answered up to the moment `until`.
    fn explains(&self, until: u64) -> bool {
        let steps = self.history.operations.iter().filter_map(|operation| {
            if operation.asked.place > until {
                return None;
            }
            let told = operation.told.as_ref().filter(|(at, _)| at.place <= until);
            let step = match (told, &operation.request) {
                (Some((_, answer)), request) => {
                    Step::Answered(self.as_searched(request), answer.clone())
                }
                // A read without an answer has changed nothing.
                (None, Request::Read(_) | Request::ReadBatch(_) | Request::List) => return None,
                (None, request) => {
                    Step::Unknown(self.as_searched(request), Arc::clone(&self.claims))
                }
            };
            Some((operation.asked.place, told.map(|(at, _)| at.place), step))
        });
        has_order::<Session>(steps, Step::End)
    }

    fn as_searched(&self, request: &Request) -> Request {
        match request {
            Request::Change(change) => {
                let is_named = change.is_named && self.sent_again.contains(&change.wish);
                Request::Change(Change { is_named, ..change.clone() })
            }
            other => other.clone(),
        }
    }
}

/// Returns whether there is an order of `steps`: of each when it was asked and answered, as places among
/// all these moments. What was not answered ends after `end`, which comes when all that was is over.
pub(crate) fn has_order<S>(
    steps: impl IntoIterator<Item = (u64, Option<u64>, S::Operation)>,
    end: S::Operation,
) -> bool
where
    S: Specification<Operation: Clone>,
{
    let mut actions = Vec::new();
    let mut unknown = Vec::new();
    let mut last = 0;
    for (nth, (asked, told, step)) in steps.into_iter().enumerate() {
        match told {
            Some(at) => actions.push((at, (nth, Action::Response(step.clone())))),
            None => unknown.push((nth, Action::Response(step.clone()))),
        }
        actions.push((asked, (nth, Action::Call(step))));
        last = nth + 1;
    }
    actions.sort_by_key(|(place, _)| *place);
    let actions = actions.into_iter().map(|(_, action)| action);
    let ends = [(last, Action::Call(end.clone())), (last, Action::Response(end))];
    let actions = actions.chain(ends).chain(unknown).collect();
    WGLChecker::<S>::is_linearizable(history::History::from_actions(actions))
}

/// Returns the revision in an answer to a request that was sent when all others were answered, if
/// somebody did.
fn last_revision(history: &History) -> Option<u64> {
    let answered = history.operations.iter().filter_map(|it| Some((it.asked, it.told.as_ref()?)));
    let (asked, (at, answer)) = answered.clone().max_by_key(|(_, (at, _))| *at)?;
    let (Answer::Entries { revision, .. } | Answer::Keys { revision, .. }) = answer else {
        return None;
    };
    let mut others = answered.filter(|(_, (other, _))| other != at);
    others.all(|(_, (other, _))| *other < asked).then_some(*revision)
}
