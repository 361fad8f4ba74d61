//! The actions on memories (spec 19).

#[cfg(feature = "schema")]
use super::replies::{
    AddReply, DecisionLogReply, HistoryReply, MaintainReply, MarkReply, ReadReply, RedactReply,
    RehydrateReply, SearchReply, SupersedeReply, UpdateReply,
};
use super::{
    content::ContentMember,
    forms::MemoryForm,
    input::{self, SearchInput, UpdateInput},
};
use crate::{
    action::{ANYONE, REDACTORS, declare::actions},
    json::Time,
};

actions! {
    of Memories:

    /// Add memories to the project, all or none. A memory with the same words is not added again.
    /// Decisions of agents are unverified until an orchestrator confirms them.
    add_memories: ANYONE, change;
        at Post "/memories",
        r#"{"memories":[{"memory_type":"learning","title":"Retries","content":{"lesson":"Retry with backoff"}}]}"#
        -> 201;
        rejects ProjectArchived, MemoryNotFound, MemoryArchived, MemoryLimit;
        needs {
            /// The memories, 1 to 500.
            memories: Vec<MemoryForm>,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers AddReply<'_>;
        |it| input::add(it.memories, it.request_id.as_deref());

    /// Read memories whole. That they were read is counted.
    read_memories: ANYONE, change;
        at Post "/memories/read", r#"{"ids":["DEC-2026-03-02-001"]}"# -> 200;
        rejects MemoryNotFound;
        needs {
            /// The ids of memories, 1 to 100; of a decision also such as DEC-2026-03-02-001.
            ids: Vec<String>,
        }
        takes {}
        answers ReadReply<'_>;
        |it| input::read(&it.ids);

    /// Read the versions of a memory that are kept, at most 10, the newest first. It does not count
    /// as reading.
    memory_history: ANYONE, read;
        at Get "/memories/{id}/history" -> 200;
        rejects MemoryNotFound;
        needs {
            /// The id of the memory.
            id: String,
        }
        takes {}
        answers HistoryReply<'_>;
        |it| input::history(&it.id);

    /// Change a memory: its next version. What you leave out stays. Agents change their own, and the
    /// status of issues.
    update_memory: ANYONE, change;
        at Patch "/memories/{id}", r#"{"status":"resolved"}"# -> 200;
        rejects ProjectArchived, MemoryNotFound, MemoryArchived, VersionConflict, MemoryLimit;
        needs {
            /// The id of the memory.
            id: String,
        }
        takes {
            /// Only if the memory has this version.
            if_version: u64,
            /// What it is, in one line of 1 to 100 characters.
            title: String,
            /// Members of its content to set; null removes one.
            content: ContentMember,
            /// All its tags; an empty list removes them.
            tags: Option<Vec<String>>,
            /// 1 to 10.
            importance: u32,
            /// Of an issue: `open` or `resolved`.
            status: String,
            /// The instant from which it does not exist.
            expires_at: Option<Time>,
            /// True to remove `expires_at`.
            keeps_forever: bool,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers UpdateReply;
        |it| {
            let change = UpdateInput {
                id: it.id,
                if_version: it.if_version,
                title: it.title,
                content: it.content,
                tags: it.tags,
                importance: it.importance,
                status: it.status,
                expires_at: it.expires_at,
                keeps_forever: it.keeps_forever,
            };
            input::update(change, it.request_id.as_deref())
        };

    /// Replace a memory by another one that is there: the old one is archived and kept, and both name
    /// each other. Agents replace only what they wrote.
    supersede_memory: ANYONE, change;
        at Post "/memories/{id}/supersede", r#"{"by":"DEC-2026-03-02-002"}"# -> 200;
        rejects ProjectArchived, MemoryNotFound, SupersedesItself, MemoryArchived;
        needs {
            /// The id of the memory that no longer holds.
            id: String,
            /// The id of the memory that holds instead.
            by: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers SupersedeReply;
        |it| input::supersede(&it.id, &it.by, it.request_id.as_deref());

    /// Archive memories, restore them, confirm unverified ones, or mark them for removal by the next
    /// maintenance.
    mark_memories: REDACTORS, change;
        at Post "/memories/marks", r#"{"ids":["DEC-2026-03-02-001"],"mark":"archived"}"# -> 200;
        rejects ProjectArchived, MemoryNotFound;
        needs {
            /// The ids of memories, 1 to 100; of a decision also such as DEC-2026-03-02-001.
            ids: Vec<String>,
            /// `archived`, `active`, `verified` or `deleted`.
            mark: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers MarkReply;
        |it| input::mark(&it.ids, &it.mark, it.request_id.as_deref());

    /// Find memories, without their content: by words, type, tags, importance, time and who added
    /// them. With a query the best rank comes first, else the newest.
    search_memories: ANYONE, read;
        at Post "/memories/search", r#"{"query":"connection pool size"}"# -> 200;
        needs {}
        takes {
            /// What you look for, in a few words, up to 2000 bytes.
            query: String,
            /// Only `decision`, `issue`, `state`, `learning` or `handoff`.
            memory_type: String,
            /// Only with all of these tags.
            tags: Vec<String>,
            /// Only of this importance or a higher one.
            importance_gte: u32,
            /// Only what happened after this instant.
            timestamp_after: Time,
            /// Only what happened before this instant.
            timestamp_before: Time,
            /// Only issues that are `open` or `resolved`.
            status: String,
            /// True for archived memories in place of others.
            is_archived: bool,
            /// Only what was added in this session.
            session_id: String,
            /// Only what this participant added.
            agent_id: String,
            /// `relevance`, `importance`, `timestamp`, `severity` or `access`.
            sort_by: String,
            /// How many at most, 1 to 100; 10 when absent.
            limit: u32,
            /// The `next_cursor` of the page before.
            cursor: String,
        }
        answers SearchReply<'_>;
        |it| {
            input::search(SearchInput {
                query: it.query,
                memory_type: it.memory_type.as_deref(),
                tags: it.tags,
                importance_gte: it.importance_gte,
                timestamp_after: it.timestamp_after,
                timestamp_before: it.timestamp_before,
                status: it.status.as_deref(),
                is_archived: it.is_archived,
                session_id: it.session_id.as_deref(),
                agent_id: it.agent_id.as_deref(),
                sort_by: it.sort_by.as_deref(),
                limit: it.limit,
                cursor: it.cursor.as_deref(),
            })
        };

    /// Begin a session with what the project knows: its newest state, important decisions, open
    /// issues and lessons, within a budget. With a task also older memories that it has words in
    /// common with.
    rehydrate: ANYONE, change;
        at Post "/rehydrate", r#"{"task":"Add JWT auth"}"# -> 200 or text;
        needs {}
        takes {
            /// What the session is about, up to 2000 bytes.
            task: String,
            /// The most tokens, 500 to 200000; 20000 when absent.
            max_tokens: u32,
            /// True for unverified memories as well.
            include_unverified: bool,
        }
        answers RehydrateReply<'_>;
        |it| input::rehydrate(it.task, it.max_tokens, it.include_unverified);

    /// Archive and remove memories by the rules of their life, at most 500 at once.
    maintain: REDACTORS, change;
        at Post "/maintain", "{}" -> 200;
        rejects ProjectArchived;
        needs {}
        takes {
            /// True to see what would be done.
            dry_run: bool,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers MaintainReply;
        |it| input::maintain(it.dry_run, it.request_id.as_deref());

    /// Read the log of all decisions as Markdown, the newest first.
    decision_log: ANYONE, read;
        at Get "/decisions" -> 200 or text;
        needs {}
        takes {
            /// How many at most, 1 to 1000; 100 when absent.
            limit: u32,
        }
        answers DecisionLogReply<'_>;
        |it| input::decision_log(it.limit);

    /// Replace what a memory says by its digest, in all its versions.
    redact_memory: REDACTORS, change;
        at Post "/memories/{id}/redact", r#"{"reason":"holds a password"}"# -> 200;
        rejects MemoryNotFound, ProjectArchived;
        needs {
            /// The id of the memory.
            id: String,
            /// Why it is done, in one line of 1 to 200 characters.
            reason: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers RedactReply;
        |it| input::redact(&it.id, &it.reason, it.request_id.as_deref());
}
