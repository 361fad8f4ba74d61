//! A program that runs an application: Spin itself, or the emulator started like Spin.
//!
//! Invariant: dropping a [`Program`] kills its processes, and only those. They are their
//! own process group, because `spin up` starts another process, which would survive if
//! only the first one were killed.

use std::{
    env, fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use shared_context_system::{Client, program, secrets, server::Captured, tell};

use crate::{Setup, server::Leaving, variables::environment_name};

/// The maximum time to start. Both programs compile an application once per machine.
const PATIENCE: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(2);
/// The number of its last output lines to repeat when a test fails.
const LINES_REPEATED: usize = 30;

/// The program that runs an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// The emulator `spin-emulator` of this package.
    Emulator,
    /// The Spin binary at this path.
    Spin(PathBuf),
}

impl Runtime {
    /// Returns the Spin binary that `SPIN_BIN` names.
    ///
    /// # Errors
    ///
    /// The reason for skipping tests on Spin: `SPIN_BIN` does not name a binary.
    pub fn spin() -> Result<Self, String> {
        let path = env::var_os("SPIN_BIN").filter(|it| !it.is_empty()).ok_or(
            "SPIN_BIN names no Spin binary: with SPIN_BIN=/path/to/spin the same runs on Spin",
        )?;
        let path = PathBuf::from(path);
        // It is started in another folder, so the path must be absolute.
        let whole = path.canonicalize();
        whole.map(Self::Spin).map_err(|error| format!("SPIN_BIN: {}: {error}", path.display()))
    }

    /// Returns its name in the names of tests: `emulator` or `spin`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Emulator => "emulator",
            Self::Spin(_) => "spin",
        }
    }

    fn program(&self) -> PathBuf {
        match self {
            Self::Emulator => {
                static BUILT: OnceLock<PathBuf> = OnceLock::new();
                let build = || program::built(env!("CARGO_PKG_NAME"), "spin-emulator");
                BUILT.get_or_init(build).clone()
            }
            Self::Spin(path) => path.clone(),
        }
    }
}

/// A running program that serves an application.
#[derive(Debug)]
pub struct Program {
    url: String,
    state_dir: PathBuf,
    child: Child,
    out: Captured,
    err: Captured,
}

impl Program {
    /// Starts `runtime` with `setup` and waits until it answers. It is started in the folder
    /// of the manifest, where Spin looks for `.env`.
    ///
    /// # Errors
    ///
    /// The program ended or does not answer. The error has its output.
    pub fn start(runtime: &Runtime, setup: &Setup) -> anyhow::Result<Self> {
        let manifest = setup.manifest.canonicalize();
        let manifest = manifest.with_context(|| format!("{}", setup.manifest.display()))?;
        fs::create_dir_all(&setup.state_dir)?;
        let state_dir = setup.state_dir.canonicalize()?;
        let path = runtime.program();
        let mut command = program::command(&path);
        command.arg("up").arg("--from").arg(&manifest);
        command.args(["--listen", &setup.listen, "--quiet", "--state-dir"]).arg(&state_dir);
        if *runtime == Runtime::Emulator && setup.leaving == Leaving::FailsItsWrites {
            command.arg("--leaving-fails-writes");
        }
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("SPIN_") {
                command.env_remove(name);
            }
        }
        for (name, value) in &setup.variables {
            command.env(environment_name(name), value);
        }
        command.current_dir(manifest.parent().unwrap_or(Path::new("/"))).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{}", path.display()))?;
        let out = Captured::new(child.stdout.take().context("no standard output")?);
        let err = Captured::new(child.stderr.take().context("no standard error")?);
        let mut program = Self { url: String::new(), state_dir, child, out, err };
        program.wait_until_ready()?;
        Ok(program)
    }

    /// Returns its URL, such as `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its process id. Its child processes are in the same process group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its output so far, from stdout and stderr.
    pub fn said(&self) -> String {
        self.out.text() + &self.err.text()
    }

    /// Returns the lines that components have written to standard error, in this start and
    /// in earlier ones over the same folder.
    pub fn log(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for file in fs::read_dir(self.state_dir.join("logs")).into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().ends_with("_stderr.txt") {
                let text = fs::read_to_string(file.path()).unwrap_or_default();
                lines.extend(text.lines().map(str::to_owned));
            }
        }
        lines
    }

    /// Kills it and its child processes (`SIGKILL`), and waits for its end.
    ///
    /// # Errors
    ///
    /// It had already ended, or cannot be killed.
    pub fn kill(mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("it had ended by itself ({status}); its output: {}", self.said());
        }
        self.end()
    }

    fn end(&mut self) -> anyhow::Result<()> {
        // The process has not been reaped yet, so its id cannot have been reused.
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process_group(id.context("it has no process")?, Signal::KILL)?;
        self.child.wait()?;
        Ok(())
    }

    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        self.url = loop {
            if let Some(url) = parse_url(&self.out.text()).or_else(|| parse_url(&self.err.text())) {
                break url;
            }
            if let Some(status) = self.child.try_wait()? {
                self.out.whole();
                self.err.whole();
                bail!("it did not start ({status}): {}", self.said());
            }
            if Instant::now() > deadline {
                bail!("it does not listen: {}", self.said());
            }
            thread::sleep(POLL);
        };
        let health =
            Client::new(&self.url, "").try_send("GET", "/.well-known/spin/health", &[], None);
        match health {
            Ok(answer) if answer.status == 200 => Ok(()),
            other => Err(anyhow!("it does not answer: {other:?}; its output: {}", self.said())),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if thread::panicking() {
            let output = self.said();
            let skipped = output.lines().count().saturating_sub(LINES_REPEATED);
            let last: Vec<_> = output.lines().skip(skipped).collect();
            tell(&format!("the last output of the program:\n{}", last.join("\n")));
        }
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.end());
        }
        if !thread::panicking() {
            secrets::check(&self.said());
            secrets::check(&self.log().join("\n"));
        }
    }
}

/// Returns the address in the line that reports that it serves, once the line is complete.
fn parse_url(output: &str) -> Option<String> {
    let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = whole.lines().find(|it| it.contains("Serving"))?;
    let address = line.get(line.find("http://")?..)?;
    let end = address.find(|it: char| it.is_whitespace() || it.is_control());
    Some(address.get(..end.unwrap_or(address.len()))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_the_output() {
        let expected = Some("http://127.0.0.1:3000".to_owned());
        assert_eq!(parse_url("\nServing http://127.0.0.1:3000\nAvailable Routes:\n"), expected);
        let colored = "\n\u{1b}[1mServing\u{1b}[0m http://127.0.0.1:3000\u{1b}[0m\n";
        assert_eq!(parse_url(colored), expected);
        assert_eq!(parse_url("Serving http://127.0.0.1:30"), None);
        assert_eq!(parse_url("Loading\n"), None);
    }

    #[test]
    fn the_reason_for_skipping_spin_is_reported() {
        if env::var_os("SPIN_BIN").is_none() {
            assert!(Runtime::spin().unwrap_err().contains("SPIN_BIN names no Spin binary"));
        }
    }

    #[test]
    fn a_program_serves_until_it_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("spin.toml");
        let text = "spin_manifest_version = 2\napplication = { name = \"small\" }\n\
            [variables]\nword = { required = true }\n\
            [[trigger.http]]\nroute = \"/...\"\ncomponent = \"small\"\n\
            [component.small]\nsource = \"small.wasm\"\n";
        fs::write(&manifest, text).unwrap();
        let wit = "package a:b; world it { export wasi:http/incoming-handler@0.2.0; }";
        let small = crate::test_component::component(wit, crate::test_component::Code::Trap);
        fs::write(folder.path().join("small.wasm"), small).unwrap();
        let setup = Setup::new(manifest, folder.path().join("state"));
        let error = format!("{:#}", Program::start(&Runtime::Emulator, &setup).unwrap_err());
        assert!(error.contains("SPIN_VARIABLE_WORD"), "{error}");
        let setup = setup.variable("word", "well");
        for _ in 0..2 {
            let program = Program::start(&Runtime::Emulator, &setup).unwrap();
            assert_eq!(Client::new(program.url(), "").get("/").status, 500);
            let deadline = Instant::now() + PATIENCE;
            while !program.said().contains("unreachable") {
                assert!(Instant::now() < deadline, "{}", program.said());
                thread::sleep(POLL);
            }
            let url = program.url().to_owned();
            program.kill().unwrap();
            assert!(Client::new(&url, "").try_send("GET", "/", &[], None).is_err());
        }
    }
}
