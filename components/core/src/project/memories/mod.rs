//! Commands on memories (spec 19).

mod add;
mod change;
mod find;
mod maintain;
mod rehydrate;

use super::open::OpenProject;
use crate::{Error, decision::Decision, kv::Bucket, memories::Command};

impl<B: Bucket> OpenProject<'_, B> {
    pub(super) fn memories(&self, command: &Command) -> Result<Decision, Error> {
        match command {
            Command::Add(new) => self.add_memories(new),
            Command::Read(ids) => self.read_memories(ids),
            Command::History(id) => self.memory_history(*id),
            Command::Update(it) => self.update_memory(it),
            Command::Supersede { id, by } => self.supersede_memory(*id, *by),
            Command::Mark { ids, mark } => self.mark_memories(ids, *mark),
            Command::Search(it) => self.search_memories(it),
            Command::Rehydrate(it) => self.rehydrate(it),
            Command::Maintain { is_dry_run } => self.maintain(*is_dry_run),
            Command::DecisionLog { limit } => self.decision_log(*limit),
            Command::Redact { id, reason } => self.redact_memory(*id, reason),
        }
    }
}
