//! The official clients. Each runs the interaction cycle of spec 10 in a script of its language;
//! the one in Python also hands a packet to a worker, and memories to a later session.

use std::process::Command;

use serde_json::json;
use shared_context_system::{Client, program};

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
    let memories = ["2026-07-28", "2025-11-25"].map(|version| {
        let name = format!("python::memories-{version}");
        Test::new(name, move |programs, _| run_memories(programs.python("memories.py"), version))
    });
    let handoffs = ["2026-07-28", "2025-11-25"].map(|version| {
        let name = format!("python::handoffs-{version}");
        Test::new(name, move |programs, _| run_handoffs(programs.python("handoffs.py"), version))
    });
    RUNS.iter().map(test).chain(packets).chain(memories).chain(handoffs).collect()
}

/// Runs a script in two sessions of one project on a separate host.
fn run_memories(mut script: Command, version: &str) -> Verdict {
    let host = TestHost::start();
    let admin = with_project(&host)?;
    let config = json!({"project": "webshop", "tools": ["memories"]});
    let [first, later] = ["webshop-1", "webshop-2"].map(|it| admin.create_session(it, &config));
    script.arg(version).env("SHARED_CONTEXT_URL", host.url());
    script.env("SHARED_CONTEXT_TOKEN", first.credential()).env("LATER_TOKEN", later.credential());
    count(script)
}

/// Runs a script as three participants of one session on a separate host.
fn run_handoffs(mut script: Command, version: &str) -> Verdict {
    let host = TestHost::start();
    let config = json!({"project": "webshop", "tools": ["outline"]});
    let orchestrator = with_project(&host)?.create_session("webshop-1", &config);
    script.arg(version).env("SHARED_CONTEXT_URL", host.url());
    script.env("SHARED_CONTEXT_TOKEN", orchestrator.credential());
    for (variable, participant) in
        [("GIVER_TOKEN", "subagent:giver"), ("RECEIVER_TOKEN", "subagent:receiver")]
    {
        script.env(variable, orchestrator.mint("webshop-1", participant).credential());
    }
    count(script)
}

/// Creates the project; returns a client with the admin key.
fn with_project(host: &TestHost) -> Result<Client, String> {
    let admin = Client::new(host.url(), &host.admin_key);
    let created = admin.send("PUT", "/v1/projects/webshop", None);
    if created.status != 201 {
        return Err(format!("the project was not created: {created:?}"));
    }
    Ok(admin)
}

/// Runs a script against a separate host.
fn run_cycle(mut script: Command, arguments: &[&str]) -> Verdict {
    let host = TestHost::start();
    script.args(arguments);
    script.envs(host.environment()).env("SESSION", SESSION).env("PROGRAM", program::path());
    script.env("HOST_KEEPS", if Host::chosen()?.keeps_state() { "yes" } else { "no" });
    count(script)
}

/// Runs a script, and counts its checks.
fn count(script: Command) -> Verdict {
    let output = run(script)?.success()?;
    let checks = output.lines().filter(|it| it.starts_with("ok ")).count();
    Ok(format!("{checks} checks"))
}
