//! Options and limits of the component.
//!
//! # Limits
//!
//! All limits on one request are here and in the docs of [`ComponentOptions`]. A request
//! that exceeds one of them is stopped: it fails with `INTERNAL`, and its instance and all
//! its resources are freed.
//!
//! | resource | limit |
//! |---|---|
//! | memory | [`memory_bytes_max`](ComponentOptions::memory_bytes_max) in one memory, [`TABLE_ELEMENTS_MAX`] in [`MODULES`] tables |
//! | stack | [`STACK_BYTES_MAX`] |
//! | computing time | [`time_max`](ComponentOptions::time_max) |
//! | time in the host | [`host_time_max`](ComponentOptions::host_time_max) |
//! | bytes passed to the host in one call, including the reply | `memory_bytes_max` |
//! | buckets | one name, open [`BUCKETS_MAX`] times |
//! | audit records | [`RECORDS_MAX`], of the session of the request |
//! | concurrent requests | [`instances_max`](ComponentOptions::instances_max); further ones wait |
//! | instances between two requests | [`warm_instances_max`](ComponentOptions::warm_instances_max) |
//!
//! Each storage limits for itself how much it reads into memory at once.

use std::{fmt, path::PathBuf, thread, time::Duration};

/// The component's bytes, found by the build script.
#[cfg(feature = "wasm")]
pub(crate) const COMPONENT: &[u8] = include_bytes!(env!("SHARED_CONTEXT_COMPONENT_FILE"));

/// The core modules in the component: the program, and the two modules that `wit-component`
/// adds for its imports.
pub(crate) const MODULES: u32 = 3;
/// The maximum number of elements in a table of an instance.
pub(crate) const TABLE_ELEMENTS_MAX: usize = 20_000;
/// The stack limit for calls inside the component.
pub(crate) const STACK_BYTES_MAX: usize = 512 << 10;
/// The maximum number of open handles of an instance to its bucket. It needs one, and for a moment
/// two.
pub(crate) const BUCKETS_MAX: usize = 8;
/// The maximum number of audit records of a request: three for each of the most entries
/// that a session can have. No operation makes that many.
pub(crate) const RECORDS_MAX: usize = 32_768;

/// Options and limits of the component.
#[derive(Clone)]
#[non_exhaustive]
pub struct ComponentOptions {
    /// The component: [`Component::bytes`](crate::Component::bytes) or another build of it.
    /// It is trusted with the rules of sessions and with nothing else. Within the limits of
    /// these options it can fail its own request and corrupt the session of that request.
    #[cfg(feature = "wasm")]
    pub bytes: bytes::Bytes,
    /// The place of its compiled form between starts.
    pub cache: Cache,
    /// The memory limit of an instance, in bytes.
    pub memory_bytes_max: usize,
    /// The longest time an instance may compute for one request.
    pub time_max: Duration,
    /// The longest time the host may work for one request: storage, log and tokenizer
    /// together. It is checked between two calls; a call that waits for a disk is not
    /// interrupted.
    pub host_time_max: Duration,
    /// The maximum number of concurrent instances; further calls wait.
    pub instances_max: u32,
    /// The maximum number of instances that wait for the next request of the session or project
    /// they served, each for some seconds and with at most 2 MiB of memory. A request is several
    /// times faster in one of them than in a new one. 0, the default: a new instance for each
    /// request.
    pub warm_instances_max: u32,
}

/// The place of compiled code between starts. The code is run without verification, so no other
/// user should be able to write there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cache {
    /// In the platform's folder for user caches.
    #[default]
    User,
    /// In a subfolder of this folder.
    Folder(PathBuf),
    /// No place: each start compiles anew, which takes seconds.
    None,
}

#[cfg(test)]
impl ComponentOptions {
    /// Returns options with a cache that tests share, those of the conformance suite too. Each of forty
    /// tests once compiled the component for itself, which took most of their time.
    pub(crate) fn of_tests() -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/conformance");
        Self { cache: Cache::Folder(folder.into()), ..Self::default() }
    }
}

impl Default for ComponentOptions {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, Into::into);
        Self {
            #[cfg(feature = "wasm")]
            bytes: bytes::Bytes::from_static(COMPONENT),
            cache: Cache::default(),
            memory_bytes_max: 128 << 20,
            time_max: Duration::from_secs(1),
            host_time_max: Duration::from_secs(10),
            instances_max: u32::try_from(threads).unwrap_or(u32::MAX).saturating_mul(2).max(16),
            warm_instances_max: 0,
        }
    }
}

impl fmt::Debug for ComponentOptions {
    /// Omits the component's bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentOptions")
            .field("cache", &self.cache)
            .field("memory_bytes_max", &self.memory_bytes_max)
            .field("time_max", &self.time_max)
            .field("host_time_max", &self.host_time_max)
            .field("instances_max", &self.instances_max)
            .field("warm_instances_max", &self.warm_instances_max)
            .finish_non_exhaustive()
    }
}
