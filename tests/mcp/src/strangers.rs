//! Where the strangers' programs are, and how they are run.

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

/// How long one of them may take; the slowest needs a fraction of it.
const PATIENCE: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_millis(10);
/// How much is repeated of what a stranger said that failed, in lines.
const LINES_REPEATED: usize = 60;

/// The strangers' programs, as `cargo xtask mcp` installed them.
#[derive(Debug)]
pub(crate) struct Strangers {
    node: PathBuf,
    node_modules: PathBuf,
    python: PathBuf,
    python_packages: PathBuf,
    /// Where they leave what they found.
    pub(crate) results: PathBuf,
    /// What they take for a home.
    home: TempDir,
}

impl Strangers {
    /// Reads from the environment where they are.
    ///
    /// # Errors
    ///
    /// It does not say.
    pub(crate) fn find() -> Result<Self, String> {
        let path = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from);
            path.ok_or_else(|| {
                format!(
                    "{name} is not set: `cargo xtask mcp` installs what this needs, and sets it"
                )
            })
        };
        let strangers = Self {
            node: path("STRANGERS_NODE")?,
            node_modules: path("STRANGERS_NODE_MODULES")?,
            python: path("STRANGERS_PYTHON")?,
            python_packages: path("STRANGERS_PYTHON_PACKAGES")?,
            results: path("STRANGERS_RESULTS")?,
            home: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(&strangers.results).unwrap();
        Ok(strangers)
    }

    /// Node, to run the script `name` of the folder `js`.
    pub(crate) fn script(&self, name: &str) -> Command {
        self.node(&here("js").join(name))
    }

    /// Node, to run the file `path` of an installed package.
    pub(crate) fn package(&self, path: &str) -> Command {
        self.node(&self.node_modules.join(path))
    }

    fn node(&self, path: &Path) -> Command {
        let mut command = self.bare(&self.node);
        command.arg(path).env("NODE_PATH", &self.node_modules);
        command
    }

    /// Python, to run the script `name` of the folder `python`.
    pub(crate) fn python(&self, name: &str) -> Command {
        let mut command = self.bare(&self.python);
        command.arg(here("python").join(name)).env("PYTHONPATH", &self.python_packages);
        command.env("PYTHONNOUSERSITE", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// `program` without this process's environment: proxies, credentials and
    /// settings of whoever runs the tests are not the strangers'.
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

/// What a stranger said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    /// Standard output.
    pub(crate) output: String,
    /// Standard error.
    pub(crate) errors: String,
    pub(crate) status: ExitStatus,
}

impl Said {
    /// Returns its standard output; it must have ended well.
    ///
    /// # Errors
    ///
    /// It did not: how it ended, and the last lines it said.
    pub(crate) fn well(self) -> Result<String, String> {
        if self.status.success() { Ok(self.output) } else { Err(self.in_full()) }
    }

    /// Returns how it ended, and the last lines it said.
    pub(crate) fn in_full(&self) -> String {
        let said: Vec<_> = self.output.lines().chain(self.errors.lines()).collect();
        let skipped = said.len().saturating_sub(LINES_REPEATED);
        let last = said.into_iter().skip(skipped).collect::<Vec<_>>().join("\n");
        format!("{}; it said:\n{last}", self.status)
    }
}

/// Runs `command` to its end.
///
/// # Errors
///
/// It does not end; it is killed then.
pub(crate) fn run(mut command: Command) -> Result<Said, String> {
    // Files, not pipes: a process it leaves behind would keep a pipe open.
    let (mut output, mut errors) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command.stdin(Stdio::null());
    command.stdout(output.try_clone().unwrap()).stderr(errors.try_clone().unwrap());
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let ended = wait(&mut child);
    let status = ended.unwrap_or_else(|| {
        child.kill().unwrap();
        child.wait().unwrap()
    });
    let said = Said { output: whole(&mut output), errors: whole(&mut errors), status };
    match ended {
        Some(_) => Ok(said),
        None => Err(format!("no end after {} s: {}", PATIENCE.as_secs(), said.in_full())),
    }
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + PATIENCE;
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
