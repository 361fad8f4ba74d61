//! `cargo xtask` starts here. It has no dependencies, so it is compiled in a second.
//!
//! `cargo xtask serve --native` needs nothing else; to compile xtask first would take a minute more. All other commands are passed on to it.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode},
};

/// Cargo's arguments for the server without WebAssembly.
const NATIVE: [&str; 11] = [
    "run",
    "--release",
    "--package",
    "shared-context-wasmtime",
    "--bin",
    "shared-context",
    "--no-default-features",
    "--features",
    "cli,memory-tool,tokenizer",
    "--",
    "serve",
];
/// Cargo's arguments for xtask.
const XTASK: [&str; 4] = ["run", "--package", "xtask", "--"];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let (before, passed) = split(&arguments);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(before).args(passed);
    if before == NATIVE {
        say("Building the server without WebAssembly (the first time three and a half minutes)");
    }
    // Cargo takes this process's place, and the program takes cargo's: it gets each signal.
    let error = cargo.exec();
    say(&format!("error: cargo could not be started: {error}"));
    ExitCode::FAILURE
}

/// Returns cargo's arguments for a command of xtask, and those that are passed on.
fn split(arguments: &[OsString]) -> (&'static [&'static str], &[OsString]) {
    match arguments {
        [serve, native, passed @ ..] if serve == "serve" && native == OsStr::new("--native") => {
            (&NATIVE, passed)
        }
        _ => (&XTASK, arguments),
    }
}

fn say(text: &str) {
    // Nobody can be told that standard error is closed.
    drop(writeln!(io::stderr(), "{text}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_without_webassembly_needs_no_tools() {
        let split_of = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (before, passed) = split(&arguments);
            (before == NATIVE, passed.join(OsStr::new(" ")))
        };
        let native = split_of("serve --native --listen 9000");
        assert_eq!(native, (true, "--listen 9000".into()));
        for other in ["serve --listen 9000", "serve", "test --native", "serve --listen --native"] {
            assert_eq!(split_of(other), (false, other.into()));
        }
    }
}
