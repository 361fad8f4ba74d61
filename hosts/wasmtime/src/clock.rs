//! The system clock as the core's port.

use std::time::{SystemTime, UNIX_EPOCH};

use shared_context_core::{port::Clock, time::Timestamp};

/// The operating system's clock. It may step back.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// Returns the current time. A clock set to before 1970 stays at the epoch.
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}
