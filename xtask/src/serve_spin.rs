//! `cargo xtask serve-spin`: the Spin application on this machine, to try it.
//!
//! Spin serves it, started as `spin up` in `hosts/spin`: the program that `SPIN_BIN` names, or the
//! one on PATH. Without Spin the emulator of `tests/spin` serves it, and a message says that this
//! is not Spin.

use std::{
    env,
    ffi::OsString,
    fs::DirBuilder,
    net::SocketAddr,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    component, console, process,
    serving::{self, AdminKey, Greeting},
    spin::{self, check, env_file},
    workspace::Workspace,
};

/// The crate of the emulator.
const STAND_IN: &str = "spin-emulator";

/// How the application is served.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Where to listen; a port alone is one of this machine's own address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000", value_parser = serving::address)]
    listen: SocketAddr,
    /// Where everything is kept [default: .shared-context/spin in this repository]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Keep sessions in Spin's key-value store, as on platforms without a database
    #[arg(long)]
    key_value: bool,
}

/// Builds the application and becomes what serves it. Returns only when that failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    component::build(workspace)?;
    spin::build(workspace)?;
    let (program, title) = program(workspace)?;
    let data = options.data.clone();
    let data = data.unwrap_or_else(|| workspace.root.join(".shared-context/spin"));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&data)
        .with_context(|| format!("cannot make the data folder {}", data.display()))?;
    let data = data.canonicalize()?;
    let address = serving::free(options.listen)?;
    let host = workspace.root.join(spin::FOLDER);
    let manifest = if options.key_value { spin::KEY_VALUE_MANIFEST } else { spin::MANIFEST };
    let mut command = Command::new(program);
    // Where Spin looks for its variables.
    command.current_dir(&host);
    command.args(["up", "--from", manifest, "--listen"]).arg(address.to_string());
    command.arg("--state-dir").arg(&data);

    let key = env_file::admin_key(&workspace.root)?;
    let kept_in = workspace.root.join(env_file::PATH);
    let is_given = env::var_os(env_file::ADMIN_KEY).is_some_and(|it| !it.is_empty());
    let greeting = Greeting {
        title: &title,
        url: &format!("http://{address}"),
        data: &data,
        admin_key: if is_given {
            AdminKey::Given { variable: env_file::ADMIN_KEY }
        } else {
            AdminKey::Kept { key: &key, file: &kept_in, sed: env_file::SED }
        },
        stopping: if options.key_value {
            "Ctrl-C stops it. A key-value store compares nothing: of two changes to a session\n\
             that are stored at the same instant one is lost."
        } else {
            "Ctrl-C stops it; nothing acknowledged is lost."
        },
    };
    greeting.say();
    Err(process::replace(&mut command))
}

/// Returns what serves the application, and what is said of it.
fn program(workspace: &Workspace) -> Result<(OsString, String)> {
    let named = check::program()?.or_else(|| {
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders).map(|it| it.join("spin")).find(|it| is_spin(it)).map(Into::into)
    });
    if let Some(spin) = named {
        return Ok((spin, "shared-context on Spin".to_owned()));
    }
    console::warning(&format!(
        "no Spin is here (on PATH, or named by {}): its emulator in tests/spin serves",
        check::SPIN
    ));
    if !workspace.target.join("debug").join(STAND_IN).exists() {
        console::step(
            "Building the emulator (the first time about 5 minutes: it holds a compiler)",
        );
    }
    // Not by its package: alone it would have wasmtime with other features.
    process::run(workspace.cargo().args(["build", "--workspace", "--bin", STAND_IN]))?;
    let title = "shared-context on Spin's interfaces on wasmtime, which is not Spin".to_owned();
    Ok((workspace.target.join("debug").join(STAND_IN).into(), title))
}

/// Returns whether `path` is Spin: a program for checking models is called so too.
fn is_spin(path: &Path) -> bool {
    path.is_file()
        && process::read(Command::new(path).arg("--version")).is_ok_and(|it| names_spin(&it))
}

/// Returns whether a program that prints `version` is Spin.
fn names_spin(version: &str) -> bool {
    let number = version.strip_prefix("spin ").and_then(|it| it.chars().next());
    number.is_some_and(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_same_name_is_not_spin() {
        assert!(names_spin("spin 3.4.1 (e6d7dba 2025-08-26)\n"));
        assert!(!names_spin("Spin Version 6.5.2 -- 6 December 2019\n"));
        assert!(!names_spin("spin: unknown option"));
        assert!(!is_spin(Path::new("/no/such/folder/spin")));
    }
}
