//! The actions on the outline of a project and on its owners (spec 20).

use super::input::{self, AssignmentForm, FileForm, PutInput, ResourceForm, ShortcutForm};
#[cfg(feature = "schema")]
use super::replies::{
    CheckReply, CoordinationReply, DeleteReply, IndexReply, LeaseReply, PutReply, ReadReply,
    RedactReply, ReleaseReply,
};
use shared_context_core::ownership;

use crate::action::{ANYONE, PARTICIPANTS, REDACTORS, declare::actions};

actions! {
    of Outline:

    /// Write a section of the outline, or its next version. What you leave out stays. A section of
    /// level 3 or 4 without owner becomes yours for 30 minutes. A content of PRUNE: and a reason marks
    /// it as not loaded.
    put_section: PARTICIPANTS, change;
        at Put "/outline/{marker}", r#"{"title":"Architecture","content":"**Overview**: Five services."}"#
        -> 200;
        rejects ProjectArchived, SectionNotFound, SectionTooLarge, NotOwner, LeaseExpired, VersionConflict, StoreFull, MemoryLimit;
        needs {
            /// The marker of the section, as in `§2.1`; the sign may be left out.
            marker: String,
        }
        takes {
            /// Its title, in one line of 1 to 100 characters.
            title: String,
            /// Its content: at most 1000 tokens at level 1, 500 at level 2, 3000 at level 3, 64 KiB at
            /// level 4.
            content: String,
            /// Its description in the index, in one line of up to 200 characters.
            summary: String,
            /// Its status in the index, such as IN PROGRESS; empty removes it.
            status: String,
            /// How much of it is done, 0 to 100 percent.
            progress: u32,
            /// Where to find what, at level 1; at most 32.
            shortcuts: Vec<ShortcutForm>,
            /// The file that it refers to, at level 4.
            file: FileForm,
            /// Who else may read it at levels 3 and 4, as patterns such as `subagent:impl*`.
            readers: Vec<String>,
            /// What the change is, for the advice: `code_change`, `bug_fix`, `config_change`,
            /// `new_feature`, `progress_update` or `decision_made`.
            change: String,
            /// Only if the section has this version; 0 if it must not exist.
            if_version: u64,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers PutReply<'_>;
        |it| {
            let put = PutInput {
                marker: &it.marker,
                title: it.title,
                content: it.content,
                summary: it.summary,
                status: it.status,
                progress: it.progress,
                shortcuts: it.shortcuts,
                file: it.file,
                readers: it.readers,
                change: it.change.as_deref(),
                if_version: it.if_version,
            };
            input::put(put, it.request_id.as_deref())
        };

    /// Read a section. With a level, read in its place the sections of that level that it leads to.
    read_section: ANYONE, read;
        at Get "/outline/{marker}" -> 200;
        rejects SectionNotFound;
        needs {
            /// The marker of the section, as in `§2.1`; the sign may be left out.
            marker: String,
        }
        takes {
            /// 1 to 4.
            level: u32,
            /// This version of the section, of the last 10: its content, writer, time and tokens. The
            /// other members are those of the current one.
            version: u64,
        }
        answers ReadReply<'_>;
        |it| input::read(&it.marker, it.level, it.version);

    /// Remove a section with its versions.
    delete_section: PARTICIPANTS, change;
        at Delete "/outline/{marker}" -> 200;
        rejects ProjectArchived, SectionNotFound, NotOwner, LeaseExpired, VersionConflict;
        needs {
            /// The marker of the section, as in `§2.1`; the sign may be left out.
            marker: String,
        }
        takes {
            /// Only if the section has this version.
            if_version: u64,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers DeleteReply;
        |it| input::delete(&it.marker, it.if_version, it.request_id.as_deref());

    /// Read the navigation index: which sections there are, and where to find what.
    read_index: ANYONE, read;
        at Get "/outline" -> 200 or text;
        needs {}
        takes {
            /// The most tokens, 50 to 20000; 500 when absent.
            max_tokens: u32,
        }
        answers IndexReply<'_>;
        |it| input::index(it.max_tokens);

    /// Find inconsistencies of the outline: broken links, missing details, decisions that no longer
    /// hold, and others.
    check_outline: REDACTORS, read;
        at Get "/outline/check" -> 200;
        needs {}
        takes {}
        answers CheckReply<'_>;
        |_it| Ok(input::command(ownership::Command::Check));

    /// Own a section for a time, so that nobody else writes it.
    acquire: PARTICIPANTS, change;
        at Post "/outline/{marker}/acquire", r#"{"ttl_seconds":600}"# -> 200;
        rejects ProjectArchived, SectionNotFound, NotOwner, LeaseExpired, StoreFull;
        needs {
            /// The marker of the section, as in `§2.1`; the sign may be left out.
            marker: String,
        }
        takes {
            /// `exclusive` when absent, `shared-write` or `read-only`.
            ownership: String,
            /// How long, 60 to 86400 seconds; 1800 when absent.
            ttl_seconds: u32,
            /// Why, in one line of 1 to 200 characters.
            reason: String,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers LeaseReply<'_>;
        |it| {
            let kind = it.ownership.as_deref();
            let request_id = it.request_id.as_deref();
            input::acquire((&it.marker, kind), it.ttl_seconds, it.reason.as_deref(), request_id)
        };

    /// Own a section for longer.
    renew: PARTICIPANTS, change;
        at Post "/outline/{marker}/renew", r#"{"ttl_seconds":600}"# -> 200;
        rejects ProjectArchived, SectionNotFound, NotOwner, LeaseExpired;
        needs {
            /// The marker of the section, as in `§2.1`; the sign may be left out.
            marker: String,
        }
        takes {
            /// How long, 60 to 86400 seconds; 1800 when absent.
            ttl_seconds: u32,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers LeaseReply<'_>;
        |it| input::renew(&it.marker, it.ttl_seconds, it.request_id.as_deref());

    /// Give a section back that you own.
    release: PARTICIPANTS, change;
        at Post "/outline/{marker}/release", "{}" -> 200;
        rejects ProjectArchived, SectionNotFound, NotOwner, LeaseExpired;
        needs {
            /// The marker of the section, as in `§2.1`; the sign may be left out.
            marker: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers ReleaseReply;
        |it| input::release(&it.marker, it.request_id.as_deref());

    /// Hand a section over to another participant. Owners do so, and orchestrators in place of any
    /// owner.
    transfer: PARTICIPANTS, change;
        at Post "/outline/{marker}/transfer", r#"{"to":"orchestrator"}"# -> 200;
        rejects ProjectArchived, SectionNotFound, NotOwner, LeaseExpired, StoreFull;
        needs {
            /// The marker of the section, as in `§2.1`; the sign may be left out.
            marker: String,
            /// Who owns it then, as in `subagent:impl:3`.
            to: String,
        }
        takes {
            /// The session of that participant; yours when absent.
            to_session: String,
            /// How long, 60 to 86400 seconds; 1800 when absent.
            ttl_seconds: u32,
            /// Why, in one line of 1 to 200 characters.
            reason: String,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers LeaseReply<'_>;
        |it| {
            let to = (it.to.as_str(), it.to_session.as_deref());
            let request_id = it.request_id.as_deref();
            input::transfer((&it.marker, to), it.ttl_seconds, it.reason.as_deref(), request_id)
        };

    /// Read who owns what, who works on what, what blocks everyone and what is shared.
    coordination: ANYONE, read;
        at Get "/coordination" -> 200;
        needs {}
        takes {}
        answers CoordinationReply<'_>;
        |_it| Ok(input::command(ownership::Command::Coordination));

    /// Change the coordination state. What you leave out stays; who owns what is not part of it.
    coordinate: PARTICIPANTS, change;
        at Patch "/coordination", r#"{"sync_version":0,"global_blockers":["PCI review"]}"# -> 200;
        rejects ProjectArchived, LeaseExpired, VersionConflict;
        needs {
            /// The version that the change is based on; 0 for the first.
            sync_version: u64,
        }
        takes {
            /// Who works on what, all of it; orchestrators only.
            assignments: Vec<AssignmentForm>,
            /// What blocks everyone, all of it.
            global_blockers: Vec<String>,
            /// What is shared, all of it.
            shared_resources: Vec<ResourceForm>,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers CoordinationReply<'_>;
        |it| {
            let change = (it.assignments, it.global_blockers, it.shared_resources);
            input::coordinate(it.sync_version, change, it.request_id.as_deref())
        };

    /// Replace the content of a section by its digest, in all its versions.
    redact_section: REDACTORS, change;
        at Post "/outline/{marker}/redact", r#"{"reason":"holds a password"}"# -> 200;
        rejects SectionNotFound, ProjectArchived;
        needs {
            /// The marker of the section, as in `§2.1`; the sign may be left out.
            marker: String,
            /// Why it is done, in one line of 1 to 200 characters.
            reason: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers RedactReply;
        |it| input::redact(&it.marker, &it.reason, it.request_id.as_deref());
}
