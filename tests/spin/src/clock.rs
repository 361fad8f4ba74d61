//! The clock that components read: the machine's, or one that a test has stopped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use wasmtime_wasi::HostWallClock;

/// No time a test could mean: where the machine's clock is read.
const MACHINE: u64 = u64::MAX;

/// A wall clock. Clones are the same clock, so that instances under way see it move.
#[derive(Debug, Clone)]
pub(crate) struct WallClock {
    /// Where it stands, in milliseconds since 1970.
    stopped_ms: Arc<AtomicU64>,
}

impl Default for WallClock {
    fn default() -> Self {
        Self { stopped_ms: Arc::new(AtomicU64::new(MACHINE)) }
    }
}

impl WallClock {
    /// Stops it at `time_ms`, or lets it go as the machine's does.
    pub(crate) fn set(&self, time_ms: Option<u64>) {
        self.stopped_ms.store(time_ms.unwrap_or(MACHINE), Ordering::SeqCst);
    }
}

impl HostWallClock for WallClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        match self.stopped_ms.load(Ordering::SeqCst) {
            MACHINE => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            stopped => Duration::from_millis(stopped),
        }
    }
}
