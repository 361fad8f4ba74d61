//! Disks that are small, and users who may not do everything.
//!
//! Mounting takes the superuser: where it cannot be done there is `None`, after a
//! line that says what was skipped and why.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::{TempDir, tempdir};

use crate::{Setup, program, tell};

/// A user that is not the superuser and owns nothing.
const NOBODY: u32 = 65_534;

/// A file system of its own, that is gone with this value.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// One of `mib` MiB.
    pub fn new(mib: u32) -> Option<Self> {
        let folder = tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]).arg(folder.path());
        match as_superuser(&mut mount) {
            Ok(()) => Some(Self { folder }),
            Err(why) => {
                tell(&format!("skipped: no file system of {mib} MiB can be mounted here: {why}"));
                None
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills it to the last byte with a file; returns that file.
    pub fn fill(&self) -> PathBuf {
        let path = self.path().join("ballast");
        let mut file = File::create(&path).unwrap();
        let chunk = [0; 4096];
        loop {
            match file.write_all(&chunk) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => return path,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // It goes as soon as nobody uses it.
        if let Err(why) = as_superuser(Command::new("umount").arg("--lazy").arg(self.path())) {
            tell(&format!("{} stays mounted: {why}", self.path().display()));
        }
    }
}

/// Runs a command of the system that takes the superuser; the error is what it
/// said.
fn as_superuser(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|it| it.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.trim().to_owned()) }
}

/// Someone who is not the superuser, whom permissions would not stop.
#[derive(Debug)]
pub struct Commoner {
    folder: TempDir,
}

impl Commoner {
    /// Who runs this test, or nobody when that is the superuser.
    pub fn new() -> Self {
        let it = Self { folder: tempdir().unwrap() };
        if it.is_superuser() {
            // Where the program lies, others may not be let in.
            fs::copy(program::path(), it.program()).unwrap();
            set_mode(it.path(), 0o777);
            set_mode(&it.program(), 0o755);
        }
        it
    }

    /// A folder this one may enter, and write in.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A server on `folder`, started by this one.
    pub fn setup(&self, folder: &Path) -> Setup {
        let setup = Setup::new(folder);
        if self.is_superuser() { setup.as_user(NOBODY, &self.program()) } else { setup }
    }

    /// Whether the folder was made by the superuser.
    fn is_superuser(&self) -> bool {
        fs::metadata(self.path()).unwrap().uid() == 0
    }

    fn program(&self) -> PathBuf {
        self.path().join("shared-context")
    }
}

impl Default for Commoner {
    fn default() -> Self {
        Self::new()
    }
}

/// Sets the permissions of `path`.
pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
