//! What rounds must answer, and what they make of the session: every delta is kept,
//! and every state as a whole.
//!
//! The rules of merging are those of the plain reading that the core's own tests
//! compare it with. Leaves out what is clipped: the states of scripts are far from
//! their limit.
//!
//! The scripts have strategies for members as a whole, experts of one list, and paths
//! of plain names and indexes.

mod kept;
mod places;
mod redacted;

use serde_json::json;
use shared_context_core::{
    CloseRound, Code, Command, OpenRound, Proposal, ReadDeltas, Reply, RequestId, RoundsCommand,
    RoundsReply,
    audit::AuditAction,
    port::Revision,
    rounds::{
        Clip, Delta, DeltaRead, DeltasPage, Ended, Json, Proposed, ROUNDS_KEPT, Round, StateRead,
        Status,
    },
};

use super::{
    changes::Done,
    reference,
    state::{Answer, Model, name, participant},
};
pub(super) use kept::Rounds;
use kept::{Played, rules, text, weight};
use places::{convergence, fits, steps, touches};

impl Model {
    /// What `command` must answer and what it makes of the session, if it changes its
    /// rounds.
    pub fn change_rounds(&self, clock: u64, who: &str, command: &Command) -> Option<Done> {
        let (id, action, may) = match command {
            Command::Rounds(RoundsCommand::Open(it)) => {
                (&it.request_id, AuditAction::OpenRound, "orchestrator")
            }
            Command::Rounds(RoundsCommand::Close(it)) => {
                (&it.request_id, AuditAction::CloseRound, "orchestrator")
            }
            Command::Rounds(RoundsCommand::Propose(it)) => {
                (&it.request_id, AuditAction::ProposeDeltas, who)
            }
            Command::Rounds(RoundsCommand::Redact(it)) => {
                return Some(self.redact_rounds(clock, who, it));
            }
            _ => return None,
        };
        let id = id.as_ref();
        if let Err(answer) = self.ask_round(who, may, id, command) {
            return Some((*answer, None));
        }
        let mut next = self.begun(clock);
        let done = match command {
            Command::Rounds(RoundsCommand::Open(it)) => next.open_round(who, it),
            Command::Rounds(RoundsCommand::Close(it)) => next.close_round(who, it),
            Command::Rounds(RoundsCommand::Propose(it)) => next.propose(who, it),
            _ => return None,
        };
        Some(match done {
            Err(code) => (Err(code), None),
            Ok((round, reply)) => {
                next.tell(who, action, None);
                next.tell_round(round);
                next.done(who, id, command.clone(), reply)
            }
        })
    }

    /// What is told before any round is looked at.
    fn ask_round(
        &self,
        who: &str,
        may: &str,
        id: Option<&RequestId>,
        command: &Command,
    ) -> Result<(), Box<Answer>> {
        let refuse = |code| Err(Box::new(Err(code)));
        if self.about.is_archived {
            return refuse(Code::SessionArchived);
        }
        if who == "admin"
            || name(who) != may.split(" only ").next().unwrap_or(may)
            || is_limited(who)
        {
            return refuse(Code::Forbidden);
        }
        let known = id.map(|id| (name(who).to_owned(), id.as_str().to_owned()));
        match known.and_then(|it| self.answers.get(&it)) {
            None => Ok(()),
            Some((asked, answer)) if asked == command => Err(Box::new(answer.clone())),
            Some(_) => refuse(Code::RequestIdReused),
        }
    }

    fn open_round(&mut self, who: &str, asked: &OpenRound) -> Result<(u64, Reply), Code> {
        let (by, at) = (participant(who), self.about.changed_at);
        let rounds = &mut self.rounds;
        if asked.query.is_some() && !rounds.ended.is_empty() {
            return Err(Code::MalformedRequest);
        }
        if rounds.open.is_some() {
            return Err(Code::RoundOpen);
        }
        if let Some(query) = &asked.query {
            let first = rounds.first.as_mut().filter(|_| rounds.ended.is_empty());
            let (state, is_said) = first.ok_or(Code::MalformedRequest)?;
            (state["query"], *is_said) = (json!(query), true);
        }
        let round = Round {
            number: rounds.last() + 1,
            opened_at: at,
            opened_by: by,
            plan: asked.plan.clone(),
            bytes_max: asked.plan.bytes_max.unwrap_or(rounds.bytes_max),
            deltas: 0,
            ended: None,
        };
        rounds.open = Some(Played {
            round: round.clone(),
            proposals: Vec::new(),
            deltas: Vec::new(),
            fates: Vec::new(),
            state: rounds.now().clone(),
        });
        Ok((round.number, Reply::Rounds(RoundsReply::Round(Box::new(round)))))
    }

    fn propose(&mut self, who: &str, asked: &Proposal) -> Result<(u64, Reply), Code> {
        let at = self.about.changed_at;
        let open = self.rounds.open.as_mut().ok_or(Code::RoundNotOpen)?;
        let rules = rules(&open.round.plan);
        let first = open.deltas.len() as u32 + 1;
        let mut deltas = Vec::new();
        for (it, sequence) in asked.deltas.iter().zip(first..) {
            let path = fits(&open.state, it, who, &rules)?;
            deltas.push(Delta {
                sequence,
                participant: participant(who),
                proposed_at: at,
                operation: it.operation,
                path,
                value: it.value.clone(),
                provenance: it.provenance.clone(),
            });
        }
        let count = deltas.len() as u32;
        open.round.deltas += count;
        open.proposals.push(first);
        open.deltas.extend(deltas);
        let round = open.round.number;
        Ok((round, Reply::Rounds(RoundsReply::Proposed(Proposed { round, first, count }))))
    }

    fn close_round(&mut self, who: &str, asked: &CloseRound) -> Result<(u64, Reply), Code> {
        let (by, at) = (participant(who), self.about.changed_at);
        let rounds = &mut self.rounds;
        let mut played = rounds.open.take().ok_or(Code::RoundNotOpen)?;
        let before = played.state.clone();
        played.merge(asked.discards);
        let (bytes, bytes_max) = (text(&played.state).len() as u32, played.round.bytes_max);
        let clip = asked.clip.unwrap_or(played.round.plan.clip);
        if bytes > bytes_max && !asked.discards {
            assert_eq!(clip, Clip::Reject, "scripts let nothing be clipped");
            return Err(Code::StateTooLarge);
        }
        let count = |status| played.fates.iter().filter(|it| it.status == status).count() as u32;
        let ended = Ended {
            at,
            by,
            is_discarded: asked.discards,
            bytes,
            applied: count(Status::Applied),
            lost: count(Status::Lost),
            refused: count(Status::Discarded),
            clipped: Vec::new(),
            clip,
            convergence: convergence(&before, &played.state),
        };
        played.round.ended = Some(ended);
        let round = played.round.clone();
        rounds.bytes_max = round.bytes_max;
        rounds.ended.insert(round.number, played);
        if round.number > ROUNDS_KEPT {
            rounds.first = None;
            rounds.ended.retain(|it, _| *it + ROUNDS_KEPT > round.number);
        }
        Ok((round.number, Reply::Rounds(RoundsReply::Round(Box::new(round)))))
    }

    /// The answer to `read_state`, `read_deltas` and `convergence`.
    pub fn read_rounds(&self, who: &str, command: &Command) -> Answer {
        if is_limited(who) {
            return Err(Code::Forbidden);
        }
        let rounds = &self.rounds;
        let reply = match command {
            Command::Rounds(RoundsCommand::ReadState { round }) => {
                let number = round.unwrap_or(rounds.last());
                let state = rounds.state(number).ok_or(Code::RoundNotFound)?;
                let open = rounds.open.as_ref().map(|it| it.round.clone());
                let open = open.filter(|_| round.is_none());
                Reply::Rounds(RoundsReply::State(Box::new(StateRead {
                    round: number,
                    document: Json::restore(&text(state)).unwrap(),
                    bytes_max: open.as_ref().map_or(rounds.bytes_max, |it| it.bytes_max),
                    open,
                })))
            }
            Command::Rounds(RoundsCommand::ReadDeltas(asked)) => {
                Reply::Rounds(RoundsReply::Deltas(self.read_deltas(asked)?))
            }
            Command::Rounds(RoundsCommand::ReadConvergence) => {
                Reply::Rounds(RoundsReply::Convergence(
                    rounds.ended.values().map(|it| it.round.clone()).collect(),
                ))
            }
            other => panic!("{other:?} reads no round"),
        };
        Ok((Revision(self.revision), reply))
    }

    fn read_deltas(&self, asked: &ReadDeltas) -> Result<DeltasPage, Code> {
        let rounds = &self.rounds;
        if let Some(round) = asked.round {
            let newest = rounds.open.as_ref().map_or(rounds.last(), |it| it.round.number);
            if !(rounds.oldest()..=newest).contains(&round) {
                return Err(Code::RoundNotFound);
            }
        }
        let path = asked.path.as_ref().map(|it| steps(it.as_str()));
        let mut told = Vec::new();
        for it in rounds.ended.values().chain(&rounds.open) {
            let number = it.round.number;
            for (nth, delta) in it.deltas.iter().enumerate() {
                let place = (number, delta.sequence);
                let is_asked = asked.round.is_none_or(|it| it == number)
                    && asked.after.is_none_or(|it| place > it)
                    && path.as_ref().is_none_or(|path| touches(delta, path));
                if is_asked {
                    told.push(DeltaRead {
                        round: number,
                        delta: delta.clone(),
                        weight: weight(&it.round.plan, delta.participant.as_str()),
                        fate: it.fates.get(nth).cloned(),
                    });
                }
            }
        }
        let limit = asked.limit as usize;
        let has_more = told.len() > limit;
        told.truncate(limit);
        let last = told.last().map(|it| (it.round, it.delta.sequence));
        Ok(DeltasPage { deltas: told, next_after: last.filter(|_| has_more) })
    }
}

fn is_limited(who: &str) -> bool {
    who.contains(" only ")
}
