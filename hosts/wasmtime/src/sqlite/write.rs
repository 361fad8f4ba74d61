//! Writing: one thread, and one transaction for all waiting commits.
//!
//! Reading is in `read`; callers decide what to do about a failed commit. Invariants:
//!
//! - Each commit is reported once its transaction is on the disk or has failed. Before it
//!   is acknowledged, the mark records its number.
//! - The revision is checked in the transaction that raises it.
//! - A connection that failed is never used again.
//! - The outcome of a commit in doubt is resolved before anything else is written.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{
    Connection, ErrorCode, MAIN_DB, OptionalExtension, Params, params, wal::CheckpointMode,
};
use shared_context_core::{
    kv::prefix_end,
    port::{Change, CommitError, Revision},
};

use super::{
    Fault,
    expiry::{self, NextExpiry},
    failed,
    file::{self, SqliteOptions},
    format::{BucketRecord, State, Tally, row_checksum},
    health::Health,
    mark::Mark,
    reserve::Reserve,
    start::OpenDatabase,
};
use crate::{StartError, failures, folder::Lock};

/// The maximum number of waiting commits; further ones block. The engine starts no more
/// than that, and fewer large ones, so it never blocks, and the queue is bounded in bytes
/// too.
pub(crate) const QUEUE_MAX: usize = 1024;
/// The maximum number of commits, and of their bytes, in one transaction.
const BATCH_MAX: usize = 512;
const BATCH_BYTES_MAX: usize = 4 << 20;
/// The length of the write-ahead log, in pages, at which it is copied into the database.
const LOG_PAGES: i32 = 2_000;
/// The length of the log, in pages, at which writing waits until all readers have left it,
const LOG_PAGES_MAX: i32 = 16_000;
/// and how long it waits before it continues with a longer log.
const READERS_TIME_MAX: Duration = Duration::from_millis(250);
/// How long to wait for a commit while the storage fails, before the storage is probed.
const PROBE_PAUSE: Duration = Duration::from_secs(1);

/// How many pages must be free before the database no longer counts as full.
const ROOM_PAGES: i64 = 16;
/// How many pages a database at its limit may exceed it by, for commits that free space.
const SPARE_PAGES: i64 = 64;
/// The limit on the bytes written by a commit that frees space: what a deletion adds to the
/// history, the feed and the totals.
const FREEING_BYTES_MAX: usize = 32 << 10;

/// Changes to one bucket, and the callback for their outcome.
pub(super) struct Commit {
    pub(super) bucket: String,
    pub(super) work: Work,
    /// Stored with them.
    pub(super) next_expiry: NextExpiry,
    pub(super) done: Callback,
}

/// What to do with the rows of a bucket.
pub(super) enum Work {
    /// Apply changes at this revision, which raises it.
    Changes(Revision, Vec<Change>),
    /// Nothing: only the next expiry is stored.
    None,
}

/// The callback for the outcome of a commit. It is called again if that was in doubt and
/// the commit turns out to be made.
pub(super) type Callback = Box<dyn FnMut(Outcome) + Send>;
type Outcome = Result<Revision, CommitError>;

enum Message {
    Commit(Commit),
    Close,
}

/// A handle of the writing thread.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::SyncSender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread, which holds `lock` until it ends.
    pub(super) fn start(
        opened: OpenDatabase,
        mut reserve: Reserve,
        options: SqliteOptions,
        health: Arc<Health>,
        lock: Lock,
    ) -> Result<Self, StartError> {
        let (queue, commits) = mpsc::sync_channel(QUEUE_MAX);
        let OpenDatabase { path, connection, mark, .. } = opened;
        reserve.set_aside();
        let connection = Some(connection);
        let checkpoint_at = LOG_PAGES;
        let doubt = None;
        let mut database =
            Database { path, options, health, connection, mark, checkpoint_at, doubt, reserve };
        let run = move || {
            database.serve(&commits);
            drop(database);
            drop(lock);
        };
        let thread = thread::Builder::new()
            .name("shared-context-writer".to_owned())
            .spawn(run)
            .map_err(|it| StartError::new(format!("cannot start the writing thread: {it}")))?;
        Ok(Self { queue, thread: Mutex::new(Some(thread)) })
    }

    /// Queues `commit`, or drops it if the thread has ended.
    pub(super) fn submit(&self, commit: Commit) {
        drop(self.queue.send(Message::Commit(commit)));
    }

    /// Lets the thread finish what is queued, and waits for its end.
    pub(super) fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A commit's `done` may drop the last clone of a `SqliteKv`: a thread cannot join
        // itself.
        if let Some(thread) = thread.filter(|it| it.thread().id() != thread::current().id()) {
            drop(self.queue.send(Message::Close));
            drop(thread.join());
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// The state of the writing thread.
struct Database {
    path: PathBuf,
    options: SqliteOptions,
    health: Arc<Health>,
    /// `None` after a failure.
    connection: Option<Connection>,
    mark: Mark,
    /// The length of the log at which it is copied next.
    checkpoint_at: i32,
    doubt: Option<UnresolvedCommits>,
    reserve: Reserve,
}

/// Commits that were reported as in doubt.
struct UnresolvedCommits {
    /// The number of the last commit, if they were made.
    commits: i64,
    callbacks: Vec<(Callback, Revision)>,
}

/// The failure of a transaction.
enum TransactionError {
    /// It failed before its commit: nothing was stored.
    Whole(Fault),
    /// One commit could not be applied: nothing was stored, and the others may succeed
    /// without it.
    One(Fault),
    /// The commit or its sync failed: a crash, or a later look at the log, may still bring
    /// it back. Holds the outcomes in that case, and the number of the last commit.
    InDoubt(Fault, Vec<Outcome>, i64),
}

impl TransactionError {
    fn whole(fault: impl Into<Fault>) -> Self {
        Self::Whole(fault.into())
    }
}

impl Database {
    fn serve(&mut self, queue: &mpsc::Receiver<Message>) {
        let mut is_closing = false;
        while !is_closing && let Some(message) = self.next(queue) {
            let Message::Commit(first) = message else { break };
            let mut bytes = first.bytes();
            let mut batch = vec![first];
            while batch.len() < BATCH_MAX && bytes < BATCH_BYTES_MAX {
                match queue.try_recv() {
                    Ok(Message::Commit(next)) => {
                        bytes += next.bytes();
                        batch.push(next);
                    }
                    Ok(Message::Close) => {
                        is_closing = true;
                        break;
                    }
                    Err(_) => break,
                }
            }
            self.perform(batch);
            self.checkpoint();
        }
        if self.doubt.is_some() {
            self.perform(Vec::new());
        }
        self.mark.sync();
    }

    /// Waits for the next message. While the storage fails it is probed regularly, so that
    /// its reported health stays correct and commits in doubt are resolved.
    fn next(&mut self, queue: &mpsc::Receiver<Message>) -> Option<Message> {
        while self.doubt.is_some() || !self.health.takes_writes() {
            match queue.recv_timeout(PROBE_PAUSE) {
                Ok(message) => return Some(message),
                // On a full disk the smallest commit would succeed while others fail.
                Err(RecvTimeoutError::Timeout) if !self.has_room() => {}
                Err(RecvTimeoutError::Timeout) => self.perform(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        queue.recv().ok()
    }

    /// Returns true if the database may grow by a few commits, and the disk has space for
    /// that.
    fn has_room(&mut self) -> bool {
        let Some(connection) = &self.connection else { return true };
        let number = |name| connection.pragma_query_value(None, name, |it| it.get::<_, i64>(0));
        let pages = || -> rusqlite::Result<i64> {
            let most = file::pages_max(&self.options).unwrap_or(i64::MAX);
            Ok(most.saturating_sub(number("page_count")?).saturating_add(number("freelist_count")?))
        };
        pages().is_ok_and(|it| it >= ROOM_PAGES) && self.reserve.restore()
    }

    /// Performs the commits of `batch`, in one transaction if possible, and reports each
    /// outcome. An empty batch only probes whether the storage accepts writes.
    fn perform(&mut self, batch: Vec<Commit>) {
        let batch = self.reject_growth(batch);
        let error = match self.transact(&batch) {
            Ok(outcomes) => {
                for (mut commit, outcome) in batch.into_iter().zip(outcomes) {
                    (commit.done)(outcome);
                }
                return;
            }
            Err(error) => error,
        };
        // Done before any outcome is reported, so that later reads stay true.
        if self.connection.is_none() {
            self.reconnect();
        }
        match error {
            TransactionError::One(_) if batch.len() > 1 => {
                for commit in batch {
                    self.perform(vec![commit]);
                }
            }
            // Retried one by one: a commit that frees space may use the reserve.
            TransactionError::Whole(ref fault) if fault.is_full() && batch.len() > 1 => {
                for commit in batch {
                    self.perform(vec![commit]);
                }
            }
            TransactionError::Whole(ref fault) | TransactionError::One(ref fault)
                if fault.is_full()
                    && batch.iter().any(Commit::frees_space)
                    && self.release_reserve() =>
            {
                self.perform(batch);
            }
            TransactionError::Whole(fault) | TransactionError::One(fault) => {
                self.health.note_failure(&fault);
                for mut commit in batch {
                    let failed = failed("commit", &self.path, &fault);
                    (commit.done)(Err(CommitError::Unchanged(failed)));
                }
            }
            TransactionError::InDoubt(fault, outcomes, commits) => {
                self.health.note_failure(&fault);
                let mut callbacks = Vec::new();
                for (Commit { mut done, .. }, outcome) in batch.into_iter().zip(outcomes) {
                    let Ok(revision) = outcome else {
                        done(outcome);
                        continue;
                    };
                    done(Err(CommitError::Failed(failed("commit", &self.path, &fault))));
                    callbacks.push((done, revision));
                }
                self.doubt = Some(UnresolvedCommits { commits, callbacks });
            }
        }
    }

    /// Rejects commits that grow the database while only commits that free space may be
    /// stored. Returns the others.
    fn reject_growth(&mut self, batch: Vec<Commit>) -> Vec<Commit> {
        if !self.reserve.is_in_use() || batch.is_empty() {
            return batch;
        }
        let (freeing, growing): (Vec<_>, Vec<_>) = batch.into_iter().partition(Commit::frees_space);
        if growing.is_empty() || self.has_room() {
            return freeing.into_iter().chain(growing).collect();
        }
        let full = Fault::full();
        self.health.note_failure(&full);
        for mut commit in growing {
            (commit.done)(Err(CommitError::Unchanged(failed("commit", &self.path, &full))));
        }
        freeing
    }

    /// Releases some of the reserve. Returns false if nothing was left.
    fn release_reserve(&mut self) -> bool {
        if let (Some(connection), Some(pages)) = (&self.connection, file::pages_max(&self.options))
        {
            let more = pages.saturating_add(SPARE_PAGES);
            drop(connection.pragma_update(None, "max_page_count", more));
        }
        self.reserve.release()
    }

    fn transact(&mut self, batch: &[Commit]) -> Result<Vec<Outcome>, TransactionError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().map_err(TransactionError::Whole)?,
        };
        if let Err(fault) = self.health.check_files() {
            self.connection = Some(connection);
            return Err(TransactionError::Whole(fault));
        }
        run(&connection, "BEGIN IMMEDIATE").map_err(TransactionError::whole)?;
        self.health.note_log().map_err(TransactionError::Whole)?;
        let before = State::read(&connection).map_err(TransactionError::Whole)?;
        self.resolve(before.commits);
        let mut state = before;
        let outcomes = batch
            .iter()
            .map(|commit| apply(&connection, commit, &mut state))
            .collect::<Result<Vec<_>, _>>()
            .map_err(TransactionError::One)?;
        let writes = state != before || batch.is_empty();
        if state != before {
            state.update(&connection).map_err(TransactionError::whole)?;
        } else if batch.is_empty() {
            write(&connection, &state).map_err(TransactionError::whole)?;
        }
        match run(&connection, "COMMIT").map_err(Fault::from) {
            // The connection is kept only on success: closing it rolls its transaction
            // back.
            Ok(()) => self.connection = Some(connection),
            // The log lacks a part of the transaction, so recovery ignores all of it.
            Err(fault) if fault.is_full() => return Err(TransactionError::Whole(fault)),
            Err(fault) => return Err(TransactionError::InDoubt(fault, outcomes, state.commits)),
        }
        if writes {
            // Writes to a file that was unlinked will be lost.
            if let Err(fault) = self.health.check_files() {
                return Err(TransactionError::InDoubt(fault, outcomes, state.commits));
            }
            if !self.reserve.is_in_use() {
                self.health.note_success();
            }
            self.mark.record(state.commits);
        }
        Ok(outcomes)
    }

    /// Reports the commits in doubt as made, if they were. `commits` is the number of the
    /// last commit in the database.
    fn resolve(&mut self, commits: i64) {
        if let Some(doubt) = self.doubt.take()
            && doubt.commits == commits
        {
            for (mut done, revision) in doubt.callbacks {
                done(Ok(revision));
            }
        }
    }

    /// Opens the database, if it is still the file that was opened first.
    fn connect(&self) -> Result<Connection, Fault> {
        self.health.forget_log();
        self.health.check_files()?;
        Ok(file::connect_writer(&self.path, &self.options)?)
    }

    /// Opens the database again after a failure, and truncates the log: it may hold a
    /// transaction that could not be synced, which a crash would bring back. If the disk
    /// does not even allow that, the transaction is overwritten by one that changes
    /// nothing. It need not be synced to hide the old one from a later start.
    fn reconnect(&mut self) {
        let open = || -> Result<Connection, Fault> {
            let connection = self.connect()?;
            copy_log(&connection, CheckpointMode::TRUNCATE).inspect_err(|_| {
                // It fails like the one before, but by then it has overwritten the log.
                drop(rewrite(&connection));
            })?;
            Ok(connection)
        };
        self.connection = open()
            .inspect_err(|it| {
                failures::storage_failure(&failed("open the database again", &self.path, it));
            })
            .ok();
    }

    /// Copies a long log into the database, between two transactions so that no commit
    /// waits for it. The log restarts when all of it is copied and no reader uses it.
    fn checkpoint(&mut self) {
        let Some(connection) = &self.connection else { return };
        if self.reserve.is_in_use() {
            // Keeps the log from using up the reserve. If there is no space even for that,
            // the log stays as it is, and the reserve lasts for fewer commits.
            drop(copy_log(connection, CheckpointMode::TRUNCATE));
            return;
        }
        let checkpoint = || -> rusqlite::Result<i32> {
            let (pages, _) = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::NOOP)?;
            if pages < LOG_PAGES {
                return Ok(LOG_PAGES);
            }
            if pages < self.checkpoint_at {
                return Ok(self.checkpoint_at);
            }
            let is_long = pages >= LOG_PAGES_MAX;
            let mode = if is_long { CheckpointMode::RESTART } else { CheckpointMode::PASSIVE };
            copy_log(connection, mode)?;
            self.mark.sync();
            Ok(pages.saturating_add(LOG_PAGES))
        };
        match checkpoint() {
            Ok(pages) => self.checkpoint_at = pages,
            // No commit is affected; the log only stays long.
            Err(error) => {
                let doing = "copy the write-ahead log into the database";
                failures::storage_failure(&failed(doing, &self.path, &error.into()));
                self.connection = None;
                self.health.forget_log();
            }
        }
    }
}

/// Copies the log into the database. Readers may prevent a part of it from being copied.
fn copy_log(connection: &Connection, mode: CheckpointMode) -> rusqlite::Result<()> {
    connection.busy_timeout(READERS_TIME_MAX)?;
    let copied = connection.wal_checkpoint_v2(Some(MAIN_DB), mode);
    connection.busy_timeout(file::BUSY_TIME_MAX)?;
    match copied {
        Err(it) if it.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => Err(it),
        _ => Ok(()),
    }
}

/// Commits a transaction that changes nothing.
fn rewrite(connection: &Connection) -> Result<(), Fault> {
    run(connection, "BEGIN IMMEDIATE")?;
    let state = State::read(connection)?;
    write(connection, &state)?;
    Ok(run(connection, "COMMIT")?)
}

/// Writes the unchanged `state`. `SQLite` skips unchanged pages, so another value is written
/// first.
fn write(connection: &Connection, state: &State) -> rusqlite::Result<()> {
    State { commits: !state.commits, ..*state }.update(connection)?;
    state.update(connection)
}

/// Applies one commit in the transaction of `connection`, and updates `state`. A conflict
/// changes nothing.
fn apply(connection: &Connection, commit: &Commit, state: &mut State) -> Result<Outcome, Fault> {
    let Commit { bucket, work, next_expiry, .. } = commit;
    let before = BucketRecord::find(connection, bucket)?;
    let Work::Changes(expected, changes) = work else {
        if let Some(before) = before {
            expiry::set(connection, before.id, *next_expiry)?;
        }
        return Ok(Ok(Revision::default()));
    };
    let revision = before.map_or(0, |it| it.revision);
    let Some(next) = revision.checked_add(1).filter(|_| u64::try_from(revision) == Ok(expected.0))
    else {
        return Ok(Err(CommitError::Conflict));
    };
    let (id, rows) =
        before.map_or((state.buckets.count + 1, Tally::default()), |it| (it.id, it.rows));
    let mut record = BucketRecord { id, revision: next, rows };
    for change in changes {
        change_rows(connection, &mut record, change)?;
    }
    expiry::set(connection, id, *next_expiry)?;
    if let Some(before) = before {
        record.update(connection, bucket)?;
        state.buckets.remove(before.checksum(bucket));
    } else {
        record.insert(connection, bucket)?;
    }
    state.buckets.add(record.checksum(bucket));
    state.commits += 1;
    Ok(Ok(expected.next()))
}

/// Applies one change to the rows of a bucket, and updates the tally of its record.
fn change_rows(
    connection: &Connection,
    record: &mut BucketRecord,
    change: &Change,
) -> rusqlite::Result<()> {
    const FIND: &str = "SELECT checksum FROM row WHERE bucket = ?1 AND name = ?2";
    const PUT: &str =
        "INSERT OR REPLACE INTO row (bucket, name, checksum, value) VALUES (?1, ?2, ?3, ?4)";
    const DELETE: &str = "DELETE FROM row WHERE bucket = ?1 AND name = ?2 RETURNING checksum";
    const DELETE_FROM: &str = "DELETE FROM row WHERE bucket = ?1 AND name >= ?2 RETURNING checksum";
    const DELETE_BETWEEN: &str =
        "DELETE FROM row WHERE bucket = ?1 AND name >= ?2 AND name < ?3 RETURNING checksum";

    let (id, rows) = (record.id, &mut record.rows);
    match change {
        Change::Put(row, value) => {
            let mut find = connection.prepare_cached(FIND)?;
            let before: Option<i64> =
                find.query_row(params![id, row], |it| it.get(0)).optional()?;
            if let Some(before) = before {
                rows.remove(before);
            }
            let checksum = row_checksum(id, row, value);
            connection.prepare_cached(PUT)?.execute(params![id, row, checksum, value])?;
            rows.add(checksum);
        }
        Change::Delete(row) => remove(connection, rows, DELETE, params![id, row])?,
        Change::DeletePrefix(prefix) => match prefix_end(prefix) {
            Some(end) => remove(connection, rows, DELETE_BETWEEN, params![id, prefix, end])?,
            None => remove(connection, rows, DELETE_FROM, params![id, prefix])?,
        },
    }
    Ok(())
}

/// Executes a deletion, and subtracts the deleted rows from the tally.
fn remove(
    connection: &Connection,
    rows: &mut Tally,
    delete: &str,
    of: impl Params,
) -> rusqlite::Result<()> {
    let mut delete = connection.prepare_cached(delete)?;
    let mut removed = delete.query(of)?;
    while let Some(row) = removed.next()? {
        rows.remove(row.get(0)?);
    }
    Ok(())
}

fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(drop)
}

impl Commit {
    /// Returns true if the commit frees space: it removes rows and writes little.
    fn frees_space(&self) -> bool {
        let removes = |it: &Change| matches!(it, Change::Delete(_) | Change::DeletePrefix(_));
        self.changes().iter().any(removes) && self.bytes() <= FREEING_BYTES_MAX
    }

    fn bytes(&self) -> usize {
        let bytes = |change: &Change| match change {
            Change::Put(row, value) => row.len() + value.len(),
            Change::Delete(row) | Change::DeletePrefix(row) => row.len(),
        };
        self.changes().iter().map(bytes).sum()
    }

    fn changes(&self) -> &[Change] {
        match &self.work {
            Work::Changes(_, changes) => changes,
            Work::None => &[],
        }
    }
}

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit").field("bucket", &self.bucket).finish_non_exhaustive()
    }
}
