//! The commands `context compact`, `context extract` and `context check`: what to keep of a
//! conversation that is too long.
//!
//! They are functions of their input, so they run in this process: without a server, a session or a
//! credential. Only a compaction that is kept is sent to a server.

mod local;
mod message;
mod shown;
#[cfg(test)]
mod tests;
mod transcript;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    argument::{SessionName, number, switch},
    caller::CallerArgs,
    file,
    output::{self, Output},
    problem::Problem,
    server::ServerArgs,
};
pub(crate) use transcript::Transcript;

/// Compact a transcript: make it fit, and tell what it lost
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context context compact transcript.jsonl > shorter.jsonl
  shared-context context compact --window 200000 transcript.jsonl --dry-run
  shared-context context compact --target 8000 --task 'Fix BUG-17' - < t.jsonl
  shared-context context compact --reduce 40 transcript.jsonl --json
  shared-context context compact --target 8000 transcript.jsonl \\
    --keep --session ticket-7 --as subagent:review > shorter.jsonl

A transcript is a line of JSON per message, with role and content: as OpenAI and
Anthropic write it, alone or within a member message. Decisions, constraints,
open issues, the current task and the last changes are always kept, in their own
words. If they do not fit, nothing is printed, and the exit code is 1.

Nothing leaves this machine, unless --keep is given. Then the server compacts
the transcript and keeps an envelope in the session: what became of every
message, and the texts of the result. `evidence` shows it later.")]
pub(crate) struct CompactArguments {
    /// The transcript; - for standard input
    #[arg(default_value = "-", hide_default_value = true)]
    transcript: PathBuf,
    /// Aim at 65 % of a window of this size [default: 200000]
    #[arg(
        long,
        env = "SHARED_CONTEXT_COMPACT_WINDOW",
        value_name = "N",
        value_parser = number,
        conflicts_with_all = ["target", "reduce"]
    )]
    window: Option<u64>,
    /// Aim at this many tokens
    #[arg(
        long,
        env = "SHARED_CONTEXT_COMPACT_TARGET",
        value_name = "N",
        value_parser = number,
        conflicts_with = "reduce"
    )]
    target: Option<u64>,
    /// Aim at this many percent less
    #[arg(long, env = "SHARED_CONTEXT_COMPACT_REDUCE", value_name = "PERCENT", value_parser = number)]
    reduce: Option<u64>,
    /// What is worked on: what matters for it is kept longer
    #[arg(long, env = "SHARED_CONTEXT_COMPACT_TASK", value_name = "TEXT")]
    task: Option<String>,
    /// How scores are weighted: default, or dense
    #[arg(long, env = "SHARED_CONTEXT_COMPACT_WEIGHTING", value_name = "NAME")]
    weighting: Option<String>,
    /// Print the plan, and no transcript
    #[arg(long, env = "SHARED_CONTEXT_COMPACT_DRY_RUN", value_parser = switch)]
    dry_run: bool,
    #[command(flatten)]
    counting: Counting,
    /// Keep an envelope of the compaction in a session, so that it can be read later. The
    /// session counts the tokens
    #[arg(
        long,
        env = "SHARED_CONTEXT_COMPACT_KEEP",
        value_parser = switch,
        conflicts_with_all = ["dry_run", "encoding"]
    )]
    keep: bool,
    /// With --keep: the session [default: that of the profile]
    #[arg(long, env = "SHARED_CONTEXT_SESSION", value_name = "ID")]
    session: Option<SessionName>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Print what a transcript must not lose: decisions, constraints, issues
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context context extract transcript.jsonl
  shared-context context extract transcript.jsonl --json | jq '.facts[].text'")]
pub(crate) struct ExtractArguments {
    /// The transcript; - for standard input
    #[arg(default_value = "-", hide_default_value = true)]
    transcript: PathBuf,
}

/// Check what a summary of a transcript forgot
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context context check transcript.jsonl summary.md
  shared-context context check transcript.jsonl summary.md --repair > better.md

With --repair the facts that the summary lacks are appended to it, in their own
words; the exit code is 5 if some have no room in --max-tokens. Without it, the
exit code is 5 if a fact is missing or outdated.")]
pub(crate) struct CheckArguments {
    /// The transcript
    transcript: PathBuf,
    /// The summary; - for standard input
    summary: PathBuf,
    /// Print the summary with the facts that it lacked
    #[arg(long, env = "SHARED_CONTEXT_CHECK_REPAIR", value_parser = switch)]
    repair: bool,
    /// The most tokens of the repaired summary [default: 10000]
    #[arg(
        long,
        env = "SHARED_CONTEXT_CHECK_MAX_TOKENS",
        value_name = "N",
        value_parser = number,
        requires = "repair"
    )]
    max_tokens: Option<u64>,
    #[command(flatten)]
    counting: Counting,
}

/// How tokens are counted.
#[derive(Debug, clap::Args)]
struct Counting {
    /// The encoding that counts tokens, such as `o200k_base` [default: an estimate]
    #[arg(long, env = "SHARED_CONTEXT_ENCODING", value_name = "NAME")]
    encoding: Option<String>,
}

/// Runs `context compact`.
pub(crate) fn compact(arguments: &CompactArguments, output: Output) -> Result<(), Problem> {
    let CompactArguments { window, target, reduce, task, weighting, dry_run, counting, .. } =
        arguments;
    let transcript = transcript(&arguments.transcript)?;
    let request = request(
        "compact",
        &transcript,
        [
            ("window_tokens", window.map(Into::into)),
            ("target_tokens", target.map(Into::into)),
            ("reduction_percent", reduce.map(Into::into)),
            ("task", task.clone().map(Into::into)),
            ("weighting", weighting.clone().map(Into::into)),
            ("dry_run", dry_run.then_some(true.into())),
            ("keep", arguments.keep.then_some(true.into())),
        ],
    );
    let reply = if arguments.keep {
        arguments.on_server(request)?
    } else {
        local::call(&request, counting.encoding.as_deref())?
    };
    if output.is_json {
        return output.answer(&reply, || Ok(String::new()));
    }
    let compacted: shown::Compacted = local::parse(&reply)?;
    if *dry_run {
        return output.text(&compacted.human(output, true));
    }
    output::note(&compacted.human(output, false));
    Output::raw(&transcript.compacted(&compacted.items))
}

/// A transcript that was compacted in this process.
#[derive(Debug)]
pub(crate) struct CompactedTranscript {
    /// The reply of the compaction.
    pub(crate) reply: Vec<u8>,
    /// The transcript that remains.
    pub(crate) text: String,
    compacted: shown::Compacted,
}

impl CompactedTranscript {
    /// Describes the compaction.
    pub(crate) fn human(&self, output: Output) -> String {
        self.compacted.human(output, false)
    }
}

/// Compacts a transcript to `target` tokens, or to the default.
///
/// # Errors
///
/// What must be kept does not fit.
pub(crate) fn compacted(
    transcript: &Transcript,
    target: Option<u64>,
    task: &str,
) -> Result<CompactedTranscript, Problem> {
    let members = [("target_tokens", target.map(Into::into)), ("task", Some(task.into()))];
    let reply = local::call(&request("compact", transcript, members), None)?;
    let compacted: shown::Compacted = local::parse(&reply)?;
    let text = transcript.compacted(&compacted.items);
    Ok(CompactedTranscript { reply, text, compacted })
}

impl CompactArguments {
    /// Performs the request on the server, in the session that keeps the envelope. The session counts
    /// the tokens.
    fn on_server(&self, mut request: Value) -> Result<Vec<u8>, Problem> {
        let server = self.server.server()?;
        let named = self.session.clone().unwrap_or_default();
        let session = &server.session(&named)?;
        let bearer = self.caller.participant_bearer(&server, session)?;
        // The route of the JSON tool takes less than the texts of a long transcript.
        let path = ["v1", "sessions", session, "context", "compact"];
        if let Some(members) = request.as_object_mut() {
            members.remove("action");
        }
        let sent = server.send(&server.client.post(&path, request.to_string()), Some(&bearer));
        sent.map_err(|it| it.with_options(&local::OPTIONS))
    }
}

/// Runs `context extract`.
pub(crate) fn extract(arguments: &ExtractArguments, output: Output) -> Result<(), Problem> {
    let transcript = transcript(&arguments.transcript)?;
    let reply = extracted(&transcript)?;
    output.answer(&reply, || {
        let extracted: shown::Extracted = local::parse(&reply)?;
        Ok(extracted.human(output))
    })
}

/// Extracts the facts of a transcript, in pieces if it has more than one extraction returns.
fn extracted(transcript: &Transcript) -> Result<Vec<u8>, Problem> {
    let piece = |from| local::call(&request("extract", transcript, [("from", from)]), None);
    let reply = piece(None)?;
    let mut all: Extraction = local::parse(&reply)?;
    if all.next.is_none() {
        return Ok(reply);
    }
    while all.next.is_some() {
        let more: Extraction = local::parse(&piece(all.next.take())?)?;
        let before = u64::try_from(all.facts.len()).unwrap_or(u64::MAX);
        all.facts.extend(more.facts.into_iter().map(|mut fact| {
            // It is a place in the list of its piece.
            let place = fact.get("superseded_by").and_then(Value::as_u64);
            let place = place.map(|it| it.saturating_add(before));
            fact.extend(place.map(|it| ("superseded_by".to_owned(), it.into())));
            fact
        }));
        all.lines = all.lines.saturating_add(more.lines);
        all.next = more.next;
    }
    Ok(json!({"facts": all.facts, "lines": all.lines}).to_string().into_bytes())
}

/// The reply to one extraction.
#[derive(Debug, Deserialize)]
struct Extraction {
    facts: Vec<Map<String, Value>>,
    lines: u64,
    next: Option<Value>,
}

/// Runs `context check`.
pub(crate) fn check(arguments: &CheckArguments, output: Output) -> Result<(), Problem> {
    let CheckArguments { repair, max_tokens, counting, .. } = arguments;
    file::check_standard_input([&arguments.transcript, &arguments.summary])?;
    let transcript = transcript(&arguments.transcript)?;
    let summary = file::read(&arguments.summary, "the summary")?;
    let request = request(
        "check_summary",
        &transcript,
        [
            ("summary", Some(summary.into())),
            ("repair", repair.then_some(true.into())),
            ("max_tokens", max_tokens.map(Into::into)),
        ],
    );
    let reply = local::call(&request, counting.encoding.as_deref())?;
    let checked: shown::Checked = local::parse(&reply)?;
    if let Some(repaired) = checked.repaired() {
        if output.is_json {
            output.answer(&reply, || Ok(String::new()))?;
        } else {
            output::note(&checked.human(output));
            Output::raw(repaired)?;
        }
        let next = "raise --max-tokens, or shorten the summary";
        return checked.repair_verdict().map_err(|it| failed(it, next, output));
    }
    output.answer(&reply, || Ok(checked.human(output)))?;
    let next = "with --repair they are appended to the summary";
    checked.verdict().map_err(|it| failed(it, next, output))
}

/// Returns the problem of a check whose reply is printed already.
fn failed(message: String, next: &str, output: Output) -> Problem {
    let problem = Problem::check(message).next(next);
    if output.is_json { problem.reported() } else { problem }
}

/// Reads the transcript at `path`.
///
/// # Errors
///
/// The file cannot be read, or a line of it is no message.
pub(crate) fn transcript(path: &Path) -> Result<Transcript, Problem> {
    Transcript::parse(&file::read(path, "the transcript")?).map_err(|message| {
        Problem::usage(format!("{}: {message}", file::name(path))).next(
            "a transcript has a line of JSON per message, such as \
             {\"role\":\"user\",\"content\":\"…\"}",
        )
    })
}

/// Returns the request of an action on a transcript.
fn request<const N: usize>(
    action: &str,
    transcript: &Transcript,
    members: [(&str, Option<Value>); N],
) -> Value {
    let mut request = Map::new();
    request.insert("action".to_owned(), json!(action));
    request.insert("items".to_owned(), transcript.items());
    let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    request.extend(given);
    Value::Object(request)
}
