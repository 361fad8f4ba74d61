//! The interface `changes`.

use shared_context_codec::parts;
use shared_context_core::{Command, Reply, audit, pattern::KeyPattern, port::Revision};

use super::{Caller, Result, perform, types};
use crate::{
    Component,
    bindings::exports::shared_context::core::changes::{AuditPage, Guest, Page},
    ports,
};

impl Guest for Component {
    fn read(
        session: String,
        caller: Caller,
        since: Option<types::Revision>,
        limit: Option<u32>,
        keys: Option<String>,
        except_own: bool,
    ) -> Result<Page> {
        let command = || {
            let keys = keys.map(|it| KeyPattern::parse(&it)).transpose()?;
            let (since, limit) = (since.map(Revision), parts::limit(limit)?);
            Ok(Command::Changes { since, limit, keys, except_own })
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Changes(it) = outcome.reply else { return None };
            Some(Page {
                changes: records(&it.changes),
                next_since: it.next_since.0,
                has_more: it.has_more,
                revision: outcome.revision.0,
            })
        })
    }

    fn audit(
        session: String,
        caller: Caller,
        after: Option<types::Revision>,
        limit: Option<u32>,
    ) -> Result<AuditPage> {
        let after = Revision(after.unwrap_or(0));
        let command = parts::limit(limit).map(|limit| Command::Audit { after, limit });
        perform(&session, caller, command, |outcome| {
            let Reply::Audit(it) = outcome.reply else { return None };
            Some(AuditPage {
                records: records(&it.records),
                oldest: it.oldest.map(|it| it.0),
                next_after: it.next_after.map(|it| it.0),
            })
        })
    }
}

fn records(all: &[audit::AuditRecord]) -> Vec<types::AuditRecord> {
    all.iter().map(ports::audit_record).collect()
}
