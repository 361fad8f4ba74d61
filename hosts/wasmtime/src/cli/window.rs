//! The command `window`: the plan of a model's context window.

use std::path::PathBuf;

use serde_json::{Map, Number, Value, json};

use super::{
    argument::{SessionName, number},
    caller::CallerArgs,
    file,
    output::Output,
    problem::Problem,
    reply,
    server::ServerArgs,
};

/// Plan a model's context window, and tell how full it is
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context window ticket-7 --used 164000
  shared-context window ticket-7 --size 1000000 --shares active=50,knowledge=20
  shared-context window ticket-7 --used 90000 --to-load 30000 --reports handoff
  shared-context window ticket-7 --sample notes.md --encoding o200k_base

The parts are knowledge, active, session_memory and buffer. The reports are
planning_ended, handoff, asked, degradation and critical_decision. Nothing is
stored.")]
pub(crate) struct Arguments {
    /// The session [default: the one of `SHARED_CONTEXT_SESSION` or of the profile]
    #[arg(default_value = SessionName::DEFAULT, hide_default_value = true)]
    session: SessionName,
    /// The tokens of the window [default: 200000]
    #[arg(long, env = "SHARED_CONTEXT_WINDOW_SIZE", value_name = "N", value_parser = number)]
    size: Option<u64>,
    /// The tokens that are used [default: 0]
    #[arg(long, env = "SHARED_CONTEXT_WINDOW_USED", value_name = "N", value_parser = number)]
    used: Option<u64>,
    /// The tokens that are about to be loaded [default: 0]
    #[arg(long, env = "SHARED_CONTEXT_WINDOW_TO_LOAD", value_name = "N", value_parser = number)]
    to_load: Option<u64>,
    /// The operations since the last compaction [default: 0]
    #[arg(long, env = "SHARED_CONTEXT_WINDOW_OPERATIONS", value_name = "N", value_parser = number)]
    operations: Option<u64>,
    /// What else is known, with commas between
    #[arg(
        long,
        env = "SHARED_CONTEXT_WINDOW_REPORTS",
        value_name = "REPORTS",
        value_delimiter = ','
    )]
    reports: Vec<String>,
    /// The sizes of parts in percent of the window: knowledge=20,active=50
    #[arg(
        long,
        env = "SHARED_CONTEXT_WINDOW_SHARES",
        value_name = "PART=N",
        value_parser = size,
        value_delimiter = ',',
        conflicts_with = "parts"
    )]
    shares: Vec<(String, Number)>,
    /// The sizes of parts in tokens: knowledge=40000
    #[arg(
        long,
        env = "SHARED_CONTEXT_WINDOW_PARTS",
        value_name = "PART=N",
        value_parser = size,
        value_delimiter = ','
    )]
    parts: Vec<(String, Number)>,
    /// A text whose estimate is compared with its exact count; - for standard input
    #[arg(long, env = "SHARED_CONTEXT_WINDOW_SAMPLE", value_name = "FILE")]
    sample: Option<PathBuf>,
    /// The encoding of the exact count [default: that of the session]
    #[arg(long, env = "SHARED_CONTEXT_WINDOW_ENCODING", value_name = "NAME", requires = "sample")]
    encoding: Option<String>,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The options for members that messages name.
const OPTIONS: [(&str, &str); 3] =
    [("window_tokens", "--size"), ("used_tokens", "--used"), ("to_load_tokens", "--to-load")];

/// Parses the size of a part, such as `active=50`.
fn size(text: &str) -> Result<(String, Number), String> {
    let size = text.split_once('=').and_then(|(part, size)| Some((part, size.parse().ok()?)));
    let (part, size) = size.ok_or("it must be a part and a number, such as active=50")?;
    Ok((part.to_owned(), size))
}

/// Returns the sizes of parts that an option gives, as a member of the request.
///
/// # Errors
///
/// A part has two sizes.
fn parts(option: &str, sizes: &[(String, Number)]) -> Result<Option<Value>, Problem> {
    let mut members = Map::new();
    for (part, size) in sizes {
        if members.insert(part.clone(), Value::Number(size.clone())).is_some() {
            return Err(Problem::usage(format!("{option} gives {part} two sizes"))
                .next("give each part one size"));
        }
    }
    Ok((!members.is_empty()).then_some(Value::Object(members)))
}

/// Runs `window`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let server = arguments.server.server()?;
    let session = &server.session(&arguments.session)?;
    let bearer = arguments.caller.bearer(&server, session)?;
    let request = Value::Object(arguments.request()?).to_string();
    let reply = server.tool(session, &bearer, request.as_str());
    let reply = reply.map_err(|it| it.with_options(&OPTIONS))?;
    output.answer(&reply, || reply::human(request.as_bytes(), &reply, output))
}

impl Arguments {
    /// Returns the request for the plan.
    fn request(&self) -> Result<Map<String, Value>, Problem> {
        let sample = self.sample.as_deref().map(|it| file::read(it, "the sample")).transpose()?;
        let members = [
            ("action", Some(json!("plan_window"))),
            ("window_tokens", self.size.map(Into::into)),
            ("used_tokens", self.used.map(Into::into)),
            ("to_load_tokens", self.to_load.map(Into::into)),
            ("operations", self.operations.map(Into::into)),
            ("reports", (!self.reports.is_empty()).then(|| json!(self.reports))),
            ("shares", parts("--shares", &self.shares)?),
            ("parts", parts("--parts", &self.parts)?),
            ("sample", sample.map(Into::into)),
            ("encoding", self.encoding.clone().map(Into::into)),
        ];
        let members = members.into_iter();
        Ok(members.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The first of two sizes was ignored.
    #[test]
    fn a_part_has_one_size() {
        let request = |option: &str, sizes: &str| {
            let it = Command::try_parse_from(["window", option, sizes]).unwrap();
            it.arguments.request().map(Value::Object)
        };
        let expected = json!({"action": "plan_window", "shares": {"active": 50, "buffer": 5}});
        assert_eq!(request("--shares", "active=50,buffer=5").unwrap(), expected);
        for (option, sizes) in [("--shares", "active=1,active=2"), ("--parts", "buffer=1,buffer=1")]
        {
            let problem = request(option, sizes).unwrap_err();
            let message = problem.message();
            assert!(message.contains(option) && message.contains("two sizes"), "{message}");
        }
    }
}
