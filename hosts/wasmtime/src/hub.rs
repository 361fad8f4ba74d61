//! Who waits for changes of which bucket, and how they hear of one.
//!
//! It carries no changes: who is woken reads. Invariants:
//!
//! - A change that is told after someone began to listen wakes them.
//! - A bucket that nobody listens to takes no memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, futures::Notified};

/// The buckets that someone listens to.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    bells: Mutex<Bells>,
}

#[derive(Debug, Default)]
struct Bells {
    of: HashMap<String, Bell>,
    is_stopping: bool,
}

#[derive(Debug, Default)]
struct Bell {
    rings: Arc<Notify>,
    listeners: usize,
}

/// Someone who listens to one bucket, until it is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    hub: Arc<Hub>,
    bucket: String,
    bell: Arc<Notify>,
}

impl Hub {
    /// Begins to listen to `bucket`.
    pub(crate) fn listen(self: &Arc<Self>, bucket: &str) -> Listener {
        let mut bells = self.bells();
        let bell = bells.of.entry(bucket.to_owned()).or_default();
        bell.listeners += 1;
        let bell = Arc::clone(&bell.rings);
        Listener { hub: Arc::clone(self), bucket: bucket.to_owned(), bell }
    }

    /// Wakes those who listen to `bucket`.
    pub(crate) fn tell(&self, bucket: &str) {
        if let Some(bell) = self.bells().of.get(bucket) {
            bell.rings.notify_waiters();
        }
    }

    /// Wakes everyone, for good.
    pub(crate) fn stop(&self) {
        let mut bells = self.bells();
        bells.is_stopping = true;
        bells.of.values().for_each(|it| it.rings.notify_waiters());
    }

    /// Returns whether nobody is to wait any more.
    pub(crate) fn is_stopping(&self) -> bool {
        self.bells().is_stopping
    }

    fn bells(&self) -> MutexGuard<'_, Bells> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    /// Ends when the bucket changes or everyone is woken, from this call on; it
    /// need not be polled for that.
    pub(crate) fn told(&self) -> Notified<'_> {
        self.bell.notified()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut bells = self.hub.bells();
        if let Some(bell) = bells.of.get_mut(&self.bucket) {
            bell.listeners -= 1;
            if bell.listeners == 0 {
                bells.of.remove(&self.bucket);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin, task::Context};

    use super::*;

    fn is_told(told: &mut (impl Future + Unpin)) -> bool {
        let mut context = Context::from_waker(std::task::Waker::noop());
        pin!(told).poll(&mut context).is_ready()
    }

    #[test]
    fn who_listens_is_told_of_what_comes_after_and_of_that_bucket_only() {
        let hub = Arc::new(Hub::default());
        hub.tell("a");
        let (first, second, other) = (hub.listen("a"), hub.listen("a"), hub.listen("b"));
        let (mut first, mut second) = (Box::pin(first.told()), Box::pin(second.told()));
        let mut other = Box::pin(other.told());
        hub.tell("a");
        assert!(is_told(&mut first) && is_told(&mut second));
        assert!(!is_told(&mut other));
        hub.tell("b");
        assert!(is_told(&mut other));
    }

    #[test]
    fn everyone_is_told_of_the_end() {
        let hub = Arc::new(Hub::default());
        let listener = hub.listen("a");
        let mut told = Box::pin(listener.told());
        assert!(!is_told(&mut told) && !hub.is_stopping());
        hub.stop();
        assert!(is_told(&mut told) && hub.is_stopping());
    }

    #[test]
    fn who_stops_listening_leaves_nothing_behind() {
        let hub = Arc::new(Hub::default());
        let (first, second) = (hub.listen("a"), hub.listen("a"));
        drop(first);
        let mut told = Box::pin(second.told());
        hub.tell("a");
        assert!(is_told(&mut told));
        drop(told);
        drop(second);
        assert!(hub.bells().of.is_empty());
    }
}
