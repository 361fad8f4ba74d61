//! What strangers' programs say of `/mcp`: the official conformance suite, the
//! inspector, the official clients for TypeScript and Python, and the checks of
//! the providers' packages for tool definitions.
//!
//! `cargo xtask mcp` brings the strangers and runs this; what follows `mcp` is
//! given to it, such as `inspector` to run the tests with that in their names.
//! They look at the started server; with `STRANGERS_HOST=workerd` at the Worker under
//! workerd, with `STRANGERS_HOST=spin` at the application of Spin. See README.md for
//! what each of them looks at.
//!
//! # Invariants
//!
//! - Each test has a host, a data folder and a session of its own.
//! - A stranger sees nothing of this process's environment, and is gone when its
//!   test is over.

#![expect(clippy::unwrap_used, reason = "a test: whatever is not as it should be fails it")]

mod baseline;
mod clients;
mod conformance;
mod definitions;
mod forwarder;
mod inspector;
mod place;
mod strangers;

use std::{process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Trial};

use crate::{place::Host, strangers::Strangers};

/// What a test ends with: a line that says what was seen, or what went wrong.
type Verdict = Result<String, String>;

fn main() -> Result<ExitCode, String> {
    let arguments = Arguments::from_args();
    let strangers = Arc::new(Strangers::find()?);
    let host = Host::chosen()?;
    let tests = [conformance::tests(), inspector::tests(), clients::tests(), definitions::tests()];
    let trials = tests.into_iter().flatten().map(|it| it.trial(&strangers, host)).collect();
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

/// What a test does, given its name.
type Run = dyn FnOnce(&Strangers, &str) -> Verdict + Send;

struct Test {
    name: String,
    run: Box<Run>,
}

impl Test {
    fn new(
        name: impl Into<String>,
        run: impl FnOnce(&Strangers, &str) -> Verdict + Send + 'static,
    ) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    fn trial(self, strangers: &Arc<Strangers>, host: Host) -> Trial {
        let Self { name, run } = self;
        let name = format!("{}{name}", host.prefix());
        let strangers = Arc::clone(strangers);
        Trial::test(name.clone(), move || {
            let said = run(&strangers, &name)?;
            shared_context_system::tell(&format!("{name}: {said}"));
            Ok(())
        })
    }
}
