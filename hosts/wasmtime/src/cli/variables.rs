//! The environment variables of the options.
//!
//! Every option has one, `SHARED_CONTEXT_` and its name: `SHARED_CONTEXT_MAX_TOKENS` for
//! `--max-tokens`. Where two commands mean different things by one name, the command is
//! in between: `SHARED_CONTEXT_TOKEN_TTL` and `SHARED_CONTEXT_SET_TTL`. A test holds this,
//! and lists the options without a variable with the reason.
//!
//! # Invariant
//!
//! An empty variable is the same as none. The help never shows a value.

use std::{
    env,
    ffi::{OsStr, OsString},
};

use clap::error::{ContextKind, ContextValue};

use super::argument::switch;

/// The variable of `--json`, which is needed before the arguments are parsed.
pub(crate) const JSON: &str = "SHARED_CONTEXT_JSON";

/// Returns `command` and all below it, without empty variables.
pub(crate) fn prepared(command: clap::Command) -> clap::Command {
    let is_empty = |it: &clap::Arg| {
        let value = it.get_env().and_then(env::var_os);
        value.is_some_and(|it| it.is_empty())
    };
    command
        .mut_args(|it| if is_empty(&it) { it.env(None) } else { it.hide_env_values(true) })
        .mut_subcommands(prepared)
}

/// Names the variable in `error`, if it is about the value of an option that a variable gave: one
/// that is not among the `given` arguments.
pub(crate) fn name(command: &clap::Command, error: &mut clap::Error, given: &[OsString]) {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (Some(shown), Some(value)) =
        (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue))
    else {
        return;
    };
    let option = shown.split(' ').next().unwrap_or_default();
    let is_given = |it: &OsString| {
        let name = it.to_str().and_then(|it| it.split('=').next());
        name == Some(option)
    };
    if given.iter().any(is_given) {
        return;
    }
    if let Some(variable) = variable(command, option, &value) {
        let shown = format!("{variable} (the variable of {shown})");
        error.insert(ContextKind::InvalidArg, ContextValue::String(shown));
    }
}

/// Returns the variable of `option` in `command` or below it, which has this value.
fn variable(command: &clap::Command, option: &str, value: &str) -> Option<String> {
    let is_source = |it: &&OsStr| env::var(it).is_ok_and(|it| it == value);
    let options = command.get_arguments();
    let mut named = options.filter(|it| it.get_long() == option.strip_prefix("--"));
    let found = named.find_map(|it| it.get_env().filter(is_source));
    let found = found.and_then(|it| it.to_str()).map(str::to_owned);
    found.or_else(|| command.get_subcommands().find_map(|it| variable(it, option, value)))
}

/// Returns true if the environment asks for JSON.
pub(crate) fn is_json() -> bool {
    env::var(JSON).is_ok_and(|it| switch(&it).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    /// The options without a variable, each with the reason.
    const WITHOUT: &[(&str, &str)] = &[
        ("help", "it is no setting"),
        ("version", "it is no setting"),
        ("yes", "a forgotten variable would delete without asking"),
        ("accept-loss", "a forgotten variable would accept every later loss, too"),
        ("if-version", "it is the condition of one change"),
        ("file", "it is the value of one write, or an item of one assembly"),
        ("files", "they are what one packet is made from"),
        ("for", "it is whom one packet is for"),
        ("in-rounds", "it is the text of one redaction"),
        ("revision", "it is the value that one redaction is about"),
        ("versions", "they are the versions of one key"),
        ("none", "it is what one `profile use` does"),
        ("in", "it is the session of one call; the default session has a variable"),
        ("title", "it is that of one memory"),
        ("set", "it is the content of one memory"),
        ("unset", "it is the content of one memory"),
        ("content", "it is the content of one memory"),
        ("tag", "they are the tags of one memory or of one search"),
        ("importance", "it is that of one memory"),
        ("expires", "it is when one memory ends"),
        ("supersedes", "they are what one memory replaces"),
        ("by", "it is what replaces one memory"),
        ("level", "it is of one read"),
        ("progress", "it is that of one section"),
        ("shortcut", "they are those of one section"),
        ("reference", "it is the file of one section"),
        ("reader", "they are those of one section"),
        ("change", "it is what one write is"),
        ("section", "they are what one handoff passes on"),
        ("from", "it is whom one take-over is from"),
        ("to", "it is whom one section or handoff is for"),
        ("to-session", "it is where one section goes"),
        ("assign", "they are the tasks of one state"),
        ("blocker", "they are those of one state"),
        ("resource", "they are those of one state"),
        ("only", "they are what one close keeps"),
        ("code", "it is of what one close keeps"),
        ("cursor", "it is a page of one search"),
        ("admin-key-file", "it is the key of one profile"),
        ("token-file", "it is the credential of one profile"),
    ];

    /// Collects the options of `command` and all below it: command, option, variable, and
    /// what the value is called.
    fn options(command: &clap::Command, found: &mut Vec<[String; 4]>) {
        for argument in command.get_arguments().filter(|it| it.get_long().is_some()) {
            let variable = argument.get_env().map(|it| it.to_str().unwrap().to_owned());
            let names = argument.get_value_names().unwrap_or_default();
            found.push([
                command.get_name().to_owned(),
                argument.get_long().unwrap().to_owned(),
                variable.unwrap_or_default(),
                names.iter().map(ToString::to_string).collect(),
            ]);
        }
        command.get_subcommands().for_each(|it| options(it, found));
    }

    #[test]
    fn every_option_has_a_variable_with_its_name() {
        let mut found = Vec::new();
        let mut command = super::super::command();
        command.build();
        options(&command, &mut found);
        let mut values = BTreeMap::new();
        for [command, option, variable, value] in &found {
            let is_without = WITHOUT.iter().any(|(name, _)| name == option);
            let upper = |text: &str| text.to_ascii_uppercase().replace('-', "_");
            let (plain, scoped) = (upper(option), upper(&format!("{command}-{option}")));
            let named = [plain, scoped].map(|it| format!("SHARED_CONTEXT_{it}"));
            assert!(
                is_without == variable.is_empty() && (is_without || named.contains(variable)),
                "{command} --{option} has the variable {variable:?}: give it {} with \
                 `env = …`, or list it in WITHOUT with the reason",
                named[0]
            );
            let before = values.insert(variable, value).filter(|_| !is_without);
            assert!(
                before.is_none_or(|it| it == value),
                "{variable} means different things: name the command in it, as in {}",
                named[1]
            );
        }
        for (name, _) in WITHOUT {
            assert!(found.iter().any(|it| it[1] == *name), "there is no --{name}");
        }
        // The page names the exceptions.
        let page = include_str!("../../../../docs/command-line.md");
        for (name, _) in WITHOUT.iter().filter(|(name, _)| !["help", "version"].contains(name)) {
            assert!(page.contains(&format!("`--{name}`")), "the page does not name --{name}");
        }
        for [_, option, variable, _] in found.iter().filter(|it| !it[2].is_empty()) {
            let is_plain = variable.len() == "SHARED_CONTEXT_".len() + option.len();
            assert!(is_plain || page.contains(variable.as_str()), "the page lacks {variable}");
        }
    }
}
