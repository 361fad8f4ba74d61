//! Tests of delta rounds (spec 11): by hand, against a reference implementation, and in
//! every order of arrival.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![expect(clippy::indexing_slicing, reason = "a missing item fails the test")]

mod bad_input;
mod by_hand;
mod carrying;
mod clipping;
#[path = "../support/golden.rs"]
#[expect(dead_code, reason = "used by other tests")]
mod golden;
mod properties;
mod queries;
mod redacting;
mod reference;
mod reference_state;
mod steering;
#[path = "../support/mod.rs"]
mod support;

use serde_json::Value;
use shared_context_core::{
    CloseRound, Code, Command, Error, OpenRound, Proposal, ReadDeltas, Reply, RequestId,
    RoundsCommand, RoundsReply,
    pattern::{ParticipantPattern, Participants},
    rounds::{
        Clip, DeltaRead, DeltasPage, PathPattern, Plan, Proposed, Round, SentDelta, SentPath,
        StateRead, Status, Strategy, StrategyRule, Weight, WeightRule,
    },
};
use support::TestHost;

const ORCHESTRATOR: &str = "orchestrator";

/// Returns a host with a session.
fn session() -> TestHost {
    let host = TestHost::default();
    host.now.set(1_000_000);
    let create = Command::CreateSession(Box::default());
    host.ask("admin", &create).unwrap();
    host
}

/// Returns a plan of `(who, weight)` and `(path, strategy)`, with experts after a colon:
/// `expert-override:subagent:a`.
fn plan(weights: &[(&str, f64)], strategies: &[(&str, &str)]) -> Plan {
    let weight = |(who, weight): &(&str, f64)| WeightRule {
        participants: ParticipantPattern::parse(who).unwrap(),
        weight: Weight::parse(*weight).unwrap(),
    };
    let strategy = |(paths, strategy): &(&str, &str)| {
        let (name, experts) = strategy.split_once(':').unwrap_or((strategy, ""));
        let experts = (!experts.is_empty()).then(|| {
            let patterns = experts.split(',').map(|it| ParticipantPattern::parse(it).unwrap());
            Participants::new(patterns.collect()).unwrap()
        });
        StrategyRule {
            paths: PathPattern::parse(paths).unwrap(),
            strategy: Strategy::parse(name, experts).unwrap(),
        }
    };
    Plan {
        weights: weights.iter().map(weight).collect(),
        strategies: strategies.iter().map(strategy).collect(),
        ..Plan::default()
    }
}

fn open(host: &TestHost, plan: Plan) -> u64 {
    let open = OpenRound { plan, query: None, request_id: None };
    round(
        host.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Open(Box::new(open))))
            .unwrap()
            .reply,
    )
    .number
}

fn round(reply: Reply) -> Round {
    match reply {
        Reply::Rounds(RoundsReply::Round(round)) => *round,
        Reply::Rounds(RoundsReply::Closed(closed)) => closed.round,
        _ => panic!("{reply:?}"),
    }
}

/// Parses `operation path value`, as in `add $.bindings.customer "sea:1"`.
fn sent(delta: &str) -> Result<SentDelta, Error> {
    let mut words = delta.splitn(3, ' ');
    let mut word = || words.next();
    SentDelta::new(word().unwrap(), word().unwrap(), word(), "as found")
}

fn propose(host: &TestHost, who: &str, delta: &str) -> Result<Proposed, Error> {
    propose_all(host, who, &[delta])
}

fn propose_all(host: &TestHost, who: &str, deltas: &[&str]) -> Result<Proposed, Error> {
    let deltas = deltas.iter().map(|it| sent(it)).collect::<Result<_, _>>()?;
    let proposal = Command::Rounds(RoundsCommand::Propose(Proposal::new(deltas, None)?));
    let Reply::Rounds(RoundsReply::Proposed(proposed)) = host.ask(who, &proposal)?.reply else {
        panic!()
    };
    Ok(proposed)
}

fn close(host: &TestHost) -> Round {
    round(
        host.ask(ORCHESTRATOR, &Command::Rounds(RoundsCommand::Close(CloseRound::default())))
            .unwrap()
            .reply,
    )
}

/// Runs a round with these deltas, each `(who, delta)`.
fn play(host: &TestHost, plan: Plan, deltas: &[(&str, &str)]) -> Round {
    open(host, plan);
    for (who, delta) in deltas {
        propose(host, who, delta).unwrap_or_else(|error| panic!("{who}: {delta}: {error}"));
    }
    close(host)
}

fn read(host: &TestHost, round: Option<u64>) -> StateRead {
    let read =
        host.ask("subagent:reader", &Command::Rounds(RoundsCommand::ReadState { round })).unwrap();
    let Reply::Rounds(RoundsReply::State(state)) = read.reply else { panic!() };
    *state
}

fn state(host: &TestHost) -> Value {
    serde_json::from_str(read(host, None).document.as_str()).unwrap()
}

/// Returns the value at the JSON pointer `at`.
fn at(host: &TestHost, at: &str) -> Value {
    state(host).pointer(at).cloned().unwrap_or_default()
}

fn deltas(host: &TestHost, path: Option<&str>) -> Vec<DeltaRead> {
    let path = path.map(|it| SentPath::parse(it).unwrap());
    page(host, ReadDeltas { path, limit: 10_000, ..ReadDeltas::default() }).deltas
}

fn page(host: &TestHost, read: ReadDeltas) -> DeltasPage {
    let Reply::Rounds(RoundsReply::Deltas(page)) =
        host.ask("admin", &Command::Rounds(RoundsCommand::ReadDeltas(read))).unwrap().reply
    else {
        panic!()
    };
    page
}

/// Returns the outcomes of the last round's deltas: `applied`, or `lost to 2: outweighed`
/// for one that lost at one path.
fn outcomes(host: &TestHost) -> Vec<String> {
    let last = read(host, None).round;
    let outcomes = deltas(host, None).into_iter().filter(|it| it.round == last).map(|it| {
        let outcome = it.outcome.unwrap();
        match (outcome.status, outcome.losses.as_slice()) {
            (Status::Lost, [loss]) => format!("lost to {}: {}", loss.to, loss.why.as_str()),
            (status, []) => status.as_str().to_owned(),
            (status, losses) => format!("{}, {} places lost", status.as_str(), losses.len()),
        }
    });
    outcomes.collect()
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    result.unwrap_err().code()
}

fn clipping(clip: Clip, bytes_max: u32) -> Plan {
    Plan { clip, bytes_max: Some(bytes_max), ..Plan::default() }
}

fn request_id(id: &str) -> RequestId {
    RequestId::parse(id).unwrap()
}
