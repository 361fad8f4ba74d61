//! Room for instances: as many as the pool has, and a place to wait for those
//! that come later, first come, first served.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for instances. The pool itself would refuse one too many.
pub(super) struct Slots(Arc<Semaphore>);

/// Room for one instance, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Slots {
    pub(super) fn new(count: u32) -> Self {
        let count = usize::try_from(count).unwrap_or(Semaphore::MAX_PERMITS);
        Self(Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))))
    }

    /// Waits for room without keeping the thread.
    pub(super) async fn wait(&self) -> Slot {
        // Never closed, so there always is a permit.
        Slot { _permit: Arc::clone(&self.0).acquire_owned().await.ok() }
    }

    /// Waits for room on this thread.
    pub(super) fn take(&self) -> Slot {
        match Arc::clone(&self.0).try_acquire_owned() {
            Ok(permit) => Slot { _permit: Some(permit) },
            Err(_) => on_this_thread(self.wait()),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What `future` ends with. Unlike tokio's `block_on` it may be called anywhere.
fn on_this_thread<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(it) => return it,
            Poll::Pending => thread::park(),
        }
    }
}
