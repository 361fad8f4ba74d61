//! Prompts: the text of spec 6 for a participant, as a message for a client to put into its agent's
//! context.
//!
//! The tool's action `prompt` writes the text and fits it to a budget.

use rmcp::model::{
    GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde::Deserialize;

use super::{
    Cache, Context, MethodResult, Rejection, fault::Fault, params::Params, server::one_page,
};
use crate::{
    Engine,
    http::{ToolRequest, invalid_reply},
};

/// Name of the only prompt.
pub(crate) const NAME: &str = "shared_context";

/// Its arguments and their descriptions; none is required.
pub(crate) const ARGUMENTS: [(&str, &str); 3] = [
    (
        "participant",
        "Whose prompt: orchestrator, subagent:{task} or subagent:{task}:{id}; yours if left out",
    ),
    ("max_tokens", "The most tokens the text may have, a whole number; 1000 if left out"),
    ("session", "With the admin key: which session; a credential is for one session already"),
];

/// Reply of the tool's action `prompt`.
#[derive(Deserialize)]
struct PromptReply {
    text: String,
    tokens: u32,
    left_out: Vec<String>,
}

/// `prompts/list`.
///
/// # Errors
///
/// Invalid params (-32602): a cursor.
pub(crate) fn list<E: Engine>(
    _: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    one_page(params)?;
    let arguments = ARGUMENTS.map(|(name, description)| {
        PromptArgument::new(name).with_description(description).with_required(false)
    });
    let description = "How to use the working memory of this session: its key conventions, what \
                       to write and what to read, for one participant's system prompt";
    let prompt = Prompt::new(NAME, Some(description), Some(arguments.into()))
        .with_title("Shared context instructions");
    let prompts =
        ListPromptsResult { result_type: None, ..ListPromptsResult::with_all_items(vec![prompt]) };
    Ok(MethodResult::new(&prompts)?.cached(Cache::Static))
}

/// `prompts/get`. An empty argument counts as absent: many clients send the fields that their user
/// left empty.
///
/// # Errors
///
/// Invalid params (-32602): there is no such prompt or argument, or `max_tokens` is not a whole
/// number. Errors of the session.
pub(crate) async fn get<E: Engine>(
    context: &Context<'_, E>,
    params: &Params<'_>,
) -> Result<MethodResult, Rejection> {
    let name = params.required_text("name")?;
    if name != NAME {
        return Err(unknown(&name).into());
    }
    let arguments = Params::parse(params.get("arguments"), "arguments")?;
    if let Some(name) = arguments.names().find(|it| !is_argument(it)) {
        return Err(unknown_argument(name).into());
    }
    let given = |name| arguments.text(name).map(|it| it.filter(|it| !it.is_empty()));
    let participant = given("participant")?;
    let max_tokens = given("max_tokens")?.map(|it| number(&it)).transpose()?;
    let named = given("session")?;
    let session = context.session(named.as_deref())?;
    let request =
        ToolRequest::new("prompt").with("participant", participant).with("max_tokens", max_tokens);
    let reply = context.invoke(session, request).await?;
    let rendered: PromptReply = serde_json::from_slice(&reply.body).map_err(|_| invalid_reply())?;
    let mut description =
        format!("How to use the session's working memory ({} tokens", rendered.tokens);
    if !rendered.left_out.is_empty() {
        description.push_str("; left out to fit max_tokens: ");
        description.push_str(&rendered.left_out.join(", "));
    }
    description.push(')');
    let message = PromptMessage::new_text(Role::User, with_tools_of_mcp(rendered.text));
    let mut got = GetPromptResult::new(vec![message]).with_description(description);
    got.result_type = None;
    MethodResult::new(&got)
}

/// Phrases of the prompt about the one tool of function calling, and what MCP has in its place. A
/// text gets no longer by them, so it stays within its budget.
const OF_MCP: [(&str, &str); 7] = [
    ("the tool shared_context", "the context tools"),
    ("working memory, shared_context, but", "working memory, but"),
    ("call list_keys first", "call context_list first"),
    ("completes, list_keys,", "completes, list the keys,"),
    ("to shared_context", "to shared context"),
    ("from shared_context", "from shared context"),
    ("in shared_context", "in shared context"),
];

/// Returns the prompt `text` with the names of the tools that MCP lists.
fn with_tools_of_mcp(text: String) -> String {
    OF_MCP.iter().fold(text, |text, (ours, of_mcp)| text.replace(ours, of_mcp))
}

/// Returns true if the prompt has an argument `name`.
pub(crate) fn is_argument(name: &str) -> bool {
    ARGUMENTS.iter().any(|(it, _)| *it == name)
}

/// Builds the error for an unknown prompt.
pub(crate) fn unknown(name: &str) -> Fault {
    let shown: String = name.chars().take(80).collect();
    Fault::invalid_params(format!("Unknown prompt: {shown:?}; there is {NAME}"))
}

/// Builds the error for an unknown argument.
pub(crate) fn unknown_argument(name: &str) -> Fault {
    let shown: String = name.chars().take(80).collect();
    let known = ARGUMENTS.map(|(it, _)| it).join(", ");
    Fault::invalid_params(format!("{NAME} has no argument {shown:?}, it knows {known}"))
}

/// Parses `max_tokens`.
fn number(text: &str) -> Result<u64, Fault> {
    let is_decimal = text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| is_decimal).ok_or_else(|| {
        Fault::invalid_params(
            "max_tokens must be a whole number in decimal digits, such as \"800\"",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_tokens_is_a_whole_number_in_decimal_digits() {
        assert_eq!(number("0").unwrap(), 0);
        assert_eq!(number("0800").unwrap(), 800);
        assert_eq!(number("18446744073709551615").unwrap(), u64::MAX);
        for text in
            ["", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "many", "٣", "18446744073709551616"]
        {
            let message = number(text).unwrap_err().error.message;
            assert!(message.contains("max_tokens must be a whole number"), "{text}");
        }
    }
}
