//! A line on standard error while something takes longer than a second.
//!
//! # Invariant
//!
//! It is written only to a terminal, and nothing of it is left there: not when the work
//! ends, not when it fails.

use std::{
    io::{self, IsTerminal, Write},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The time after which something takes long.
const LONG: Duration = Duration::from_secs(1);
/// The time between two updates of the line.
const UPDATE: Duration = Duration::from_millis(500);
/// The longest line, also on a terminal of unknown width.
const WIDTH_MAX: usize = 79;

/// A line about work that may take long. It is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<Running>);

#[derive(Debug)]
struct Running {
    done: Sender<()>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Starts the clock of `work`, such as "exporting ticket-7".
    pub(crate) fn start(work: &str) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let width = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| width.0);
        // A line as wide as the terminal would begin another one.
        let width = width.map_or(WIDTH_MAX, |it| usize::from(it).saturating_sub(1).min(WIDTH_MAX));
        Self::on(anstream::stderr(), super::output::plain(work).into_owned(), width, LONG, UPDATE)
    }

    /// Starts the clock of `work`. The line is on `out` after `long`, and then every
    /// `update`.
    fn on(
        mut out: impl Write + Send + 'static,
        work: String,
        width: usize,
        long: Duration,
        update: Duration,
    ) -> Self {
        let (done, is_done) = channel::<()>();
        let begin = Instant::now();
        let tick = move || {
            let mut pause = long;
            let mut length = 0_usize;
            while is_done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let time = format!(" … {} s", begin.elapsed().as_secs());
                let room = width.saturating_sub(time.chars().count());
                let line: String = work.chars().take(room).chain(time.chars()).collect();
                length = length.max(line.chars().count());
                drop(write!(out, "\r{line}").and_then(|()| out.flush()));
                pause = update;
            }
            if length > 0 {
                drop(write!(out, "\r{:length$}\r", "").and_then(|()| out.flush()));
            }
        };
        // Without a thread there is no line; the work goes on.
        let thread = thread::Builder::new().spawn(tick).ok();
        Self(thread.map(|thread| Running { done, thread }))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Running { done, thread }) = self.0.take() {
            drop(done);
            drop(thread.join());
        }
    }
}

/// Formats a number of bytes.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{} MiB", bytes.div_ceil(1_048_576)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender};

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    /// A terminal that sends on what is written to it.
    struct Terminal(Sender<String>);

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Starts a line of this width on a terminal.
    fn started(work: &str, width: usize, long: Duration) -> (Progress, Receiver<String>) {
        let (sender, written) = channel();
        (Progress::on(Terminal(sender), work.to_owned(), width, long, HOUR), written)
    }

    #[test]
    fn a_line_is_shown_and_then_removed() {
        let (progress, written) = started("exporting a", 40, Duration::ZERO);
        let mut text = String::new();
        while !text.ends_with('s') {
            text += &written.recv().unwrap();
        }
        assert_eq!(text, "\rexporting a … 0 s");
        drop(progress);
        let removed: String = written.iter().collect();
        assert_eq!(removed, format!("\r{}\r", " ".repeat(text.chars().count() - 1)));
    }

    #[test]
    fn a_line_fits_the_terminal() {
        let (progress, written) = started(&"x".repeat(99), 20, Duration::ZERO);
        let mut text = String::new();
        while !text.ends_with('s') {
            text += &written.recv().unwrap();
        }
        assert_eq!(text.chars().count(), 21, "{text:?}");
        drop(progress);
    }

    #[test]
    fn what_is_done_soon_shows_nothing() {
        let (progress, written) = started("exporting a", 40, HOUR);
        drop(progress);
        assert_eq!(written.iter().count(), 0);
    }

    #[test]
    fn a_size_is_in_kib_or_mib() {
        assert_eq!([0, 1, 1_048_577].map(size), ["0 KiB", "1 KiB", "2 MiB"]);
    }
}
