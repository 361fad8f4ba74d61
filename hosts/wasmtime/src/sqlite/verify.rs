//! Verifies the rows of a large database while it is served.
//!
//! A bucket is verified when it is first opened (`read`), and a thread verifies the others
//! meanwhile. It leaves most of its time to others, and continues after a restart where it
//! was. Invariants: a bucket whose rows were not verified since the start is not served, and
//! no transaction of the thread is longer than the check of one bucket or a few small ones.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{Fault, Shared, check, format::BucketRecord};
use crate::{
    StartError, failures,
    folder::{VERIFICATION_FILE, write_whole},
};

/// A slice of the work ends after this time,
const SLICE_TIME: Duration = Duration::from_millis(2);
/// or after this many buckets.
const SLICE_BUCKETS: i64 = 64;
/// How many times as long as it works the thread rests.
const REST_SHARE: u32 = 3;
/// How often the progress is stored.
const STORE_EVERY: Duration = Duration::from_secs(10);

/// The buckets whose rows were verified since the start.
#[derive(Debug)]
pub(super) struct VerifiedBuckets {
    /// True if all were, before the database was opened.
    are_all: bool,
    /// One bit for each id.
    bits: Mutex<Vec<u64>>,
}

impl VerifiedBuckets {
    pub(super) fn new(are_all: bool) -> Self {
        Self { are_all, bits: Mutex::default() }
    }

    /// Verifies the rows of the bucket `name`, unless that was done before.
    pub(super) fn verify(
        &self,
        connection: &Connection,
        name: &str,
        record: &BucketRecord,
    ) -> Result<(), Fault> {
        let id = usize::try_from(record.id).unwrap_or_default();
        let (at, bit) = (id / 64, 1 << (id % 64));
        if self.are_all || self.bits().get(at).is_some_and(|it| it & bit != 0) {
            return Ok(());
        }
        if !check::bucket_is_whole(connection, record)? {
            return Err(Fault::rows(name));
        }
        let mut bits = self.bits();
        if bits.len() <= at {
            bits.resize(at + 1, 0);
        }
        if let Some(it) = bits.get_mut(at) {
            *it |= bit;
        }
        Ok(())
    }

    fn bits(&self) -> MutexGuard<'_, Vec<u64>> {
        self.bits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a large database is verified, as stored in the data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verification {
    /// The identity of the database.
    pub database: String,
    /// How many sessions and projects are verified in this pass.
    pub verified: u64,
    /// How many there were when this was stored.
    pub of: u64,
    /// True if a damaged one was found.
    pub has_found_damage: bool,
    /// The id of the last bucket that was verified.
    pub(super) last_id: i64,
}

impl Verification {
    /// Reads what the server of the data folder `folder` stored. Returns `None` if it verified
    /// everything when it started, or stored nothing yet.
    pub fn read(folder: impl AsRef<Path>) -> Option<Self> {
        let file = folder.as_ref().join(VERIFICATION_FILE);
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }

    /// Returns true if nothing is left to verify in this pass.
    pub fn is_finished(&self) -> bool {
        self.verified >= self.of
    }

    fn begin(database: String) -> Self {
        Self { database, verified: 0, of: 0, has_found_damage: false, last_id: 0 }
    }

    /// Stores it in the data folder. It is only a hint, so a failure does no harm.
    fn store(&self, folder: &Path) {
        drop(write_whole(folder, VERIFICATION_FILE, self));
    }
}

/// Forgets what was stored of an earlier verification, after everything was verified.
pub(super) fn forget(folder: &Path) {
    drop(fs::remove_file(folder.join(VERIFICATION_FILE)));
}

/// The thread that verifies all buckets, if there is one.
#[derive(Debug, Default)]
pub(super) struct Verifier(Mutex<Option<JoinHandle<()>>>);

impl Verifier {
    /// Waits for the end of the thread. The readers must be closed.
    pub(super) fn close(&self) {
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread.filter(|it| it.thread().id() != thread::current().id()) {
            thread.thread().unpark();
            drop(thread.join());
        }
    }
}

/// Starts the thread that verifies all buckets. It ends with the storage.
pub(super) fn start(storage: &Arc<Shared>, folder: &Path) -> Result<(), StartError> {
    let database = format!("{:?}", storage.database);
    let begun = Verification::read(folder)
        .filter(|it| it.database == database && !it.is_finished())
        .unwrap_or_else(|| Verification::begin(database));
    let pass = Pass { storage: Arc::downgrade(storage), folder: folder.to_owned(), at: begun };
    let thread = thread::Builder::new()
        .name("shared-context-verifier".to_owned())
        .spawn(move || pass.run())
        .map_err(|it| StartError::new(format!("cannot start the verifying thread: {it}")))?;
    *storage.verifier.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    Ok(())
}

/// One pass over all buckets.
struct Pass {
    storage: Weak<Shared>,
    folder: PathBuf,
    at: Verification,
}

/// Lets all other threads run first.
fn run_last() {
    // Elsewhere this is about the whole process. Without it the thread still rests.
    #[cfg(target_os = "linux")]
    rustix::process::nice(19).ok();
}

impl Pass {
    fn run(mut self) {
        run_last();
        let mut stored_at = Instant::now();
        loop {
            let begun = Instant::now();
            // The storage is not kept open by a rest.
            let Some(storage) = self.storage.upgrade() else { return };
            let Some(has_more) = self.slice(&storage) else { return };
            drop(storage);
            if !has_more {
                self.at.of = self.at.verified;
                self.at.store(&self.folder);
                let Verification { verified, has_found_damage, .. } = self.at;
                tracing::info!(verified, has_found_damage, "all of the database was verified");
                return;
            }
            if stored_at.elapsed() >= STORE_EVERY {
                stored_at = Instant::now();
                self.at.store(&self.folder);
            }
            thread::park_timeout(begun.elapsed() * REST_SHARE);
        }
    }

    /// Verifies some buckets. Returns true if there are more, or `None` if the storage is closed
    /// or cannot be read.
    fn slice(&mut self, storage: &Shared) -> Option<bool> {
        let connection = storage.readers.take().ok()?;
        let seen = self.verify_some(&connection, storage);
        let is_ended = connection.execute_batch("COMMIT").is_ok();
        match seen {
            Ok(has_more) if is_ended => {
                storage.readers.put(connection);
                Some(has_more)
            }
            // A damaged record is found at each start, and by its first reader.
            _ => None,
        }
    }

    fn verify_some(&mut self, connection: &Connection, storage: &Shared) -> Result<bool, Fault> {
        const NEXT: &str = "SELECT id, revision, row_count, row_sum, checksum, name FROM bucket \
             WHERE id > ?1 ORDER BY id LIMIT ?2";
        const LAST: &str = "SELECT max(id) FROM bucket";
        let begun = Instant::now();
        connection.prepare_cached("BEGIN")?.execute([])?;
        let last: Option<i64> = connection.prepare_cached(LAST)?.query_row([], |row| row.get(0))?;
        self.at.of = last.and_then(|it| u64::try_from(it).ok()).unwrap_or_default();
        let mut next = connection.prepare_cached(NEXT)?;
        let mut next = next.query(params![self.at.last_id, SLICE_BUCKETS])?;
        while let Some(row) = next.next()? {
            let name: String = row.get(5)?;
            let record = BucketRecord::of(&name, row)?;
            if let Err(fault) = storage.verified.verify(connection, &name, &record) {
                if !matches!(fault, Fault::Damaged(_)) {
                    return Err(fault);
                }
                // Logged, and reported as the health of the storage.
                failures::storage_failure(&storage.readers.failed("verify a bucket", &fault));
                self.at.has_found_damage = true;
                self.at.store(&self.folder);
            }
            self.at.last_id = record.id;
            self.at.verified += 1;
            if begun.elapsed() >= SLICE_TIME {
                return Ok(true);
            }
        }
        Ok(last.is_some_and(|it| self.at.last_id < it))
    }
}
