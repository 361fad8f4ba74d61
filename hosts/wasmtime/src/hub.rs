//! The notifier: wakes those who wait for a change of a bucket.
//!
//! It carries no changes: a woken listener reads them itself. Invariants:
//!
//! - A change that is notified after someone began to listen wakes them.
//! - A bucket without listeners takes no memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, futures::Notified};

/// Wakes the listeners of each bucket.
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

/// A subscription to one bucket. Dropping it unsubscribes.
#[derive(Debug)]
pub(crate) struct Listener {
    hub: Arc<Hub>,
    bucket: String,
    bell: Arc<Notify>,
}

impl Hub {
    /// Subscribes to `bucket`.
    pub(crate) fn listen(self: &Arc<Self>, bucket: &str) -> Listener {
        let mut bells = self.bells();
        let bell = bells.of.entry(bucket.to_owned()).or_default();
        bell.listeners += 1;
        let bell = Arc::clone(&bell.rings);
        Listener { hub: Arc::clone(self), bucket: bucket.to_owned(), bell }
    }

    /// Wakes the listeners of `bucket`.
    pub(crate) fn tell(&self, bucket: &str) {
        if let Some(bell) = self.bells().of.get(bucket) {
            bell.rings.notify_waiters();
        }
    }

    /// Wakes all listeners, and makes all later waits end at once.
    pub(crate) fn stop(&self) {
        let mut bells = self.bells();
        bells.is_stopping = true;
        bells.of.values().for_each(|it| it.rings.notify_waiters());
    }

    /// Returns true if [`Notifier::stop`] was called.
    pub(crate) fn is_stopping(&self) -> bool {
        self.bells().is_stopping
    }

    fn bells(&self) -> MutexGuard<'_, Bells> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    /// Returns a future that ends when the bucket changes or all are woken. It counts from
    /// this call on, even before it is polled.
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
