//! The official clients. Each runs the interaction cycle of spec 10 in a script of its language;
//! the one in Python also hands a packet to a worker.

use std::process::Command;

use shared_context_system::program;

use crate::{
    Test, Verdict,
    host::{Host, SESSION, TestHost},
    programs::run,
};

/// The runs: a language and its arguments. These are the package (if there are two), the protocol
/// version and the transport.
const RUNS: [(&str, &[&str]); 10] = [
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
        Test::new(name, move |programs, _| {
            let script = match language {
                "python" => programs.python("cycle.py"),
                _ => programs.script("cycle.mjs"),
            };
            run_cycle(script, arguments)
        })
    };
    let packets = ["2026-07-28", "2025-11-25"].map(|version| {
        let name = format!("python::packets-{version}");
        Test::new(name, move |programs, _| run_cycle(programs.python("packets.py"), &[version]))
    });
    RUNS.iter().map(test).chain(packets).collect()
}

/// Runs a script against a host of its own, and counts its checks.
fn run_cycle(mut script: Command, arguments: &[&str]) -> Verdict {
    let host = TestHost::start();
    script.args(arguments);
    script.envs(host.environment()).env("SESSION", SESSION).env("PROGRAM", program::path());
    script.env("HOST_KEEPS", if Host::chosen()?.keeps_state() { "yes" } else { "no" });
    let output = run(script)?.success()?;
    let checks = output.lines().filter(|it| it.starts_with("ok ")).count();
    Ok(format!("{checks} checks"))
}
