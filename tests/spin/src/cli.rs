//! The program `spin-emulator`. It takes the arguments of `spin up`, with the same meaning.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
};

use clap::{Args, Parser, Subcommand};

use crate::{Emulator, Leaving, Setup, output::Lines};

/// Spin's interfaces on wasmtime, not Spin: runs an application as `spin up` does, where
/// there is no Spin.
#[derive(Debug, Parser)]
#[command(
    name = "spin-emulator",
    version,
    after_help = "Example:\n  cd hosts/spin && spin-emulator up --listen 127.0.0.1:3000"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve an application until it is stopped (Ctrl-C).
    ///
    /// Variables are read from `SPIN_VARIABLE_NAME` in the environment, else from the file
    /// `.env` of the current folder, as Spin reads them.
    Up(Up),
}

#[derive(Debug, Args)]
struct Up {
    /// The manifest, or the folder of a spin.toml.
    #[arg(short, long, value_name = "PATH", default_value = "spin.toml")]
    from: PathBuf,
    /// Where to listen; port 0 is a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    listen: String,
    /// Where databases and logs are kept [default: .spin beside the manifest].
    #[arg(long, value_name = "FOLDER")]
    state_dir: Option<PathBuf>,
    /// Do not repeat what components log.
    #[arg(short, long)]
    quiet: bool,
    /// Let instances go on whose client is gone, as Spin before 4.1 does.
    #[arg(long)]
    leaving_fails_writes: bool,
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let Command::Up(up) = Arguments::parse().command;
    match up.start() {
        // A signal from the operator ends the process.
        Ok(_serving) => loop {
            thread::park();
        },
        Err(error) => {
            // If stderr is closed, the exit code still reports the failure.
            drop(writeln!(io::stderr(), "Error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

impl Up {
    fn start(&self) -> anyhow::Result<Emulator> {
        let manifest = self.manifest();
        let beside = manifest.parent().unwrap_or(Path::new("")).join(".spin");
        let state_dir = self.state_dir.clone().unwrap_or(beside);
        let leaving =
            if self.leaving_fails_writes { Leaving::FailsItsWrites } else { Leaving::EndsIt };
        let setup = Setup::new(manifest, &state_dir).listen(&self.listen).leaving(leaving);
        let lines = if self.quiet { Lines::Quiet } else { Lines::Repeated };
        let emulator = Emulator::start_with(&setup, Path::new(".env"), lines, Lines::Repeated)?;
        let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
        writeln!(err, "Spin's interfaces on wasmtime, not Spin")?;
        writeln!(err, "Logging component stdio to {}", state_dir.join("logs").display())?;
        writeln!(out, "\nServing {}\nAvailable Routes:", emulator.url())?;
        for (component, route) in emulator.routes() {
            writeln!(out, "  {component}: {}{route}", emulator.url())?;
        }
        out.flush()?;
        Ok(emulator)
    }

    fn manifest(&self) -> PathBuf {
        if self.from.is_dir() { self.from.join("spin.toml") } else { self.from.clone() }
    }
}
