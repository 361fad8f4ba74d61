//! The changes that the server acknowledged in a demonstration, for comparison with the
//! stored data.
//!
//! # Invariant
//!
//! The ledger contains only data from replies.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::transcript::Request;
use crate::cli::output::{Output, counted};

/// Acknowledged changes, and counts of other answers.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Each key with version, writer and value.
    pub(super) entries: BTreeMap<String, (u64, String, String)>,
    /// The revision of each change.
    pub(super) revisions: BTreeSet<u64>,
    /// Calls by participant.
    pub(super) calls: BTreeMap<&'static str, u64>,
    /// Warnings by code.
    pub(super) warnings: BTreeMap<String, u64>,
}

impl Ledger {
    /// Records the reply to a call of `who`.
    pub(super) fn take(&mut self, who: &'static str, request: &Request<'_>, reply: &Value) {
        count(self.calls.entry(who).or_default());
        let number = |name| reply.get(name).and_then(Value::as_u64);
        let (Some(key), Some(revision)) = (request.key, number("revision")) else { return };
        match (request.action, request.value) {
            ("write", Some(value)) => {
                self.revisions.insert(revision);
                let version = number("version").unwrap_or_default();
                self.entries.insert(key.to_owned(), (version, who.to_owned(), value.to_owned()));
                for warning in reply.get("warnings").and_then(Value::as_array).into_iter().flatten()
                {
                    let code = warning.get("code").and_then(Value::as_str).unwrap_or_default();
                    count(self.warnings.entry(code.to_owned()).or_default());
                }
            }
            ("delete", _) => {
                self.revisions.insert(revision);
                self.entries.remove(key);
            }
            _ => {}
        }
    }

    /// Formats the counts as lines of a summary.
    pub(super) fn human(&self, output: Output, restarts: u64, elapsed: Duration) -> String {
        let listed = |counts: &BTreeMap<String, u64>| {
            let each = counts.iter().map(|(code, count)| match count {
                1 => code.clone(),
                _ => format!("{code} ×{count}"),
            });
            match each.collect::<Vec<_>>() {
                all if all.is_empty() => "none".to_owned(),
                all => all.join(", "),
            }
        };
        let by: Vec<String> =
            self.calls.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let lines = [
            format!(
                "{} in {:.1} s over HTTP, {}: {}",
                counted(self.calls.values().sum(), "call"),
                elapsed.as_secs_f64(),
                counted(restarts, "restart"),
                by.join(", "),
            ),
            format!(
                "{} stored durably",
                counted(self.revisions.len().try_into().unwrap_or(0), "change")
            ),
            format!("warnings: {}", listed(&self.warnings)),
        ];
        lines
            .iter()
            .fold(String::new(), |text, line| text + &output.wrapped("  ", "    ", line) + "\n")
    }
}

fn count(number: &mut u64) {
    *number = number.saturating_add(1);
}
