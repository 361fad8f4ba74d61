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

/// The notifier of all buckets: wakes the listeners of each.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    buckets: HashMap<String, Channel>,
    is_stopping: bool,
}

#[derive(Debug, Default)]
struct Channel {
    notify: Arc<Notify>,
    listeners: usize,
}

/// A subscription to one bucket. Dropping it unsubscribes.
#[derive(Debug)]
pub(crate) struct Listener {
    notifier: Arc<Notifier>,
    bucket: String,
    notify: Arc<Notify>,
}

impl Notifier {
    /// Subscribes to `bucket`.
    pub(crate) fn listen(self: &Arc<Self>, bucket: &str) -> Listener {
        let mut state = self.state();
        let channel = state.buckets.entry(bucket.to_owned()).or_default();
        channel.listeners += 1;
        let notify = Arc::clone(&channel.notify);
        Listener { notifier: Arc::clone(self), bucket: bucket.to_owned(), notify }
    }

    /// Wakes the listeners of `bucket`.
    pub(crate) fn notify(&self, bucket: &str) {
        if let Some(channel) = self.state().buckets.get(bucket) {
            channel.notify.notify_waiters();
        }
    }

    /// Wakes all listeners, and makes all later waits end at once.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        state.is_stopping = true;
        state.buckets.values().for_each(|it| it.notify.notify_waiters());
    }

    /// Returns true if [`Notifier::stop`] was called.
    pub(crate) fn is_stopping(&self) -> bool {
        self.state().is_stopping
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    /// Returns a future that ends when the bucket changes or all are woken. It counts from
    /// this call on, even before it is polled.
    pub(crate) fn notified(&self) -> Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.notifier.state();
        if let Some(channel) = state.buckets.get_mut(&self.bucket) {
            channel.listeners -= 1;
            if channel.listeners == 0 {
                state.buckets.remove(&self.bucket);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin, task::Context};

    use super::*;

    fn is_notified(notified: &mut (impl Future + Unpin)) -> bool {
        let mut context = Context::from_waker(std::task::Waker::noop());
        pin!(notified).poll(&mut context).is_ready()
    }

    #[test]
    fn a_listener_hears_later_changes_of_its_bucket_only() {
        let notifier = Arc::new(Notifier::default());
        notifier.notify("a");
        let (first, second, other) =
            (notifier.listen("a"), notifier.listen("a"), notifier.listen("b"));
        let (mut first, mut second) = (Box::pin(first.notified()), Box::pin(second.notified()));
        let mut other = Box::pin(other.notified());
        notifier.notify("a");
        assert!(is_notified(&mut first) && is_notified(&mut second));
        assert!(!is_notified(&mut other));
        notifier.notify("b");
        assert!(is_notified(&mut other));
    }

    #[test]
    fn stopping_wakes_all_listeners() {
        let notifier = Arc::new(Notifier::default());
        let listener = notifier.listen("a");
        let mut notified = Box::pin(listener.notified());
        assert!(!is_notified(&mut notified) && !notifier.is_stopping());
        notifier.stop();
        assert!(is_notified(&mut notified) && notifier.is_stopping());
    }

    #[test]
    fn a_dropped_listener_leaves_nothing_behind() {
        let notifier = Arc::new(Notifier::default());
        let (first, second) = (notifier.listen("a"), notifier.listen("a"));
        drop(first);
        let mut notified = Box::pin(second.notified());
        notifier.notify("a");
        assert!(is_notified(&mut notified));
        drop(notified);
        drop(second);
        assert!(notifier.state().buckets.is_empty());
    }
}
