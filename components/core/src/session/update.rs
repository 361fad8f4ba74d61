//! Changes of a session's configuration (spec 8.4).
//!
//! Invariant: entries, snapshots and rounds stay, also beyond a limit that is now lower;
//! later writes follow the new limits. Only history shrinks to what the session now
//! retains, in the same commit (`docs/decisions/0038`).

use super::{Decision, Draft, OpenSession, draft::EventDetails, life, require_admin};
use crate::{
    Error,
    audit::AuditAction,
    config::{Config, ConfigChange},
    kv::{Bucket, Revision},
    reply::Reply,
};

impl<B: Bucket> OpenSession<'_, B> {
    /// Decides a change of the configuration. A change to what it is already commits nothing.
    pub(super) fn update(&self, change: &ConfigChange) -> Result<Decision, Error> {
        let old = self.config()?;
        let new = old.clone().changed(change.clone());
        new.check()?;
        check_estimator(&old, &new)?;
        self.require_active()?;
        require_admin(self.caller)?;
        if new == old {
            return self.show();
        }
        if old.allows_prefixes && !new.allows_prefixes {
            self.check_no_prefixes()?;
        }
        let mut draft = Draft::new(self)?;
        draft.add_event(AuditAction::UpdateSession, EventDetails::default());
        draft.changes.extend(life::config_rows(&old, &new)?);
        draft.meta.first_revision = self.first_after(&old, &new, draft.revision);
        // Lists show limits and who may write what.
        draft.meta.entries_revision = draft.revision;
        draft.meta.configure(&new);
        if new.retention.history_versions_max < old.retention.history_versions_max {
            draft.shorten_histories()?;
        }
        let info = life::info(self.session, &draft.meta, draft.meta.totals, new);
        draft.commit(Reply::Session(Box::new(info)), None)
    }

    /// Returns the first revision that a reader can continue from after the commit of `revision`.
    ///
    /// With other access rules the feed begins anew. It would show under the new rules what
    /// the earlier ones hid, and readers must list the keys again to see which they now
    /// have. A longer feed begins where the shorter one did: older commits may be gone.
    fn first_after(&self, old: &Config, new: &Config, revision: Revision) -> Revision {
        if new.access != old.access {
            revision
        } else if new.retention.changes_max > old.retention.changes_max {
            self.meta.first_of_feed(self.revision())
        } else {
            self.meta.first_revision
        }
    }

    /// Rejects the end of prefixes while a stored key has one: nothing could name it.
    fn check_no_prefixes(&self) -> Result<(), Error> {
        let mut keys: Vec<_> = self.entries(None)?.into_iter().map(|it| it.key).collect();
        keys.extend(self.histories()?.into_iter().map(|it| it.entry.key));
        for snapshot in &self.meta.snapshots {
            keys.extend(self.snapshot_entries(*snapshot)?.into_iter().map(|it| it.key));
        }
        match keys.iter().find(|it| it.prefix().is_some()) {
            None => Ok(()),
            Some(key) => Err(Error::malformed(format!(
                "config.allows_prefixes stays true while a key with a prefix is stored, as {key} \
                 is; delete such entries and the snapshots that hold them, then set \
                 config.history_versions_max to 0 once, which removes their history"
            ))),
        }
    }
}

fn check_estimator(old: &Config, new: &Config) -> Result<(), Error> {
    if new.estimator == old.estimator {
        return Ok(());
    }
    let (old, new) = (old.estimator.as_str(), new.estimator.as_str());
    Err(Error::malformed(format!(
        "config.estimator is {old} and stays so, because the sizes of the stored values were \
         counted with it; leave it out, or create another session with {new}"
    )))
}
