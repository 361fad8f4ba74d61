//! The timer: removes entries when they expire, even if nobody writes.
//!
//! Readers never see an expired entry, removed or not. The timer frees room in the store
//! and notifies watchers. Instants are those of the engine's clock, which may be set, so it
//! is checked every second of real time. The rules of expiry are in the component.

use std::{future, time::Duration};

use shared_context_core::{ScopeKind, time::Timestamp};
use shared_context_wire::Engine as _;
use tokio::{task::JoinSet, time::sleep};

use super::Engine;
use crate::{Failure, failures};

/// The interval at which the clock is checked while an entry is to expire.
const CHECK_PAUSE: Duration = Duration::from_secs(1);
/// When a session whose cleanup failed is retried.
const RETRY_PAUSE: Duration = Duration::from_mins(1);
/// How many sessions are cleaned up together: they share a flush of the disk.
const BATCH_MAX: usize = 16;
/// The initial scan pauses after this many sessions, for this long, to let others work.
const SCAN_BATCH: usize = 32;
const SCAN_PAUSE: Duration = Duration::from_millis(10);

impl Engine {
    /// Removes entries as they expire, for as long as the future is polled. It first scans
    /// all sessions for their next expiry.
    pub async fn keep_time(&self) {
        tokio::join!(self.scan_sessions(), self.remove_due());
    }

    async fn scan_sessions(&self) {
        let mut after = None;
        loop {
            let sessions = self.ids(ScopeKind::Session, after.as_deref(), SCAN_BATCH).await;
            // If sessions cannot be listed, requests report the error.
            let Ok(sessions) = sessions else { return };
            for session in &sessions {
                self.clean_up(&ScopeKind::Session.bucket_name(session)).await;
            }
            match sessions.last() {
                Some(last) => after = Some(last.clone()),
                None => return,
            }
            sleep(SCAN_PAUSE).await;
        }
    }

    async fn remove_due(&self) {
        loop {
            let now = self.now();
            let due = self.inner.alarm.take_due(now, BATCH_MAX);
            if due.is_empty() {
                self.sleep_until_next(now).await;
            }
            let mut cleanups = JoinSet::new();
            for scope in due {
                let engine = self.clone();
                cleanups.spawn(async move { engine.clean_up(&scope).await });
            }
            cleanups.join_all().await;
        }
    }

    /// Waits for the next instant; `now` is the last reading of the clock.
    async fn sleep_until_next(&self, now: Timestamp) {
        let alarm = &self.inner.alarm;
        let next = async {
            match alarm.next() {
                Some(Timestamp(at)) => {
                    let left = Duration::from_millis(at.saturating_sub(now.0));
                    sleep(left.min(CHECK_PAUSE)).await;
                }
                None => future::pending().await,
            }
        };
        tokio::select! {
            () = next => {}
            () = alarm.earlier() => {}
        }
    }

    /// Removes the expired entries of `scope`, and schedules its next expiry.
    async fn clean_up(&self, scope: &str) {
        let now = self.now();
        let later = |pause: Duration| {
            let milliseconds = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            Timestamp(now.0.saturating_add(milliseconds))
        };
        let next = match self.wake(scope).await {
            Ok(None) => return,
            Ok(Some(at)) if at > now.0 => Timestamp(at),
            // An entry that is still there at its instant must not keep this loop busy.
            Ok(Some(_)) => later(CHECK_PAUSE),
            Err(failure) if failure.code == "SESSION_NOT_FOUND" => return,
            Err(failure) => {
                let Failure { code, message, .. } = &failure;
                let code = code.as_ref();
                if let Some(suppressed) = failures::admit(&format!("{code}: {message}")) {
                    let what = "what has expired could not be removed";
                    tracing::warn!(code, message, scope, suppressed, "{what}");
                }
                later(RETRY_PAUSE)
            }
        };
        self.inner.alarm.set(scope, next);
    }
}
