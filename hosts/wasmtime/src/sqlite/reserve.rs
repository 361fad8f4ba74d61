//! The reserve: disk space set aside so that deletions can be stored on a full disk.
//!
//! The writer decides which commits may use it.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use super::file::with_suffix;
use crate::folder::private;

/// The size of the reserve. A deletion writes some dozen pages, and the log is truncated
/// after each commit while the disk is full.
const RESERVE_BYTES: usize = 2 << 20;
/// How much is released at a time.
const STEP_BYTES: u64 = 512 << 10;
/// How much more space must be free before the disk no longer counts as full.
const ROOM_BYTES: usize = 1 << 20;
/// The space needed to open a database: for its log and the shared memory of its readers.
const START_BYTES: usize = 128 << 10;

/// A file that reserves disk space.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    /// True after some of it was released, until it is restored.
    is_in_use: bool,
}

impl Reserve {
    /// Finds the reserve in the file at `path`. If the disk is full, releases some of it,
    /// so that a database can be opened.
    pub(super) fn find(path: PathBuf) -> Self {
        let mut reserve = Self { path, is_in_use: false };
        if reserve.bytes() > 0 && !reserve.has_room(START_BYTES) {
            reserve.release();
        }
        reserve
    }

    /// Fills the reserve if there is space. Without it, a full disk accepts no commit at
    /// all.
    pub(super) fn set_aside(&mut self) {
        if !self.restore() {
            tracing::warn!("the disk has no room to set aside for deletions when it is full");
        }
    }

    /// Returns true if only commits that free space may be stored.
    pub(super) fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    /// Refills the reserve, if there is space for that and some more. Returns true if there
    /// is.
    pub(super) fn restore(&mut self) -> bool {
        let before = self.bytes();
        let missing = RESERVE_BYTES.saturating_sub(usize::try_from(before).unwrap_or(0));
        let has_room = self.append(missing).is_ok() && self.has_room(ROOM_BYTES);
        if has_room {
            self.is_in_use = false;
        } else {
            self.shorten(before);
        }
        has_room
    }

    fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |it| it.len())
    }

    /// Lengthens the file. It writes the bytes, because a sparse file reserves no space.
    fn append(&self, bytes: usize) -> io::Result<()> {
        let mut file = private().create(true).append(true).open(&self.path)?;
        file.write_all(&vec![1; bytes])
    }

    /// Returns true if the disk has space for this many more bytes.
    fn has_room(&self, bytes: usize) -> bool {
        let scratch = with_suffix(&self.path, "-room");
        let written = fs::write(&scratch, vec![1; bytes]);
        drop(fs::remove_file(&scratch));
        written.is_ok()
    }

    /// Releases some of the reserve. Returns false if nothing was left.
    pub(super) fn release(&mut self) -> bool {
        self.is_in_use = true;
        let left = self.bytes();
        left > 0 && self.shorten(left.saturating_sub(STEP_BYTES))
    }

    /// Shortens the file to `bytes`.
    fn shorten(&self, bytes: u64) -> bool {
        let file = private().open(&self.path);
        file.and_then(|it| it.set_len(bytes)).is_ok()
    }
}
