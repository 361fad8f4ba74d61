//! The interface `store`.

use shared_context_codec::parts::{self, DeleteInput, OptionsInput, WriteInput};
use shared_context_core::{
    Command, Delete, Error, Key, Line, Prefix, Reply, RequestId, Write,
    port::Revision,
    reply::{Deleted as DeletedReply, Written as WrittenReply},
    store::warning::Warning,
    time::Timestamp,
};

use super::{Caller, Result, entry, entry_info, perform, perform_if_changed, types};
use crate::{
    Component,
    bindings::exports::shared_context::core::store::{self as wit, Guest},
};

impl Guest for Component {
    fn list_keys(
        session: String,
        caller: Caller,
        prefix: Option<String>,
        if_changed_since: Option<types::Revision>,
    ) -> Result<Option<wit::Listing>> {
        let if_changed_since = if_changed_since.map(Revision);
        let prefix = prefix.map(|it| Prefix::parse(&it)).transpose();
        let command = prefix.map(|prefix| Command::ListKeys { prefix, if_changed_since });
        perform_if_changed(&session, caller, command, |outcome| {
            let Reply::Listing(it) = outcome.reply else { return None };
            Some(wit::Listing {
                entries: it.entries.into_iter().map(entry_info).collect(),
                total_tokens: it.total_tokens.0,
                max_tokens: it.tokens_max.0,
                revision: outcome.revision.0,
            })
        })
    }

    fn read(
        session: String,
        caller: Caller,
        key: String,
        if_changed_since: Option<types::Revision>,
    ) -> Result<Option<types::Entry>> {
        let if_changed_since = if_changed_since.map(Revision);
        let command = Key::parse(&key).map(|key| Command::Read { key, if_changed_since });
        perform_if_changed(&session, caller, command, |outcome| {
            let Reply::Entry(it) = outcome.reply else { return None };
            Some(entry(it))
        })
    }

    fn read_batch(
        session: String,
        caller: Caller,
        keys: Vec<String>,
        if_changed_since: Option<types::Revision>,
    ) -> Result<Option<wit::Found>> {
        let command = parts::read_batch(&keys, if_changed_since.map(Revision));
        perform_if_changed(&session, caller, command, |outcome| {
            let Reply::Entries(it) = outcome.reply else { return None };
            Some(wit::Found {
                entries: it.entries.into_iter().map(entry).collect(),
                missing: it.missing.iter().map(|it| it.as_str().to_owned()).collect(),
                revision: outcome.revision.0,
            })
        })
    }

    fn write(
        session: String,
        caller: Caller,
        key: String,
        value: String,
        options: wit::WriteOptions,
        request_id: Option<String>,
    ) -> Result<wit::Written> {
        let command = || {
            let request_id = parse_request_id(request_id)?;
            let write = write_input(wit::BatchWrite { key, value, options }).check()?;
            Ok(Command::Write(Write { request_id, ..write }))
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Written(it) = outcome.reply else { return None };
            Some(written(it))
        })
    }

    fn delete(
        session: String,
        caller: Caller,
        key: String,
        condition: wit::Condition,
        request_id: Option<String>,
    ) -> Result<wit::Deleted> {
        let command = || {
            let request_id = parse_request_id(request_id)?;
            let delete = delete_input(wit::BatchDelete { key, condition }).check()?;
            Ok(Command::Delete(Delete { request_id, ..delete }))
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Deleted(it) = outcome.reply else { return None };
            Some(deleted(&it, outcome.revision))
        })
    }

    fn write_batch(
        session: String,
        caller: Caller,
        writes: Vec<wit::BatchWrite>,
        deletes: Vec<wit::BatchDelete>,
        request_id: Option<String>,
    ) -> Result<wit::BatchWritten> {
        let command = || {
            let request_id = parse_request_id(request_id)?;
            let writes = writes.into_iter().map(write_input).collect();
            let deletes = deletes.into_iter().map(delete_input).collect();
            parts::write_batch(writes, deletes, request_id)
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::BatchWritten(it) = outcome.reply else { return None };
            let revision = outcome.revision;
            Some(wit::BatchWritten {
                written: it.written.into_iter().map(written).collect(),
                deleted: it.deleted.iter().map(|it| deleted(it, revision)).collect(),
                revision: revision.0,
            })
        })
    }

    fn set_access(
        session: String,
        caller: Caller,
        key: String,
        readable_by: Option<Vec<String>>,
        writable_by: Option<Vec<String>>,
    ) -> Result<types::EntryInfo> {
        let command = parts::set_access(&key, readable_by.as_deref(), writable_by.as_deref());
        perform(&session, caller, command, |outcome| {
            let Reply::Access(it) = outcome.reply else { return None };
            Some(entry_info(it))
        })
    }

    fn redact(
        session: String,
        caller: Caller,
        key: String,
        revision: Option<types::Revision>,
        reason: String,
    ) -> Result<wit::Redacted> {
        let command = || {
            let reason = Line::parse("reason", &reason)?;
            let (key, revision) = (Key::parse(&key)?, revision.map(Revision));
            Ok(Command::Redact { key, revision, reason })
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Redacted(it) = outcome.reply else { return None };
            Some(wit::Redacted {
                key: it.key.as_str().to_owned(),
                digests: it.digests,
                revision: outcome.revision.0,
            })
        })
    }
}

pub(super) fn parse_request_id(text: Option<String>) -> Result<Option<RequestId>, Error> {
    text.map(|it| RequestId::parse(&it)).transpose()
}

fn write_input(it: wit::BatchWrite) -> WriteInput {
    WriteInput {
        key: it.key,
        value: it.value,
        if_version: it.options.if_version,
        if_revision: it.options.if_revision,
        options: OptionsInput {
            ttl_seconds: it.options.ttl_seconds.map(u64::from),
            expires_at: it.options.expires_at_ms.map(Timestamp),
            readable_by: it.options.readable_by,
            writable_by: it.options.writable_by,
            history: it.options.keeps_history,
        },
    }
}

fn delete_input(it: wit::BatchDelete) -> DeleteInput {
    let wit::BatchDelete { key, condition: wit::Condition { if_version, if_revision } } = it;
    DeleteInput { key, if_version, if_revision }
}

fn written(WrittenReply { entry, warnings }: WrittenReply) -> wit::Written {
    wit::Written {
        key: entry.key.as_str().to_owned(),
        version: entry.version,
        written_by: entry.written_by.as_str().to_owned(),
        written_at_ms: entry.written_at.0,
        value_tokens: entry.value_tokens.0,
        revision: entry.revision.0,
        expires_at_ms: entry.expires_at.map(|it| it.0),
        warnings: warnings.into_iter().map(warning).collect(),
    }
}

fn warning(it: Warning) -> types::Warning {
    types::Warning { code: it.code.as_str().to_owned(), message: it.message }
}

fn deleted(it: &DeletedReply, Revision(revision): Revision) -> wit::Deleted {
    let key = it.key.as_str().to_owned();
    wit::Deleted { key, previous_version: it.previous_version, revision }
}
