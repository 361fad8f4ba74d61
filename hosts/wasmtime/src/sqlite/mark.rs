//! The high-water mark: the last acknowledged commit of a database, in a small file beside
//! it.
//!
//! `SQLite` accepts a log that was cut, or replaced by an older one, as complete. The mark
//! reveals that. It is written after a transaction is on the disk and before any caller
//! learns of it, so a database behind its mark has lost commits. It is not synced with each
//! commit: after a power failure it may be some seconds old, but never ahead. `start` acts
//! on it. Invariant: while one of its two slots is written, the newer one is not touched.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use twox_hash::XxHash3_64;

use super::format::DatabaseId;
use crate::{
    StartError, failures,
    folder::{MARK_FILE, private},
};

/// The first bytes of a slot. A new layout gets other ones.
const MAGIC: &[u8; 8] = b"sctxmrk1";
/// Each slot is in its own block.
const SLOT_BYTES: usize = 4096;
const SLOTS: usize = 2;
/// The used bytes of a slot: magic, id, number, checksum.
const POSITION_BYTES: usize = 40;

/// The content of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) id: DatabaseId,
    /// The number of the last acknowledged commit.
    pub(super) commits: i64,
}

/// The result of reading a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundMark {
    Absent,
    /// Neither slot is valid.
    Damaged,
    Valid(Position),
}

/// The mark, open for writing.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    path: PathBuf,
    position: Position,
    /// The slot to write next.
    slot: usize,
    /// True if the last write failed. The failure is logged once.
    has_failed: bool,
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(MARK_FILE)
}

/// Reads the mark of the data folder.
pub(super) fn read(folder: &Path) -> Result<FoundMark, StartError> {
    let path = path(folder);
    let mut bytes = Vec::new();
    let read = File::open(&path)
        .and_then(|file| file.take((SLOTS * SLOT_BYTES) as u64).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(it) if it.kind() == io::ErrorKind::NotFound => return Ok(FoundMark::Absent),
        Err(it) => return Err(StartError::file("read", &path, &it)),
    }
    let newest = slots(&bytes).into_iter().flatten().max_by_key(|it| it.commits);
    Ok(newest.map_or(FoundMark::Damaged, FoundMark::Valid))
}

impl Mark {
    /// Writes a new mark with `position` and syncs it.
    pub(super) fn create(folder: &Path, position: Position) -> Result<Self, StartError> {
        let path = path(folder);
        let unfinished = folder.join(format!("{MARK_FILE}.new"));
        let put = || -> io::Result<()> {
            let mut file = private().create(true).truncate(true).open(&unfinished)?;
            let mut bytes = position.bytes().to_vec();
            bytes.resize(SLOT_BYTES, 0);
            file.write_all(&bytes.repeat(SLOTS))?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            File::open(folder)?.sync_all()
        };
        put().map_err(|it| StartError::file("write", &path, &it))?;
        Self::open(path, position, 0)
    }

    /// Opens the present mark, whose newest slot belongs to the database and is not ahead
    /// of `position`.
    pub(super) fn open_existing(folder: &Path, position: Position) -> Result<Self, StartError> {
        let path = path(folder);
        let bytes = fs::read(&path).map_err(|it| StartError::file("read", &path, &it))?;
        let numbers = slots(&bytes).map(|it| it.map(|it| it.commits));
        let oldest = usize::from(numbers[1] < numbers[0]);
        let mut mark = Self::open(path, position, oldest)?;
        if !numbers.contains(&Some(position.commits)) {
            mark.record(position.commits);
        }
        Ok(mark)
    }

    fn open(path: PathBuf, position: Position, slot: usize) -> Result<Self, StartError> {
        let file = private().open(&path).map_err(|it| StartError::file("open", &path, &it))?;
        Ok(Self { file, path, position, slot, has_failed: false })
    }

    /// Returns the identity of its database.
    pub(super) fn database(&self) -> DatabaseId {
        self.position.id
    }

    /// Records that the commit number `commits` is about to be acknowledged. The commit is
    /// in the database already, so a failed write costs only the protection by the mark.
    pub(super) fn record(&mut self, commits: i64) {
        self.position.commits = commits;
        let at = (self.slot * SLOT_BYTES) as u64;
        let written = self
            .file
            .seek(SeekFrom::Start(at))
            .and_then(|_| self.file.write_all(&self.position.bytes()));
        let has_failed = written.is_err();
        match written {
            Ok(()) => self.slot = (self.slot + 1) % SLOTS,
            Err(error) if !self.has_failed => tracing::warn!(
                mark = %self.path.display(), %error,
                "could not write the mark: commits that get lost now might not be missed",
            ),
            Err(_) => {}
        }
        self.has_failed = has_failed;
    }

    /// Syncs the mark to the disk.
    pub(super) fn sync(&self) {
        if let Err(error) = self.file.sync_data()
            && let Some(suppressed) = failures::admit(&format!("mark: {error}"))
        {
            let mark = self.path.display();
            tracing::warn!(%mark, %error, suppressed, "could not sync the mark");
        }
    }
}

/// Parses the two slots.
fn slots(bytes: &[u8]) -> [Option<Position>; SLOTS] {
    let mut slots = bytes.chunks(SLOT_BYTES).map(Position::parse);
    [slots.next().flatten(), slots.next().flatten()]
}

impl Position {
    fn bytes(&self) -> [u8; POSITION_BYTES] {
        let mut bytes = [0; POSITION_BYTES];
        let content = MAGIC.iter().chain(&self.id.0).copied().chain(self.commits.to_le_bytes());
        let content: Vec<u8> = content.collect();
        let checksum = XxHash3_64::oneshot(&content).to_le_bytes();
        bytes.iter_mut().zip(content.into_iter().chain(checksum)).for_each(|(to, from)| *to = from);
        bytes
    }

    fn parse(slot: &[u8]) -> Option<Self> {
        let (magic, rest) = slot.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let position =
            Self { id: DatabaseId(*id), commits: i64::from_le_bytes(*rest.first_chunk()?) };
        let is_sound = magic == MAGIC && slot.get(..POSITION_BYTES)? == position.bytes();
        is_sound.then_some(position)
    }
}
