//! The command line: its commands and their arguments.
//!
//! Each command is a file or a folder. `output` and `reply` print results; `problem` has
//! the errors. The server itself is in the library.
//!
//! # Invariant
//!
//! Secrets are never arguments, because other users of a machine can see those. They come
//! from the environment or from the data folder.

mod answer;
mod argument;
mod assemble;
mod call;
mod caller;
mod client;
mod compact;
mod confirm;
mod demo;
mod doctor;
mod entry;
mod event;
mod evidence;
mod file;
mod generate;
mod handoff;
mod history;
mod inspect;
mod mcp;
mod memory;
mod missing;
mod move_project;
mod outline;
mod output;
mod packets;
mod portable;
mod problem;
mod profile;
mod progress;
mod project;
mod redact;
mod reply;
mod serve;
mod server;
mod session;
mod signals;
mod snapshot;
mod tls;
mod variables;
mod watch;
mod window;

use std::{
    env,
    ffi::{OsStr, OsString},
    process::ExitCode,
};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind};

use self::{
    output::Output,
    problem::{EXIT_CODES, Problem},
};

/// The name of the program.
const NAME: &str = "shared-context";

const AFTER_HELP: &str = "\
Begin:
  shared-context demo                      see what it does
  shared-context serve                     start a server; prints a first call
  shared-context session create ticket-7   create a session
  shared-context call ticket-7 --as orchestrator \\
    '{\"action\":\"write\",\"key\":\"scope\",\"value\":\"Find the parameter.\"}'

The environment:
  SHARED_CONTEXT_ADMIN_KEY  the operator's key; else the one in the profile
                            or in the data folder
  SHARED_CONTEXT_TOKEN      a participant's credential
  SHARED_CONTEXT_SESSION    the default session; a dot stands for it
  SHARED_CONTEXT_URL, …     each option has a variable, as its help says: an
                            option comes first, then its variable, then the
                            profile, then the default
  NO_COLOR                  no colours";

/// Working memory that the agents of one session share: a durable server, and
/// the commands to use it.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    bin_name = NAME,
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = format!("{AFTER_HELP}\n\n{EXIT_CODES}")
)]
struct Cli {
    /// Print one JSON document, for programs; `watch` prints one per line
    #[arg(
        long,
        env = variables::JSON,
        global = true,
        display_order = 900,
        value_parser = argument::switch
    )]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Mcp(mcp::Arguments),
    Demo(demo::Arguments),
    Session(session::Arguments),
    Project(project::Arguments),
    Memory(memory::Arguments),
    Outline(outline::Arguments),
    Handoff(handoff::Arguments),
    Token(call::TokenArguments),
    #[command(name = "ls", alias = "list")]
    List(entry::ListArguments),
    #[command(alias = "read")]
    Get(entry::GetArguments),
    #[command(alias = "write")]
    Set(entry::SetArguments),
    #[command(name = "rm", alias = "delete")]
    Remove(entry::RemoveArguments),
    Call(call::Arguments),
    Prompt(call::PromptArguments),
    Context(call::ContextArguments),
    Assemble(Box<assemble::Arguments>),
    Evidence(evidence::Arguments),
    Missing(missing::Arguments),
    Window(window::Arguments),
    History(history::Arguments),
    Snapshot(snapshot::Arguments),
    Watch(watch::Arguments),
    Inspect(inspect::Arguments),
    Export(portable::ExportArguments),
    Import(portable::ImportArguments),
    Redact(redact::Arguments),
    Profile(profile::Arguments),
    Doctor(doctor::Arguments),
    Completions(generate::CompletionsArguments),
    Man(generate::ManArguments),
}

/// Runs the command that this process's arguments name.
pub(crate) fn main() -> ExitCode {
    let arguments = help_as_option(env::args_os().collect());
    let is_json = arguments.iter().any(|it| it == OsStr::new("--json")) || variables::is_json();
    let mut command = command();
    let given = arguments.clone();
    let parsed = command.try_get_matches_from_mut(arguments);
    let parsed = parsed.and_then(|it| Cli::from_arg_matches(&it));
    let done = match parsed {
        Ok(cli) => run(cli.command, Output::new(cli.json)),
        Err(mut error) => {
            variables::name(&command, &mut error, &given);
            return usage(&error.format(&mut command), is_json);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            output::problem(&problem, is_json);
            problem.exit_code()
        }
    }
}

/// Returns the arguments with `help COMMAND` as `COMMAND --help`. A subcommand of its own would be
/// listed for each command once more.
fn help_as_option(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_some_and(|it| it == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

/// Returns the command line as clap parses it.
fn command() -> clap::Command {
    variables::prepared(Cli::command())
}

fn run(command: Command, output: Output) -> Result<(), Problem> {
    match command {
        Command::Serve(arguments) => serve::run(&arguments, output),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments, output),
        Command::Session(arguments) => session::run(&arguments, output),
        Command::Project(arguments) => project::run(&arguments, output),
        Command::Memory(arguments) => memory::run(&arguments, output),
        Command::Outline(arguments) => outline::run(&arguments, output),
        Command::Handoff(arguments) => handoff::run(&arguments, output),
        Command::Token(arguments) => call::token(&arguments, output),
        Command::List(arguments) => entry::list(&arguments, output),
        Command::Get(arguments) => entry::get(&arguments, output),
        Command::Set(arguments) => entry::set(&arguments, output),
        Command::Remove(arguments) => entry::remove(&arguments, output),
        Command::Call(arguments) => call::run(&arguments, output),
        Command::Prompt(arguments) => call::prompt(&arguments, output),
        Command::Context(arguments) => call::context(&arguments, output),
        Command::Assemble(arguments) => assemble::run(&arguments, output),
        Command::Evidence(arguments) => evidence::run(&arguments, output),
        Command::Missing(arguments) => missing::run(&arguments, output),
        Command::Window(arguments) => window::run(&arguments, output),
        Command::History(arguments) => history::run(&arguments, output),
        Command::Snapshot(arguments) => snapshot::run(&arguments, output),
        Command::Watch(arguments) => watch::run(&arguments, output),
        Command::Inspect(arguments) => inspect::run(&arguments, output),
        Command::Export(arguments) => portable::export(&arguments, output),
        Command::Import(arguments) => portable::import(&arguments, output),
        Command::Redact(arguments) => redact::run(&arguments, output),
        Command::Profile(arguments) => profile::run(&arguments, output),
        Command::Doctor(arguments) => doctor::run(&arguments, output),
        Command::Completions(arguments) => generate::completions(&arguments, output),
        Command::Man(arguments) => generate::man(&arguments, output),
    }
}

/// Prints the help, the version or a usage error, and returns the exit code.
fn usage(error: &clap::Error, is_json: bool) -> ExitCode {
    drop(error.print());
    let is_asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if is_asked_for {
        return ExitCode::SUCCESS;
    }
    let problem = Problem::usage(summary(&error.to_string()))
        .next("`shared-context --help` shows the commands, `shared-context COMMAND --help` each");
    if is_json {
        output::document(&problem.to_json());
    }
    problem.exit_code()
}

/// Returns the first paragraph of a usage error as one line. The arguments that are missing are
/// lines of it.
fn summary(error: &str) -> String {
    let lines = error.lines().take_while(|it| !it.trim().is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn helps(command: &mut clap::Command, name: &str, text: &mut String) {
        let help = command.render_long_help();
        writeln!(text, "$ shared-context{name} --help\n{help}\n").unwrap();
        for inner in command.get_subcommands_mut() {
            let name = format!("{name} {}", inner.get_name());
            helps(inner, &name, text);
        }
    }

    #[test]
    fn the_help_reads_well_at_80_columns() {
        let mut text = String::new();
        let mut command = command().term_width(80);
        command.build();
        helps(&mut command, "", &mut text);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("  shared-context "), "{}: {help}", command.get_name());
            assert!(help.lines().all(|line| line.chars().count() <= 80), "it is wrapped: {help}");
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }

    /// The commands about a session or a project that are always the operator's, or have no choice
    /// of the caller because `--as` means something else there.
    const OF_OPERATOR: &[&str] = &[
        "token",
        "inspect",
        "export",
        "create",
        "update session",
        "archive",
        "close",
        "import project",
        "delete session",
        "delete project",
        "revoke",
        "audit",
        "mark memory",
    ];

    /// The commands that name their session by an option, and only if they need one.
    const BY_OPTION: &[&str] = &["compact"];

    /// Checks that a command about a session or a project takes `--as`, or is the operator's.
    #[test]
    fn every_command_about_a_session_follows_one_rule() {
        fn check(command: &clap::Command, parent: &str) {
            let name = command.get_name();
            let is_about = command
                .get_positionals()
                .any(|it| matches!(it.get_id().as_str(), "session" | "id" | "project"))
                || BY_OPTION.contains(&name);
            let option = command.get_arguments().find(|it| it.get_long() == Some("as"));
            let is_caller = option.is_some_and(|it| it.get_id() == "participant");
            let is_listed =
                OF_OPERATOR.iter().any(|it| *it == name || *it == format!("{name} {parent}"));
            assert_eq!(is_about, is_caller || is_listed, "{parent} {name}");
            assert!(!(is_caller && is_listed), "{parent} {name}");
            command.get_subcommands().for_each(|it| check(it, name));
        }
        check(&command(), "");
    }

    /// `shared-context help get` was once an unknown subcommand.
    #[test]
    fn help_is_an_option_or_a_word() {
        let kind = |arguments: &[&str]| {
            let arguments = arguments.iter().map(OsString::from).collect();
            command().try_get_matches_from_mut(help_as_option(arguments)).unwrap_err().kind()
        };
        for arguments in [
            &["shared-context", "help"][..],
            &["shared-context", "help", "get"],
            &["shared-context", "help", "session", "create"],
            &["shared-context", "get", "--help"],
        ] {
            assert_eq!(kind(arguments), ErrorKind::DisplayHelp, "{arguments:?}");
        }
        assert_eq!(kind(&["shared-context", "help", "gte"]), ErrorKind::InvalidSubcommand);
    }

    /// With `--json` the message once ended before the names of the arguments.
    #[test]
    fn a_usage_error_names_the_missing_arguments() {
        let error = command().try_get_matches_from(["shared-context", "set", "j1", "--json"]);
        let text = summary(&error.unwrap_err().to_string());
        assert_eq!(text, "the following required arguments were not provided: <KEY>");
        let error = command().try_get_matches_from(["shared-context", "token", "a", "b", "c"]);
        assert_eq!(summary(&error.unwrap_err().to_string()), "unexpected argument 'c' found");
    }

    /// `set ID KEY --jsn` once stored `--jsn` and replaced the value.
    #[test]
    fn a_mistyped_option_is_an_error() {
        let parse = |arguments: &str| {
            let arguments = arguments.split(' ');
            command().try_get_matches_from(["shared-context"].into_iter().chain(arguments))
        };
        for arguments in ["set u important --jsn", "outline put webshop 2.1 --titel"] {
            let error = parse(arguments).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ValueValidation, "{arguments}");
            assert!(error.to_string().contains("write -- before it"), "{error}");
        }
        for arguments in ["set u n -5", "set u n -", "set u n --- --json", "set u n --json -5"] {
            parse(arguments).unwrap();
        }
    }

    #[test]
    fn what_lists_and_deletes_has_both_usual_names() {
        for arguments in [
            "list a",
            "delete a b",
            "read a b",
            "write a b c",
            "session ls",
            "session rm a",
            "project ls",
            "project rm a",
            "snapshot ls a",
            "snapshot rm a b",
            "profile list",
            "profile delete a",
        ] {
            let arguments = ["shared-context"].into_iter().chain(arguments.split(' '));
            command().try_get_matches_from(arguments).unwrap();
        }
    }

    #[test]
    fn the_command_line_has_no_contradictions() {
        command().debug_assert();
    }
}
