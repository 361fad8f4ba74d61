//! The data folder: its lock, its secrets, and the address of its server.
//!
//! The database in it is in `sqlite`. Invariants: every file that is read from the folder
//! is written atomically, and secrets are readable by their owner only.

use std::{
    env, fmt,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use shared_context_wire::credential::Keys;

use crate::StartError;

/// The database.
pub const DATABASE_FILE: &str = "shared-context.db";
/// The high-water mark: the last acknowledged commit of the database.
pub const MARK_FILE: &str = "shared-context.mark";
/// Reserved disk space that is released for deletions on a full disk. It holds no data.
pub const RESERVE_FILE: &str = "shared-context.reserve";
/// How far a large database is verified.
pub const VERIFICATION_FILE: &str = "verification.json";
/// The [`Secrets`].
pub const SECRETS_FILE: &str = "keys.json";
const LOCK_FILE: &str = "lock";
const SERVER_FILE: &str = "server.json";

/// Returns the default data folder: the environment variable `SHARED_CONTEXT_DATA`, or the
/// platform's folder for user data.
///
/// # Errors
///
/// The variable is not set and the user has no home folder.
pub fn default_folder() -> Result<PathBuf, StartError> {
    match env::var_os("SHARED_CONTEXT_DATA").filter(|it| !it.is_empty()) {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => directories::ProjectDirs::from("", "", "shared-context")
            .map(|it| it.data_dir().to_owned())
            .ok_or_else(|| {
                StartError::new(
                    "there is no home folder to keep the data in; \
                     set SHARED_CONTEXT_DATA to a folder for it",
                )
            }),
    }
}

/// How often, and after which pause each, a lock that is held is tried again.
const LOOKS_MAX: u32 = 5;
const LOOK_TIME: Duration = Duration::from_millis(20);

/// The exclusive lock on a data folder, held until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Creates the folder if it is missing, and locks it.
    pub(crate) fn take(folder: &Path) -> Result<Self, StartError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(folder)
            .map_err(|it| StartError::file("create the data folder", folder, &it))?;
        let path = folder.join(LOCK_FILE);
        let file = private()
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|it| StartError::file("open", &path, &it))?;
        // A command that looks for a server holds it for an instant.
        let mut taken = file.try_lock();
        for _ in 0..LOOKS_MAX {
            if !matches!(taken, Err(TryLockError::WouldBlock)) {
                break;
            }
            thread::sleep(LOOK_TIME);
            taken = file.try_lock();
        }
        match taken {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                let user = match ServerFile::read(folder) {
                    Some(server) => format!(
                        "the shared-context server at {} (process {})",
                        server.url, server.pid
                    ),
                    None => "another shared-context process".to_owned(),
                };
                Err(StartError::folder_in_use(format!(
                    "{user} uses the data folder {}; use or stop that one, \
                     or choose another data folder",
                    folder.display()
                )))
            }
            Err(TryLockError::Error(it)) => Err(StartError::file("lock", &path, &it)),
        }
    }
}

/// The secrets of a server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    /// The secret that signs credentials.
    pub secret: String,
    /// The key that authenticates the operator.
    pub admin_key: String,
}

impl Secrets {
    /// Reads the secrets of the data folder, or generates them if there are none. Logs a warning
    /// if the folder `was_used` before, because then earlier secrets are lost. The caller must
    /// hold the folder's lock.
    pub(crate) fn read_or_make(folder: &Path, was_used: bool) -> Result<Self, StartError> {
        let path = folder.join(SECRETS_FILE);
        if let Some(secrets) = Self::read_file(&path)? {
            return Ok(secrets);
        }
        let secrets = Self { secret: random()?, admin_key: random()? };
        write_whole(folder, SECRETS_FILE, &secrets)?;
        if was_used {
            tracing::warn!(
                file = %path.display(),
                "the keys were missing and are made anew: earlier credentials and the earlier admin \
                 key are void; restore the file from a backup to keep them"
            );
        }
        Ok(secrets)
    }

    /// Reads the secrets of `folder`. Returns `None` if no server has generated secrets
    /// there yet.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is damaged, or is readable by other users.
    pub fn read(folder: &Path) -> Result<Option<Self>, StartError> {
        Self::read_file(&folder.join(SECRETS_FILE))
    }

    fn read_file(path: &Path) -> Result<Option<Self>, StartError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(it) if it.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(it) => return Err(StartError::file("open", path, &it)),
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let metadata = file.metadata().map_err(|it| StartError::file("open", path, &it))?;
            if metadata.mode() & 0o077 != 0 {
                return Err(StartError::new(format!(
                    "{} holds secrets and can be read by other users: chmod 600 it; \
                     if others may have seen it, remove it, and new secrets are made \
                     (every credential becomes void)",
                    path.display()
                )));
            }
        }
        let damaged = |why: &dyn fmt::Display| {
            StartError::new(format!(
                "{} is damaged ({why}); restore it, or remove it, and new secrets are made \
                 (every credential becomes void)",
                path.display()
            ))
        };
        let secrets: Self = serde_json::from_reader(io::BufReader::new(file)).map_err(|it| {
            damaged(&format!("see line {}, at character {}", it.line(), it.column()))
        })?;
        Keys::new(secrets.secret.as_bytes(), &secrets.admin_key).map_err(|it| damaged(&it))?;
        Ok(Some(secrets))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// The address of the server of a data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    /// The URL, such as `http://127.0.0.1:8080`.
    pub url: String,
    /// The process id.
    pub pid: u32,
}

impl ServerFile {
    /// Reads the file that the server of `folder` wrote when it started. Returns `None` if
    /// there is no valid one. A killed server leaves its file behind, so the file does not
    /// prove that a server answers.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(SERVER_FILE)).ok()?).ok()
    }

    /// Reads the file of the server that runs on `folder`. Returns `None` if there is none, also if
    /// one left its file behind, or the folder was copied from one that a server uses: then its lock
    /// is free. A folder without a lock belongs to another host, whose file is believed.
    pub fn of_running(folder: &Path) -> Option<Self> {
        let file = Self::read(folder)?;
        let is_free =
            File::open(folder.join(LOCK_FILE)).is_ok_and(|it| it.try_lock_shared().is_ok());
        (!is_free).then_some(file)
    }

    pub(crate) fn write(folder: &Path, url: &str) -> Result<(), StartError> {
        write_whole(folder, SERVER_FILE, &Self { url: url.to_owned(), pid: process::id() })
    }

    pub(crate) fn remove(folder: &Path) {
        // The file is only a hint: a leftover does no harm.
        drop(fs::remove_file(folder.join(SERVER_FILE)));
    }
}

/// Writes `content` as JSON to a temporary file, then renames it to `name`.
pub(crate) fn write_whole(
    folder: &Path,
    name: &str,
    content: &impl Serialize,
) -> Result<(), StartError> {
    let path = folder.join(name);
    let unfinished = folder.join(format!("{name}.new"));
    let write = || -> io::Result<()> {
        let mut file = private().create(true).truncate(true).open(&unfinished)?;
        file.write_all(&serde_json::to_vec_pretty(content)?)?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|it| StartError::file("write", &path, &it))
}

/// Returns options to open a file for writing. A file they create is readable by its owner
/// only.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn random() -> Result<String, StartError> {
    use fmt::Write;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|it| StartError::new(format!("the system gives no random bytes: {it}")))?;
    Ok(bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn secrets_are_made_once_long_and_unique() {
        let folder = tempdir().unwrap();
        assert_eq!(Secrets::read(folder.path()), Ok(None));
        let secrets = Secrets::read_or_make(folder.path(), false).unwrap();
        assert_eq!(secrets.secret.len(), 64);
        assert_eq!(secrets.admin_key.len(), 64);
        assert_ne!(secrets.secret, secrets.admin_key);
        assert_eq!(Secrets::read_or_make(folder.path(), false), Ok(secrets.clone()));
        assert_eq!(Secrets::read(folder.path()), Ok(Some(secrets.clone())));
        let other = Secrets::read_or_make(tempdir().unwrap().path(), false).unwrap();
        assert_ne!(other.secret, secrets.secret);
        assert!(!format!("{secrets:?}").contains(&secrets.secret));
    }

    #[test]
    fn damaged_secrets_are_rejected_and_left_alone() {
        let folder = tempdir().unwrap();
        Secrets::read_or_make(folder.path(), false).unwrap();
        let path = folder.path().join(SECRETS_FILE);
        for damaged in ["", "{", "{}", r#"{"secret":"x","admin_key":"y","z":1}"#] {
            fs::write(&path, damaged).unwrap();
            let error = Secrets::read_or_make(folder.path(), false).unwrap_err().to_string();
            assert!(error.contains("keys.json is damaged"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
        }
    }

    #[cfg(unix)]
    #[test]
    fn secrets_that_others_can_read_are_rejected() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempdir().unwrap();
        Secrets::read_or_make(folder.path(), false).unwrap();
        let path = folder.path().join(SECRETS_FILE);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Secrets::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn an_incomplete_server_file_counts_as_missing() {
        let folder = tempdir().unwrap();
        assert_eq!(ServerFile::read(folder.path()), None);
        fs::write(folder.path().join(SERVER_FILE), "{\"url\":").unwrap();
        assert_eq!(ServerFile::read(folder.path()), None);
        ServerFile::write(folder.path(), "http://127.0.0.1:1").unwrap();
        let server = ServerFile::read(folder.path()).unwrap();
        assert_eq!((server.url.as_str(), server.pid), ("http://127.0.0.1:1", process::id()));
        ServerFile::remove(folder.path());
        assert_eq!(ServerFile::read(folder.path()), None);
    }

    /// A command with `--data COPY` deleted a session of the server that ran on the original: the
    /// copied file had its address. After a `kill -9`, commands called whatever server had taken the
    /// address, with the key of the killed one.
    #[test]
    fn a_server_file_counts_while_a_server_holds_the_lock() {
        let (folder, copy) = (tempdir().unwrap(), tempdir().unwrap());
        let lock = Lock::take(folder.path()).unwrap();
        ServerFile::write(folder.path(), "http://127.0.0.1:1").unwrap();
        for name in [LOCK_FILE, SERVER_FILE] {
            fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
        }
        let running = ServerFile::of_running(folder.path()).unwrap();
        assert_eq!(Some(running), ServerFile::read(folder.path()));
        assert_eq!(ServerFile::of_running(copy.path()), None);
        drop(lock);
        assert_eq!(ServerFile::of_running(folder.path()), None);
        fs::remove_file(copy.path().join(LOCK_FILE)).unwrap();
        assert!(ServerFile::of_running(copy.path()).is_some(), "another host has no lock");
    }

    /// Looking whether a server runs must not keep one from starting.
    #[test]
    fn a_server_starts_while_others_look_for_it() {
        let folder = tempdir().unwrap();
        drop(Lock::take(folder.path()).unwrap());
        let looking = File::open(folder.path().join(LOCK_FILE)).unwrap();
        looking.lock_shared().unwrap();
        let looker = thread::spawn(move || {
            thread::sleep(LOOK_TIME);
            drop(looking);
        });
        Lock::take(folder.path()).unwrap();
        looker.join().unwrap();
    }

    #[test]
    fn dropping_the_lock_unlocks_the_folder() {
        let folder = tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        Lock::take(folder.path()).unwrap_err();
        drop(lock);
        Lock::take(folder.path()).unwrap();
    }
}
