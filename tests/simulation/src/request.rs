//! Properties of commands that the checks need, and a check that the codec reads a whole request.

use serde_json::Value;
use shared_context_core::{Command, RequestId, RoundsCommand};

/// Returns the `if_changed_since` of a read.
pub fn since(command: &Command) -> Option<u64> {
    match command {
        Command::ListKeys { if_changed_since, .. }
        | Command::Read { if_changed_since, .. }
        | Command::ReadBatch { if_changed_since, .. } => if_changed_since.map(|it| it.0),
        _ => None,
    }
}

/// Returns the request id of a command.
pub fn request_id(command: &Command) -> Option<&RequestId> {
    match command {
        Command::Write(it) => it.request_id.as_ref(),
        Command::Delete(it) => it.request_id.as_ref(),
        Command::WriteBatch(it) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Open(it)) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Propose(it)) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Exclude(it)) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Close(it)) => it.request_id.as_ref(),
        Command::Named { request_id, .. } => Some(request_id),
        _ => None,
    }
}

/// Returns a string or number of the request `call` that is missing from `command`.
pub fn missing(call: &Value, command: &Command) -> Option<String> {
    fn leaves(value: &Value, all: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                // Action names, targets and times are parsed into other types, documents are long,
                // and a secret is hidden.
                let others = ["action", "document", "expires_at", "targets", "text"];
                let members = members.iter().filter(|(name, _)| !others.contains(&name.as_str()));
                members.for_each(|(_, it)| leaves(it, all));
            }
            Value::Array(items) => items.iter().for_each(|it| leaves(it, all)),
            Value::String(text) => all.push(text.clone()),
            Value::Number(it) => all.extend(it.as_u64().map(|it| it.to_string())),
            Value::Null | Value::Bool(_) => {}
        }
    }
    let plain = |text: &str| text.to_lowercase().replace(|it: char| !it.is_alphanumeric(), "");
    let (mut all, read) = (Vec::new(), plain(&format!("{command:?}")));
    leaves(call, &mut all);
    all.into_iter().find(|it| !read.contains(&plain(it)))
}
