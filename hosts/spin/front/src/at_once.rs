//! Futures that are never pending: what they wait for, they wait for inside.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

/// Returns the outcome of `work`, which waits for nothing but this crate's
/// [`Engine`](crate::engine::Engine): an instance that serves one request may block.
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        // A future may want to be polled once more, such as one that asks many at once.
        if let Poll::Ready(outcome) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return outcome;
        }
    }
}
