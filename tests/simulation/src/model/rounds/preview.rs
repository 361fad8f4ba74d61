//! Reply to a proposal: the effect of each delta, by applying it alone, and its losses, by closing
//! a copy of the round.

use serde_json::Value;
use shared_context_core::{
    Caller, CloseRound, Command, Reply, RoundsCommand, Scope, ScopeKind,
    audit::AuditRecord,
    execute,
    memory_kv::MemoryKv,
    port::{Clock, Log, NoTokenizer, Ports},
    rounds::{
        BYTES_MAX, Clip, Delta, Effect, Json, KeptRound, Loss, Operation, Path, Plan, Proposed,
        ProposedDelta, RoundHistory, Step,
    },
    time::Timestamp,
};

use super::{strategy, value, value_at};

/// Returns the expected reply to the proposal of the last `count` deltas of the open round, which
/// began with the state `before`.
///
/// # Errors
///
/// The reason why a copy of the round cannot be closed.
pub(super) fn reply(
    before: &Json,
    history: &RoundHistory,
    count: usize,
) -> Result<Proposed, String> {
    let KeptRound { round, deltas, .. } = history.rounds.last().ok_or("no round is left")?;
    let state = value(before);
    let losses = losses_if_closed(history)?;
    let own = &deltas[deltas.len() - count..];
    let preview = |it: &Delta| ProposedDelta {
        sequence: it.sequence,
        path: it.path.clone(),
        effect: effect(&state, it, &round.plan),
        losses: losses[it.sequence as usize - 1].clone(),
    };
    Ok(Proposed {
        round: round.number,
        first: round.deltas + 1 - count as u32,
        count: count as u32,
        deltas: own.iter().map(preview).collect(),
        has_losses: true,
        more_losses: 0,
    })
}

fn effect(state: &Value, delta: &Delta, plan: &Plan) -> Effect {
    let Some(proposed) = &delta.value else { return Effect::Removes };
    let (path, proposed) = (delta.path.steps(), value(proposed));
    let Some(here) = value_at(state, path) else { return Effect::Sets };
    let place = Place { delta, strategy: strategy(plan, &delta.path) };
    if place.applied(path, Some(here), &proposed) == *here {
        Effect::Nothing
    } else if place.merges(path, here, &proposed) {
        Effect::Merges
    } else if place.appends(path, here) {
        Effect::Appends
    } else {
        Effect::Sets
    }
}

/// A delta with the strategy of its member, which is that of all places below.
struct Place<'a> {
    delta: &'a Delta,
    strategy: &'static str,
}

impl Place<'_> {
    fn merges(&self, path: &[Step], here: &Value, proposed: &Value) -> bool {
        let is_merged = ["weighted-merge", "union"].contains(&self.strategy);
        let merges = if is_binding(path) { path.len() == 1 } else { is_merged };
        merges && here.is_object() && proposed.is_object()
    }

    fn appends(&self, path: &[Step], here: &Value) -> bool {
        let is_term = is_binding(path) && path.len() > 1;
        self.delta.operation == Operation::Add && here.is_array() && !is_term
    }

    /// Returns the value at `path` if the delta is applied alone.
    fn applied(&self, path: &[Step], here: Option<&Value>, proposed: &Value) -> Value {
        let Some(here) = here else { return proposed.clone() };
        let mut now = here.clone();
        if self.merges(path, here, proposed) {
            for (name, member) in proposed.as_object().unwrap() {
                let path = [path, &[Step::Name(name.clone())]].concat();
                now[name] = self.applied(&path, here.get(name), member);
            }
            return now;
        }
        if !self.appends(path, here) {
            return proposed.clone();
        }
        let items = proposed.as_array().cloned().unwrap_or_else(|| vec![proposed.clone()]);
        let is_new =
            |it: &Value| self.strategy != "union" || !here.as_array().unwrap().contains(it);
        now.as_array_mut().unwrap().extend(items.into_iter().filter(is_new));
        now
    }
}

fn is_binding(path: &[Step]) -> bool {
    Path::new(path.to_vec()).is_some_and(|it| it.to_string().starts_with("$['bindings']"))
}

/// A clock after every script, and a discarding log.
struct Later;

impl Clock for Later {
    fn now(&self) -> Timestamp {
        Timestamp(4_000_000_000_000)
    }
}

impl Log for Later {
    fn record(&self, _: &AuditRecord) {}
}

/// Returns the losses of each delta after the open round is closed in a copy of the session.
fn losses_if_closed(history: &RoundHistory) -> Result<Vec<Vec<Loss>>, String> {
    let kv = MemoryKv::default();
    let ports = Ports { kv: &kv, clock: &Later, log: &Later, tokenizer: &NoTokenizer };
    let ask = |session: &str, who: &str, command: &Command| {
        let id = Scope::parse(ScopeKind::Session, session).unwrap();
        let answer = execute(&ports, &id, &Caller::trusted(who).unwrap(), command);
        answer.map(|it| it.reply).map_err(|error| format!("of a copy of the round: {error}"))
    };
    let export = |session: &str| match ask(session, "admin", &Command::Export)? {
        Reply::Portable(it) => Ok(*it),
        other => Err(format!("exported as {other:?}")),
    };
    ask("empty", "admin", &Command::CreateSession(Box::default()))?;
    let mut document = export("empty")?;
    document.rounds = history.clone();
    if let Some(open) = document.rounds.rounds.last_mut() {
        open.round.bytes_max = *BYTES_MAX.end();
    }
    ask("copy", "admin", &Command::Import(Box::new(document)))?;
    let close = CloseRound { clip: Some(Clip::LargestFirst), ..CloseRound::default() };
    ask("copy", "orchestrator", &Command::Rounds(RoundsCommand::Close(close)))?;
    let closed = export("copy")?.rounds.rounds.pop().ok_or("no round is left")?;
    Ok(closed.outcomes.into_iter().map(|it| it.losses).collect())
}
