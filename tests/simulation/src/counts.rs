//! Statistics of a run.

use std::{collections::BTreeMap, ops::AddAssign};

use serde::Serialize;
use serde_json::Value;

/// Counters of events in worlds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Steps, including nested ones.
    pub steps: u64,
    /// Requests by action.
    pub requests: BTreeMap<String, u64>,
    /// Answers: `ok` or an error code.
    pub answers: BTreeMap<String, u64>,
    /// Faults that took effect, by kind and call.
    pub faults: BTreeMap<String, u64>,
    /// Withheld and redacted texts of kept envelopes, and rows of the context pipeline that were
    /// removed.
    pub envelopes: BTreeMap<String, u64>,
    /// Requests that ran while another request waited for its host.
    pub overlaps: u64,
    /// Deepest nesting of requests.
    pub depth_max: u64,
    /// Commits.
    pub commits: u64,
    /// Commits with a lost answer.
    pub unknown: u64,
    /// Commits that lost a race.
    pub conflicts: u64,
    /// Reads that reported a moved bucket.
    pub moved: u64,
    /// Instances that were killed.
    pub kills: u64,
    /// Audit records lost because their instance was killed before it logged them.
    pub unlogged: u64,
    /// Retries that returned the first answer.
    pub replays: u64,
    /// Round trips: export, import, export again.
    pub carried: u64,
    /// Extra requests, sent only to compare answers with the model.
    pub compared: u64,
}

impl Counts {
    /// Increments the counter of `name`.
    pub fn increment(of: &mut BTreeMap<String, u64>, name: &str) {
        match of.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(of.insert(name.to_owned(), 1)),
        }
    }

    /// Counts the withheld and redacted texts of the kept envelope in a reply.
    pub fn note_envelope(&mut self, reply: &Value) {
        let parts = reply.get("parts").and_then(Value::as_array);
        let text = reply.get("text").and_then(Value::as_str).filter(|_| reply.get("id").is_some());
        for (name, mark) in [("withheld", "[withheld]"), ("redacted", "[redacted: ")] {
            for _ in parts.into_iter().flatten().filter(|it| it.get(name).is_some()) {
                Self::increment(&mut self.envelopes, &format!("{name} in evidence"));
            }
            if text.is_some_and(|it| it.contains(mark)) {
                Self::increment(&mut self.envelopes, &format!("{name} in a retry"));
            }
        }
    }

    /// Returns the number of requests.
    pub fn requests(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Returns the number of faults.
    pub fn faults(&self) -> u64 {
        self.faults.values().sum()
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let add = |to: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>| {
            for (name, count) in from {
                *to.entry(name).or_default() += count;
            }
        };
        add(&mut self.requests, other.requests);
        add(&mut self.answers, other.answers);
        add(&mut self.faults, other.faults);
        add(&mut self.envelopes, other.envelopes);
        self.steps += other.steps;
        self.overlaps += other.overlaps;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.commits += other.commits;
        self.unknown += other.unknown;
        self.conflicts += other.conflicts;
        self.moved += other.moved;
        self.kills += other.kills;
        self.unlogged += other.unlogged;
        self.replays += other.replays;
        self.carried += other.carried;
        self.compared += other.compared;
    }
}
