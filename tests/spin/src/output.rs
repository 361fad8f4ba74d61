//! What components write to their standard streams, line by line.
//!
//! Like Spin, a stand-in appends it to files in the state folder
//! (`logs/COMPONENT_stderr.txt`), and the program repeats it on its own standard error.
//! In a test it is kept for the test to look at.
//!
//! Invariant: an instance that ends in the middle of a line has written that line.

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

/// How much a component may write at once. It may go on at once, too.
const AT_ONCE_BYTES: usize = 1 << 20;

/// What becomes of lines beside their file.
#[derive(Debug, Clone)]
pub(crate) enum Lines {
    /// They are kept.
    Kept(Arc<Mutex<Vec<String>>>),
    /// They are repeated on standard error, after the component's name.
    Repeated,
    /// Nothing.
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

/// A component's hold on a stream.
struct Writer {
    output: Output,
    /// What was written of a line so far.
    begun: Vec<u8>,
}

impl Lines {
    /// For lines to be kept.
    pub(crate) fn to_keep() -> Self {
        Self::Kept(Arc::default())
    }

    /// One more, of `component`.
    pub(crate) fn add(&self, component: &str, line: &str) {
        match self {
            Self::Kept(lines) => lock(lines).push(line.to_owned()),
            // Where nobody reads them, they are lost.
            Self::Repeated => drop(writeln!(io::stderr(), "{component}: {line}")),
            Self::Quiet => {}
        }
    }

    /// Returns those kept so far.
    pub(crate) fn kept(&self) -> Vec<String> {
        match self {
            Self::Kept(lines) => lock(lines).clone(),
            Self::Repeated | Self::Quiet => Vec::new(),
        }
    }

    /// Returns those kept so far, which are kept no longer.
    pub(crate) fn take(&self) -> Vec<String> {
        match self {
            Self::Kept(lines) => mem::take(&mut *lock(lines)),
            Self::Repeated | Self::Quiet => Vec::new(),
        }
    }
}

impl Output {
    /// Returns that of `component` called `name` (`stderr`), with its file in `folder`.
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
        // A log that cannot be written is no reason to fail a request.
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
        Box::new(Writer { output: self.clone(), begun: Vec::new() })
    }

    /// Returns that of WASI 0.3, which no component here has.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }
}

impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> Result<(), StreamError> {
        let mut pieces = bytes.split(|it| *it == b'\n');
        self.begun.extend_from_slice(pieces.next().unwrap_or_default());
        for piece in pieces {
            self.output.line(&mem::take(&mut self.begun));
            self.begun.extend_from_slice(piece);
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
        if !self.begun.is_empty() {
            self.output.line(&self.begun);
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
        let lines = Lines::to_keep();
        let output = Output::open("notes", "stderr", folder.path(), lines.clone()).unwrap();
        let mut writer = output.p2_stream();
        for piece in ["one\ntw", "o", "\n\nth", "ree"] {
            writer.write(Bytes::from_static(piece.as_bytes())).unwrap();
        }
        assert_eq!(lines.kept(), ["one", "two", ""]);
        drop(writer);
        assert_eq!(lines.take(), ["one", "two", "", "three"]);
        assert_eq!(lines.kept(), [""; 0]);
        let file = fs::read_to_string(folder.path().join("notes_stderr.txt")).unwrap();
        assert_eq!(file, "one\ntwo\n\nthree\n");
    }
}
