//! Writing: one thread, one transaction for all commits that wait.
//!
//! Not here: reading, and what to do when a commit failed. Invariants:
//!
//! - Each commit is answered once, and only when its transaction is on the disk
//!   or will not be; before it is acknowledged, the mark tells its number.
//! - The revision is checked in the transaction that raises it.
//! - A connection that failed is never used again.

use std::{
    fmt,
    path::PathBuf,
    sync::{Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{
    Connection, ErrorCode, MAIN_DB, OptionalExtension, Params, params, wal::CheckpointMode,
};
use shared_context_core::port::{Change, CommitError, Revision};

use super::{
    Fault, failed,
    file::{self, SqliteOptions},
    format::{Line, State, Tally, row_checksum},
    mark::Mark,
    start::Opened,
};
use crate::{StartError, folder::Lock};

/// How many commits may wait; who comes later blocks. The engine begins no more than
/// that, and of large ones fewer, so that it never does and what waits is bounded in
/// bytes, too.
pub(crate) const QUEUE_MAX: usize = 1024;
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
        opened: Opened,
        options: SqliteOptions,
        lock: Lock,
    ) -> Result<Self, StartError> {
        let (queue, commits) = mpsc::sync_channel(QUEUE_MAX);
        let Opened { path, connection, mark } = opened;
        let connection = Some(connection);
        let mut database = Database { path, options, connection, mark, copy_at: LOG_PAGES };
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
    mark: Mark,
    /// The length of the log at which it is to be copied.
    copy_at: i32,
}

/// Where a transaction broke off. In each case it changed nothing, except that
/// after a failed `COMMIT` or sync a crash may still bring it about.
enum Broken {
    /// Before the first commit or at the last step: all of it is lost.
    Whole(Fault),
    /// While one commit was applied: the others may do better without it.
    One(Fault),
}

impl Broken {
    fn whole(fault: impl Into<Fault>) -> Self {
        Self::Whole(fault.into())
    }
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
        self.mark.sync();
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
            Broken::Whole(fault) | Broken::One(fault) => {
                for commit in batch {
                    let failed = failed("commit", &self.path, &fault);
                    (commit.done)(Err(CommitError::Failed(failed)));
                }
            }
        }
    }

    fn transact(&mut self, batch: &[Commit]) -> Result<Vec<Outcome>, Broken> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => file::connect_writer(&self.path, &self.options).map_err(Broken::whole)?,
        };
        run(&connection, "BEGIN IMMEDIATE").map_err(Broken::whole)?;
        let before = State::read(&connection).map_err(Broken::Whole)?;
        let mut state = before;
        let outcomes = batch
            .iter()
            .map(|commit| apply(&connection, commit, &mut state))
            .collect::<Result<_, _>>()
            .map_err(Broken::One)?;
        if state != before {
            state.update(&connection).map_err(Broken::whole)?;
        }
        run(&connection, "COMMIT").map_err(Broken::whole)?;
        if state != before {
            self.mark.tell(state.commits);
        }
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
            self.mark.sync();
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

/// Applies one commit in the transaction of `connection`, and to `state`; a
/// conflict applies nothing.
fn apply(connection: &Connection, commit: &Commit, state: &mut State) -> Result<Outcome, Fault> {
    let Commit { bucket, expected, changes, .. } = commit;
    let before = Line::find(connection, bucket)?;
    let revision = before.map_or(0, |it| it.revision);
    let Some(next) = revision.checked_add(1).filter(|_| u64::try_from(revision) == Ok(expected.0))
    else {
        return Ok(Err(CommitError::Conflict));
    };
    let (id, rows) =
        before.map_or((state.buckets.count + 1, Tally::default()), |it| (it.id, it.rows));
    let mut line = Line { id, revision: next, rows };
    for change in changes {
        change_rows(connection, &mut line, change)?;
    }
    if let Some(before) = before {
        line.update(connection, bucket)?;
        state.buckets.remove(before.checksum(bucket));
    } else {
        line.insert(connection, bucket)?;
    }
    state.buckets.add(line.checksum(bucket));
    state.commits += 1;
    Ok(Ok(expected.next()))
}

/// Applies one change to the rows of the bucket of `line`, and to their tally.
fn change_rows(connection: &Connection, line: &mut Line, change: &Change) -> rusqlite::Result<()> {
    const FIND: &str = "SELECT checksum FROM row WHERE bucket = ?1 AND name = ?2";
    const PUT: &str =
        "INSERT OR REPLACE INTO row (bucket, name, checksum, value) VALUES (?1, ?2, ?3, ?4)";
    const DELETE: &str = "DELETE FROM row WHERE bucket = ?1 AND name = ?2 RETURNING checksum";
    const DELETE_FROM: &str = "DELETE FROM row WHERE bucket = ?1 AND name >= ?2 RETURNING checksum";
    const DELETE_BETWEEN: &str =
        "DELETE FROM row WHERE bucket = ?1 AND name >= ?2 AND name < ?3 RETURNING checksum";

    let (id, rows) = (line.id, &mut line.rows);
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
        Change::DeletePrefix(prefix) => match end_of(prefix) {
            Some(end) => remove(connection, rows, DELETE_BETWEEN, params![id, prefix, end])?,
            None => remove(connection, rows, DELETE_FROM, params![id, prefix])?,
        },
    }
    Ok(())
}

/// Performs a deletion, and takes what it deleted out of the tally.
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
