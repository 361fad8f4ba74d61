//! The official conformance suite: all that a revision of the specification
//! requires of a server, and what the suite has beyond that.

use std::{fs, path::Path};

use crate::{
    Test, Verdict,
    baseline::{Baseline, Outcome},
    forwarder,
    place::{Host, Place},
    strangers::{Strangers, here, run},
};

/// The revisions, each with the scenarios of extensions that are run in it: they
/// are in no set of requirements.
const REVISIONS: [(&str, &[&str]); 2] = [
    (
        "2026-07-28",
        &["sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"],
    ),
    ("2025-11-25", &[]),
];

pub(crate) fn tests() -> Vec<Test> {
    let test = |&(revision, extensions): &(&'static str, &'static [&'static str])| {
        Test::new(format!("conformance::{revision}"), move |strangers, name| {
            conform(strangers, name, revision, extensions)
        })
    };
    REVISIONS.iter().map(test).collect()
}

fn conform(strangers: &Strangers, name: &str, revision: &str, extensions: &[&str]) -> Verdict {
    let baselines = here("baseline");
    let of_host = baselines.join(Host::chosen()?.name()).join(format!("{revision}.yaml"));
    let known = Baseline::read(&baselines.join(format!("{revision}.yaml")))?.and(&of_host)?;
    let place = Place::start();
    let results = strangers.results.join(name.replace("::", "-"));
    // What an earlier run left is no result of this one.
    let _ = fs::remove_dir_all(&results);
    let baseline = results.with_extension("yaml");
    fs::write(&baseline, known.text()).map_err(|it| format!("{}: {it}", baseline.display()))?;

    let suite = |arguments: &[&str]| {
        let address = forwarder::start(place.address(), &place.credential);
        let mut suite = strangers.package("@modelcontextprotocol/conformance/dist/index.js");
        suite.args(["server", "--url", &format!("http://{address}/mcp")]).args(arguments);
        suite.arg("--output-dir").arg(&results).arg("--expected-failures").arg(&baseline);
        run(suite)
    };
    let required = suite(&["--requirements", revision])?;
    for extension in extensions {
        suite(&["--scenario", extension])?;
    }
    let all = Outcome::all(&results)?;
    let verdict = known.judge(&all).map_err(|it| format!("{it}\n{}", look_at(&results)))?;
    // The suite judges the required ones by the same file.
    required.well().map_err(|it| format!("the suite itself says no: {it}"))?;
    Ok(verdict)
}

fn look_at(results: &Path) -> String {
    format!("each check is told of in {}", results.display())
}
