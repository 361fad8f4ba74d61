//! Actions on the session as a whole, most of them for the operator.

use shared_context_core::{
    Key, Line, Participant, context::assembly::check_task, port::Revision, tokens::Tokens,
};

use super::{
    config::{self, ConfigForm},
    document::{self, SessionDocument},
};
#[cfg(feature = "schema")]
use super::{
    document::DocumentForm,
    replies::{ContextReply, DeleteSessionReply, InspectReply, PromptReply, SessionReply},
};
use crate::{
    action::{ADMIN, ANYONE, REDACTORS, declare::actions},
    checks::{limit, named, request_id},
};
#[cfg(feature = "schema")]
use crate::{
    feed::AuditReply,
    store::entry_replies::{RedactReply, UnchangedReply},
};

actions! {
    of Store:

    /// Replace the values of a key by their digests everywhere they are kept. For a secret that
    /// slipped in. Notes of snapshots stay: delete the snapshot.
    redact: REDACTORS, change;
        at Post "/entries/{key}/redact", r#"{"reason":"a password"}"# -> 200 as redact_entry;
        rejects InvalidKey, SessionArchived, KeyNotFound, TokenizerUnavailable;
        needs {
            /// The key: 1 to 64 of a-z, 0-9 and _; where the session allows prefixes also
            /// prefix:key.
            key: String,
            /// Why, in one line.
            reason: String,
        }
        takes {
            /// Only the value written at this revision.
            revision: u64,
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers RedactReply<'_>;
        |it| {
            let id = request_id(it.request_id.as_deref())?;
            Ok(named(id, Command::Redact {
            reason: Line::parse("reason", &it.reason)?,
            key: Key::parse(&it.key)?,
            revision: it.revision.map(Revision),
        }))
        };

    /// Render the key conventions, write discipline and read pattern as text for a
    /// participant's system prompt.
    prompt: ANYONE, read;
        at Get "/prompt" -> 200 or text as render_prompt;
        needs {}
        takes {
            /// Whose prompt: orchestrator, subagent:{task} or subagent:{task}:{id}. Your
            /// own when absent.
            participant: String,
            /// The most tokens the text may have; 1000 when absent.
            max_tokens: u32,
        }
        answers PromptReply<'_>;
        |it| Ok(Command::Prompt {
            participant: it.participant.as_deref().map(Participant::parse).transpose()?,
            max_tokens: it.max_tokens.map(Tokens),
        });

    /// Render what you may read as text for a prompt, within a budget: what matters most for
    /// your task first, or else decisions and constraints.
    render_context: ANYONE, read;
        at Get "/context" -> 200 or text;
        rejects TokenizerUnavailable;
        needs {}
        takes {
            /// Your task or question.
            task: String,
            /// The most tokens the text may have; 2000 when absent.
            max_tokens: u32,
            /// Answer `{"unchanged":true}` if nothing asked for changed after this
            /// revision.
            if_changed_since: u64,
        }
        answers ContextReply<'_>, UnchangedReply;
        |it| {
            it.task.as_deref().map(check_task).transpose()?;
            Ok(Command::RenderContext {
                task: it.task,
                max_tokens: it.max_tokens.map(Tokens),
                if_changed_since: it.if_changed_since.map(Revision),
            })
        };

    /// Show the session's status, totals and configuration.
    show_session: ANYONE, read;
        at Get "" -> 200;
        needs {}
        takes {}
        answers SessionReply<'_>;
        |_it| Ok(Command::ShowSession);

    /// Create the session, empty and active.
    create_session: ADMIN, change;
        rejects SessionExists;
        needs {}
        takes {
            /// The session's configuration; the defaults when absent.
            config: ConfigForm,
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers SessionReply<'_>;
        |it| {
            let id = request_id(it.request_id.as_deref())?;
            let config = it.config.map(config::parse).transpose()?.unwrap_or_default();
            Ok(named(id, Command::CreateSession(Box::new(config))))
        };

    /// Change the session's configuration: a member that is absent stays, null restores its
    /// default.
    update_session: ADMIN, change;
        at Patch "", r#"{"config":{"keys_max":2000}}"# -> 200;
        rejects SessionArchived;
        needs {
            /// What changes. The estimator never does.
            config: ConfigForm,
        }
        takes {}
        answers SessionReply<'_>;
        |it| Ok(Command::UpdateSession(Box::new(config::change(it.config)?)));

    /// Make the session read-only, for good.
    archive_session: ADMIN, change;
        at Post "/archive" -> 200;
        needs {}
        takes {
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers SessionReply<'_>;
        |it| {
            let id = request_id(it.request_id.as_deref())?;
            Ok(named(id, Command::ArchiveSession))
        };

    /// Remove the session and all it holds.
    delete_session: ADMIN, change;
        at Delete "" -> 200;
        needs {}
        takes {}
        answers DeleteSessionReply<'_>;
        |_it| Ok(Command::DeleteSession);

    /// Make every credential issued so far for the session void.
    revoke_credentials: ADMIN, change;
        at Post "/revoke" -> 200;
        needs {}
        takes {
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers SessionReply<'_>;
        |it| {
            let id = request_id(it.request_id.as_deref())?;
            Ok(named(id, Command::RevokeCredentials))
        };

    /// Show everything about the session, values included.
    inspect: ADMIN, read;
        at Get "/inspect" -> 200 as inspect_session;
        needs {}
        takes {}
        answers InspectReply<'_>;
        |_it| Ok(Command::Inspect);

    /// Take the whole session out as one document with digests.
    export_session: ADMIN, read;
        needs {}
        takes {}
        answers DocumentForm;
        |_it| Ok(Command::Export);

    /// Create the session from an exported document.
    import_session: ADMIN, change;
        rejects FormatTooNew, DocumentAltered, SessionExists;
        needs {
            /// The session as `export_session` returned it.
            document: SessionDocument,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same
            /// request again under it is safe.
            request_id: String,
        }
        answers SessionReply<'_>;
        |it| {
            let id = request_id(it.request_id.as_deref())?;
            Ok(named(id, Command::Import(Box::new(document::parse(it.document.0.get())?))))
        };

    /// Read who changed what and when, oldest first; never a value.
    audit: ADMIN, read;
        at Get "/audit" -> 200 as read_audit;
        needs {}
        takes {
            /// Begin after this revision; with the oldest that is kept when absent.
            after: u64,
            /// How many commits or deltas at most, 1 to 1000; 100 when absent.
            limit: u32,
        }
        answers AuditReply<'_>;
        |it| Ok(Command::Audit {
            limit: limit(it.limit)?,
            after: Revision(it.after.unwrap_or(0)),
        });
}
