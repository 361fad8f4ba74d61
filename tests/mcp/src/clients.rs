//! The official clients: each plays the interaction cycle of spec 10 by a script of
//! its own language.

use std::process::Command;

use shared_context_system::program;

use crate::{
    Test, Verdict,
    place::{Host, Place, SESSION},
    strangers::run,
};

/// Each script with its arguments: the package where there are two, the version of
/// the protocol, the way to the server.
const PLAYS: [(&str, &[&str]); 10] = [
    ("typescript", &["client", "2026-07-28", "http"]),
    ("typescript", &["client", "2025-11-25", "http"]),
    ("typescript", &["client", "2025-06-18", "http"]),
    ("typescript", &["client", "2026-07-28", "stdio"]),
    ("typescript", &["sdk", "2025-11-25", "http"]),
    ("typescript", &["sdk", "2025-11-25", "stdio"]),
    ("python", &["2026-07-28", "http"]),
    ("python", &["2025-11-25", "http"]),
    ("python", &["2026-07-28", "stdio"]),
    ("python", &["2025-11-25", "stdio"]),
];

pub(crate) fn tests() -> Vec<Test> {
    let test = |&(language, arguments): &(&'static str, &'static [&'static str])| {
        let name = format!("{language}::{}", arguments.join("-"));
        Test::new(name, move |strangers, _| {
            let script = match language {
                "python" => strangers.python("cycle.py"),
                _ => strangers.script("cycle.mjs"),
            };
            play(script, arguments)
        })
    };
    PLAYS.iter().map(test).collect()
}

fn play(mut script: Command, arguments: &[&str]) -> Verdict {
    let place = Place::start();
    script.args(arguments);
    script.envs(place.environment()).env("SESSION", SESSION).env("PROGRAM", program::path());
    script.env("HOST_KEEPS", if Host::chosen()?.is_kept() { "yes" } else { "no" });
    let said = run(script)?.well()?;
    let checks = said.lines().filter(|it| it.starts_with("ok ")).count();
    Ok(format!("{checks} checks"))
}
