//! The standard streams of components, line by line.
//!
//! Like Spin, the emulator appends them to files in the state folder
//! (`logs/COMPONENT_stderr.txt`), and the program repeats them on its own standard error.
//! In a test they are collected for the test.
//!
//! Invariant: when an instance ends in the middle of a line, that line is written.

use std::{
    fs::{self, File},
    future::Future,
    io::{self, Write as _},
    mem,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::Context as _;
use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamError},
};

/// The maximum bytes of one write. The next write is allowed immediately.
const AT_ONCE_BYTES: usize = 1 << 20;

/// The destination of lines, beside their file.
#[derive(Debug, Clone)]
pub(crate) enum Lines {
    /// Collects the lines.
    Collected(Arc<Mutex<Vec<String>>>),
    /// Repeats the lines on standard error, after the component's name.
    Repeated,
    /// Drops the lines.
    Quiet,
}

/// One of the standard streams of a component.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    component: String,
    lines: Lines,
    file: Mutex<File>,
}

/// A component's handle to a stream.
struct Writer {
    output: Output,
    /// The incomplete last line.
    partial: Vec<u8>,
}

impl Lines {
    /// Creates an empty collection of lines.
    pub(crate) fn collect() -> Self {
        Self::Collected(Arc::default())
    }

    /// Adds a line of `component`.
    pub(crate) fn add(&self, component: &str, line: &str) {
        match self {
            Self::Collected(lines) => lock(lines).push(line.to_owned()),
            // If stderr is closed, the line is lost.
            Self::Repeated => drop(writeln!(io::stderr(), "{component}: {line}")),
            Self::Quiet => {}
        }
    }

    /// Returns the lines collected so far.
    pub(crate) fn collected(&self) -> Vec<String> {
        match self {
            Self::Collected(lines) => lock(lines).clone(),
            Self::Repeated | Self::Quiet => Vec::new(),
        }
    }

    /// Removes and returns the lines collected so far.
    pub(crate) fn take(&self) -> Vec<String> {
        match self {
            Self::Collected(lines) => mem::take(&mut *lock(lines)),
            Self::Repeated | Self::Quiet => Vec::new(),
        }
    }
}

impl Output {
    /// Opens the stream `name` (`stderr`) of `component`, with its file in `folder`.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub(crate) fn open(
        component: &str,
        name: &str,
        folder: &Path,
        lines: Lines,
    ) -> anyhow::Result<Self> {
        let path = folder.join(format!("{component}_{name}.txt"));
        let open = || {
            fs::create_dir_all(folder)?;
            File::options().create(true).append(true).open(&path)
        };
        let file = open().with_context(|| format!("cannot open {}", path.display()))?;
        let inner = Inner { component: component.to_owned(), lines, file: Mutex::new(file) };
        Ok(Self { inner: Arc::new(inner) })
    }

    fn line(&self, line: &[u8]) {
        let Inner { component, lines, file } = &*self.inner;
        let mut whole = line.to_owned();
        whole.push(b'\n');
        // A request does not fail because its log cannot be written.
        drop(lock(file).write_all(&whole));
        lines.add(component, &String::from_utf8_lossy(line));
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Writer { output: self.clone(), partial: Vec::new() })
    }

    /// Returns the stream of WASI 0.3, which no component here uses.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }
}

impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> Result<(), StreamError> {
        let mut pieces = bytes.split(|it| *it == b'\n');
        self.partial.extend_from_slice(pieces.next().unwrap_or_default());
        for piece in pieces {
            self.output.line(&mem::take(&mut self.partial));
            self.partial.extend_from_slice(piece);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(AT_ONCE_BYTES)
    }
}

impl Pollable for Writer {
    fn ready<'a, 'b>(&'a mut self) -> Pin<Box<dyn Future<Output = ()> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {})
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.partial.is_empty() {
            self.output.line(&self.partial);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let lines = Lines::collect();
        let output = Output::open("notes", "stderr", folder.path(), lines.clone()).unwrap();
        let mut writer = output.p2_stream();
        for piece in ["one\ntw", "o", "\n\nth", "ree"] {
            writer.write(Bytes::from_static(piece.as_bytes())).unwrap();
        }
        assert_eq!(lines.collected(), ["one", "two", ""]);
        drop(writer);
        assert_eq!(lines.take(), ["one", "two", "", "three"]);
        assert_eq!(lines.collected(), [""; 0]);
        let file = fs::read_to_string(folder.path().join("notes_stderr.txt")).unwrap();
        assert_eq!(file, "one\ntwo\n\nthree\n");
    }
}
