//! The actions on packets (spec 18).

use serde_json::value::RawValue;
use shared_context_core::{Command, PacketsCommand};

use super::{
    forms::{FactsForm, FileForm, LinkForm},
    input::{self, FeedbackInput, GenerateInput, ReadInput},
    packet::{PacketMember, PatchMember},
};
#[cfg(feature = "schema")]
use super::{
    replies::{AnswerReply, ReadReply, WrittenReply},
    reports::{ClearReply, FeedbackReply, ListReply, StatisticsReply},
};
use crate::{
    action::{ANYONE, ORCHESTRATOR, PARTICIPANTS, REDACTORS, declare::actions},
    item::ItemForm,
};

actions! {
    of Packets:

    /// Write a packet: what a worker gets to know for its task, within a budget. It is chosen from
    /// what you send, from entries, the round state and open reports of missing context, as far as
    /// the receiver may read them. Statements are never reworded, and each has its source.
    context_generate: ORCHESTRATOR, change;
        at Post "/packets", r#"{"task":"Add JWT auth","address":"subagent:impl"}"# -> 200;
        rejects InvalidKey, SessionArchived, PacketNotFound, TokenizerUnavailable, BudgetTooSmall,
        PacketLimit;
        needs {}
        takes {
            /// The task, up to 8192 bytes. Not with refresh.
            task: String,
            /// Whom the packet is for: a participant such as subagent:impl, a pattern such as
            /// subagent:impl:*, or `shared`; shared when absent.
            address: String,
            /// The type of the task, 1 to 64 of a-z, 0-9, _, . and -: statistics and advice are by
            /// it.
            task_type: String,
            /// `minimal`: goal and constraints; `standard`: also decisions and the codebase; `deep`:
            /// also failed attempts, pivots, open questions. That of the session when absent.
            depth: String,
            /// The most tokens of the packet, 50 to 8000; that of the depth when absent.
            max_tokens: u32,
            /// The form that the reply has and the budget counts: `markdown` when absent, `yaml` or
            /// `json`.
            form: String,
            /// The conversation in its order, at most 5000 items with texts of 2 MiB together.
            conversation: Vec<ItemForm>,
            /// Files, at most 1000 with texts of 2 MiB together.
            files: Vec<FileForm>,
            /// What you state yourself.
            facts: FactsForm,
            /// Packets of other sessions that this one refers to, at most 16.
            links: Vec<LinkForm>,
            /// Keys that the packet may use although its receiver may not read them.
            keys: Vec<String>,
            /// True to see the packet without keeping it.
            preview: bool,
            /// True to write the next version of the packet at the address from what it was made
            /// from, with the sources as they are now.
            refresh: bool,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe. Not with preview.
            request_id: String,
        }
        answers WrittenReply<'_>;
        |it| {
            let input = GenerateInput {
                task: it.task,
                address: it.address,
                task_type: it.task_type,
                depth: it.depth,
                max_tokens: it.max_tokens,
                form: it.form,
                conversation: it.conversation.unwrap_or_default(),
                files: it.files.unwrap_or_default(),
                facts: it.facts,
                links: it.links.unwrap_or_default(),
                keys: it.keys.unwrap_or_default(),
                preview: it.preview,
                refresh: it.refresh,
            };
            input::generate(input, it.request_id.as_deref())
        };

    /// Edit the newest version of a packet before it is handed over: the result is its next version.
    context_edit: ORCHESTRATOR, change;
        at Patch "/packets/{address}", r#"{"context":{"goal":"Add JWT auth"}}"# -> 200;
        rejects SessionArchived, PacketNotFound, TokenizerUnavailable, BudgetTooSmall, PacketLimit;
        needs {
            /// Whom the packet is for.
            address: String,
            /// A JSON merge patch (RFC 7396) of the packet: its `context`, `target_task`,
            /// `task_type` and `links`.
            patch: PatchMember,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers WrittenReply<'_>;
        |it| input::edit(&it.address, it.patch.0.get(), it.request_id.as_deref());

    /// Read a packet: your own, or the shared one if you have none. Tells what changed in its sources
    /// since it was written. That you read it is recorded.
    context_read: ANYONE, change;
        at Post "/packets/{address}/read", "{}" -> 200;
        rejects DocumentAltered, PacketNotFound, TokenizerUnavailable;
        needs {}
        takes {
            /// Whom the packet is for; your own, or the shared one, when absent.
            address: String,
            /// The version; the newest when absent.
            version: u32,
            /// Only one layer: `goal`, `decisions`, `codebase` or `history`. One that the packet does
            /// not have is read from its sources, and counts as a gap.
            layer: String,
            /// The packet at another depth, from its sources: `minimal`, `standard` or `deep`. Layers
            /// that the packet does not have count as gaps.
            depth: String,
            /// `markdown` when absent, `yaml` or `json`.
            form: String,
            /// A packet that you have, as JSON with its checksum: the reply says where it differs.
            compared: PacketMember,
        }
        answers ReadReply<'_>;
        |it| {
            let compared: Option<&RawValue> = it.compared.as_ref().map(|it| &*it.0);
            input::read(&ReadInput {
                address: it.address.as_deref(),
                version: it.version,
                layer: it.layer.as_deref(),
                depth: it.depth.as_deref(),
                form: it.form.as_deref(),
                compared,
            })
        };

    /// Say at the end of a task what its packet lacked and what was not used, once a version. The
    /// next packets are better for it.
    context_feedback: PARTICIPANTS, change;
        at Post "/packets/{address}/feedback", r#"{"outcome":"done","gaps":["testing approach"]}"#
        -> 201;
        rejects SessionArchived, PacketNotFound, FeedbackGiven, PacketLimit;
        needs {}
        takes {
            /// Whom the packet is for; your own, or the shared one, when absent.
            address: String,
            /// The version; the newest that you read when absent.
            version: u32,
            /// How the task ended: `done`, `failed` or `abandoned`.
            outcome: String,
            /// What you lacked, at most 20 of 1 to 200 characters.
            gaps: Vec<String>,
            /// What you did not use, at most 20 of 1 to 200 characters.
            unused: Vec<String>,
            /// Anything else, up to 2000 characters.
            note: String,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers FeedbackReply<'_>;
        |it| {
            let input = FeedbackInput {
                address: it.address.as_deref(),
                version: it.version,
                outcome: it.outcome.as_deref(),
                gaps: it.gaps.unwrap_or_default(),
                unused: it.unused.unwrap_or_default(),
                note: it.note,
            };
            input::feedback(input, it.request_id.as_deref())
        };

    /// Ask one question about everything that a packet was made from. The answer are its statements
    /// that have most in common with the question, with their sources; none is an answer, too, and
    /// counts as a gap.
    context_query: ANYONE, change;
        at Post "/packets/{address}/query", r#"{"question":"Which algorithm signs tokens?"}"# -> 200;
        rejects PacketNotFound, TokenizerUnavailable;
        needs {
            /// The question, up to 2000 bytes.
            question: String,
        }
        takes {
            /// Whom the packet is for; your own, or the shared one, when absent.
            address: String,
        }
        answers AnswerReply<'_>;
        |it| input::query(it.question, it.address.as_deref());

    /// Show by type of task how large packets were, how tasks ended, what was lacking and unused, and
    /// the least context that suffices.
    context_stats: REDACTORS, read;
        at Get "/packet-stats" -> 200;
        needs {}
        takes {
            /// Only this type of task.
            task_type: String,
        }
        answers StatisticsReply<'_>;
        |it| input::statistics(it.task_type);

    /// Remove a packet with all its versions. Its feedback still counts.
    context_clear: ORCHESTRATOR, change;
        at Delete "/packets/{address}" -> 200;
        rejects SessionArchived, PacketNotFound;
        needs {
            /// Whom the packet is for.
            address: String,
        }
        takes {
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe.
            request_id: String,
        }
        answers ClearReply<'_>;
        |it| input::clear(&it.address, it.request_id.as_deref());

    /// List the packets that you may read, without their content: who read which version when.
    list_packets: ANYONE, read;
        at Get "/packets" -> 200;
        needs {}
        takes {}
        answers ListReply<'_>;
        |_it| Ok(Command::Packets(PacketsCommand::List));
}
