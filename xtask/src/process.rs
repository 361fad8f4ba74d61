//! Running other programs: each command line is shown before it runs, as one
//! could type it.
//!
//! Invariant: a child never reads the terminal, except the server that takes
//! this process's place ([`replace`]).

use std::{
    env,
    ffi::OsStr,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, anyhow, bail};

use crate::console;

/// The compiler's flags, for cargo to pass on, with [`FLAG_SEPARATOR`] between
/// them: a flag may hold spaces.
pub(crate) const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";
/// See [`FLAGS`].
pub(crate) const FLAG_SEPARATOR: &str = "\x1f";

/// Returns the cargo that runs this program, in the folder `directory`.
pub(crate) fn cargo(directory: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(directory);
    command
}

/// Shows and runs `command`, and prints its duration; its output goes where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    console::command(&line(command));
    let started = Instant::now();
    let status = command.stdin(Stdio::null()).status().with_context(|| not_started(command))?;
    if !status.success() {
        return Err(failed(command, status));
    }
    console::took(started.elapsed());
    Ok(())
}

fn failed(command: &Command, status: ExitStatus) -> anyhow::Error {
    anyhow!("`{}` failed ({status}); what it said stands above", line(command))
}

/// Shows and runs `command` like [`run`], and returns what it printed on standard output,
/// also if it failed.
pub(crate) fn run_and_read(command: &mut Command) -> Result<(String, Result<()>)> {
    console::command(&line(command));
    let started = Instant::now();
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| not_started(command))?;
    console::took(started.elapsed());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let result = if output.status.success() { Ok(()) } else { Err(failed(command, output.status)) };
    Ok((printed, result))
}

/// Runs `command` without showing it and returns what it printed.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| not_started(command))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed ({}): {}", line(command), output.status, said.trim());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed what is not text", line(command)))
}

/// Shows `command` and puts it in this process's place, so that it gets the
/// terminal and every signal. Returns only why that failed.
pub(crate) fn replace(command: &mut Command) -> anyhow::Error {
    console::command(&line(command));
    let error = command.exec();
    anyhow!(error).context(not_started(command))
}

fn not_started(command: &Command) -> String {
    format!("`{}` could not be started: is it installed?", line(command))
}

/// Returns the command line of `command` with the variables set for it, for people to
/// read and to type; but for the secrets among them.
fn line(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy().replace(FLAG_SEPARATOR, " ");
        let name = if name == FLAGS { "RUSTFLAGS".into() } else { name.to_string_lossy() };
        let is_secret = name.ends_with("_SECRET") || name.ends_with("_KEY");
        Some(if is_secret { format!("{name}=…") } else { format!("{name}={}", quoted(&value)) })
    });
    let program = Path::new(command.get_program());
    let is_cargo = program.file_stem() == Some(OsStr::new("cargo"));
    let program = if is_cargo { "cargo".into() } else { program.to_string_lossy() };
    let arguments = command.get_args().map(|argument| quoted(&argument.to_string_lossy()));
    variables.chain([quoted(&program)]).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/opt/rust/bin/cargo");
        command.args(["test", "--", "it's"]).env(FLAGS, "-Ca\x1f-Cb").env_remove("CARGO");
        assert_eq!(line(&command), r"RUSTFLAGS='-Ca -Cb' cargo test -- 'it'\''s'");
    }

    #[test]
    fn a_secret_is_not_shown() {
        let mut command = Command::new("workerd");
        command.env("AN_ADMIN_KEY", "k3y").env("A_SECRET", "s3cret");
        assert_eq!(line(&command), "AN_ADMIN_KEY=… A_SECRET=… workerd");
    }

    #[test]
    fn a_failing_command_is_named() {
        let error = run(&mut Command::new("false")).unwrap_err().to_string();
        assert!(error.starts_with("`false` failed (exit status: 1)"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = read(&mut Command::new("no-such-program")).unwrap_err().to_string();
        assert_eq!(error, "`no-such-program` could not be started: is it installed?");
    }
}
