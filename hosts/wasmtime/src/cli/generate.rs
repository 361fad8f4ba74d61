//! `completions` and `man`: files for shells and for `man`, made of the command line
//! itself, so that they always fit the program.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::builder::Resettable;
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::json;

use super::{
    NAME, command,
    output::{BOLD, GREEN, Output, counted},
    problem::{Kind, Problem},
};

/// Print a script that completes commands and options in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples; run the one for your shell once, and open a new shell:
  shared-context completions bash \\
    > ~/.local/share/bash-completion/completions/shared-context
  shared-context completions zsh > ~/.zfunc/_shared-context
  shared-context completions fish \\
    > ~/.config/fish/completions/shared-context.fish
  shared-context completions powershell >> $PROFILE

For zsh the folder must be in fpath before compinit: fpath+=~/.zfunc")]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context man | man -l -
  shared-context man --dir ~/.local/share/man/man1
  man shared-context-session-create

`man` finds the pages by itself if ~/.local/bin is on PATH. Otherwise name the
folder: man -M ~/.local/share/man shared-context")]
pub(crate) struct ManArguments {
    /// Write a page for each command to this folder
    #[arg(long, env = "SHARED_CONTEXT_MAN_DIR", value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs `completions`.
pub(crate) fn completions(arguments: &CompletionsArguments, output: Output) -> Result<(), Problem> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), NAME, &mut script);
    let script = String::from_utf8_lossy(&script);
    let script = match arguments.shell {
        Shell::Bash => without_placeholders(&script),
        _ => script.into_owned(),
    };
    let document = json!({"shell": arguments.shell.to_string(), "script": script});
    output.answer(document.to_string().as_bytes(), || Ok(script))
}

/// Returns the script for bash without the names of positional arguments: bash would offer
/// `<SESSION>` as a word to complete.
fn without_placeholders(script: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix("opts=\"") {
        Some(options) => {
            let indent = " ".repeat(line.len().saturating_sub(line.trim_start().len()));
            let options = options.trim_end_matches('"').split(' ');
            let options = options.filter(|it| !it.starts_with(['<', '[']));
            format!("{indent}opts=\"{}\"\n", options.collect::<Vec<_>>().join(" "))
        }
        None => format!("{line}\n"),
    };
    script.lines().map(line).collect()
}

/// Runs `man`.
pub(crate) fn man(arguments: &ManArguments, output: Output) -> Result<(), Problem> {
    let mut command = command();
    command.build();
    let Some(folder) = &arguments.dir else {
        let page = page(&command, NAME).map_err(|error| not_written(Path::new("-"), &error))?;
        let page = String::from_utf8_lossy(&page);
        let document = json!({ "page": page });
        return output.answer(document.to_string().as_bytes(), || Ok(page.to_string()));
    };
    let mut files = Vec::new();
    fs::create_dir_all(folder)
        .and_then(|()| pages(&command, NAME, folder, &mut files))
        .map_err(|error| not_written(folder, &error))?;
    output.answer(json!({ "files": files }).to_string().as_bytes(), || {
        let count = counted(files.len().try_into().unwrap_or(u64::MAX), "page");
        let shown = folder.display();
        Ok(format!("{GREEN}✓{GREEN:#} {BOLD}{count}{BOLD:#} written to {shown}\n"))
    })
}

/// Writes the page of `command` and of all below it to `folder`.
fn pages(
    command: &clap::Command,
    name: &str,
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let path = folder.join(format!("{name}.1"));
    fs::write(&path, page(command, name)?)?;
    files.push(path);
    command
        .get_subcommands()
        .try_for_each(|it| pages(it, &format!("{name}-{}", it.get_name()), folder, files))
}

/// Returns the page of `command` as roff.
fn page(command: &clap::Command, name: &str) -> io::Result<Vec<u8>> {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = command.clone().display_name(name.to_owned()).after_help(Resettable::Reset);
    let mut page = Vec::new();
    Man::new(command)
        .source(concat!("shared-context ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    // Commands are not filled, so that they can be pasted.
    page.extend_from_slice(b".SH EXAMPLES\n.nf\n");
    for line in examples.lines() {
        // A line that begins with a dot or a quote would be a request to roff.
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        page.extend_from_slice(format!("\\&{line}\n").as_bytes());
    }
    page.extend_from_slice(b".fi\n");
    Ok(page)
}

fn not_written(path: &Path, error: &io::Error) -> Problem {
    let message = format!("cannot write {}: {error}", path.display());
    Problem::new(Kind::Usage, "FILE_NOT_WRITTEN", message)
        .next("name a folder that can be written to with --dir")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bash once offered `<SESSION> <KEY>` for `shared-context get`.
    #[test]
    fn bash_is_offered_no_placeholders() {
        let script = "a)\n    opts=\"-h --json <SESSION> [KEY]... ls\"\n    if [[ 1 ]]; then\n";
        assert_eq!(
            without_placeholders(script),
            "a)\n    opts=\"-h --json ls\"\n    if [[ 1 ]]; then\n"
        );
        let mut script = Vec::new();
        clap_complete::generate(Shell::Bash, &mut command(), NAME, &mut script);
        let script = without_placeholders(&String::from_utf8(script).unwrap());
        let mut options = script.lines().filter(|it| it.trim_start().starts_with("opts=\""));
        assert!(options.all(|it| !it.contains(['<', '['])), "{script}");
    }
}
