//! The interface `prompt`.

use shared_context_core::{
    Command, Participant, Reply, context::assembly::check_task, port::Revision, tokens::Tokens,
};

use super::{Answer, Caller, Result, perform, perform_to_json, types};
use crate::{
    Component,
    bindings::exports::shared_context::core::prompt::{Guest, Rendered},
};

impl Guest for Component {
    fn context(
        session: String,
        caller: Caller,
        task: Option<String>,
        max_tokens: Option<types::Tokens>,
        if_changed_since: Option<u64>,
    ) -> Result<Answer> {
        let checked = task.as_deref().map(check_task).transpose();
        let command = checked.map(|_| Command::RenderContext {
            task,
            max_tokens: max_tokens.map(Tokens),
            if_changed_since: if_changed_since.map(Revision),
        });
        perform_to_json(&session, caller, command)
    }

    fn render(
        session: String,
        caller: Caller,
        participant: Option<String>,
        max_tokens: Option<types::Tokens>,
    ) -> Result<Rendered> {
        let participant = participant.map(|it| Participant::parse(&it)).transpose();
        let max_tokens = max_tokens.map(Tokens);
        let command = participant.map(|participant| Command::Prompt { participant, max_tokens });
        perform(&session, caller, command, |outcome| {
            let Reply::Prompt(it) = outcome.reply else { return None };
            let left_out = it.left_out.into_iter().map(str::to_owned).collect();
            Some(Rendered { text: it.text, tokens: it.tokens.0, left_out })
        })
    }
}
