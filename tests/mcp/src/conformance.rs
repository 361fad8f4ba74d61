//! The official conformance suite: all requirements of a specification revision for servers, and
//! scenarios of extensions.

use std::{fs, path::Path};

use crate::{
    Test, Verdict,
    baseline::{Baseline, ScenarioResult},
    forwarder,
    host::{Host, TestHost},
    programs::{Programs, here, run},
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
    REVISIONS.iter().map(test).collect()
}

fn run_suite(programs: &Programs, name: &str, revision: &str, extensions: &[&str]) -> Verdict {
    let baselines = here("baseline");
    let of_host = baselines.join(Host::chosen()?.name()).join(format!("{revision}.yaml"));
    let known = Baseline::read(&baselines.join(format!("{revision}.yaml")))?.and(&of_host)?;
    let host = TestHost::start();
    let results = programs.results.join(name.replace("::", "-"));
    // Removes the results of an earlier run.
    let _ = fs::remove_dir_all(&results);
    let baseline = results.with_extension("yaml");
    fs::write(&baseline, known.text()).map_err(|it| format!("{}: {it}", baseline.display()))?;

    let suite = |arguments: &[&str]| {
        let address = forwarder::start(host.address(), &host.credential);
        let mut suite = programs.package("@modelcontextprotocol/conformance/dist/index.js");
        suite.args(["server", "--url", &format!("http://{address}/mcp")]).args(arguments);
        suite.arg("--output-dir").arg(&results).arg("--expected-failures").arg(&baseline);
        run(suite)
    };
    let required = suite(&["--requirements", revision])?;
    for extension in extensions {
        suite(&["--scenario", extension])?;
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
