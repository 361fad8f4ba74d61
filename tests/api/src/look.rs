//! One run of schemathesis, as one participant.

use std::{env, ffi::OsString, fmt::Write as _, fs, path::PathBuf, process::Command};

use serde_json::Value;

/// What it does for each operation when the arguments say nothing else.
const DEFAULTS: [&str; 3] = ["--max-examples=25", "--seed=1", "--continue-on-failure"];

/// That a key with a prefix may be refused.
const PREFIXES_REFUSED: &str = r#"
[[operations]]
include-path-regex = "entries"
checks.positive_data_acceptance.expected-statuses = [
    "2xx", "3xx", "400", "401", "403", "404", "409", "412", "413", "429", "5xx",
]
"#;

/// Who looks, and where.
#[derive(Debug)]
pub(crate) struct Look<'l> {
    pub(crate) who: &'static str,
    pub(crate) url: &'l str,
    pub(crate) credential: &'l str,
    /// The one session that the credential opens, if it does not open all.
    pub(crate) session: Option<&'l str>,
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    who: &'static str,
    operations: u64,
    cases: u64,
    failures: u64,
    /// Whether every check held.
    pub(crate) is_fine: bool,
}

impl Look<'_> {
    /// Runs it; what it prints goes where ours goes.
    ///
    /// # Errors
    ///
    /// It is not there, or did not say what it saw.
    pub(crate) fn run(&self, arguments: &[OsString]) -> Result<Seen, String> {
        let results = path("SCHEMATHESIS_RESULTS")?.join(self.who);
        fs::create_dir_all(&results).unwrap();
        let report = results.join("report.json");
        let _ = fs::remove_file(&report);
        let config = results.join("schemathesis.toml");
        fs::write(&config, self.config()).unwrap();
        let mut python = Command::new(path("SCHEMATHESIS_PYTHON")?);
        python.args(["-c", "from schemathesis.cli import schemathesis; schemathesis()"]);
        python.arg("--config-file").arg(config).arg("run").args(DEFAULTS);
        python.args(["--report=json", "--report-json-path"]).arg(&report);
        python.args(arguments).arg(format!("{}/openapi.json", self.url));
        // No setting of whoever runs this is its own; nor does it leave anything elsewhere.
        python.env_clear().current_dir(&results).env("HOME", &results);
        python.env("PYTHONPATH", path("SCHEMATHESIS_PACKAGES")?).env("PYTHONNOUSERSITE", "1");
        python.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        python.env("CREDENTIAL", self.credential).env("COLUMNS", "100");
        let status = python.status().map_err(|error| format!("schemathesis: {error}"))?;
        let told = fs::read(&report).map_err(|error| format!("no report ({status}): {error}"))?;
        let told: Value = serde_json::from_slice(&told).map_err(|error| error.to_string())?;
        Ok(Seen::read(self.who, &told, status.success()))
    }

    /// Returns what it is told.
    fn config(&self) -> String {
        let common = include_str!("../schemathesis.toml");
        match self.session {
            // Who can reach one session only tries no other.
            Some(session) => format!("{common}\n[parameters]\n\"path.session\" = \"{session}\"\n"),
            // Of the sessions it creates few allow keys with a prefix: 400 elsewhere. Who
            // reaches one that does is to be taken at every key.
            None => format!("{common}{PREFIXES_REFUSED}"),
        }
    }
}

impl Seen {
    fn read(who: &'static str, told: &Value, is_fine: bool) -> Self {
        let number = |pointer: &str| told.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        Self {
            who,
            operations: number("/operations/tested"),
            cases: number("/test_cases/generated"),
            failures: number("/test_cases/unique_failures") + number("/test_cases/errored"),
            is_fine: is_fine && number("/test_cases/generated") > 0,
        }
    }
}

/// Returns all that was seen, a line for each who looked.
pub(crate) fn summary(seen: &[Seen]) -> String {
    let head = format!("{:<14}{:>12}{:>10}{:>10}", "as", "operations", "cases", "failures");
    seen.iter().fold(head, |mut text, it| {
        let Seen { who, operations, cases, failures, .. } = it;
        // Writing to a string does not fail.
        let _ = write!(text, "\n{who:<14}{operations:>12}{cases:>10}{failures:>10}");
        text
    })
}

fn path(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| {
        format!("{name} is not set: `cargo xtask api` brings schemathesis, and sets it")
    })
}
