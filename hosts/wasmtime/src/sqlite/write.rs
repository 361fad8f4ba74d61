//! Writing: one thread, one transaction for all commits that wait.
//!
//! Not here: reading, and what to do when a commit failed. Invariants:
//!
//! - Each commit is answered once, and only when its transaction is on the disk
//!   or will not be.
//! - The revision is checked in the transaction that raises it.
//! - A connection that failed is never used again.

use std::{
    fmt,
    path::PathBuf,
    sync::{Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OptionalExtension, params, wal::CheckpointMode};
use shared_context_core::port::{Change, CommitError, Revision};

use super::{
    failed,
    file::{self, SqliteOptions},
};
use crate::{StartError, folder::Lock};

/// How many commits may wait; who comes later blocks.
const QUEUE_MAX: usize = 1024;
/// How many commits, and how many bytes of them, one transaction takes.
const BATCH_MAX: usize = 512;
const BATCH_BYTES_MAX: usize = 4 << 20;
/// At how many pages the write-ahead log is copied into the database.
const LOG_PAGES: i32 = 2_000;
/// At how many pages writing waits until every reader has let go of the log,
const LOG_PAGES_MAX: i32 = 16_000;
/// and how long it waits, before it goes on with a longer log.
const READERS_TIME_MAX: Duration = Duration::from_millis(250);

/// Changes to one bucket, and who wants to know what became of them.
pub(super) struct Commit {
    pub(super) bucket: String,
    pub(super) expected: Revision,
    pub(super) changes: Vec<Change>,
    pub(super) done: Done,
}

/// Called with a commit's outcome.
pub(super) type Done = Box<dyn FnOnce(Outcome) + Send>;
type Outcome = Result<Revision, CommitError>;

enum Message {
    Commit(Commit),
    Close,
}

/// The writing thread, from outside.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::SyncSender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread; it keeps `lock` until it ends.
    pub(super) fn start(
        path: PathBuf,
        connection: Connection,
        options: SqliteOptions,
        lock: Lock,
    ) -> Result<Self, StartError> {
        let (queue, commits) = mpsc::sync_channel(QUEUE_MAX);
        let connection = Some(connection);
        let mut database = Database { path, options, connection, copy_at: LOG_PAGES };
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

    /// Queues `commit`; drops it when the thread has ended.
    pub(super) fn submit(&self, commit: Commit) {
        drop(self.queue.send(Message::Commit(commit)));
    }

    /// Lets the thread finish what was queued before, and waits for its end.
    pub(super) fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last clone of a `SqliteKv` may be dropped by a commit's `done`: a
        // thread cannot wait for itself.
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

/// The database, as its only writer has it.
struct Database {
    path: PathBuf,
    options: SqliteOptions,
    /// `None` after a failure.
    connection: Option<Connection>,
    /// The length of the log at which it is to be copied.
    copy_at: i32,
}

/// Where a transaction broke off. In each case it changed nothing, except that
/// after a failed `COMMIT` or sync a crash may still bring it about.
enum Broken {
    /// Before the first commit or at the last step: all of it is lost.
    Whole(rusqlite::Error),
    /// While one commit was applied: the others may do better without it.
    One(rusqlite::Error),
}

impl Database {
    fn serve(&mut self, queue: &mpsc::Receiver<Message>) {
        let mut is_closing = false;
        while !is_closing && let Ok(Message::Commit(first)) = queue.recv() {
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
            self.copy_log();
        }
    }

    /// Performs the commits of `batch`, in one transaction if all goes well, and
    /// answers each.
    fn perform(&mut self, batch: Vec<Commit>) {
        let broken = match self.transact(&batch) {
            Ok(outcomes) => {
                for (commit, outcome) in batch.into_iter().zip(outcomes) {
                    (commit.done)(outcome);
                }
                return;
            }
            Err(broken) => broken,
        };
        // Before anyone hears of it: what is read from now on stays true.
        self.reconnect();
        match broken {
            Broken::One(_) if batch.len() > 1 => {
                for commit in batch {
                    self.perform(vec![commit]);
                }
            }
            Broken::Whole(error) | Broken::One(error) => {
                for commit in batch {
                    (commit.done)(Err(CommitError::Failed(failed("commit", &error))));
                }
            }
        }
    }

    fn transact(&mut self, batch: &[Commit]) -> Result<Vec<Outcome>, Broken> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => file::connect_writer(&self.path, &self.options).map_err(Broken::Whole)?,
        };
        run(&connection, "BEGIN IMMEDIATE").map_err(Broken::Whole)?;
        let outcomes = batch
            .iter()
            .map(|commit| apply(&connection, commit))
            .collect::<Result<_, _>>()
            .map_err(Broken::One)?;
        run(&connection, "COMMIT").map_err(Broken::Whole)?;
        // Only here does it come back: closing a connection ends its transaction.
        self.connection = Some(connection);
        Ok(outcomes)
    }

    /// Opens the database again after a failure, and empties the log: in it may
    /// stand a transaction that could not be synced, and a crash would bring it
    /// back. A disk that does not even let us do that leaves it for the next
    /// commit, which overwrites it.
    fn reconnect(&mut self) {
        let open = || -> rusqlite::Result<Connection> {
            let connection = file::connect_writer(&self.path, &self.options)?;
            let emptied = copy(&connection, CheckpointMode::TRUNCATE);
            emptied.map(|()| connection)
        };
        self.connection = open()
            .inspect_err(|error| tracing::error!(%error, "the database cannot be opened again"))
            .ok();
    }

    /// Copies the log into the database when it has grown long, between two
    /// transactions so that no commit waits for its answer meanwhile. The log
    /// begins anew when all of it is copied and no reader is in it.
    fn copy_log(&mut self) {
        let Some(connection) = &self.connection else { return };
        let look = || -> rusqlite::Result<i32> {
            let (pages, _) = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::NOOP)?;
            if pages < LOG_PAGES {
                return Ok(LOG_PAGES);
            }
            if pages < self.copy_at {
                return Ok(self.copy_at);
            }
            let is_long = pages >= LOG_PAGES_MAX;
            let mode = if is_long { CheckpointMode::RESTART } else { CheckpointMode::PASSIVE };
            copy(connection, mode)?;
            Ok(pages.saturating_add(LOG_PAGES))
        };
        match look() {
            Ok(pages) => self.copy_at = pages,
            // No commit is touched by it: the log only stays long.
            Err(error) => {
                tracing::warn!(%error, "could not copy the write-ahead log into the database");
                self.connection = None;
            }
        }
    }
}

/// Copies the log into the database; readers may keep a part of it from being
/// copied.
fn copy(connection: &Connection, mode: CheckpointMode) -> rusqlite::Result<()> {
    connection.busy_timeout(READERS_TIME_MAX)?;
    let copied = connection.wal_checkpoint_v2(Some(MAIN_DB), mode);
    connection.busy_timeout(file::BUSY_TIME_MAX)?;
    match copied {
        Err(it) if it.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => Err(it),
        _ => Ok(()),
    }
}

/// Applies one commit in the transaction of `connection`; a conflict applies
/// nothing.
fn apply(connection: &Connection, commit: &Commit) -> rusqlite::Result<Outcome> {
    const RAISE: &str = "UPDATE bucket SET revision = revision + 1 \
         WHERE name = ?1 AND revision = ?2 RETURNING id";
    const CREATE: &str = "INSERT INTO bucket (name, revision) VALUES (?1, ?2 + 1) \
         ON CONFLICT DO NOTHING RETURNING id";
    const PUT: &str = "INSERT OR REPLACE INTO row (bucket, name, value) VALUES (?1, ?2, ?3)";
    const DELETE: &str = "DELETE FROM row WHERE bucket = ?1 AND name = ?2";
    const DELETE_FROM: &str = "DELETE FROM row WHERE bucket = ?1 AND name >= ?2";
    const DELETE_BETWEEN: &str = "DELETE FROM row WHERE bucket = ?1 AND name >= ?2 AND name < ?3";

    let Commit { bucket, expected, changes, .. } = commit;
    let Ok(revision) = i64::try_from(expected.0) else { return Ok(Err(CommitError::Conflict)) };
    let mut raise = connection.prepare_cached(if revision == 0 { CREATE } else { RAISE })?;
    let id: Option<i64> = raise.query_row(params![bucket, revision], |it| it.get(0)).optional()?;
    let Some(id) = id else { return Ok(Err(CommitError::Conflict)) };
    for change in changes {
        match change {
            Change::Put(row, value) => {
                connection.prepare_cached(PUT)?.execute(params![id, row, value])?
            }
            Change::Delete(row) => connection.prepare_cached(DELETE)?.execute(params![id, row])?,
            Change::DeletePrefix(prefix) => match end_of(prefix) {
                Some(end) => {
                    connection.prepare_cached(DELETE_BETWEEN)?.execute(params![id, prefix, end])?
                }
                None => connection.prepare_cached(DELETE_FROM)?.execute(params![id, prefix])?,
            },
        };
    }
    Ok(Ok(expected.next()))
}

fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(drop)
}

/// The first text after all those that start with `prefix`, or `None` when there
/// is no such text.
pub(super) fn end_of(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

impl Commit {
    fn bytes(&self) -> usize {
        let bytes = |change: &Change| match change {
            Change::Put(row, value) => row.len() + value.len(),
            Change::Delete(row) | Change::DeletePrefix(row) => row.len(),
        };
        self.changes.iter().map(bytes).sum()
    }
}

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("bucket", &self.bucket)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}
