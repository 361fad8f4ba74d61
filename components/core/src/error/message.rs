//! The messages of errors for agents: the problem, and what to do next.

use std::fmt;

use super::{Error, text};

const OVERTAKEN: &str = "other changes to this session came first, again and again; \
     nothing was changed, send the request once more";
const UNREAD: &str = "storage could not be read; nothing was changed, try again in a moment. \
     If it stays so, tell the operator: the storage is away or damaged";
const UNSTORED: &str = "storage took no change; nothing was changed, try again in a moment. \
     If it stays so, tell the operator: the storage is full or fails, reading may still work";
const IN_DOUBT: &str = "storage is unavailable, and whether the change was made is not known; \
     read before you try again, or retry with the same request_id";

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "one arm for each error")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthenticated { reason } => f.write_str(reason),
            Self::Malformed { message }
            | Self::EnvelopeLimit { message }
            | Self::PacketLimit { message }
            | Self::MemoryLimit { message } => f.write_str(message),
            Self::InvalidKey { key, has_prefix } => text::invalid_key(f, key, *has_prefix),
            Self::SessionNotFound { session: id } => text::absent(f, "session", id),
            Self::ProjectNotFound { project: id } => text::absent(f, "project", id),
            Self::SessionExists { session } => {
                write!(f, "session {session} exists already; use it, or choose another session_id")
            }
            Self::ProjectExists { project } => {
                write!(f, "project {project} exists already; use it, or choose another id")
            }
            Self::SessionArchived { session } => write!(
                f,
                "session {session} is archived: it can be read, not changed; ask the operator \
                 for a new one"
            ),
            Self::ProjectArchived { project } => write!(
                f,
                "project {project} is archived: it can be read, not changed; ask the operator for a \
                 new one"
            ),
            Self::ImportUnfinished { project } => write!(
                f,
                "the import of project {project} is not finished: it can be read, not changed; the \
                 operator imports the other pages first (import_after of show_project says where to go \
                 on), or deletes the project"
            ),
            Self::MemoryNotFound { id } => write!(
                f,
                "there is no memory {id} in this project, or no longer; search_memories finds those \
                 there are"
            ),
            Self::MemoryArchived { id } => write!(
                f,
                "memory {id} is archived, so it is not changed and nothing refers to it anew; use the \
                 one that replaced it (superseded_by of read_memories), or let the orchestrator \
                 restore it with mark_memories"
            ),
            Self::SectionNotFound { marker } => write!(
                f,
                "there is no section {marker} in this project, or no longer; read_index shows those there \
                 are, put_section writes one"
            ),
            Self::ParentNotFound { marker, parent } => write!(
                f,
                "section {marker} is new and needs its parent {parent} first, which does not exist; write \
                 the parent with put_section, or choose another marker"
            ),
            Self::SectionTooLarge { level, tokens, bytes } => {
                text::section_too_large(f, *level, *tokens, *bytes)
            }
            Self::SectionConflict { marker, current_version } => write!(
                f,
                "section {marker} is at version {current_version}, not the one you name; read it, and \
                 write on top of that"
            ),
            Self::CoordinationConflict { current_version } => write!(
                f,
                "the coordination state is at version {current_version}, not the one you name; read it \
                 with coordination, merge, and write again. Who owns a section is never merged: what \
                 is stored holds"
            ),
            Self::NotOwner { marker, owner } => text::not_owner(f, marker, owner.as_ref()),
            Self::NotExclusive { marker, kind } => write!(
                f,
                "you own section {marker} as {kind}, and this needs exclusive ownership; acquire it \
                 again with ownership exclusive, and send the request again"
            ),
            Self::OfferOutdated { id, marker, from } => write!(
                f,
                "{from} offered {id} and no longer owns section {marker} exclusively, so it cannot be \
                 handed over; decline the handoff, and ask for a new offer or let the orchestrator take \
                 over"
            ),
            Self::LeaseExpired { sections } => write!(
                f,
                "you no longer own {sections}; nothing was changed. Read what was written since, acquire \
                 what you still need, and send the request again. This is reported once"
            ),
            Self::HandoffNotFound { id } => write!(
                f,
                "there is no handoff {id} from or to you in this project, or no longer; \
                 list_handoffs names those there are"
            ),
            Self::HandoffSettled { id, state } => write!(
                f,
                "handoff {id} is {state}, so it is neither accepted nor declined any more; read it, \
                 or let the agent that offered it make a new offer"
            ),
            Self::SupersedesItself { id } => write!(
                f,
                "memory {id} would replace itself, directly or by way of others; name the memory \
                 that holds now as by"
            ),
            Self::MemoryConflict { id, current_version } => write!(
                f,
                "memory {id} is at version {current_version}, not the one you name; read it, and \
                 update it on top of that"
            ),
            Self::OutlineLimit { message } | Self::Forbidden { message } => f.write_str(message),
            Self::KeyNotGranted { keys } => write!(
                f,
                "your credential is only for keys that match {keys}; write to one of those"
            ),
            Self::ClosedByRule { keys } => write!(
                f,
                "you see this entry, and the session's access rule for {keys} does not let you read \
                 its value; ask its writer, or ask the operator to change the rule with \
                 update_session: set_access does not"
            ),
            Self::RequestIdReused => f.write_str(
                "this request_id was used for another request before; \
                 use a new one for each new request, the same only to retry",
            ),
            Self::FormatTooNew { format, known } => {
                let shown: String = format.chars().take(80).collect();
                write!(
                    f,
                    "the document is of format {shown:?}, this version reads {known}; \
                     import it with a later version of shared-context"
                )
            }
            Self::DocumentAltered { place } => write!(
                f,
                "{place} is not as it was exported: its digest does not fit; \
                 import the document as export wrote it"
            ),
            Self::ChangesTruncated { oldest, revision } => write!(
                f,
                "changes can be read since revision {oldest} to {revision} only; \
                 read what is there now, and go on from the revision that you get with it"
            ),
            Self::SnapshotNotFound { label } => {
                write!(f, "there is no snapshot {label}; list the snapshots to see those there are")
            }
            Self::SnapshotExists { label } => {
                write!(f, "there is a snapshot {label} already; choose another label")
            }
            Self::SnapshotLimit { snapshots, snapshots_max } => write!(
                f,
                "the session has {snapshots} snapshots, at most {snapshots_max} are allowed; \
                 delete {} of them first",
                snapshots.saturating_sub(*snapshots_max).saturating_add(1)
            ),
            Self::EnvelopeNotFound { id } => write!(
                f,
                "there is no envelope {id} of yours, or it is no longer kept; assemble or compact \
                 again with keep, without previous and under a new request_id"
            ),
            Self::MissingNotFound { id } => write!(
                f,
                "there is no missing context {id}, or it is no longer kept; list_missing has those \
                 there are"
            ),
            Self::PacketNotFound { packet } => write!(
                f,
                "there is no packet {packet:?} for you, or it is no longer kept; context_read without \
                 an address reads your own, if there is one; the orchestrator finds all with \
                 list_packets and makes one with context_generate"
            ),
            Self::FeedbackGiven { version } => write!(
                f,
                "version {version} of this packet has feedback already; give feedback once, at \
                 the end of the task"
            ),
            Self::PacketTooSmall { budget, needed, form, fits, is_edited: false } => {
                text::packet_too_small(f, *budget, *needed, form, *fits)
            }
            Self::PacketTooSmall { budget, needed, is_edited: true, .. } => write!(
                f,
                "the edited packet has {needed}, its budget is {}; remove a statement, or \
                 generate it with a larger budget",
                budget.0
            ),
            Self::PacketAltered { differences } => text::altered(f, differences),
            Self::TokenizerUnavailable { encoding } => write!(
                f,
                "this session counts tokens as {encoding}, which this host cannot; \
                 ask the operator to run it where that tokenizer is"
            ),
            Self::InBatch { key, error } => write!(f, "{key}: {error}"),
            Self::Round(error) => error.fmt(f),
            Self::KeyNotFound { key } => {
                write!(f, "there is no entry {key}; list the keys to see those there are")
            }
            Self::RevisionNotFound { key, revision } => write!(
                f,
                "{key} has no value that was written at revision {}; read_history shows the revisions \
                 that are kept, and without revision every value is meant",
                revision.0
            ),
            Self::ValueTooLarge { tokens, tokens_max } => write!(
                f,
                "value has {tokens}, an entry holds at most {}; \
                 distill it to its conclusions, or split it by topic",
                tokens_max.0
            ),
            Self::SensitiveValue { kind } => write!(
                f,
                "value looks as if it held {kind}, which this session does not store; \
                 write a role, a record id or a reference instead"
            ),
            Self::BudgetTooSmall { limit, needed, over } => write!(
                f,
                "what is always shown needs a budget of {needed} {limit} or more and is over by \
                 {over}; raise it, shorten the task or summary, pin fewer items, or compact them"
            ),
            Self::TargetUnreachable { target, needed } => write!(
                f,
                "what must be kept has {needed}, the target is {}; aim at {} or more, or \
                 resolve issues and supersede decisions that no longer hold",
                target.0, needed.0
            ),
            Self::VersionConflict { key, current_version: 0, .. } => write!(
                f,
                "{key} does not exist, the condition says it does; \
                 create it (if_version 0, over HTTP If-None-Match: *), or write it without a \
                 condition"
            ),
            Self::VersionConflict { key, current_version, current_revision } => write!(
                f,
                "{key} is now at version {current_version} (revision {current_revision}), \
                 not what the condition says; read it, merge, and write again on top of that"
            ),
            Self::StoreFull { over, is_limited, largest } => {
                text::full(f, over, *is_limited, largest)
            }
            Self::Overtaken => f.write_str(OVERTAKEN),
            Self::Unread(_) => f.write_str(UNREAD),
            Self::Unstored(_) => f.write_str(UNSTORED),
            Self::InDoubt(_) => f.write_str(IN_DOUBT),
        }
    }
}
