//! The pages in docs/errors show real errors: each example with the code of a session is compared
//! with the error it shows.
//!
//! `cargo xtask tidy` checks that each code has a page, including the codes of hosts.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeSet, fs};

use serde_json::Value;
use shared_context_codec::{Code, Failure};
use shared_context_core::{
    Error, Key, Label,
    error::{RoundError, RoundLimit, StoreLimit},
    kv::{KvError, Revision},
    time::Timestamp,
    tokens::Tokens,
};

const SESSION: &str = "CAPA-2026-014";

/// Returns the last JSON example on the page of `code`.
fn example(code: &str) -> Value {
    let path = format!("{}/../../docs/errors/{code}.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (_, example) = page.rsplit_once("```json\n").unwrap();
    serde_json::from_str(example.split("```").next().unwrap()).unwrap()
}

fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn label() -> Label {
    Label::parse("pre_approval").unwrap()
}

fn memory() -> String {
    "e2f1c0aa-51d4-8c1e-9a3b-000000000007".to_owned()
}

fn of_delta(nth: usize, error: RoundError) -> Error {
    RoundError::InProposal { nth, error: Box::new(error.into()) }.into()
}

fn of_sessions() -> Vec<Error> {
    let session = SESSION.to_owned();
    vec![
        Error::Unauthenticated {
            reason: "this credential was revoked, or is of a session of this name elsewhere; ask \
                     the operator for a new one",
        },
        Error::malformed("the request is malformed: write needs value"),
        Error::InvalidKey { key: "Open Questions".to_owned(), has_prefix: false },
        Error::FormatTooNew {
            format: "shared-context/session/9".to_owned(),
            known: "shared-context/session/4",
        },
        Error::DocumentAltered { place: "entries.3 (scope)".to_owned() },
        Error::SessionNotFound { session: session.clone() },
        Error::ProjectNotFound { project: "webshop".to_owned() },
        Error::SessionArchived { session: session.clone() },
        Error::Forbidden {
            message: "you may not write this key; write what belongs there to a key of your own",
        },
        Error::SessionExists { session },
        Error::ProjectExists { project: "webshop".to_owned() },
        Error::RequestIdReused,
        Error::ChangesTruncated { oldest: Revision(41), revision: Revision(1_040) },
        Error::SnapshotNotFound { label: label() },
        Error::SnapshotExists { label: label() },
        Error::SnapshotLimit { snapshots: 32, snapshots_max: 32 },
        Error::KeyNotFound { key: key("scope") },
        Error::EnvelopeNotFound { id: "ENV-3".to_owned() },
        Error::MissingNotFound { id: "MIS-9".to_owned() },
        Error::PacketNotFound { packet: "subagent:impl".to_owned() },
        Error::FeedbackGiven { version: 2 },
        Error::ProjectArchived { project: "webshop".to_owned() },
        Error::MemoryNotFound { id: memory() },
        Error::MemoryArchived { id: memory() },
        Error::SupersedesItself { id: memory() },
        Error::HandoffNotFound { id: "HND-7".to_owned() },
        Error::HandoffSettled { id: "HND-1".to_owned(), state: "expired" },
        Error::SectionNotFound { marker: "§3.1".to_owned() },
        Error::SectionTooLarge { level: 2, tokens: Tokens(612), bytes: 2_448 },
        Error::NotOwner {
            marker: "§2.3".to_owned(),
            owner: Some((
                "subagent:payment of shop-42".to_owned(),
                "exclusive",
                "PCI review".to_owned(),
                Timestamp(1_771_599_600_000),
            )),
        },
        Error::LeaseExpired { sections: "§2.3, now of subagent:billing of shop-42".to_owned() },
        Error::MemoryLimit {
            message: "the project would have 10001 memories, it holds at most 10000; mark what no \
                      longer matters as deleted, and let the orchestrator call maintain"
                .to_owned(),
        },
        Error::PacketLimit {
            message: "the session keeps packets for 64 addresses, at most 64 may be; clear one \
                      that is no longer needed"
                .to_owned(),
        },
        Error::BudgetTooSmall { limit: "tokens", needed: 1_840, over: 340 },
        Error::TargetUnreachable { target: Tokens(8_000), needed: Tokens(9_120) },
        Error::EnvelopeLimit {
            message: "200 reports of missing context are open, at most 200 may be; answer some of \
                      them first"
                .to_owned(),
        },
        Error::TokenizerUnavailable { encoding: "o200k_base".to_owned() },
        Error::ValueTooLarge { tokens: Tokens(1_204), tokens_max: Tokens(1_000) },
        Error::SensitiveValue { kind: "an access key or token" },
        Error::VersionConflict { key: key("findings"), current_version: 4, current_revision: 31 },
        Error::StoreFull {
            over: StoreLimit::Tokens { tokens: Tokens(10_120), tokens_max: Tokens(10_000) },
            is_limited: false,
            largest: vec![(key("findings_summary"), Tokens(940)), (key("scope"), Tokens(610))],
        },
        Error::InDoubt(KvError("for the log".to_owned())),
    ]
}

fn of_rounds() -> Vec<Error> {
    let largest = ["$['entities'][4]", "$['rules'][0]", "$['entities'][1]"];
    vec![
        RoundError::InvalidPath { path: "$.other".to_owned(), why: "the state has no such member" }
            .into(),
        RoundError::Open { round: 3 }.into(),
        RoundError::NotOpen { last: 3 }.into(),
        RoundError::NotFound { round: 2, oldest: 9, newest: 72 }.into(),
        RoundError::DeltaNotFound { round: 3, sequence: 9, deltas: 4 }.into(),
        of_delta(
            1,
            RoundError::PathNotFound {
                path: "$['entities'][7]".to_owned(),
                why: "there is no such item; add to the list itself, without an index",
            },
        ),
        of_delta(2, RoundError::PathExists { path: "$['entities'][0]['name']".to_owned() }),
        of_delta(
            1,
            RoundError::IdentityConflict {
                path: "$['bindings']['account']".to_owned(),
                bound_to: "sea:ledger:account".to_owned(),
            },
        ),
        RoundError::Full { over: RoundLimit::OwnDeltas { deltas: 512, deltas_max: 500 } }.into(),
        RoundError::StateTooLarge {
            bytes: 61_240,
            bytes_max: 50_000,
            largest: largest.map(str::to_owned).to_vec(),
        }
        .into(),
    ]
}

#[test]
fn each_error_page_shows_the_actual_error() {
    let mut shown = BTreeSet::new();
    for error in of_sessions().into_iter().chain(of_rounds()) {
        let failure = Failure::from(error);
        let error: Value = serde_json::from_slice(&failure.to_json()).unwrap();
        assert_eq!(example(&failure.code), error, "docs/errors/{}.md", failure.code);
        shown.insert(failure.code.into_owned());
    }
    let missing: Vec<&str> =
        Code::ALL.map(Code::as_str).into_iter().filter(|it| !shown.contains(*it)).collect();
    assert_eq!(missing, [""; 0], "compare an example of these");
}
