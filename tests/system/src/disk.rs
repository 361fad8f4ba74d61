//! Disks that are small or do not sync, and users with limited permissions.
//!
//! Mounting takes the superuser, and failing syncs a C compiler: where these are missing, functions
//! return `None`, after a line that reports what was skipped and why.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::{TempDir, tempdir};

use crate::{Setup, program, tell};

/// The source of a library that intercepts a program's syncs of its write-ahead log.
const SYNCS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int is_set(const char *name) {
    const char *flag = getenv(name);
    return flag && !access(flag, F_OK);
}
static int is_log(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 4) return 0;
    path[length] = 0;
    return !strcmp(path + length - 4, "-wal");
}
#define SYNC(name) int name(int fd) { \
    if (is_log(fd)) { \
        while (is_set("STALLING_SYNC")) usleep(1000); \
        if (is_set("FAILING_SYNC")) { errno = EIO; return -1; } \
    } \
    return ((int (*)(int))dlsym(RTLD_NEXT, #name))(fd); }
SYNC(fsync)
SYNC(fdatasync)
"#;

/// A disk whose syncs of the write-ahead log fail or stall on demand.
#[derive(Debug)]
pub struct FailingSync {
    folder: TempDir,
}

impl FailingSync {
    /// One that works.
    pub fn new() -> Option<Self> {
        let folder = tempdir().unwrap();
        let (source, library) = (folder.path().join("syncs.c"), folder.path().join("syncs.so"));
        fs::write(&source, SYNCS).unwrap();
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
        match attempt(&mut compile) {
            Ok(()) => Some(Self { folder }),
            Err(why) => {
                tell(&format!("skipped: no syncs can be made to fail here: {why}"));
                None
            }
        }
    }

    /// `setup`, on this disk.
    #[must_use]
    pub fn under(&self, setup: Setup) -> Setup {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        setup
            .environment("LD_PRELOAD", &path("syncs.so"))
            .environment("FAILING_SYNC", &path("fails"))
            .environment("STALLING_SYNC", &path("stalls"))
    }

    /// Fails from now on, or works again.
    pub fn fails(&self, fails: bool) {
        self.set("fails", fails);
    }

    /// Lets syncs wait from now on, or go on.
    pub fn stalls(&self, stalls: bool) {
        self.set("stalls", stalls);
    }

    fn set(&self, flag: &str, is_set: bool) {
        let flag = self.folder.path().join(flag);
        if is_set { fs::write(flag, "").unwrap() } else { fs::remove_file(flag).unwrap() }
    }
}

/// A user that is not the superuser and owns nothing.
const NOBODY: u32 = 65_534;

/// A separate file system, which is removed when this value is dropped.
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
        match attempt(&mut mount) {
            Ok(()) => Some(Self { folder }),
            Err(why) => {
                tell(&format!("skipped: no file system of {mib} MiB can be mounted here: {why}"));
                None
            }
        }
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills it to the last byte with a file, which may be there already; returns that
    /// file.
    pub fn fill(&self) -> PathBuf {
        let path = self.path().join("ballast");
        let mut file = File::options().create(true).append(true).open(&path).unwrap();
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
        // It is unmounted as soon as it is unused.
        if let Err(why) = attempt(Command::new("umount").arg("--lazy").arg(self.path())) {
            tell(&format!("{} stays mounted: {why}", self.path().display()));
        }
    }
}

/// Runs a command that may be missing or forbidden; the error is its output.
fn attempt(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|it| it.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.trim().to_owned()) }
}

/// A user other than the superuser, because permissions do not restrict the superuser.
#[derive(Debug)]
pub struct Commoner {
    folder: TempDir,
}

impl Commoner {
    /// Returns the user that runs this test, or `nobody` if that is the superuser.
    pub fn new() -> Self {
        let it = Self { folder: tempdir().unwrap() };
        if it.is_superuser() {
            // Where the program lies, others may not be let in. A process of
            // its own copies it: a child that another test starts meanwhile
            // would inherit a copy that is open for writing, and until that
            // child is the server, Linux refuses to run it ("Text file busy").
            let copied = Command::new("cp").arg(program::path()).arg(it.program()).status();
            assert!(copied.unwrap().success());
            set_mode(it.path(), 0o777);
            set_mode(&it.program(), 0o755);
        }
        it
    }

    /// A folder this one may enter, and write in.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a server on `folder`, started by this one.
    pub fn setup(&self, folder: &Path) -> Setup {
        let setup = Setup::new(folder);
        if self.is_superuser() { setup.as_user(NOBODY, &self.program()) } else { setup }
    }

    /// Returns whether the folder was made by the superuser.
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
