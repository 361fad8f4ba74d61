//! Room on the disk that is set aside while there is some, so that what makes room can be
//! stored where there is none.
//!
//! Not here: which commits may use it.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use super::file::with_suffix;
use crate::folder::private;

/// What is set aside. A deletion writes some dozen pages, and the log is emptied after
/// each while the disk is full.
const RESERVE_BYTES: usize = 2 << 20;
/// How much is given up at a time.
const STEP_BYTES: u64 = 512 << 10;
/// How much room there must be besides, that a full disk counts as one no longer.
const ROOM_BYTES: usize = 1 << 20;
/// How much room it takes to open a database: its log and what its readers share.
const START_BYTES: usize = 128 << 10;

/// A file that stands for room.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    /// Whether some of it was given up, and not set aside again since.
    is_in_use: bool,
}

impl Reserve {
    /// Returns what was set aside in the file at `path`. Where the disk is full, some of it is
    /// given up, so that a database can be opened.
    pub(super) fn find(path: PathBuf) -> Self {
        let mut reserve = Self { path, is_in_use: false };
        if reserve.bytes() > 0 && !reserve.has_room(START_BYTES) {
            reserve.give_up();
        }
        reserve
    }

    /// Sets room aside, if there is some. Without, a full disk takes nothing at all.
    pub(super) fn set_aside(&mut self) {
        if !self.restore() {
            tracing::warn!("the disk has no room to set aside for deletions when it is full");
        }
    }

    /// Returns whether only what makes room may be stored.
    pub(super) fn is_in_use(&self) -> bool {
        self.is_in_use
    }

    /// Sets aside all of it again, if there is room for that and some more. Returns whether
    /// there is.
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

    /// Makes the file longer. What is announced only is no room yet, so it is written.
    fn append(&self, bytes: usize) -> io::Result<()> {
        let mut file = private().create(true).append(true).open(&self.path)?;
        file.write_all(&vec![1; bytes])
    }

    /// Returns whether the disk has room for so many bytes besides.
    fn has_room(&self, bytes: usize) -> bool {
        let scratch = with_suffix(&self.path, "-room");
        let written = fs::write(&scratch, vec![1; bytes]);
        drop(fs::remove_file(&scratch));
        written.is_ok()
    }

    /// Gives up some of it. Returns whether there was any left.
    pub(super) fn give_up(&mut self) -> bool {
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
