//! Runs futures that block instead of being pending.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

/// Runs `work` to completion. It waits only for this crate's
/// [`Engine`](crate::engine::Engine), which blocks: an instance that serves a single
/// request may do so.
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        // Some futures need a second poll, such as those that join several.
        if let Poll::Ready(outcome) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return outcome;
        }
    }
}
