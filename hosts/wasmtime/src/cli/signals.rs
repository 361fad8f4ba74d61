//! Signals that stop a process: Ctrl-C and `SIGTERM`.

use std::{io, thread};

use super::problem::{Kind, Problem};

/// The signals that stop this process.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// Starts listening. From then on the signals do not end the process by themselves.
    ///
    /// # Errors
    ///
    /// The system provides no signals.
    #[cfg(unix)]
    pub(crate) fn new() -> Result<Self, Problem> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let message = format!("the system gives no signals: {error}");
                Problem::new(Kind::Start, "START_FAILED", message)
            })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for a signal and returns its name.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "Ctrl-C",
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "the same shape on every platform")]
    pub(crate) fn new() -> Result<Self, Problem> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> &'static str {
        drop(tokio::signal::ctrl_c().await);
        "Ctrl-C"
    }
}

/// Calls `act` when a signal asks this process to stop. From then on the signal does not
/// end the process by itself.
///
/// # Errors
///
/// The system provides no signals or no threads.
pub(crate) fn on_signal(act: impl FnOnce() + Send + 'static) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| no_thread(&error))?;
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let wait = move || {
        runtime.block_on(signals.next());
        act();
    };
    thread::Builder::new().spawn(wait).map(drop).map_err(|error| no_thread(&error))
}

/// Returns the problem that the system provides no threads.
pub(crate) fn no_thread(error: &io::Error) -> Problem {
    let message = format!("the system gives no threads: {error}");
    Problem::new(Kind::Start, "START_FAILED", message).next("stop other programs, or reboot")
}
