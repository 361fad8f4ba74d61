//! A schedule of sessions in which something expires.
//!
//! It holds one instant per session: the earliest that was set. An instant that is too
//! early costs one check of the session, so an alarm is never withdrawn. The action at that
//! instant is in `timer`. Invariant: a session in which nothing expires takes no memory.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use shared_context_core::time::Timestamp;
use tokio::sync::Notify;

/// The instants at which sessions are due.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    schedule: Mutex<Schedule>,
    earlier: Notify,
}

#[derive(Debug, Default)]
struct Schedule {
    in_order: BTreeSet<(Timestamp, Arc<str>)>,
    by_scope: HashMap<Arc<str>, Timestamp>,
}

impl Alarm {
    /// Schedules `scope` for `at`, unless it is due earlier already.
    pub(crate) fn set(&self, scope: &str, at: Timestamp) {
        let mut schedule = self.locked();
        let known =
            schedule.by_scope.get_key_value(scope).map(|(scope, at)| (*at, Arc::clone(scope)));
        let scope = match known {
            Some((before, _)) if before <= at => return,
            Some(known) => {
                schedule.in_order.remove(&known);
                known.1
            }
            None => scope.into(),
        };
        schedule.by_scope.insert(Arc::clone(&scope), at);
        schedule.in_order.insert((at, scope));
        let is_first = schedule.in_order.first().is_some_and(|(first, _)| *first == at);
        drop(schedule);
        if is_first {
            self.earlier.notify_one();
        }
    }

    /// Removes and returns at most `limit` scopes that are due at `now`.
    pub(crate) fn take_due(&self, now: Timestamp, limit: usize) -> Vec<Arc<str>> {
        let mut schedule = self.locked();
        let mut due = Vec::new();
        while due.len() < limit
            && schedule.in_order.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, scope)) = schedule.in_order.pop_first()
        {
            schedule.by_scope.remove(&scope);
            due.push(scope);
        }
        due
    }

    /// Returns the earliest instant.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.locked().in_order.first().map(|(at, _)| *at)
    }

    /// Waits until an instant is set that is earlier than all others. Also returns if that
    /// happened since the last wait.
    pub(crate) async fn earlier(&self) {
        self.earlier.notified().await;
    }

    fn locked(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(alarm: &Alarm, now: u64, limit: usize) -> Vec<String> {
        alarm.take_due(Timestamp(now), limit).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn scopes_come_in_the_order_of_their_instants() {
        let alarm = Alarm::default();
        for (scope, at) in [("c", 30), ("a", 10), ("b", 20), ("d", 20)] {
            alarm.set(scope, Timestamp(at));
        }
        assert_eq!(alarm.next(), Some(Timestamp(10)));
        assert_eq!(due(&alarm, 9, 10), [] as [&str; 0]);
        assert_eq!(due(&alarm, 20, 2), ["a", "b"]);
        assert_eq!(due(&alarm, 20, 2), ["d"]);
        assert_eq!(due(&alarm, u64::MAX, 2), ["c"]);
        assert!(alarm.locked().by_scope.is_empty() && alarm.next().is_none());
    }

    #[test]
    fn only_the_earliest_instant_of_a_scope_is_kept() {
        let alarm = Alarm::default();
        for at in [20, 30, 10, 15] {
            alarm.set("a", Timestamp(at));
        }
        assert_eq!(alarm.locked().in_order.len(), 1);
        assert_eq!(due(&alarm, 10, 10), ["a"]);
        alarm.set("a", Timestamp(30));
        assert_eq!(due(&alarm, 30, 10), ["a"]);
    }

    #[tokio::test]
    async fn a_wait_ends_for_an_earlier_instant_only() {
        use std::time::Duration;

        use tokio::time::timeout;

        let alarm = Alarm::default();
        alarm.set("a", Timestamp(20));
        alarm.earlier().await;
        alarm.set("b", Timestamp(30));
        timeout(Duration::from_millis(1), alarm.earlier()).await.unwrap_err();
        alarm.set("b", Timestamp(10));
        alarm.earlier().await;
    }
}
