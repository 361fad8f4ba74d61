//! The actions on handoffs (spec 21).

use super::input::{self, CoreDocument, OfferInput};
#[cfg(feature = "schema")]
use super::replies::{HandoffReply, HandoffsReply, PromptReply, TraceReply};
use crate::{
    action::{ANYONE, ORCHESTRATOR, PARTICIPANTS, REDACTORS, declare::actions},
    item::ItemForm,
};

actions! {
    of Handoffs:

    /// Offer your work to another agent: a package within a budget, of what you send and of what the
    /// project knows. An emergency handoff is accepted with the offer.
    offer_handoff: PARTICIPANTS, change;
        at Post "/handoffs",
        r#"{"to_agent":"subagent:impl","handoff_type":"complete","summary":"Login works; refunds are next."}"#
        -> 201;
        rejects ProjectArchived, SectionNotFound, NotOwner, DocumentAltered, BudgetTooSmall, StoreFull, MemoryLimit;
        needs {
            /// The participant that receives, such as subagent:impl.
            to_agent: String,
            /// `complete`, `specialist`, `continuation` or `emergency`.
            handoff_type: String,
            /// What the work is and how far it is, up to 4000 bytes. It becomes a memory.
            summary: String,
        }
        takes {
            /// The session that the receiver must act in; any of the project when absent, of an
            /// emergency yours.
            to_session_id: String,
            /// `task_completed`, `blocked`, `token_capacity`, `rotation` or `failure`; that of the type
            /// when absent.
            reason: String,
            /// The task, up to 2000 bytes.
            task: String,
            /// The markers of sections that you own, such as §2.3, at most 64: the receiver will own
            /// them.
            sections: Vec<String>,
            /// The skills that the work needs, at most 50.
            required_skills: Vec<String>,
            /// The skills that the receiver has, at most 50.
            to_agent_capabilities: Vec<String>,
            /// What is done. Each list has at most 50 texts of up to 2000 bytes.
            completed: Vec<String>,
            /// What was begun.
            in_progress: Vec<String>,
            /// What is still to be done.
            not_started: Vec<String>,
            /// What to do first.
            immediate: Vec<String>,
            /// What to do soon.
            short_term: Vec<String>,
            /// When the task is done.
            success_criteria: Vec<String>,
            /// What you noticed.
            from_agent_observations: Vec<String>,
            /// What you would do.
            suggested_approach: Vec<String>,
            /// What to avoid.
            known_pitfalls: Vec<String>,
            /// What helps.
            useful_resources: Vec<String>,
            /// A packet, as `context_read` returns it with format json.
            packet: CoreDocument,
            /// The conversation, which is compacted; at most 2000 items.
            items: Vec<ItemForm>,
            /// The most tokens of the package, from 1000 to what is the default: 25000 complete, 10000
            /// specialist, 40000 continuation, 15000 emergency.
            max_tokens: u32,
            /// How long the offer holds, 60 to 604800 seconds; a day when absent.
            ttl_seconds: u64,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers HandoffReply<'_>;
        |it| {
            let id = it.request_id.clone();
            input::offer(OfferInput {
                to_agent: it.to_agent,
                handoff_type: it.handoff_type,
                summary: it.summary,
                to_session_id: it.to_session_id,
                reason: it.reason,
                task: it.task,
                sections: it.sections,
                required_skills: it.required_skills,
                capabilities: it.to_agent_capabilities,
                texts: [
                    it.completed, it.in_progress, it.not_started, it.immediate, it.short_term,
                    it.success_criteria, it.from_agent_observations, it.suggested_approach,
                    it.known_pitfalls, it.useful_resources,
                ],
                packet: it.packet,
                items: it.items,
                max_tokens: it.max_tokens,
                ttl_seconds: it.ttl_seconds,
                from: None,
            }, id.as_deref())
        };

    /// Accept a handoff to you. You own its sections from then on, and get its package.
    accept_handoff: PARTICIPANTS, change;
        at Post "/handoffs/{id}/accept", "{}" -> 200;
        rejects ProjectArchived, HandoffNotFound, HandoffSettled, SectionNotFound, NotOwner, StoreFull, MemoryLimit;
        needs {
            /// The id of the handoff, such as HND-1.
            id: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers HandoffReply<'_>;
        |it| input::accept(&it.id, it.request_id.as_deref());

    /// Decline a handoff to you, or withdraw one of yours.
    decline_handoff: PARTICIPANTS, change;
        at Post "/handoffs/{id}/decline", r#"{"reason":"I do not know the schema"}"# -> 200;
        rejects ProjectArchived, HandoffNotFound, HandoffSettled;
        needs {
            /// The id of the handoff.
            id: String,
            /// Why, in one line of 1 to 200 characters.
            reason: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers HandoffReply<'_>;
        |it| input::decline(&it.id, &it.reason, it.request_id.as_deref());

    /// Take sections over from an agent that no longer answers, for yourself or for another agent. What
    /// the former owner writes later is rejected.
    take_over: ORCHESTRATOR, change;
        at Post "/handoffs/take-over", r#"{"from_agent":"subagent:impl"}"# -> 201;
        rejects ProjectArchived, SectionNotFound, NotOwner, BudgetTooSmall, StoreFull, MemoryLimit;
        needs {
            /// The participant that no longer answers.
            from_agent: String,
        }
        takes {
            /// Its session; any of the project when absent.
            from_session_id: String,
            /// The participant that receives; you when absent.
            to_agent: String,
            /// The session that the receiver acts in; yours when absent.
            to_session_id: String,
            /// What the work is and how far it is, up to 4000 bytes.
            summary: String,
            /// The task, up to 2000 bytes.
            task: String,
            /// The markers of its sections, at most 64; all that it owns when absent.
            sections: Vec<String>,
            /// The conversation, as far as it is known; at most 2000 items.
            items: Vec<ItemForm>,
            /// The most tokens of the package, 1000 to 15000.
            max_tokens: u32,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers HandoffReply<'_>;
        |it| {
            let id = it.request_id.clone();
            input::take_over(OfferInput {
                to_agent: it.to_agent.unwrap_or_else(|| "orchestrator".to_owned()),
                summary: it.summary.unwrap_or_default(),
                to_session_id: it.to_session_id,
                task: it.task,
                sections: it.sections,
                items: it.items,
                max_tokens: it.max_tokens,
                from: Some((it.from_agent, it.from_session_id)),
                ..OfferInput::default()
            }, id.as_deref())
        };

    /// List handoffs, the newest first. Agents see those from and to them.
    list_handoffs: ANYONE, read;
        at Get "/handoffs" -> 200;
        needs {}
        takes {
            /// Only `offered`, `accepted`, `declined` or `expired` ones.
            state: String,
            /// Only those from or to this participant.
            agent_id: String,
        }
        answers HandoffsReply<'_>;
        |it| input::list(it.state.as_deref(), it.agent_id.as_deref());

    /// Read a handoff with its package.
    read_handoff: ANYONE, read;
        at Get "/handoffs/{id}" -> 200;
        rejects HandoffNotFound;
        needs {
            /// The id of the handoff.
            id: String,
        }
        takes {}
        answers HandoffReply<'_>;
        |it| input::read(&it.id);

    /// Replace the package of a handoff by its digest.
    redact_handoff: REDACTORS, change;
        at Post "/handoffs/{id}/redact", r#"{"reason":"holds a password"}"# -> 200;
        rejects HandoffNotFound;
        needs {
            /// The id of the handoff.
            id: String,
            /// Why it is done, in one line of 1 to 200 characters.
            reason: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers HandoffReply<'_>;
        |it| input::redact(&it.id, &it.reason, it.request_id.as_deref());

    /// Read what a decision is linked with: what it replaced, what replaced it, the handoffs that
    /// carried it, and the sessions of all of them.
    trace_decision: ANYONE, read;
        at Get "/decisions/{id}/trace" -> 200;
        rejects MemoryNotFound;
        needs {
            /// The id of a memory; of a decision also such as DEC-2026-03-02-001.
            id: String,
        }
        takes {}
        answers TraceReply<'_>;
        |it| input::trace(&it.id);

    /// Write a system prompt of what the project knows: its summary, critical memories, the sections of
    /// the task and the index of the others, within a budget.
    project_prompt: ANYONE, read;
        at Get "/prompt" -> 200 or text;
        at Post "/prompt", r#"{"task":"Add JWT auth"}"# -> 200 or text as write_project_prompt;
        rejects SectionNotFound;
        needs {}
        takes {
            /// Who the agent is and what it can do, up to 16384 bytes.
            agent: String,
            /// The task, up to 2000 bytes.
            task: String,
            /// When the task is done, up to 16384 bytes.
            criteria: String,
            /// The markers of the sections of the task, with spaces between, at most 16.
            focus: String,
            /// The most tokens, 5000 to 10000; 8000 when absent.
            max_tokens: u32,
        }
        answers PromptReply<'_>;
        |it| input::prompt(it.agent, it.task, it.criteria, it.focus.as_deref(), it.max_tokens);
}
