//! The actions of the context pipeline (spec 16).

#[cfg(feature = "schema")]
use super::replies::{
    AssembleReply, EnvelopeReply, EvidenceReply, InjectionReply, MissingListReply, MissingReply,
    WindowReply,
};
use super::{
    forms::{BudgetForm, PartsForm, SharesForm, WindowForm},
    input::{self, AssembleInput, WindowInput},
};
use crate::{
    action::{ANYONE, PARTICIPANTS, declare::actions},
    checks,
    item::ItemForm,
};

actions! {
    of Context:

    /// Plan a model's context window: the size of its parts, how full it is, what that demands,
    /// and the reasons to compact that are due. Nothing is stored.
    plan_window: ANYONE, read;
        at Post "/context/plan", r#"{"used_tokens":164000}"# -> 200;
        rejects TokenizerUnavailable;
        needs {}
        takes {
            /// The size of the window, 1 to 10000000; 200000 when absent.
            window_tokens: u32,
            /// The sizes of the parts, in percent of the window; a part that is absent has its
            /// default.
            shares: SharesForm,
            /// The sizes of the parts, in tokens, in place of shares.
            parts: PartsForm,
            /// The tokens in the window; 0 when absent.
            used_tokens: u32,
            /// The tokens that are about to be loaded; 0 when absent.
            to_load_tokens: u32,
            /// The operations since the last compaction; 0 when absent.
            operations: u32,
            /// What else you know of: `planning_ended`, `handoff`, `asked`, `degradation`,
            /// `critical_decision`.
            reports: Vec<String>,
            /// A text of the window, up to 65536 bytes: its estimate is compared with its exact
            /// count.
            sample: String,
            /// The encoding of the exact count, such as `o200k_base`; that of the session when
            /// absent.
            encoding: String,
        }
        answers WindowReply;
        |it| {
            input::plan_window(WindowInput {
                window_tokens: it.window_tokens,
                shares: it.shares.map(Into::into),
                parts: it.parts.map(Into::into),
                used_tokens: it.used_tokens,
                to_load_tokens: it.to_load_tokens,
                operations: it.operations,
                reports: it.reports.unwrap_or_default(),
                sample: it.sample,
                encoding: it.encoding,
            })
        };

    /// Assemble what an agent is shown for a task, within a budget: of the candidates that you send,
    /// of entries and of the round state. The reply has the text, and an envelope that says of
    /// every candidate why it is in or out.
    assemble_context: ANYONE, change;
        at Post "/context/assemble",
        r#"{"task":"Which parameter is wrong?","entries":"*","budget":{"tokens":2000}}"# -> 200;
        rejects SessionArchived, EnvelopeNotFound, TokenizerUnavailable, BudgetTooSmall,
        EnvelopeLimit;
        needs {}
        takes {
            /// The task or question, up to 65536 bytes.
            task: String,
            /// The candidates, at most 2000 with texts of 2 MiB together. Their order is that of a
            /// conversation.
            items: Vec<ItemForm>,
            /// Entries that are candidates, too: a pattern of keys such as `*` or `inv_*`. Their ids
            /// are entry:KEY.
            entries: String,
            /// True to have the state of the last round as a candidate.
            round_state: bool,
            /// The ids of items that are always shown.
            pinned: Vec<String>,
            /// The ids of items that are no longer needed.
            pruned: Vec<String>,
            /// The limits.
            budget: BudgetForm,
            /// The window that the text goes into: if it is crowded, only what is always shown is in
            /// the text.
            window: WindowForm,
            /// Who will see it: `model` when absent.
            target: String,
            /// Where it will be shown: `message_history` when absent.
            place: String,
            /// What it is for: `task` when absent.
            purpose: String,
            /// The order in which candidates are taken: `both` when absent, `score` or `relevance`.
            rank_by: String,
            /// The least relevance, 0 to 1; when absent, one word in common with the task.
            relevance_min: f64,
            /// `markdown` when absent, `text` or `relevant_context`.
            format: String,
            /// The envelope of the assembly before, such as ENV-3: what it has keeps its place, so
            /// that prompt caches hold.
            previous: String,
            /// True to keep the envelope.
            keep: bool,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe. Only with keep.
            request_id: String,
        }
        answers AssembleReply<'_>;
        |it| {
            let id = checks::request_id(it.request_id.as_deref())?;
            let command = input::assemble(AssembleInput {
                task: it.task,
                items: it.items.unwrap_or_default(),
                entries: it.entries,
                round_state: it.round_state,
                pinned: it.pinned.unwrap_or_default(),
                pruned: it.pruned.unwrap_or_default(),
                budget: it.budget.unwrap_or_default(),
                window: it.window,
                target: it.target,
                place: it.place,
                purpose: it.purpose,
                rank_by: it.rank_by,
                relevance_min: it.relevance_min,
                format: it.format,
                previous: it.previous,
                keep: it.keep,
            })?;
            Ok(checks::named(id, command))
        };

    /// Read a kept envelope: why each candidate was shown or not, or what became of each item of a
    /// compaction, and where the text became visible.
    read_envelope: ANYONE, read;
        at Get "/context/envelopes/{envelope}" -> 200;
        rejects EnvelopeNotFound;
        needs {
            /// The id of the envelope, such as ENV-3.
            envelope: String,
        }
        takes {}
        answers EnvelopeReply<'_>;
        |it| input::read_envelope(&it.envelope);

    /// Export a kept envelope with the texts that were shown, or with those of the result of a
    /// compaction, so that anyone can recompute its digests.
    export_evidence: ANYONE, read;
        at Get "/context/envelopes/{envelope}/evidence" -> 200;
        rejects EnvelopeNotFound;
        needs {
            /// The id of the envelope, such as ENV-3.
            envelope: String,
        }
        takes {}
        answers EvidenceReply<'_>;
        |it| input::export_evidence(&it.envelope);

    /// Record where an assembled context became visible.
    record_injection: PARTICIPANTS, change;
        at Post "/context/injections", r#"{"envelope":"ENV-1","place":"system_prompt"}"# -> 201;
        rejects SessionArchived, EnvelopeNotFound;
        needs {
            /// The id of the envelope, such as ENV-3.
            envelope: String,
            /// `system_prompt`, `message_history`, `tool_argument`, `tool_visible_resource`,
            /// `ui_panel`, `runtime_metadata` or `peer_agent_message`.
            place: String,
        }
        takes {
            /// Who saw it: `model` when absent.
            target: String,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers InjectionReply;
        |it| {
            let (target, id) = (it.target.as_deref(), it.request_id.as_deref());
            input::record_injection(&it.envelope, &it.place, target, id)
        };

    /// Report context that you lack, so that somebody can answer.
    report_missing: PARTICIPANTS, change;
        at Post "/context/missing", r#"{"kind":"question","text":"Which retry limit holds?"}"#
        -> 201;
        rejects SessionArchived, EnvelopeNotFound, EnvelopeLimit;
        needs {
            /// `blocker`: work cannot go on without it; `input`, `question`, `requested_source`.
            kind: String,
            /// What is missing, 1 to 2000 characters.
            text: String,
        }
        takes {
            /// The envelope in which it is missing, such as ENV-3.
            envelope: String,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers MissingReply<'_>;
        |it| {
            let (envelope, id) = (it.envelope.as_deref(), it.request_id.as_deref());
            input::report_missing(&it.kind, it.text, envelope, id)
        };

    /// Answer missing context. A later answer replaces an earlier one.
    answer_missing: PARTICIPANTS, change;
        at Post "/context/missing/{missing}/answer", r#"{"answer":"Five, see entry limits."}"# -> 200;
        rejects SessionArchived, MissingNotFound;
        needs {
            /// The id of the missing context, such as MIS-2.
            missing: String,
            /// The answer, 1 to 2000 characters.
            answer: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers MissingReply<'_>;
        |it| input::answer_missing(&it.missing, it.answer, it.request_id.as_deref());

    /// List missing context: blockers first, each kind oldest first.
    list_missing: ANYONE, read;
        at Get "/context/missing" -> 200;
        needs {}
        takes {
            /// Only what is `open`, or only what is `answered`.
            state: String,
        }
        answers MissingListReply<'_>;
        |it| input::list_missing(it.state.as_deref());
}
