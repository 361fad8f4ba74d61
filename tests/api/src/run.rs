//! One run of schemathesis as one participant.

use std::{env, ffi::OsString, fmt::Write as _, fs, path::PathBuf, process::Command};

use serde_json::Value;

/// Default arguments. Later arguments override them.
const DEFAULTS: [&str; 3] = ["--max-examples=15", "--seed=1", "--continue-on-failure"];

/// The phases of a participant other than the admin. Coverage, the phase that takes longest, sends
/// each operation the same requests as anybody: as the admin, who may use every one of them.
const PHASES: &str = "--phases=examples,fuzzing,stateful";

/// Configuration that allows the server to reject a key with a prefix.
const PREFIXES_REJECTED: &str = r#"
[[operations]]
include-path-regex = "entries"
checks.positive_data_acceptance.expected-statuses = [
    "2xx", "3xx", "400", "401", "403", "404", "409", "412", "413", "429", "5xx",
]
"#;

/// The parameters of one run.
#[derive(Debug)]
pub(crate) struct Run<'r> {
    pub(crate) participant: &'static str,
    pub(crate) url: &'r str,
    pub(crate) credential: &'r str,
    /// The only session of the credential; `None` for the admin key.
    pub(crate) session: Option<&'r str>,
}

/// The result of one run.
#[derive(Debug)]
pub(crate) struct Report {
    participant: &'static str,
    operations: u64,
    cases: u64,
    failures: u64,
    /// All checks passed.
    pub(crate) is_success: bool,
}

impl Run<'_> {
    /// Runs schemathesis with inherited standard output.
    ///
    /// # Errors
    ///
    /// Schemathesis is not installed, or wrote no report.
    pub(crate) fn run(&self, arguments: &[OsString]) -> Result<Report, String> {
        let results = path("SCHEMATHESIS_RESULTS")?.join(self.participant);
        fs::create_dir_all(&results).unwrap();
        let report = results.join("report.json");
        let _ = fs::remove_file(&report);
        let config = results.join("schemathesis.toml");
        fs::write(&config, self.config()).unwrap();
        let mut python = Command::new(path("SCHEMATHESIS_PYTHON")?);
        python.args(["-c", "from schemathesis.cli import schemathesis; schemathesis()"]);
        python.arg("--config-file").arg(config).arg("run").args(DEFAULTS);
        if self.session.is_some() {
            python.arg(PHASES);
        }
        python.args(["--report=json", "--report-json-path"]).arg(&report);
        python.args(arguments).arg(format!("{}/openapi.json", self.url));
        // It inherits no settings of the user, and writes only to its results folder.
        python.env_clear().current_dir(&results).env("HOME", &results);
        python.env("PYTHONPATH", path("SCHEMATHESIS_PACKAGES")?).env("PYTHONNOUSERSITE", "1");
        python.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        python.env("CREDENTIAL", self.credential).env("COLUMNS", "100");
        let status = python.status().map_err(|error| format!("schemathesis: {error}"))?;
        let bytes = fs::read(&report).map_err(|error| format!("no report ({status}): {error}"))?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        Ok(Report::read(self.participant, &value, status.success()))
    }

    /// Builds the configuration of the run.
    fn config(&self) -> String {
        let common = include_str!("../schemathesis.toml");
        match self.session {
            // A credential for one session tries no other session.
            Some(session) => format!("{common}\n[parameters]\n\"path.session\" = \"{session}\"\n"),
            // The admin creates many sessions, and most reject keys with a prefix. The session
            // of the orchestrator allows them, so there every key must be accepted.
            None => format!("{common}{PREFIXES_REJECTED}"),
        }
    }
}

impl Report {
    fn read(participant: &'static str, value: &Value, is_success: bool) -> Self {
        let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        Self {
            participant,
            operations: number("/operations/tested"),
            cases: number("/test_cases/generated"),
            failures: number("/test_cases/unique_failures") + number("/test_cases/errored"),
            is_success: is_success && number("/test_cases/generated") > 0,
        }
    }
}

/// Formats the reports as a table, one line per participant.
pub(crate) fn summary(reports: &[Report]) -> String {
    let head = format!("{:<14}{:>12}{:>10}{:>10}", "as", "operations", "cases", "failures");
    reports.iter().fold(head, |mut text, it| {
        let Report { participant, operations, cases, failures, .. } = it;
        // Writing to a string does not fail.
        let _ = write!(text, "\n{participant:<14}{operations:>12}{cases:>10}{failures:>10}");
        text
    })
}

fn path(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| {
        format!("{name} is not set: `cargo xtask api` installs schemathesis and sets it")
    })
}
