//! The command `context checkpoint`: keep what a long conversation led to, so that a short one can go
//! on.
//!
//! It composes calls that exist on their own: it compacts the transcript in this process, generates a
//! packet from it, summarizes the session, and takes a snapshot of the entries.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use shared_context_core::{port::Clock as _, time::Timestamp};
use shared_context_wasmtime::SystemClock;

use super::{
    super::{
        argument::{SessionName, number},
        caller::CallerArgs,
        client::parse,
        compact,
        output::{Output, note, remark},
        problem::Problem,
        reply::{PacketWritten, SessionSummary, SnapshotInfo},
        server::ServerArgs,
        session::summarize,
    },
    post,
};

/// Compact a conversation, write a packet of it and take a snapshot
#[derive(Debug, clap::Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
Examples:
  shared-context context checkpoint transcript.jsonl > shorter.jsonl
  shared-context context checkpoint ticket-7 transcript.jsonl --target 8000 \\
    --label before-review --summary summary.md > shorter.jsonl

In this order: the transcript is compacted, as by `context compact`; a packet of
all layers is written from the transcript and the entries; the session is
summarized, as by `session summary`; and a snapshot keeps the entries as they
are. Standard output has the compacted transcript. A step that fails ends the
command, and those before it stay. The packet can be read later with `context
preview`, and `session close --remember` keeps the summary as memories."
)]
pub(crate) struct CheckpointArguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// The transcript; - for standard input
    transcript: PathBuf,
    /// What is worked on [default: the first message of the user]
    #[arg(long, env = "SHARED_CONTEXT_CHECKPOINT_TASK", value_name = "TEXT")]
    task: Option<String>,
    /// Compact to this many tokens [default: 65 % of a window of 200000]
    #[arg(
        long,
        env = "SHARED_CONTEXT_CHECKPOINT_TARGET",
        value_name = "N",
        value_parser = number
    )]
    target: Option<u64>,
    /// Who reads the packet
    #[arg(long = "for", value_name = "PARTICIPANT", default_value = "orchestrator")]
    address: String,
    /// The most tokens of the packet, 50 to 8000 [default: that of deep packets]
    #[arg(
        long,
        env = "SHARED_CONTEXT_CHECKPOINT_BUDGET",
        value_name = "N",
        value_parser = number
    )]
    budget: Option<u64>,
    /// The label of the snapshot [default: checkpoint- and the time]
    #[arg(long, env = "SHARED_CONTEXT_CHECKPOINT_LABEL", value_name = "LABEL")]
    label: Option<String>,
    /// A file to write the summary of the session to, as Markdown
    #[arg(long, env = "SHARED_CONTEXT_CHECKPOINT_SUMMARY", value_name = "FILE")]
    summary: Option<PathBuf>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs `context checkpoint`.
pub(crate) fn checkpoint(arguments: &CheckpointArguments, output: Output) -> Result<(), Problem> {
    let CheckpointArguments { session, transcript, target, address, budget, .. } = arguments;
    let server = arguments.server.server()?;
    let transcript = compact::transcript(transcript)?;
    let task = arguments.task.clone().or_else(|| transcript.first_of_user().map(shortened));
    let Some(task) = task else {
        return Err(Problem::usage("the transcript has no message of a user")
            .next("say what is worked on with --task"));
    };
    let compacted = compact::compacted(&transcript, *target, &task)?;

    let session = &server.session(session)?;
    let bearer = arguments.caller.orchestrator_bearer(&server, session)?;
    let request = json!({
        "task": task, "address": address, "depth": "deep", "max_tokens": budget,
        "form": "markdown", "conversation": transcript.items(),
    });
    let packet = post(&server, session, &bearer, request.to_string())?;
    let generated: PacketWritten = parse(&packet, &server.client)?;
    let request = json!({"conversation": transcript.items()});
    let summary = summarize(&server, session, &request, &bearer)?;
    if let Some(path) = &arguments.summary {
        write(path, &parse::<SessionSummary>(&summary, &server.client)?.text)?;
    }
    let label = arguments.label.clone().unwrap_or_else(|| label(SystemClock.now()));
    let request = json!({"action": "snapshot", "label": label}).to_string();
    let snapshot = server.tool(session, &bearer, request)?;
    if output.is_json {
        let parts = [&compacted.reply, &packet, &summary, &snapshot].map(|it| read(it));
        let [compaction, packet, summary, snapshot] = parts;
        let whole = json!({
            "compaction": compaction, "packet": packet, "summary": summary, "snapshot": snapshot,
        });
        return output.answer(whole.to_string().as_bytes(), || Ok(String::new()));
    }
    let _: SnapshotInfo = parse(&snapshot, &server.client)?;
    note(&compacted.human(output));
    note(&generated.summary(output));
    remark(&format!("snapshot {label} keeps the entries as they are"));
    Output::raw(&compacted.text)
}

/// The longest task that a packet can have, in bytes.
const TASK_BYTES_MAX: usize = shared_context_core::packets::PACKET_TASK_BYTES_MAX;

/// Returns the beginning of `text` that fits a task.
fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(TASK_BYTES_MAX.min(text.len()));
    text.get(..end).unwrap_or_default().to_owned()
}

/// Returns a label with the time, such as `checkpoint-20260220T143000Z`.
fn label(now: Timestamp) -> String {
    let seconds = Timestamp(now.0.saturating_sub(now.0 % 1_000)).to_string();
    let time: String = seconds.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("checkpoint-{time}")
}

/// Writes the summary.
fn write(path: &Path, text: &str) -> Result<(), Problem> {
    fs::write(path, text).map_err(|error| {
        Problem::usage(format!("cannot write the summary to {}: {error}", path.display()))
            .next("the packet is kept; `shared-context session summary` prints the summary again")
    })
}

/// Reads a reply, to make it a part of another document.
fn read(reply: &[u8]) -> Value {
    serde_json::from_slice(reply).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_the_time_in_seconds() {
        assert_eq!(label(Timestamp(1_771_597_800_123)), "checkpoint-20260220T143000Z");
    }

    #[test]
    fn a_task_is_cut_between_characters() {
        let text = "ä".repeat(TASK_BYTES_MAX);
        assert_eq!(shortened(&text).len(), TASK_BYTES_MAX);
        assert_eq!(shortened(&format!("a{text}")).len(), TASK_BYTES_MAX - 1);
        assert_eq!(shortened("short"), "short");
    }
}
