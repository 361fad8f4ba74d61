//! The start of a database: verifies it, compares it with its mark, and upgrades it if its
//! format is older.
//!
//! Of a large database only the records of its buckets are verified here, and the rows later
//! (`verify`). Invariant: if anything acknowledged is found missing or altered, nothing is
//! changed and nothing is served until the operator accepts the loss.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::{
    check::{self, CheckError, Summary},
    file::{self, SqliteOptions},
    format::{DatabaseId, FORMAT_WITHOUT_CHECKSUMS, FORMAT_WITHOUT_EXPIRY, State},
    mark::{self, FoundMark, Mark, Position},
    rebuild,
    verify::Verification,
};
use crate::{
    StartError,
    folder::{DATABASE_FILE, Lock},
};

/// The size from which it is logged that the check takes a while: some 2 s per GB.
const LARGE_BYTES: u64 = 256 << 20;

/// A database that may be served.
#[derive(Debug)]
pub(super) struct OpenDatabase {
    pub(super) path: PathBuf,
    /// The connection that writes.
    pub(super) connection: Connection,
    pub(super) mark: Mark,
    /// True if all rows were verified.
    pub(super) is_verified: bool,
}

/// The result of [`SqliteKv::examine`](super::SqliteKv::examine) for an undamaged database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Examined {
    /// The format of its tables.
    pub format: u32,
    /// A summary of its content; `None` for an older format, which does not record it.
    pub contents: Option<Contents>,
}

/// A summary of a database of the present format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents {
    /// The number of the last commit.
    pub commits: u64,
    /// The number of buckets that were ever written to.
    pub buckets: u64,
    /// The number of rows.
    pub rows: u64,
}

/// Opens the database of `folder` for writing, after it is verified, upgraded and compared
/// with its mark. The folder must be locked.
pub(super) fn open(folder: &Path, options: &SqliteOptions) -> Result<OpenDatabase, StartError> {
    Start { folder, path: folder.join(DATABASE_FILE), options, mark: mark::read(folder)? }.open()
}

/// Verifies the content of `folder` and changes nothing.
pub(super) fn examine(folder: &Path) -> Result<Option<Examined>, StartError> {
    let path = folder.join(DATABASE_FILE);
    let options = &SqliteOptions::default();
    // The mark is read first: a server may commit meanwhile, so the database may be ahead.
    let start = Start { folder, path, options, mark: mark::read(folder)? };
    if !start.is_there()? {
        return start.check_new().map(|()| None).map_err(|it| start.rejection(&it));
    }
    let _lock = match Lock::take(folder) {
        Ok(lock) => Some(lock),
        Err(rejection) if rejection.is_folder_in_use() => None,
        Err(rejection) => return Err(rejection),
    };
    let format = file::check(&start.path)?;
    if format == FORMAT_WITHOUT_CHECKSUMS {
        start.inspect(check::pages)?.map_err(|it| file::damaged(&start.path, &it.to_string()))?;
        return Ok(Some(Examined { format, contents: None }));
    }
    let (Summary { format, state }, rows) =
        start.inspect(check::whole)?.map_err(|it| start.rejection(&start.damage_loss(&it)))?;
    start.compare(&state).map_err(|it| start.rejection(&it))?;
    let number = |it: i64| u64::try_from(it).unwrap_or_default();
    let (commits, buckets) = (number(state.commits), number(state.buckets.count));
    Ok(Some(Examined { format, contents: Some(Contents { commits, buckets, rows }) }))
}

/// Acknowledged data that is missing or altered.
struct Loss {
    /// The description of the loss, with the file.
    what: String,
    /// The data that is left to start with, if the loss is accepted.
    left: &'static str,
}

/// The start of one database.
struct Start<'a> {
    folder: &'a Path,
    path: PathBuf,
    options: &'a SqliteOptions,
    /// The mark as it was found.
    mark: FoundMark,
}

impl Start<'_> {
    fn open(self) -> Result<OpenDatabase, StartError> {
        if !self.is_there()? {
            let lost = self.check_new().err().map(|loss| self.accept(loss)).transpose()?;
            let state = State::new(DatabaseId::new()?);
            file::build(self.folder, &self.path, |new| Ok(state.insert(new)?))?;
            let mark = Mark::create(self.folder, state.position())?;
            let connection = self.connect()?;
            if let Some(lost) = lost {
                tracing::warn!(
                    lost,
                    "a loss was accepted: begun with an empty database; every credential from \
                     before is void, mint new ones"
                );
            }
            return Ok(self.open_database(connection, mark, true));
        }
        if file::check(&self.path)? == FORMAT_WITHOUT_CHECKSUMS {
            return self.upgrade();
        }
        let is_verified = self.is_verified_first();
        let summary = self.inspect(|connection| {
            if is_verified {
                check::whole(connection).map(|(summary, _)| summary)
            } else {
                check::records(connection)
            }
        })?;
        let Summary { format, state } = match summary {
            Ok(summary) => summary,
            Err(damage) => {
                let lost = self.accept(self.damage_loss(&damage))?;
                return self.salvage(&lost);
            }
        };
        let lost = self.compare(&state).err().map(|loss| self.accept(loss)).transpose()?;
        let mut connection = self.connect()?;
        if format == FORMAT_WITHOUT_EXPIRY {
            tracing::info!(database = %self.path.display(), "bringing it to the present format");
            rebuild::add_expiry(&mut connection).map_err(|it| file::not_opened(&self.path, &it))?;
        }
        if let Some(lost) = lost {
            return self.open_with_loss(connection, state, &lost);
        }
        let mark = match self.mark {
            FoundMark::Valid(position) if position.id == state.id => {
                Mark::open_existing(self.folder, state.position())?
            }
            _ => Mark::create(self.folder, state.position())?,
        };
        Ok(self.open_database(connection, mark, is_verified))
    }

    /// Returns true if all of the database is verified before it is served: if it is not large,
    /// if a part of it may be given up, or if an earlier server found a damaged part.
    fn is_verified_first(&self) -> bool {
        let bytes = fs::metadata(&self.path).map_or(0, |it| it.len());
        let is_first = bytes <= self.options.verified_first_bytes_max
            || self.options.accepts_loss
            || Verification::read(self.folder).is_some_and(|it| it.has_found_damage);
        if bytes >= LARGE_BYTES {
            let what = if is_first {
                "all of the database is verified before it is served"
            } else {
                "the database is large: a session is verified when it is first used, and the \
                 others meanwhile"
            };
            tracing::info!(database = %self.path.display(), mib = bytes >> 20, "{what}");
        }
        is_first
    }

    /// Returns true if there is a database. A log without its database is an error: it is
    /// worthless, and must not end up beside a new database.
    fn is_there(&self) -> Result<bool, StartError> {
        let path = &self.path;
        let is_there = path.try_exists().map_err(|it| StartError::file("look for", path, &it))?;
        if !is_there && file::wal_bytes(path) > 0 {
            let what = "it is gone, but its write-ahead log is still there";
            return Err(file::damaged(path, what));
        }
        Ok(is_there)
    }

    /// Checks that a new database may be created. Returns the loss if there was one before.
    fn check_new(&self) -> Result<(), Loss> {
        let what = match self.mark {
            FoundMark::Absent | FoundMark::Valid(Position { commits: 0, .. }) => return Ok(()),
            FoundMark::Damaged => "its mark is still there".to_owned(),
            FoundMark::Valid(Position { commits, .. }) => {
                format!("it held {commits} acknowledged commits")
            }
        };
        let what = format!("the database {} is gone, and {what}", self.path.display());
        Err(Loss { what, left: "an empty one" })
    }

    /// Returns the description of `loss` if the operator accepts it, or an error.
    fn accept(&self, loss: Loss) -> Result<String, StartError> {
        if self.options.accepts_loss { Ok(loss.what) } else { Err(self.rejection(&loss)) }
    }

    fn rejection(&self, Loss { what, left }: &Loss) -> StartError {
        StartError::new(format!("{what}; nothing was changed")).next(format!(
            "{}; or begin with {left}, once, by:\n  shared-context serve --data {} --accept-loss",
            file::restore(),
            quoted(self.folder),
        ))
    }

    fn inspect<T>(
        &self,
        inspect: impl FnOnce(&Connection) -> Result<T, CheckError>,
    ) -> Result<Result<T, check::Damage>, StartError> {
        let seen = file::inspect(&self.path, inspect).unwrap_or_else(|it| Err(it.into()));
        match seen {
            Ok(seen) => Ok(Ok(seen)),
            Err(CheckError::Damaged(damage)) => Ok(Err(damage)),
            Err(CheckError::Unreadable(error)) => Err(file::not_opened(&self.path, &error)),
        }
    }

    /// Returns the loss of a damaged database, of which a part may be intact.
    fn damage_loss(&self, damage: &check::Damage) -> Loss {
        let what = format!("the database {} is damaged: {damage}", self.path.display());
        Loss { what, left: "the sessions that are whole" }
    }

    /// Returns the loss if the database lacks commits that its mark records.
    fn compare(&self, state: &State) -> Result<(), Loss> {
        let (path, mark) = (self.path.display(), mark::path(self.folder));
        let (mark, commits) = (mark.display(), state.commits);
        let what = match self.mark {
            FoundMark::Absent if commits == 0 => return Ok(()),
            FoundMark::Absent => format!(
                "the mark {mark} is gone: whether the database {path}, which holds {commits} \
                 commits, has all that were acknowledged cannot be known without it"
            ),
            FoundMark::Damaged => format!(
                "the mark {mark} is damaged: whether the database {path}, which holds {commits} \
                 commits, has all that were acknowledged cannot be known without it"
            ),
            FoundMark::Valid(position) if position.id != state.id => {
                if position.commits == 0 && commits == 0 {
                    return Ok(());
                }
                format!("the database {path} and the mark {mark} are not of the same server")
            }
            FoundMark::Valid(position) if position.commits > commits => format!(
                "the database {path} lacks the last {} of {} acknowledged commits, as its mark \
                 {mark} tells: it, or its -wal file, is older than the mark, or was cut",
                position.commits - commits,
                position.commits
            ),
            FoundMark::Valid(_) => return Ok(()),
        };
        Err(Loss { what, left: "what is there" })
    }

    /// Upgrades a database without checksums.
    fn upgrade(self) -> Result<OpenDatabase, StartError> {
        let is_newer =
            !matches!(self.mark, FoundMark::Absent | FoundMark::Valid(Position { commits: 0, .. }));
        let loss = is_newer.then(|| {
            let path = self.path.display();
            let what = format!("the database {path} has an older format than the mark beside it");
            Loss { what, left: "what is there" }
        });
        let lost = loss.map(|it| self.accept(it)).transpose()?;
        self.inspect(check::pages)?.map_err(|it| file::damaged(&self.path, &it.to_string()))?;
        tracing::info!(database = %self.path.display(), "bringing it to the present format");
        rebuild::upgrade(self.folder, &self.path)?;
        if let Some(lost) = lost {
            tracing::warn!(
                lost,
                "a loss was accepted: begun with what was there, as a new history; every \
                 credential from before is void, mint new ones"
            );
        }
        self.open_rebuilt()
    }

    /// Builds a new database from the intact parts of a damaged one.
    fn salvage(self, damage: &str) -> Result<OpenDatabase, StartError> {
        let read = |old: &Connection| -> rusqlite::Result<_> {
            Ok((check::incomplete_buckets(old)?, State::read(old).ok()))
        };
        let (sessions, state) = file::inspect(&self.path, read)
            .flatten()
            .map_err(|it| file::damaged(&self.path, &it.to_string()))?;
        let commits = state.map_or(0, |it| it.commits);
        let aside = rebuild::without(self.folder, &self.path, &sessions, commits)?;
        tracing::warn!(
            lost = damage, ?sessions, damaged = %aside.display(),
            "a loss was accepted: begun without these sessions; the damaged database is kept, \
             and every credential from before is void: mint new ones",
        );
        if let Some(Err(more)) = state.map(|it| self.compare(&it)) {
            tracing::warn!(lost = more.what, "a loss was accepted: this is missing as well");
        }
        self.open_rebuilt()
    }

    /// Opens a database that was just built.
    fn open_rebuilt(self) -> Result<OpenDatabase, StartError> {
        let (Summary { state, .. }, _) =
            self.inspect(check::whole)?.map_err(|it| file::damaged(&self.path, &it.to_string()))?;
        let mark = Mark::create(self.folder, state.position())?;
        let connection = self.connect()?;
        Ok(self.open_database(connection, mark, true))
    }

    /// Opens a database that lacks commits. Its history differs from here on, so it becomes
    /// another database.
    fn open_with_loss(
        self,
        connection: Connection,
        mut state: State,
        lost: &str,
    ) -> Result<OpenDatabase, StartError> {
        state.id = DatabaseId::new()?;
        state.update(&connection).map_err(|it| file::not_opened(&self.path, &it))?;
        let mark = Mark::create(self.folder, state.position())?;
        tracing::warn!(
            lost,
            commits = state.commits,
            "a loss was accepted: begun with the commits that are there, as a new history; \
             every credential from before is void, mint new ones",
        );
        // Before a loss is accepted, everything is verified.
        Ok(self.open_database(connection, mark, true))
    }

    fn connect(&self) -> Result<Connection, StartError> {
        file::connect_writer(&self.path, self.options)
            .map_err(|it| file::not_opened(&self.path, &it))
    }

    fn open_database(self, connection: Connection, mark: Mark, is_verified: bool) -> OpenDatabase {
        OpenDatabase { path: self.path, connection, mark, is_verified }
    }
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}
