//! What a command was asked with.

use shared_context_core::{Command, RequestId, RoundsCommand};

/// The revision after which a read was asked for what changed.
pub fn since(command: &Command) -> Option<u64> {
    match command {
        Command::ListKeys { if_changed_since, .. }
        | Command::Read { if_changed_since, .. }
        | Command::ReadBatch { if_changed_since, .. } => if_changed_since.map(|it| it.0),
        _ => None,
    }
}

/// The request id of a command.
pub fn request_id(command: &Command) -> Option<&RequestId> {
    match command {
        Command::Write(it) => it.request_id.as_ref(),
        Command::Delete(it) => it.request_id.as_ref(),
        Command::WriteBatch(it) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Open(it)) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Propose(it)) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Close(it)) => it.request_id.as_ref(),
        _ => None,
    }
}
