//! Waits for a duration or for a client.
//!
//! # Invariant
//!
//! Every wait is bounded: a platform has a limited number of instances, and one that
//! waits cannot serve other requests.

use std::time::Duration;

use crate::bindings::wasi::{
    clocks::monotonic_clock,
    io::poll::{self, Pollable},
};

/// The maximum time that an instance waits for changes in all, and for a client that
/// neither sends nor reads. A client that is still connected sends another request.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(30);

/// Waits for `time`.
pub(crate) fn sleep(time: Duration) {
    timer(time).block();
}

/// Waits until `event` is ready, for at most [`WAIT_MAX`]; returns true if it is.
pub(crate) fn is_ready_in_time(event: &Pollable) -> bool {
    event.ready() || {
        poll::poll(&[event, &timer(WAIT_MAX)]);
        event.ready()
    }
}

/// Returns the instant `time` from now, in nanoseconds of the monotonic clock.
pub(crate) fn after(time: Duration) -> u64 {
    monotonic_clock::now().saturating_add(nanos(time))
}

fn timer(time: Duration) -> Pollable {
    monotonic_clock::subscribe_duration(nanos(time))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
