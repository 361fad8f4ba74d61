//! The actions of the context pipeline (spec 16).

#[cfg(feature = "schema")]
use super::replies::WindowReply;
use super::{
    forms::{PartsForm, SharesForm},
    input::{self, WindowInput},
};
use crate::action::{ANYONE, declare::actions};

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
}
