//! The number of connections that the system allows: each is an open file, and a process
//! may open only so many.

use super::connection_slots::RESERVED;

/// Returns how many of the `wanted` connections the system allows. Raises the limit first
/// if it is too low: many systems start with 1024 open files and allow more.
#[cfg(unix)]
pub(super) fn connections_allowed(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Open files that are not usual connections: those of the database and the program,
    /// reserved connections, and connections about to be closed.
    const OTHERS: u64 = 64 + 2 * RESERVED as u64;
    let files_wanted = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < files_wanted) {
        let current = Some(files_wanted.min(maximum.unwrap_or(files_wanted)));
        // If the system denies it, the present limit is used.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(files_wanted);
    let allowed = usize::try_from(files - OTHERS.min(files / 2)).unwrap_or(usize::MAX);
    if allowed < wanted {
        tracing::warn!(
            "the system allows this process {files} open files: it keeps {allowed} connections \
             at a time; `ulimit -n` raises the limit"
        );
    }
    allowed.clamp(1, wanted.max(1))
}

#[cfg(not(unix))]
pub(super) fn connections_allowed(wanted: usize) -> usize {
    wanted.max(1)
}
