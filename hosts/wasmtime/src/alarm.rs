//! The alarm: wakes the timer when something expires earlier than it waits for.
//!
//! What expires when is in the storage; the timer is in `engine`. Invariant: memory does not
//! grow with the number of sessions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shared_context_core::time::Timestamp;
use tokio::sync::Notify;

/// The instant that the timer waits for.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    next: Mutex<Option<Timestamp>>,
    earlier: Notify,
}

impl Alarm {
    /// Wakes the timer if it does not wait for `at` or an earlier instant.
    pub(crate) fn set(&self, at: Timestamp) {
        let mut next = self.next();
        if next.is_none_or(|next| at < next) {
            *next = Some(at);
            drop(next);
            self.earlier.notify_one();
        }
    }

    /// Notes that the timer waits for `next`.
    pub(crate) fn wait_for(&self, next: Option<Timestamp>) {
        *self.next() = next;
    }

    /// Waits until an instant is set that is earlier than the one waited for. Also returns if
    /// that happened since the last wait.
    pub(crate) async fn earlier(&self) {
        self.earlier.notified().await;
    }

    fn next(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_wait_ends_for_an_earlier_instant_only() {
        let alarm = Alarm::default();
        alarm.set(Timestamp(20));
        alarm.earlier().await;
        alarm.set(Timestamp(30));
        timeout(Duration::from_millis(1), alarm.earlier()).await.unwrap_err();
        alarm.set(Timestamp(10));
        alarm.earlier().await;
        alarm.wait_for(Some(Timestamp(40)));
        alarm.set(Timestamp(30));
        alarm.earlier().await;
    }
}
