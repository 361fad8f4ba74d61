//! A recorded run of the storage: its acknowledged commits, and its files after each.
//!
//! The runs are determined by a seed; the files are not, because a database has a random
//! id.

use std::{collections::BTreeMap, env, fs, path::Path, sync::mpsc};

use rusqlite::Connection;
use shared_context_core::port::{Bucket, Change, CommitError, Kv, Revision};
use tempfile::{TempDir, tempdir, tempdir_in};

use super::{open, put};
use crate::sqlite::{NextExpiry, SqliteKv, SqliteOptions};

pub(super) const DATABASE: &str = "shared-context.db";
pub(super) const LOG: &str = "shared-context.db-wal";
pub(super) const MARK: &str = "shared-context.mark";
pub(super) const FILES: [&str; 3] = [DATABASE, LOG, MARK];

/// Returns how many images each test tries: `SHARED_CONTEXT_IMAGES`, or a small default.
pub(super) fn images_wanted() -> usize {
    env::var("SHARED_CONTEXT_IMAGES").ok().and_then(|it| it.parse().ok()).unwrap_or(300)
}

/// Creates a folder in memory if possible: images are short-lived.
pub(super) fn scratch() -> TempDir {
    tempdir_in("/dev/shm").or_else(|_| tempdir()).unwrap()
}

/// A seeded random number generator (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }

    /// Returns a number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_u64() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }
}

/// The revision and rows of each bucket.
pub(super) type Contents = BTreeMap<String, (u64, BTreeMap<String, Vec<u8>>)>;

/// The files of a data folder at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Image(pub(super) BTreeMap<&'static str, Vec<u8>>);

impl Image {
    pub(super) fn of(folder: &Path) -> Self {
        let read = |file: &&'static str| Some((*file, fs::read(folder.join(file)).ok()?));
        Self(FILES.iter().filter_map(read).collect())
    }

    pub(super) fn write(&self, folder: &Path) {
        for (file, bytes) in &self.0 {
            fs::write(folder.join(file), bytes).unwrap();
        }
    }

    pub(super) fn bytes(&self, file: &str) -> &[u8] {
        self.0.get(file).map_or(&[], Vec::as_slice)
    }

    /// Returns a copy with `file` taken from `other`.
    pub(super) fn with(&self, file: &'static str, other: &Self) -> Self {
        let mut image = self.clone();
        match other.0.get(file) {
            Some(bytes) => image.0.insert(file, bytes.clone()),
            None => image.0.remove(file),
        };
        image
    }

    /// Returns a copy with `file` changed.
    pub(super) fn changed(&self, file: &'static str, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut image = self.clone();
        change(image.0.get_mut(file).unwrap());
        image
    }
}

/// The acknowledged contents and the files of a run.
#[derive(Debug)]
pub(super) struct Recording {
    /// The contents after each commit, by its number.
    contents: Vec<Contents>,
    pub(super) moments: Vec<Moment>,
}

/// The files between two transactions.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) image: Image,
    /// The number of commits acknowledged until then.
    pub(super) commits: usize,
}

/// The outcome of opening an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It holds exactly the contents after the commit with this number.
    Whole(usize),
    Rejected(String),
}

impl Recording {
    /// Records `count` transactions. On the way, the log is copied and restarted, and the
    /// storage is closed and opened.
    pub(super) fn play(seed: u64, count: usize) -> Self {
        let folder = scratch();
        let mut rng = Rng(seed);
        let mut kv = open(folder.path());
        let mut it = Self { contents: vec![Contents::new()], moments: Vec::new() };
        it.record(folder.path());
        for nth in 1..=count {
            transact(&kv, &mut it.contents, &mut rng);
            if nth == count / 3 {
                drop(kv);
                kv = open(folder.path());
            }
            if nth == count / 2 || nth == count * 5 / 6 {
                // As a busy writer does: later commits overwrite the log.
                let database = Connection::open(folder.path().join(DATABASE)).unwrap();
                let busy: i64 = database
                    .query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0))
                    .unwrap();
                assert_eq!(busy, 0);
            }
            it.record(folder.path());
        }
        it
    }

    fn record(&mut self, folder: &Path) {
        let (image, commits) = (Image::of(folder), self.contents.len() - 1);
        self.moments.push(Moment { image, commits });
    }

    pub(super) fn last(&self) -> &Moment {
        self.moments.last().unwrap()
    }

    /// Opens `image`, in which the first `acknowledged` commits must be. Asserts that it
    /// holds the contents after one of the commits from there on, or that it is rejected
    /// with a clear error and left unchanged.
    #[track_caller]
    pub(super) fn check(&self, image: &Image, acknowledged: usize, what: &str) -> Outcome {
        let folder = scratch();
        image.write(folder.path());
        self.check_folder(folder.path(), acknowledged, what)
    }

    #[track_caller]
    pub(super) fn check_folder(&self, folder: &Path, acknowledged: usize, what: &str) -> Outcome {
        let before = Image::of(folder);
        let is_whole = |it: &Outcome| matches!(it, Outcome::Whole(_));
        let outcome = self.check_small(folder, &before, acknowledged, what);
        self.check_large(&before, acknowledged, is_whole(&outcome), what);
        outcome
    }

    /// Opens `image` as a large database, whose rows are verified while it is served. Asserts
    /// that each bucket it opens has the contents after one and the same commit, and that it
    /// opens all of them if the image `is_whole`.
    #[track_caller]
    fn check_large(&self, image: &Image, acknowledged: usize, is_whole: bool, what: &str) {
        let folder = scratch();
        image.write(folder.path());
        let options = SqliteOptions { verified_first_bytes_max: 0, ..SqliteOptions::default() };
        let kv = match SqliteKv::open(folder.path(), &options) {
            Ok(kv) => kv,
            Err(error) => return assert!(!is_whole, "{what}: {error}"),
        };
        let served: Contents =
            self.names().filter_map(|it| Some((it.clone(), read(&kv, it)?))).collect();
        assert!(!is_whole || served.len() == self.names().count(), "{what}: {served:?}");
        let nothing = Default::default();
        let mut moments = self.contents.iter().skip(acknowledged);
        let is_served = moments
            .any(|it| served.iter().all(|(name, found)| it.get(name).unwrap_or(&nothing) == found));
        assert!(is_served, "SERVED SHORT: {what}");
    }

    /// Returns the names of all buckets that the run ever wrote.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.contents.last().unwrap().keys()
    }

    #[track_caller]
    fn check_small(
        &self,
        folder: &Path,
        before: &Image,
        acknowledged: usize,
        what: &str,
    ) -> Outcome {
        match SqliteKv::open(folder, &SqliteOptions::default()) {
            Ok(kv) => {
                let found = contents(&kv, self);
                let is_it = |nth: &usize| self.contents[*nth] == found;
                let nth = (acknowledged..self.contents.len()).find(is_it);
                let old = (0..acknowledged).rev().find(is_it);
                let nth = nth.unwrap_or_else(|| panic!("LOST: {what}; as after {old:?}"));
                Outcome::Whole(nth)
            }
            Err(error) => {
                let message = error.to_string();
                assert!(
                    message.contains(&folder.join(DATABASE).display().to_string()),
                    "{message}"
                );
                let advises = ["estore", "start the version that wrote it"];
                assert!(advises.iter().any(|it| message.contains(it)), "{what}: {message}");
                assert!(Image::of(folder) == *before, "{what}: rejected, but changed: {message}");
                Outcome::Rejected(message)
            }
        }
    }
}

/// Returns the contents of `kv`, including all buckets that the run ever wrote.
fn contents(kv: &SqliteKv, recording: &Recording) -> Contents {
    let mut names = kv.names(None, usize::MAX).unwrap();
    names.extend(recording.names().cloned());
    let read = |name: String| {
        let found = read(kv, &name).unwrap();
        (name, found)
    };
    names.into_iter().map(read).filter(|(_, (revision, _))| *revision > 0).collect()
}

/// Returns the revision and the rows of a bucket, or `None` if they cannot be read.
fn read(kv: &SqliteKv, name: &str) -> Option<(u64, BTreeMap<String, Vec<u8>>)> {
    let bucket = kv.open(name).ok()?;
    let rows = bucket.scan("", None, u32::MAX).ok()?;
    for (row, value) in rows.iter().take(3) {
        assert_eq!(bucket.get(row).unwrap().as_ref(), Some(value));
    }
    Some((bucket.revision().0, rows.into_iter().collect()))
}

/// Makes one to four commits to different buckets, which may share a transaction, and one
/// that conflicts. Appends the contents after each.
fn transact(kv: &SqliteKv, contents: &mut Vec<Contents>, rng: &mut Rng) {
    let first = rng.below(BUCKETS);
    let mut outcomes = Vec::new();
    for nth in 0..=rng.below(4) {
        let name = format!("session/{:02}", (first + nth) % BUCKETS);
        let mut now = contents.last().unwrap().clone();
        let (revision, rows) = now.entry(name.clone()).or_default();
        let changes = changes(rng);
        let (done, outcome) = mpsc::channel();
        let at = Revision(*revision);
        let next = NextExpiry::Known(None);
        kv.submit(&name, at, changes.clone(), next, move |it| done.send(it).unwrap());
        *revision += 1;
        outcomes.push((outcome, Ok(Revision(*revision))));
        for change in changes {
            match change {
                Change::Put(row, value) => drop(rows.insert(row, value)),
                Change::Delete(row) => drop(rows.remove(&row)),
                Change::DeletePrefix(prefix) => rows.retain(|row, _| !row.starts_with(&prefix)),
            }
        }
        contents.push(now);
    }
    let (done, outcome) = mpsc::channel();
    let late = format!("session/{first:02}");
    let changes = vec![put("x", "late")];
    let done = move |it| done.send(it).unwrap();
    kv.submit(&late, Revision(999), changes, NextExpiry::Unknown, done);
    outcomes.push((outcome, Err(CommitError::Conflict)));
    for (outcome, expected) in outcomes {
        assert_eq!(outcome.recv().unwrap(), expected);
    }
}

const BUCKETS: usize = 12;

fn changes(rng: &mut Rng) -> Vec<Change> {
    let change = |rng: &mut Rng| match rng.below(20) {
        0 => Change::DeletePrefix("v/key_1".to_owned()),
        1 if rng.below(5) == 0 => Change::DeletePrefix(String::new()),
        1..4 => Change::Delete(format!("k/key_{}", rng.below(9))),
        4 => put("long", vec![u8::try_from(rng.below(256)).unwrap(); 9000]),
        5..9 => put("meta", rng.next_u64().to_le_bytes()),
        _ => {
            let name = format!("v/key_{}/{}", rng.below(9), rng.below(4));
            let text = format!("{:016x} ", rng.next_u64()).repeat(rng.below(20));
            put(&name, text)
        }
    };
    (0..=rng.below(5)).map(|_| change(rng)).collect()
}

/// Prints to standard error directly, which the test harness does not capture.
pub(super) fn print(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}
