//! A story: what one file of `tests/` tells, as tests that run in the stand-in and,
//! where they need nothing that only the stand-in can do, on Spin.
//!
//! # Invariants
//!
//! - What is skipped says so, and why: an ignored test stands for those that would need
//!   the built application, or Spin.
//! - The tests of a story run one after the other: some measure.

#![expect(
    clippy::panic,
    reason = "used by tests only: whatever is not as it should be fails the test"
)]

use std::{process::ExitCode, thread};

use libtest_mimic::{Arguments, Trial};
use shared_context_system::{Client, tell};

use crate::{Place, Program, Runtime, Setup, StandIn, place::Over};

/// How much is repeated of the log when a test fails, in lines.
const LINES_REPEATED: usize = 30;

/// A test of a story.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    name: &'static str,
    run: fn(&Stage),
    is_for_spin: bool,
}

impl Test {
    /// One that runs in the stand-in, and on Spin.
    pub const fn anywhere(name: &'static str, run: fn(&Stage)) -> Self {
        Self { name, run, is_for_spin: true }
    }

    /// One that needs what only the stand-in can do.
    pub const fn in_stand_in(name: &'static str, run: fn(&Stage)) -> Self {
        Self { name, run, is_for_spin: false }
    }
}

/// Where a test runs.
#[derive(Debug, Clone)]
pub struct Stage {
    place: Place,
    /// `None`: the stand-in inside of this process.
    runtime: Option<Runtime>,
}

/// An application that runs, for one test.
#[derive(Debug)]
pub struct App {
    running: Running,
    admin_key: String,
}

#[derive(Debug)]
enum Running {
    StandIn(StandIn),
    Program(Program),
}

/// Runs `tests`, the whole of one story, with the arguments of this process.
pub fn main(tests: &[Test]) -> ExitCode {
    main_if(Ok(()), tests)
}

/// As [`main`], where `has_all` says that there is all that they need beside the
/// application, or what is missing.
pub fn main_if(has_all: Result<(), String>, tests: &[Test]) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(1);
    let place = match has_all.and_then(|()| Place::find()) {
        Ok(place) => place,
        Err(why) => {
            let skipped = vec![ignored(format!("stand-in: skipped, {why}"))];
            return libtest_mimic::run(&arguments, skipped).exit_code();
        }
    };
    let trial = |test: &Test, runtime: Option<&Runtime>| {
        let name = format!("{}::{}", runtime.map_or("stand-in", Runtime::name), test.name);
        let (run, stage) = (test.run, Stage { place: place.clone(), runtime: runtime.cloned() });
        Trial::test(name, move || {
            run(&stage);
            Ok(())
        })
    };
    let mut trials: Vec<_> = tests.iter().map(|it| trial(it, None)).collect();
    let mut for_spin = tests.iter().filter(|it| it.is_for_spin).peekable();
    if for_spin.peek().is_some() {
        match Runtime::spin() {
            Ok(spin) => trials.extend(for_spin.map(|it| trial(it, Some(&spin)))),
            Err(why) => trials.push(ignored(format!("spin: skipped, {why}"))),
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn ignored(name: String) -> Trial {
    Trial::test(name, || Ok(())).with_ignored_flag(true)
}

impl Stage {
    /// Returns where the application is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns whether this is Spin.
    pub fn is_spin(&self) -> bool {
        self.runtime.is_some()
    }

    /// Returns the application over `over`, with its state in `folder`, and keys of tests.
    pub fn setup(&self, over: Over, folder: &tempfile::TempDir) -> Setup {
        self.place.setup(over, folder.path().join("state"))
    }

    /// Starts what `setup` says; it must start.
    #[track_caller]
    pub fn start(&self, setup: &Setup) -> App {
        let running = match &self.runtime {
            None => StandIn::start(setup).map(Running::StandIn),
            Some(runtime) => Program::start(runtime, setup).map(Running::Program),
        };
        let running = running.unwrap_or_else(|error| panic!("{error:#}"));
        App { running, admin_key: setup.admin_key().to_owned() }
    }

    /// Returns the same as a process, which can be killed.
    #[track_caller]
    pub fn program(&self, setup: &Setup) -> Program {
        let runtime = self.runtime.as_ref().unwrap_or(&Runtime::StandIn);
        Program::start(runtime, setup).unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Starts the application over `SQLite` with its state in `folder`.
    #[track_caller]
    pub fn app(&self, folder: &tempfile::TempDir) -> App {
        self.start(&self.setup(Over::Sqlite, folder))
    }
}

impl App {
    /// Returns where it answers, such as `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        match &self.running {
            Running::StandIn(it) => it.url(),
            Running::Program(it) => it.url(),
        }
    }

    /// Returns the same without `http://`.
    pub fn address(&self) -> &str {
        self.url().strip_prefix("http://").unwrap_or_default()
    }

    /// Returns a client with the admin key.
    pub fn admin(&self) -> Client {
        Client::new(self.url(), &self.admin_key)
    }

    /// Returns a client without credential.
    pub fn stranger(&self) -> Client {
        Client::new(self.url(), "")
    }

    /// Returns the lines that the application wrote to its log so far.
    pub fn log(&self) -> Vec<String> {
        match &self.running {
            Running::StandIn(it) => it.log(),
            Running::Program(it) => it.log(),
        }
    }

    /// Returns the stand-in, where this is no Spin.
    ///
    /// # Panics
    ///
    /// It is.
    #[track_caller]
    pub fn stand_in(&self) -> &StandIn {
        match &self.running {
            Running::StandIn(it) => it,
            Running::Program(_) => panic!("only the stand-in can do that: Test::in_stand_in"),
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let Running::StandIn(stand_in) = &self.running else { return };
        if thread::panicking() {
            for (what, lines) in [("log", stand_in.log()), ("failures", stand_in.failures())] {
                let skipped = lines.len().saturating_sub(LINES_REPEATED);
                let last: Vec<_> = lines.into_iter().skip(skipped).collect();
                tell(&format!("{what}, the last of it:\n{}", last.join("\n")));
            }
        }
    }
}
