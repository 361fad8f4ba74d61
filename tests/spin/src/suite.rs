//! A suite: the tests of one file of `tests/`. They run in the emulator and, unless they
//! need a feature that only the emulator has, on Spin.
//!
//! # Invariants
//!
//! - Skipped tests are reported with a reason: an ignored test represents those that need
//!   the built application, or Spin.
//! - The tests of a suite run one after the other, because some measure time.

#![expect(clippy::panic, reason = "used by tests only: an unexpected result fails the test")]

use std::{process::ExitCode, thread};

use libtest_mimic::{Arguments, Trial};
use shared_context_system::{Client, tell};

use crate::{Emulator, Place, Program, Runtime, Setup, place::Over};

/// The number of the last log lines to repeat when a test fails.
const LINES_REPEATED: usize = 30;

/// A test of a suite.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    name: &'static str,
    run: fn(&TestHost),
    is_for_spin: bool,
}

impl Test {
    /// Creates a test that runs in the emulator and on Spin.
    pub const fn anywhere(name: &'static str, run: fn(&TestHost)) -> Self {
        Self { name, run, is_for_spin: true }
    }

    /// Creates a test that needs a feature which only the emulator has.
    pub const fn in_emulator(name: &'static str, run: fn(&TestHost)) -> Self {
        Self { name, run, is_for_spin: false }
    }
}

/// The host on which a test runs.
#[derive(Debug, Clone)]
pub struct TestHost {
    place: Place,
    /// The program; `None` for the emulator inside this process.
    runtime: Option<Runtime>,
}

/// A running application, for one test.
#[derive(Debug)]
pub struct App {
    running: RunningApp,
    admin_key: String,
}

#[derive(Debug)]
enum RunningApp {
    Emulator(Emulator),
    Program(Program),
}

/// Runs the suite `tests` with the arguments of this process.
pub fn main(tests: &[Test]) -> ExitCode {
    main_if(Ok(()), tests)
}

/// Runs the suite like [`main`], or skips it if `prerequisites` is an error: the reason,
/// such as a missing file.
pub fn main_if(prerequisites: Result<(), String>, tests: &[Test]) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(1);
    let place = match prerequisites.and_then(|()| Place::find()) {
        Ok(place) => place,
        Err(why) => {
            let skipped = vec![ignored(format!("emulator: skipped, {why}"))];
            return libtest_mimic::run(&arguments, skipped).exit_code();
        }
    };
    let trial = |test: &Test, runtime: Option<&Runtime>| {
        let name = format!("{}::{}", runtime.map_or("emulator", Runtime::name), test.name);
        let (run, host) = (test.run, TestHost { place: place.clone(), runtime: runtime.cloned() });
        Trial::test(name, move || {
            run(&host);
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

impl TestHost {
    /// Returns the folder of the application.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns true if the test runs on Spin.
    pub fn is_spin(&self) -> bool {
        self.runtime.is_some()
    }

    /// Returns a setup of the application with the storage `over`, its state in `folder`, and
    /// the keys of tests.
    pub fn setup(&self, over: Over, folder: &tempfile::TempDir) -> Setup {
        self.place.setup(over, folder.path().join("state"))
    }

    /// Starts the application of `setup`. Panics if it does not start.
    #[track_caller]
    pub fn start(&self, setup: &Setup) -> App {
        let running = match &self.runtime {
            None => Emulator::start(setup).map(RunningApp::Emulator),
            Some(runtime) => Program::start(runtime, setup).map(RunningApp::Program),
        };
        let running = running.unwrap_or_else(|error| panic!("{error:#}"));
        App { running, admin_key: setup.admin_key().to_owned() }
    }

    /// Starts the application as a process, which can be killed.
    #[track_caller]
    pub fn program(&self, setup: &Setup) -> Program {
        let runtime = self.runtime.as_ref().unwrap_or(&Runtime::Emulator);
        Program::start(runtime, setup).unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Starts the application over `SQLite` with its state in `folder`.
    #[track_caller]
    pub fn app(&self, folder: &tempfile::TempDir) -> App {
        self.start(&self.setup(Over::Sqlite, folder))
    }
}

impl App {
    /// Returns its URL, such as `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        match &self.running {
            RunningApp::Emulator(it) => it.url(),
            RunningApp::Program(it) => it.url(),
        }
    }

    /// Returns its URL without `http://`.
    pub fn address(&self) -> &str {
        self.url().strip_prefix("http://").unwrap_or_default()
    }

    /// Returns a client with the admin key.
    pub fn admin(&self) -> Client {
        Client::new(self.url(), &self.admin_key)
    }

    /// Returns a client without a credential.
    pub fn stranger(&self) -> Client {
        Client::new(self.url(), "")
    }

    /// Returns the lines that the application has written to its log.
    pub fn log(&self) -> Vec<String> {
        match &self.running {
            RunningApp::Emulator(it) => it.log(),
            RunningApp::Program(it) => it.log(),
        }
    }

    /// Returns the emulator.
    ///
    /// # Panics
    ///
    /// The test runs on Spin.
    #[track_caller]
    pub fn emulator(&self) -> &Emulator {
        match &self.running {
            RunningApp::Emulator(it) => it,
            RunningApp::Program(_) => panic!("only the emulator can do that: Test::in_emulator"),
        }
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let RunningApp::Emulator(emulator) = &self.running else { return };
        if thread::panicking() {
            for (what, lines) in [("log", emulator.log()), ("failures", emulator.failures())] {
                let skipped = lines.len().saturating_sub(LINES_REPEATED);
                let last: Vec<_> = lines.into_iter().skip(skipped).collect();
                tell(&format!("{what}, the last of it:\n{}", last.join("\n")));
            }
        }
    }
}
