//! The actions of compaction (spec 17).

use super::input::{self, CompactInput, PositionForm};
#[cfg(feature = "schema")]
use super::replies::{CheckReply, CompactReply, ExtractReply};
use crate::{
    action::{ANYONE, declare::actions},
    checks,
    item::ItemForm,
};

actions! {
    of Context:

    /// Extract the facts of a conversation: its goals, constraints, decisions, open issues, state
    /// and others, in their own words and with their places. Nothing is stored.
    extract: ANYONE, read;
        at Post "/context/extract",
        r#"{"items":[{"id":"m1","kind":"user_message","text":"DECISION: Use PostgreSQL."}]}"# -> 200;
        needs {
            /// The conversation in its order, at most 5000 items with texts of 2 MiB together.
            items: Vec<ItemForm>,
        }
        takes {
            /// Where to begin: `next` of the reply before. At the first item when absent.
            from: PositionForm,
        }
        answers ExtractReply<'_>;
        |it| input::extract(it.items, it.from);

    /// Compact a conversation: make it fit, in its own words. What must be kept stays, and the reply
    /// says what became of every item and why. Nothing is stored, unless you keep its envelope.
    compact: ANYONE, change;
        at Post "/context/compact",
        r#"{"items":[{"id":"m1","kind":"user_message","text":"Fix BUG-17."}],"target_tokens":8000}"#
        -> 200;
        rejects SessionArchived, EnvelopeNotFound, TokenizerUnavailable, TargetUnreachable,
        EnvelopeLimit;
        needs {
            /// The conversation in its order, at most 5000 items with texts of 2 MiB together.
            items: Vec<ItemForm>,
        }
        takes {
            /// The task at hand, up to 65536 bytes.
            task: String,
            /// Aim at 65 % of a window of this size, 1 to 10000000; 200000 when no aim is sent.
            window_tokens: u32,
            /// Aim at this many tokens, 1 to 10000000, in place of `window_tokens`.
            target_tokens: u32,
            /// Aim at this many percent less, 1 to 99, in place of `window_tokens`.
            reduction_percent: u32,
            /// How scores are weighted: `default` when absent, or `dense`.
            weighting: String,
            /// True for the plan alone, without texts.
            dry_run: bool,
            /// True to keep an envelope of the compaction, with the texts of its result.
            keep: bool,
            /// Your own name for this request, up to 64 characters: sending the same request again
            /// under it is safe. Only with keep.
            request_id: String,
        }
        answers CompactReply<'_>;
        |it| {
            let id = checks::request_id(it.request_id.as_deref())?;
            let command = input::compact(CompactInput {
                items: it.items,
                task: it.task,
                window_tokens: it.window_tokens,
                target_tokens: it.target_tokens,
                reduction_percent: it.reduction_percent,
                weighting: it.weighting,
                dry_run: it.dry_run,
                keep: it.keep,
            })?;
            Ok(checks::named(id, command))
        };

    /// Check a summary of a conversation that somebody wrote in their own words: which facts that
    /// must be kept it has, lacks, or has with an earlier value. Nothing is stored.
    check_summary: ANYONE, read;
        at Post "/context/check",
        r#"{"items":[{"id":"m1","kind":"user_message","text":"Never log tokens."}],"summary":"Start."}"#
        -> 200;
        rejects TokenizerUnavailable;
        needs {
            /// The conversation in its order, at most 5000 items with texts of 2 MiB together.
            items: Vec<ItemForm>,
            /// The summary, up to 1048576 bytes.
            summary: String,
        }
        takes {
            /// True to have the facts appended that the summary lacks, in their own words.
            repair: bool,
            /// The most tokens of the repaired summary; 10000 when absent.
            max_tokens: u32,
        }
        answers CheckReply<'_>;
        |it| input::check_summary(it.items, it.summary, it.repair, it.max_tokens);
}
