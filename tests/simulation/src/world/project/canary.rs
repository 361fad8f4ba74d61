//! Canaries of the project: commits and answers as a buggy core would make them.

use serde_json::Value;
use shared_context_codec::{Failure, Reply};
use shared_context_core::port::Change;

use super::ProjectCall;
use crate::{canary::Canary, world::World};

impl ProjectCall<'_> {
    /// Returns the changes of a commit as the canary lets them be.
    pub(super) fn broken(&self, mut changes: Vec<Change>) -> Vec<Change> {
        let row = |it: &Change| match it {
            Change::Put(row, _) | Change::Delete(row) | Change::DeletePrefix(row) => row.clone(),
        };
        let action = self.call["action"].as_str().unwrap_or_default();
        let is_written = |prefix: &str| changes.iter().any(|it| row(it).starts_with(prefix));
        let left_out: &[&str] = match (self.instance.world.canary, action) {
            (Some(Canary::LosesMemories), _) => &["m/"],
            (Some(Canary::LeavesSignatures), _) => &["i/"],
            (Some(Canary::LeavesVersions), "redact_memory") => &["v/"],
            (Some(Canary::ForgetsProjectRequests), _) => &["q/"],
            (Some(Canary::LosesLeases), _) | (Some(Canary::KeepsOwners), "accept_handoff") => {
                &["w/"]
            }
            (Some(Canary::RepeatsLostLeases), "put_section") if !is_written("o/") => &["w/"],
            (Some(Canary::SettlesTwice), "accept_handoff") => &["y/"],
            (Some(Canary::LeavesPackages), "redact_memory" | "redact_section") => &["y/", "yd/"],
            _ => return changes,
        };
        let is_delete = |it: &Change| !matches!(it, Change::Put(..));
        changes.retain(|it| {
            let name = row(it);
            let is_meant = left_out.iter().any(|prefix| name.starts_with(prefix));
            !is_meant || (is_delete(it) && !name.starts_with("yd/"))
        });
        changes
    }
}

impl World {
    /// Changes an answer as the canary requires. `again` sends the request again.
    pub(super) fn break_project_answer(
        &self,
        running: &ProjectCall<'_>,
        answer: Result<Reply, Failure>,
        again: impl FnOnce() -> Result<Reply, Failure>,
    ) -> Result<Reply, Failure> {
        match (self.canary, answer) {
            (Some(Canary::HidesLostLeases), Err(it)) if it.code == "LEASE_EXPIRED" => again(),
            (Some(Canary::AltersPackages), Ok(mut reply))
                if running.call["action"] == "accept_handoff" =>
            {
                if let Ok(mut body) = serde_json::from_slice::<Value>(&reply.body)
                    && let Some(it) = body.pointer_mut("/package/omitted_count")
                {
                    *it = 1.into();
                    reply.body = body.to_string().into_bytes();
                }
                Ok(reply)
            }
            (_, answer) => answer,
        }
    }
}
