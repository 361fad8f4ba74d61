//! What happened in worlds, counted.

use std::{collections::BTreeMap, ops::AddAssign};

use serde::Serialize;

/// What happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Steps, with those that happened during others.
    pub steps: u64,
    /// Requests by action.
    pub requests: BTreeMap<String, u64>,
    /// Answers: `ok`, or the code of a refusal.
    pub answers: BTreeMap<String, u64>,
    /// Faults that had an effect, by kind and call.
    pub faults: BTreeMap<String, u64>,
    /// Requests that ran while another one was between two calls of its host.
    pub overlaps: u64,
    /// The deepest that requests ran inside of others.
    pub depth_max: u64,
    /// Commits.
    pub commits: u64,
    /// Commits whose answer was lost.
    pub unknown: u64,
    /// Commits that met another one that was faster.
    pub conflicts: u64,
    /// Reads that were told that the bucket had changed.
    pub moved: u64,
    /// Instances that were killed.
    pub kills: u64,
    /// Audit records that were lost with the instance that was to log them.
    pub unlogged: u64,
    /// Retries that were answered as the first time.
    pub replays: u64,
    /// Sessions that were exported, imported and exported again.
    pub carried: u64,
    /// Requests whose answers were compared with the model's besides.
    pub compared: u64,
}

impl Counts {
    /// Counts one more of `name`.
    pub fn more(of: &mut BTreeMap<String, u64>, name: &str) {
        match of.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(of.insert(name.to_owned(), 1)),
        }
    }

    /// Returns how many requests there were.
    pub fn requests(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Returns how many faults there were.
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
