//! Expected answers and effects of changes of a session's configuration.

use shared_context_core::{Code, Reply, audit::AuditAction, config::ConfigChange, port::Revision};

use super::{
    changes::Transition,
    state::{Model, last_of_another},
};

impl Model {
    /// Changes the configuration. Entries and snapshots stay whatever the limits are; history is
    /// cut to its new length.
    pub fn update(&self, clock: u64, who: &str, change: &ConfigChange) -> Transition {
        let old = self.config();
        let new = old.clone().changed(change.clone());
        let ends_prefixes = old.allows_prefixes && !new.allows_prefixes;
        let view = self.at(clock);
        let has_prefixes = || view.all_versions().iter().any(|it| it.entry.key.prefix().is_some());
        let rejection = match who {
            _ if new.check().is_err() || new.estimator != old.estimator => {
                Some(Code::MalformedRequest)
            }
            _ if self.about.is_archived => Some(Code::SessionArchived),
            "admin" if ends_prefixes && has_prefixes() => Some(Code::MalformedRequest),
            "admin" => None,
            _ => Some(Code::Forbidden),
        };
        if let Some(code) = rejection {
            return (Err(code), None);
        }
        if new == *old {
            let reply = Reply::Session(Box::new(view.show()));
            return (Ok((Revision(self.revision), reply)), None);
        }
        let mut next = self.begin_change(clock);
        if new.access != old.access {
            next.feed_from = next.revision;
        } else if new.retention.changes_max > old.retention.changes_max {
            next.feed_from = self.first_of_feed().0;
        }
        next.record(who, AuditAction::UpdateSession, None);
        let versions_max = new.retention.history_versions_max as usize;
        for past in next.history.values_mut() {
            while past.len() > versions_max {
                let spared = past.len() > 1 && last_of_another(past) == Some(0);
                past.remove(usize::from(spared));
            }
        }
        next.about.config = new;
        (Ok((Revision(next.revision), Reply::Session(Box::new(next.show())))), Some(next))
    }
}
