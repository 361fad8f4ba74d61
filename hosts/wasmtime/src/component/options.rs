//! How the component is run, and how much of everything it may have.
//!
//! # Limits
//!
//! All limits on one request stand here, and in the docs of [`ComponentOptions`].
//! What is over one of them is stopped: the request fails with `INTERNAL`, its
//! instance is gone, and with it all that it had taken.
//!
//! | what | at most |
//! |---|---|
//! | memory | [`memory_bytes_max`](ComponentOptions::memory_bytes_max) in one memory, [`TABLE_ELEMENTS_MAX`] in [`MODULES`] tables |
//! | stack | [`STACK_BYTES_MAX`] |
//! | time it computes | [`time_max`](ComponentOptions::time_max) |
//! | time its host works for it | [`host_time_max`](ComponentOptions::host_time_max) |
//! | bytes it hands its host in one call, its answer included | `memory_bytes_max` |
//! | buckets | one name, open [`BUCKETS_MAX`] times |
//! | audit records | [`RECORDS_MAX`], of the session it was asked about |
//! | requests at one time | [`instances_max`](ComponentOptions::instances_max); further ones wait |
//!
//! What a storage reads into memory at once is that storage's to limit.

use std::{fmt, path::PathBuf, thread, time::Duration};

use bytes::Bytes;

/// The component's bytes, found by the build script.
pub(super) const COMPONENT: &[u8] = include_bytes!(env!("SHARED_CONTEXT_COMPONENT_FILE"));

/// Core modules in the component: the program, and the two by which
/// `wit-component` lets it import before it is instantiated.
pub(super) const MODULES: u32 = 3;
/// How many elements a table of an instance may have.
pub(super) const TABLE_ELEMENTS_MAX: usize = 20_000;
/// How deep calls inside the component may go.
pub(super) const STACK_BYTES_MAX: usize = 512 << 10;
/// How often an instance may have its bucket open. It needs it once, and for a
/// moment twice.
pub(crate) const BUCKETS_MAX: usize = 8;
/// How many audit records a request may give: three for each of the most entries
/// that a session can have, and more than any operation does.
pub(crate) const RECORDS_MAX: usize = 32_768;

/// How the component is run.
#[derive(Clone)]
#[non_exhaustive]
pub struct ComponentOptions {
    /// The component: [`Component::bytes`](crate::Component::bytes), or another
    /// build of it. It is trusted with the sessions' rules, and with nothing else:
    /// within the limits of these options it can fail the request it was given,
    /// and spoil the session that request is about.
    pub bytes: Bytes,
    /// Where its compiled form is kept between starts.
    pub cache: Cache,
    /// The most memory an instance may take, in bytes.
    pub memory_bytes_max: usize,
    /// The longest an instance may compute for one request.
    pub time_max: Duration,
    /// The longest its host may work for it in one request: storage, log and
    /// tokenizer together. Looked at between two calls; one that waits for a disk
    /// is not cut off.
    pub host_time_max: Duration,
    /// How many instances there may be at one time; further calls wait.
    pub instances_max: u32,
}

/// Where compiled code is kept. It is run unseen: nobody else should be able to
/// write there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cache {
    /// In the platform's place for a user's caches.
    #[default]
    User,
    /// In a folder of its own inside this one.
    Folder(PathBuf),
    /// Nowhere: each start compiles anew, for about 0.2 s.
    None,
}

impl Default for ComponentOptions {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, Into::into);
        Self {
            bytes: Bytes::from_static(COMPONENT),
            cache: Cache::default(),
            memory_bytes_max: 128 << 20,
            time_max: Duration::from_secs(1),
            host_time_max: Duration::from_secs(10),
            instances_max: u32::try_from(threads).unwrap_or(u32::MAX).saturating_mul(2).max(16),
        }
    }
}

impl fmt::Debug for ComponentOptions {
    /// Without the component, which is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentOptions")
            .field("cache", &self.cache)
            .field("memory_bytes_max", &self.memory_bytes_max)
            .field("time_max", &self.time_max)
            .field("host_time_max", &self.host_time_max)
            .field("instances_max", &self.instances_max)
            .finish_non_exhaustive()
    }
}
