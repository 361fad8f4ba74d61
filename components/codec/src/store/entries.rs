//! Actions on entries (spec 3).

use shared_context_core::{Delete, Key, Prefix, Write, port::Revision};

#[cfg(feature = "schema")]
use super::entry_replies::{
    BatchReadReply, BatchReply, DeleteReply, EntryForm, HistoryReply, ListReply, ReadReply,
    UnchangedReply, WriteReply,
};
use super::{
    input::{self as parts, DeleteInput, OptionsInput, WriteInput},
    members::{DeleteForm, WriteForm},
};
use crate::{
    action::{ANYONE, PARTICIPANTS, declare::actions},
    checks::request_id,
    json::Time,
};

actions! {
    of Store:

    /// List every key with its metadata and the store's totals; never a value. Call it first,
    /// then read only what the task needs.
    list_keys: ANYONE, read;
        rejects InvalidKey;
        needs {}
        takes {
            /// Only keys with this prefix.
            prefix: String,
            /// Answer `{"unchanged":true}` if nothing asked for changed after this
            /// revision.
            if_changed_since: u64,
        }
        answers ListReply<'_>, UnchangedReply;
        |it| Ok(Command::ListKeys {
            prefix: it.prefix.as_deref().map(Prefix::parse).transpose()?,
            if_changed_since: it.if_changed_since.map(Revision),
        });

    /// Read the value of one key.
    read: ANYONE, read;
        rejects InvalidKey, Forbidden, KeyNotFound;
        needs {
            /// The key: 1 to 64 of a-z, 0-9 and _; where the session allows prefixes also
            /// prefix:key.
            key: String,
        }
        takes {
            /// Answer `{"unchanged":true}` if nothing asked for changed after this
            /// revision.
            if_changed_since: u64,
        }
        answers ReadReply<'_>, UnchangedReply;
        |it| Ok(Command::Read {
            key: Key::parse(&it.key)?,
            if_changed_since: it.if_changed_since.map(Revision),
        });

    /// Create or overwrite one key. Store conclusions, not raw data.
    write: PARTICIPANTS, change;
        rejects InvalidKey, SessionArchived, TokenizerUnavailable, ValueTooLarge, SensitiveValue,
        VersionConflict, StoreFull;
        needs {
            /// The key: 1 to 64 of a-z, 0-9 and _; where the session allows prefixes also
            /// prefix:key.
            key: String,
            /// The text to store. Structured data is serialized.
            value: String,
        }
        takes {
            /// Only if the entry has this version; 0: only if the key does not exist.
            if_version: u64,
            /// Only if the entry was last written at this revision.
            if_revision: u64,
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
            /// The entry expires this many seconds after the write, 1 to 315360000.
            ttl_seconds: u64,
            /// The entry expires at this instant, RFC 3339.
            expires_at: Time,
            /// Who may read the entry, as patterns: *, orchestrator, subagent:{task},
            /// subagent:{task}:{id}, where * in task and id stands for any text.
            readable_by: Vec<String>,
            /// Who may write the entry, as patterns.
            writable_by: Vec<String>,
            /// Whether earlier versions of the entry are kept.
            history: bool,
        }
        answers WriteReply<'_>;
        |it| {
            let request_id = request_id(it.request_id.as_deref())?;
            let write = WriteInput {
                key: it.key,
                value: it.value,
                if_version: it.if_version,
                if_revision: it.if_revision,
                options: OptionsInput {
                    ttl_seconds: it.ttl_seconds,
                    expires_at: it.expires_at.map(|it| it.0),
                    readable_by: it.readable_by,
                    writable_by: it.writable_by,
                    history: it.history,
                },
            };
            Ok(Command::Write(Write { request_id, ..write.check()? }))
        };

    /// Remove one key that is no longer relevant.
    delete: PARTICIPANTS, change;
        rejects InvalidKey, SessionArchived, KeyNotFound, VersionConflict;
        needs {
            /// The key: 1 to 64 of a-z, 0-9 and _; where the session allows prefixes also
            /// prefix:key.
            key: String,
        }
        takes {
            /// Only if the entry has this version; 0: only if the key does not exist.
            if_version: u64,
            /// Only if the entry was last written at this revision.
            if_revision: u64,
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers DeleteReply<'_>;
        |it| {
            let request_id = request_id(it.request_id.as_deref())?;
            let (if_version, if_revision) = (it.if_version, it.if_revision);
            let delete = DeleteInput { key: it.key, if_version, if_revision }.check()?;
            Ok(Command::Delete(Delete { request_id, ..delete }))
        };

    /// Read several keys as they are at one moment; lists those that are missing.
    read_batch: ANYONE, read;
        at Post "/batch/read", r#"{"keys":["findings_summary","open_questions"]}"# -> 200;
        rejects InvalidKey;
        needs {
            /// The keys, 1 to 100, none of them twice. For `changes`: only changes of the
            /// keys that match this pattern, in which * stands for any text.
            keys: Vec<String>,
        }
        takes {
            /// Answer `{"unchanged":true}` if nothing asked for changed after this
            /// revision.
            if_changed_since: u64,
        }
        answers BatchReadReply<'_>, UnchangedReply;
        |it| parts::read_batch(&it.keys, it.if_changed_since.map(Revision));

    /// Write and delete several keys at once: all or nothing.
    write_batch: PARTICIPANTS, change;
        at Post "/batch", r#"{"writes":[{"key":"current_phase","value":"review"}]}"# -> 200;
        rejects InvalidKey, SessionArchived, KeyNotFound, TokenizerUnavailable, ValueTooLarge,
        SensitiveValue, VersionConflict, StoreFull;
        needs {}
        takes {
            /// The writes, each as a request to write.
            writes: Vec<WriteForm>,
            /// The deletes, each as a request to delete.
            deletes: Vec<DeleteForm>,
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers BatchReply<'_>;
        |it| {
            let request_id = request_id(it.request_id.as_deref())?;
            let writes = it.writes.unwrap_or_default().into_iter().map(Into::into);
            let deletes = it.deletes.unwrap_or_default().into_iter().map(Into::into);
            parts::write_batch(writes.collect(), deletes.collect(), request_id)
        };

    /// Read the versions of a key that are kept, oldest first.
    read_history: ANYONE, read;
        at Get "/entries/{key}/history" -> 200;
        rejects InvalidKey, Forbidden, KeyNotFound;
        needs {
            /// The key: 1 to 64 of a-z, 0-9 and _; where the session allows prefixes also
            /// prefix:key.
            key: String,
        }
        takes {
            /// Only versions of these numbers; all that are kept when absent.
            versions: Vec<u64>,
        }
        answers HistoryReply<'_>;
        |it| Ok(Command::ReadHistory {
            key: Key::parse(&it.key)?,
            versions: it.versions.unwrap_or_default(),
        });

    /// Change who may read and write a key. For the orchestrator and who wrote the key last.
    set_access: PARTICIPANTS, change;
        at Put "/entries/{key}/access", r#"{"writable_by":["orchestrator"]}"# -> 200;
        rejects InvalidKey, SessionArchived, KeyNotFound, StoreFull;
        needs {
            /// The key: 1 to 64 of a-z, 0-9 and _; where the session allows prefixes also
            /// prefix:key.
            key: String,
        }
        takes {
            /// Who may read the entry, as patterns: *, orchestrator, subagent:{task},
            /// subagent:{task}:{id}, where * in task and id stands for any text.
            readable_by: Vec<String>,
            /// Who may write the entry, as patterns.
            writable_by: Vec<String>,
        }
        answers EntryForm<'_>;
        |it| parts::set_access(&it.key, it.readable_by.as_deref(), it.writable_by.as_deref());
}
