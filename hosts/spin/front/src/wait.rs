//! Waiting: for a time, or for a client.
//!
//! # Invariant
//!
//! Nothing waits without end: a platform gives so many instances and no more, and one
//! that waits is lost to all others meanwhile.

use std::time::Duration;

use crate::bindings::wasi::{
    clocks::monotonic_clock,
    io::poll::{self, Pollable},
};

/// How long an instance waits for changes in all, and how long for a client that neither
/// sends nor reads. A client that is still there asks again.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(30);

/// Waits for `time`.
pub(crate) fn sleep(time: Duration) {
    timer(time).block();
}

/// Waits until `event` is ready, [`WAIT_MAX`] at most; returns whether it is.
pub(crate) fn is_ready_in_time(event: &Pollable) -> bool {
    event.ready() || {
        poll::poll(&[event, &timer(WAIT_MAX)]);
        event.ready()
    }
}

/// Returns the time from now on that is `time` away, by the monotonic clock.
pub(crate) fn after(time: Duration) -> u64 {
    monotonic_clock::now().saturating_add(nanos(time))
}

fn timer(time: Duration) -> Pollable {
    monotonic_clock::subscribe_duration(nanos(time))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
