//! The official conformance suite: all requirements of a specification revision for servers, and
//! scenarios of extensions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Test, Verdict,
    baseline::{Baseline, ScenarioResult},
    forwarder,
    host::{Host, TestHost},
    programs::{ProgramOutput, Programs, here, run},
};

/// The revisions, each with its extension scenarios, which belong to no set of requirements.
const REVISIONS: [(&str, &[&str]); 2] = [
    (
        "2026-07-28",
        &["sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"],
    ),
    ("2025-11-25", &[]),
];

pub(crate) fn tests() -> Vec<Test> {
    let test = |&(revision, extensions): &(&'static str, &'static [&'static str])| {
        Test::new(format!("conformance::{revision}"), move |programs, name| {
            run_suite(programs, name, revision, extensions)
        })
    };
    let of_admin = Test::new("conformance::admin", |programs, name| {
        let results = results(programs, name);
        let host = TestHost::start();
        suite(programs, &host, &host.admin_key, &results, &["--scenario", HEADERS])?.success()?;
        Baseline::default().judge(&ScenarioResult::all(&results)?)
    });
    REVISIONS.iter().map(test).chain([of_admin]).collect()
}

/// The scenario of headers that repeat arguments: only the admin's tools have such an argument.
const HEADERS: &str = "http-custom-header-server-validation";

/// Returns the folder for the results of the test `name`, without those of an earlier run.
fn results(programs: &Programs, name: &str) -> PathBuf {
    let results = programs.results.join(name.replace("::", "-"));
    let _ = fs::remove_dir_all(&results);
    results
}

/// Runs the suite with these arguments as the holder of `credential`.
fn suite(
    programs: &Programs,
    host: &TestHost,
    credential: &str,
    results: &Path,
    arguments: &[&str],
) -> Result<ProgramOutput, String> {
    let address = forwarder::start(host.address(), credential);
    let mut suite = programs.package("@modelcontextprotocol/conformance/dist/index.js");
    suite.args(["server", "--url", &format!("http://{address}/mcp")]).args(arguments);
    suite.arg("--output-dir").arg(results);
    run(suite)
}

fn run_suite(programs: &Programs, name: &str, revision: &str, extensions: &[&str]) -> Verdict {
    let baselines = here("baseline");
    let of_host = baselines.join(Host::chosen()?.name()).join(format!("{revision}.yaml"));
    let known = Baseline::read(&baselines.join(format!("{revision}.yaml")))?.and(&of_host)?;
    let host = TestHost::start();
    let results = results(programs, name);
    let baseline = results.with_extension("yaml");
    fs::write(&baseline, known.text()).map_err(|it| format!("{}: {it}", baseline.display()))?;

    let known_failures = baseline.display().to_string();
    let run_with = |arguments: [&str; 2]| {
        let arguments = [&arguments[..], &["--expected-failures", &known_failures]].concat();
        suite(programs, &host, &host.credential, &results, &arguments)
    };
    let required = run_with(["--requirements", revision])?;
    for extension in extensions {
        run_with(["--scenario", extension])?;
    }
    let all = ScenarioResult::all(&results)?;
    let verdict = known.judge(&all).map_err(|it| format!("{it}\n{}", results_hint(&results)))?;
    // The suite compares the required scenarios with the same baseline.
    required.success().map_err(|it| format!("the suite failed: {it}"))?;
    Ok(verdict)
}

fn results_hint(results: &Path) -> String {
    format!("each check is reported in {}", results.display())
}
