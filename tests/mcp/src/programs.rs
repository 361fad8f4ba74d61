//! The third-party programs: where they are installed, and how to run them.

use std::{
    env,
    fs::{self, File},
    io::{Read as _, Seek as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Timeout of one program; the slowest needs a fraction of it.
const TIME_MAX: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_millis(10);
/// Maximum length of the output in a failure message, in lines.
const LINES_MAX: usize = 60;

/// The programs that `cargo xtask mcp` installed.
#[derive(Debug)]
pub(crate) struct Programs {
    node: PathBuf,
    node_modules: PathBuf,
    python: PathBuf,
    python_packages: PathBuf,
    agents_packages: PathBuf,
    /// The folder for their results.
    pub(crate) results: PathBuf,
    /// Their home folder.
    home: TempDir,
}

impl Programs {
    /// Reads the paths from the environment.
    ///
    /// # Errors
    ///
    /// A variable is missing.
    pub(crate) fn find() -> Result<Self, String> {
        let path = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from);
            path.ok_or_else(|| {
                format!("{name} is not set: `cargo xtask mcp` installs the programs and sets it")
            })
        };
        let programs = Self {
            node: path("MCP_TEST_NODE")?,
            node_modules: path("MCP_TEST_NODE_MODULES")?,
            python: path("MCP_TEST_PYTHON")?,
            python_packages: path("MCP_TEST_PYTHON_PACKAGES")?,
            agents_packages: path("MCP_TEST_AGENTS_PACKAGES")?,
            results: path("MCP_TEST_RESULTS")?,
            home: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(&programs.results).unwrap();
        Ok(programs)
    }

    /// Builds a command that runs the script `name` in the folder `js` with Node.
    pub(crate) fn script(&self, name: &str) -> Command {
        self.node(&here("js").join(name))
    }

    /// Builds a command that runs the file `path` of an installed package with Node.
    pub(crate) fn package(&self, path: &str) -> Command {
        self.node(&self.node_modules.join(path))
    }

    fn node(&self, path: &Path) -> Command {
        let mut command = self.bare(&self.node);
        command.arg(path).env("NODE_PATH", &self.node_modules);
        command
    }

    /// Returns the folder of the installed packages of Node.
    pub(crate) fn node_modules(&self) -> &Path {
        &self.node_modules
    }

    /// Builds a command that runs the program `path` with the interpreter for its name.
    pub(crate) fn program(&self, path: &Path) -> Command {
        match path.extension() {
            Some(it) if it == "py" => self.with_python(path, &self.python_packages),
            _ => self.node(path),
        }
    }

    /// Builds a command that runs the script `name` in the folder `python` with Python.
    pub(crate) fn python(&self, name: &str) -> Command {
        self.with_python(&here("python").join(name), &self.python_packages)
    }

    /// Builds a command that runs the Python program `path` with the packages of
    /// `agents/requirements.txt`.
    pub(crate) fn agents_program(&self, path: &Path) -> Command {
        self.with_python(path, &self.agents_packages)
    }

    fn with_python(&self, path: &Path, packages: &Path) -> Command {
        let mut command = self.bare(&self.python);
        command.arg(path).env("PYTHONPATH", packages);
        command.env("PYTHONNOUSERSITE", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Builds a command for `program` without this process's environment, so it gets no proxies,
    /// credentials and settings of the user.
    fn bare(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.home.path()).current_dir(&self.home);
        if let Some(path) = env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }
}

/// Returns the folder `name` beside this crate's sources.
pub(crate) fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The output and exit status of a program.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    /// Standard output.
    pub(crate) output: String,
    /// Standard error.
    pub(crate) errors: String,
    pub(crate) status: ExitStatus,
}

impl ProgramOutput {
    /// Returns the standard output of a successful program.
    ///
    /// # Errors
    ///
    /// The exit status and the last lines of output of a failed program.
    pub(crate) fn success(self) -> Result<String, String> {
        if self.status.success() { Ok(self.output) } else { Err(self.report()) }
    }

    /// Formats the exit status and the last lines of output.
    pub(crate) fn report(&self) -> String {
        let lines: Vec<_> = self.output.lines().chain(self.errors.lines()).collect();
        let skipped = lines.len().saturating_sub(LINES_MAX);
        let last = lines.into_iter().skip(skipped).collect::<Vec<_>>().join("\n");
        format!("{}; its output:\n{last}", self.status)
    }
}

/// Runs `command` until it exits.
///
/// # Errors
///
/// The program exceeds the timeout. It is killed then.
pub(crate) fn run(mut command: Command) -> Result<ProgramOutput, String> {
    // Files instead of pipes: an orphaned child process would keep a pipe open.
    let (mut output, mut errors) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command.stdin(Stdio::null());
    command.stdout(output.try_clone().unwrap()).stderr(errors.try_clone().unwrap());
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let ended = wait(&mut child);
    let status = ended.unwrap_or_else(|| {
        child.kill().unwrap();
        child.wait().unwrap()
    });
    let result = ProgramOutput { output: whole(&mut output), errors: whole(&mut errors), status };
    match ended {
        Some(_) => Ok(result),
        None => Err(format!("timeout after {} s: {}", TIME_MAX.as_secs(), result.report())),
    }
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + TIME_MAX;
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return Some(status),
            None if Instant::now() < deadline => thread::sleep(POLL),
            None => return None,
        }
    }
}

fn whole(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
