//! The timer: removes entries when they expire, even if nobody writes.
//!
//! Readers never see an expired entry, removed or not. The timer frees room in the store
//! and notifies watchers. It asks the storage what is due, so a start opens no session, and
//! memory does not grow with their number. Instants are those of the engine's clock, which
//! may be set, so it is checked every second of real time. The rules of expiry are in the
//! component.

use std::{future, sync::Arc, time::Duration};

use shared_context_core::{Error, port::CommitError, time::Timestamp};
use shared_context_wire::Engine as _;
use tokio::{sync::mpsc, task::JoinSet, time::sleep};

use super::{Engine, Inner};
use crate::{Failure, Instance, failures, sqlite::DueBucket};

/// The interval at which the clock is checked while an entry is to expire.
const CHECK_PAUSE: Duration = Duration::from_secs(1);
/// When a session whose cleanup failed is retried.
const RETRY_PAUSE: Duration = Duration::from_mins(1);
/// How many sessions are cleaned up together: they share a flush of the disk.
const BATCH_MAX: usize = 16;
/// The pause after each batch in which a session only may have something to remove, to let others
/// work.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

impl Engine {
    /// Removes entries as they expire, for as long as the future is polled.
    pub async fn keep_time(&self) {
        loop {
            // Until the storage is read, every instant that is set ends the next wait.
            self.inner.alarm.wait_for(None);
            let mut due = match self.inner.kv.first_expiries(BATCH_MAX) {
                Ok(first) => first,
                Err(error) => {
                    failures::storage_failure(&error);
                    sleep(CHECK_PAUSE).await;
                    continue;
                }
            };
            let (now, next) = (self.now(), due.first().map(|it| it.at));
            due.retain(|it| it.at <= now);
            if due.is_empty() {
                self.sleep_until(next, now).await;
                continue;
            }
            let are_known = due.iter().all(DueBucket::is_known);
            if !self.clean_up_all(due).await {
                sleep(CHECK_PAUSE).await;
            } else if !are_known {
                sleep(LOOK_PAUSE).await;
            }
        }
    }

    /// Waits for the `next` instant, or until an earlier one is set. `now` is the last reading of
    /// the clock.
    async fn sleep_until(&self, next: Option<Timestamp>, now: Timestamp) {
        let alarm = &self.inner.alarm;
        alarm.wait_for(next);
        let due = async {
            match next {
                Some(Timestamp(at)) => {
                    let left = Duration::from_millis(at.saturating_sub(now.0));
                    sleep(left.min(CHECK_PAUSE)).await;
                }
                None => future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            () = alarm.earlier() => {}
        }
    }

    /// Cleans up these sessions. Returns false if one of them is still due, because the storage
    /// fails.
    async fn clean_up_all(&self, due: Vec<DueBucket>) -> bool {
        let mut cleanups = JoinSet::new();
        for DueBucket { name, .. } in due {
            let engine = self.clone();
            cleanups.spawn(async move { engine.clean_up(&name).await.is_ok() });
        }
        cleanups.join_all().await.into_iter().all(|it| it)
    }

    /// Removes the expired entries of `scope`, and stores its next expiry.
    pub(super) async fn clean_up(&self, scope: &str) -> Result<(), Failure> {
        let (inner, owned) = (Arc::clone(&self.inner), scope.to_owned());
        // Under one lock, so that no change in between sets an earlier expiry that is lost.
        self.with_write_lock(scope, 0, async move {
            let next = inner.clean_up(&owned).await;
            inner.store_next_expiry(&owned, next).await
        })
        .await
    }
}

impl Inner {
    /// Removes the expired entries of `scope`. Returns when to look at it again.
    async fn clean_up(self: &Arc<Self>, scope: &str) -> Option<Timestamp> {
        let now = self.clock.now();
        let later = |pause: Duration| {
            let milliseconds = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            Timestamp(now.0.saturating_add(milliseconds))
        };
        let wake = |mut it: Instance| it.wake(scope).map(|next| (next.map(Timestamp), ()));
        match self.change(scope, wake).await {
            // An entry that is still there at its instant must not keep the timer busy.
            Ok((next, ())) => next.map(|at| if at > now { at } else { later(CHECK_PAUSE) }),
            Err(failure) if failure.code == "SESSION_NOT_FOUND" => None,
            Err(failure) => {
                let Failure { code, message, .. } = &failure;
                let code = code.as_ref();
                if let Some(suppressed) = failures::admit(&format!("{code}: {message}")) {
                    let what = "what has expired could not be removed";
                    tracing::warn!(code, message, scope, suppressed, "{what}");
                }
                Some(later(RETRY_PAUSE))
            }
        }
    }

    async fn store_next_expiry(&self, scope: &str, next: Option<Timestamp>) -> Result<(), Failure> {
        let (done, mut outcome) = mpsc::unbounded_channel();
        self.kv.expect(scope, next, move |it| drop(done.send(it)));
        match outcome.recv().await {
            Some(Err(CommitError::Unchanged(error) | CommitError::Failed(error))) => {
                Err(super::failed(error, Error::Unstored))
            }
            Some(_) => Ok(()),
            None => Err(super::stopping()),
        }
    }
}
