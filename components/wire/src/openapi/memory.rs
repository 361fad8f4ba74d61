//! Documentation of the route of the memory tool.

use serde_json::{Value, json};

use super::{
    about::OperationDoc,
    parts::{body, request, response},
    schemas::reference,
};

/// Returns its documentation.
pub(super) fn about() -> OperationDoc {
    let mut content = body(
        reference("memory_result"),
        json!({
            "content": "Here's the content of /memories/progress with line numbers:\n     1\tStep 1 is done.",
            "is_error": false,
        }),
    );
    content["text/plain"] = json!({"schema": {"type": "string"}});
    OperationDoc {
        id: "use_memory",
        tag: "tool",
        summary: "Carry out a command of Anthropic's memory tool, memory_20250818.",
        description: "For agents that were trained on it: /memories/progress is the entry \
                      progress, /memories/project/notes the entry project:notes where the session \
                      allows prefixes and project_notes elsewhere. In names, capitals become small \
                      letters, hyphens, spaces and dots underscores, and the ending of a text (.md, \
                      .txt) goes. What the agent can mend is answered with 200 and is_error. Bare \
                      text when Accept names text/plain and not application/json.",
        request: Some(request(body(
            reference("memory_command"),
            json!({"command": "view", "path": "/memories/progress"}),
        ))),
        responses: response("200", "What the tool_result block holds.", content, &[]),
        codes: &["TOKENIZER_UNAVAILABLE", "UNSUPPORTED_MEDIA_TYPE"],
        ..OperationDoc::default()
    }
}

/// Returns the schemas of its requests and replies.
pub(super) fn schemas() -> Value {
    let path = || json!({"type": "string", "description": "/memories or below."});
    let text = |description: &str| json!({"type": "string", "description": description});
    let command = |name: &str, required: &[&str], mut properties: Value| {
        properties["command"] = json!({"const": name});
        let required: Vec<&str> = ["command"].iter().chain(required).copied().collect();
        json!({
            "type": "object",
            "required": required,
            "additionalProperties": false,
            "properties": properties,
        })
    };
    let view_range = json!({
        "type": ["array", "null"],
        "items": {"type": "integer"},
        "minItems": 2,
        "maxItems": 2,
        "description": "The first and the last line to show; -1 as the last for all that follow.",
    });
    json!({
        "memory_command": {
            "description": "The input of a tool_use block, as it came.",
            "oneOf": [
                command("view", &["path"], json!({"path": path(), "view_range": view_range})),
                command("create", &["path", "file_text"], json!({
                    "path": path(),
                    "file_text": text("What the file holds."),
                })),
                command("str_replace", &["path", "old_str", "new_str"], json!({
                    "path": path(),
                    "old_str": text("What to replace; it must stand in the file once."),
                    "new_str": text("What to put in its place."),
                })),
                command("insert", &["path", "insert_line", "insert_text"], json!({
                    "path": path(),
                    "insert_line": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "The line behind which to insert; 0 for the beginning.",
                    },
                    "insert_text": text("What to insert."),
                })),
                command("delete", &["path"], json!({"path": path()})),
                command("rename", &["old_path", "new_path"], json!({
                    "old_path": path(),
                    "new_path": path(),
                })),
            ],
        },
        "memory_result": {
            "type": "object",
            "required": ["content", "is_error"],
            "additionalProperties": false,
            "properties": {
                "content": text("The text for the agent."),
                "is_error": {
                    "type": "boolean",
                    "description": "Whether the command was refused; the text says why, and what to \
                                    do next.",
                },
            },
        },
    })
}
