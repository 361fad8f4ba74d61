//! The tool `subagent`, with which an orchestrator invites a subagent.

use serde_json::json;

use super::{
    offer::{SESSION, error_schema},
    schema::{Arguments, Kind, McpTool, Member, Meta, Optional, RequiredMember},
};

/// Cost in tokens, see [`Meta`]. A host with the tokenizer checks the number in a test.
const TOKENS: u32 = 222;

const DESCRIPTION: &str = "Make the credential with which a subagent you start calls \
shared_context as subagent:{task}:{id}. First write what it needs to know. Give the credential to \
it alone, never store it.";

const MEMBERS: [Member; 4] = [
    Member { name: "id", kind: Kind::Text, about: "" },
    Member { name: "ttl_seconds", kind: Kind::Integer, about: "" },
    Member { name: "keys", kind: Kind::Texts, about: "all it may see and write, as findings_*" },
    SESSION,
];

/// Returns the definition in MCP.
pub(super) fn mcp() -> McpTool {
    let task =
        RequiredMember { name: "task", one_of: Vec::new(), about: "such as review".to_owned() };
    let text = json!({"type": "string"});
    McpTool {
        name: "subagent",
        title: "Subagent",
        description: DESCRIPTION,
        input_schema: Arguments::new(task, MEMBERS, Optional::Omitted),
        output_schema: json!({
            "type": "object",
            "properties": {
                // The members that a program needs; the reply has more.
                "credential": text,
                "expires_at": text,
                "error": error_schema(),
            },
        }),
        annotations: json!({
            // It changes no entry, but grants access, so it needs confirmation.
            "readOnlyHint": false,
            "destructiveHint": false,
            // Each credential is a new one.
            "idempotentHint": false,
            "openWorldHint": false,
        }),
        meta: Meta { tokens: TOKENS },
    }
}
