//! The mark: which commit of which database was acknowledged last, in a small
//! file beside it.
//!
//! `SQLite` takes a log that was cut, or swapped for an older one, for all there
//! ever was. The mark remembers otherwise. It is written after a transaction is on
//! the disk and before anyone hears of it, so a database that is behind its mark
//! has lost something. It is not synced with each commit: after the machine lost
//! its power it may be some seconds old, never ahead. Not here: what follows from
//! it (`file`). Invariant: the newer of its two slots is not touched while the
//! other one is written.

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

/// What a slot begins with; another form of it would have another one.
const MAGIC: &[u8; 8] = b"sctxmrk1";
/// Each slot is in a block of its own.
const SLOT_BYTES: usize = 4096;
const SLOTS: usize = 2;
/// Of a slot, the part that is written: magic, id, number, checksum.
const TOLD_BYTES: usize = 40;

/// What a mark tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) id: DatabaseId,
    /// The number of the last acknowledged commit.
    pub(super) commits: i64,
}

/// What there is of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Absent,
    /// Neither slot can be read.
    Damaged,
    Told(Told),
}

/// The mark, as the writer has it.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
    path: PathBuf,
    told: Told,
    /// The slot to be written next.
    slot: usize,
    /// Whether the last write failed: it is told once.
    has_failed: bool,
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(MARK_FILE)
}

/// Reads the mark of the data folder.
pub(super) fn read(folder: &Path) -> Result<Found, StartError> {
    let path = path(folder);
    let mut bytes = Vec::new();
    let read = File::open(&path)
        .and_then(|file| file.take((SLOTS * SLOT_BYTES) as u64).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(it) if it.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
        Err(it) => return Err(StartError::file("read", &path, &it)),
    }
    let newest = slots(&bytes).into_iter().flatten().max_by_key(|it| it.commits);
    Ok(newest.map_or(Found::Damaged, Found::Told))
}

impl Mark {
    /// Makes the mark of the data folder say `told`, on the disk.
    pub(super) fn put(folder: &Path, told: Told) -> Result<Self, StartError> {
        let path = path(folder);
        let unfinished = folder.join(format!("{MARK_FILE}.new"));
        let put = || -> io::Result<()> {
            let mut file = private().create(true).truncate(true).open(&unfinished)?;
            let mut bytes = told.bytes().to_vec();
            bytes.resize(SLOT_BYTES, 0);
            file.write_all(&bytes.repeat(SLOTS))?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            File::open(folder)?.sync_all()
        };
        put().map_err(|it| StartError::file("write", &path, &it))?;
        Self::open(path, told, 0)
    }

    /// Takes up the mark that is there, whose newest slot belongs to the database
    /// and is not ahead of `told`.
    pub(super) fn take_up(folder: &Path, told: Told) -> Result<Self, StartError> {
        let path = path(folder);
        let bytes = fs::read(&path).map_err(|it| StartError::file("read", &path, &it))?;
        let numbers = slots(&bytes).map(|it| it.map(|it| it.commits));
        let oldest = usize::from(numbers[1] < numbers[0]);
        let mut mark = Self::open(path, told, oldest)?;
        if !numbers.contains(&Some(told.commits)) {
            mark.tell(told.commits);
        }
        Ok(mark)
    }

    fn open(path: PathBuf, told: Told, slot: usize) -> Result<Self, StartError> {
        let file = private().open(&path).map_err(|it| StartError::file("open", &path, &it))?;
        Ok(Self { file, path, told, slot, has_failed: false })
    }

    /// Returns the identity of its database.
    pub(super) fn database(&self) -> DatabaseId {
        self.told.id
    }

    /// Says that the commit number `commits` is about to be acknowledged. The
    /// database has it: a mark that cannot be written costs no commit, only its
    /// own use.
    pub(super) fn tell(&mut self, commits: i64) {
        self.told.commits = commits;
        let at = (self.slot * SLOT_BYTES) as u64;
        let written = self
            .file
            .seek(SeekFrom::Start(at))
            .and_then(|_| self.file.write_all(&self.told.bytes()));
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

    /// Brings what was told to the disk.
    pub(super) fn sync(&self) {
        if let Err(error) = self.file.sync_data()
            && let Some(suppressed) = failures::admit(&format!("mark: {error}"))
        {
            let mark = self.path.display();
            tracing::warn!(%mark, %error, suppressed, "could not sync the mark");
        }
    }
}

/// Returns what stands in the two slots.
fn slots(bytes: &[u8]) -> [Option<Told>; SLOTS] {
    let mut slots = bytes.chunks(SLOT_BYTES).map(Told::parse);
    [slots.next().flatten(), slots.next().flatten()]
}

impl Told {
    fn bytes(&self) -> [u8; TOLD_BYTES] {
        let mut bytes = [0; TOLD_BYTES];
        let told = MAGIC.iter().chain(&self.id.0).copied().chain(self.commits.to_le_bytes());
        let told: Vec<u8> = told.collect();
        let checksum = XxHash3_64::oneshot(&told).to_le_bytes();
        bytes.iter_mut().zip(told.into_iter().chain(checksum)).for_each(|(to, from)| *to = from);
        bytes
    }

    fn parse(slot: &[u8]) -> Option<Self> {
        let (magic, rest) = slot.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let told = Self { id: DatabaseId(*id), commits: i64::from_le_bytes(*rest.first_chunk()?) };
        let is_sound = magic == MAGIC && slot.get(..TOLD_BYTES)? == told.bytes();
        is_sound.then_some(told)
    }
}
