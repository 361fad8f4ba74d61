//! Tests `/mcp` with third-party programs: the official conformance suite, the inspector, the
//! official clients for TypeScript and Python, and the providers' packages for tool definitions.
//!
//! `cargo xtask mcp` installs the programs and runs this one. Arguments after `mcp` select tests,
//! such as `inspector` for those with that in their names. The tests run against the server; with
//! `MCP_TEST_HOST=workerd` against the Worker under workerd, with `MCP_TEST_HOST=spin` against
//! the Spin application. README.md lists the tests.
//!
//! # Invariants
//!
//! - Each test has its own host, data folder and session.
//! - A third-party program sees nothing of this process's environment, and ends with its test.

#![expect(clippy::unwrap_used, reason = "a test: it fails on any error")]

mod baseline;
mod clients;
mod conformance;
mod definitions;
mod forwarder;
mod host;
mod inspector;
mod programs;
mod recipes;

use std::{process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Trial};

use crate::{host::Host, programs::Programs};

/// The result of a test: a one-line summary, or the failure.
type Verdict = Result<String, String>;

fn main() -> Result<ExitCode, String> {
    let arguments = Arguments::from_args();
    let programs = Arc::new(Programs::find()?);
    let host = Host::chosen()?;
    let tests = [
        conformance::tests(),
        inspector::tests(),
        clients::tests(),
        definitions::tests(),
        recipes::tests(),
    ];
    let trials = tests.into_iter().flatten().map(|it| it.trial(&programs, host)).collect();
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

/// The body of a test. It gets the programs and the name of the test.
type TestBody = dyn FnOnce(&Programs, &str) -> Verdict + Send;

struct Test {
    name: String,
    run: Box<TestBody>,
}

impl Test {
    fn new(
        name: impl Into<String>,
        run: impl FnOnce(&Programs, &str) -> Verdict + Send + 'static,
    ) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    fn trial(self, programs: &Arc<Programs>, host: Host) -> Trial {
        let Self { name, run } = self;
        let name = format!("{}{name}", host.prefix());
        let programs = Arc::clone(programs);
        Trial::test(name.clone(), move || {
            let summary = run(&programs, &name)?;
            shared_context_system::tell(&format!("{name}: {summary}"));
            Ok(())
        })
    }
}
