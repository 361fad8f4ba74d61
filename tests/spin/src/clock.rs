//! The clock of the components: the system clock, or one that a test has stopped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use wasmtime_wasi::HostWallClock;

/// A value that no test sets, for reading the system clock.
const SYSTEM: u64 = u64::MAX;

/// A wall clock. Clones share it, so that running instances see changes.
#[derive(Debug, Clone)]
pub(crate) struct WallClock {
    /// The stopped time in milliseconds since 1970, or [`SYSTEM`].
    stopped_ms: Arc<AtomicU64>,
}

impl Default for WallClock {
    fn default() -> Self {
        Self { stopped_ms: Arc::new(AtomicU64::new(SYSTEM)) }
    }
}

impl WallClock {
    /// Stops the clock at `time_ms`, or lets it follow the system clock.
    pub(crate) fn set(&self, time_ms: Option<u64>) {
        self.stopped_ms.store(time_ms.unwrap_or(SYSTEM), Ordering::SeqCst);
    }
}

impl HostWallClock for WallClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        match self.stopped_ms.load(Ordering::SeqCst) {
            SYSTEM => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            stopped => Duration::from_millis(stopped),
        }
    }
}
