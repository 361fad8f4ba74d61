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
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// When a session whose cleanup failed is retried.
const TRY_AGAIN: Duration = Duration::from_mins(1);
/// How many sessions are cleaned up together: they share a flush of the disk.
const AT_ONCE: usize = 16;
/// The initial scan pauses after this many sessions, for this long, to let others work.
const WALK: usize = 32;
const WALK_PAUSE: Duration = Duration::from_millis(10);

impl Engine {
    /// Removes entries as they expire, for as long as the future is polled. It first scans
    /// all sessions for their next expiry.
    pub async fn keep_time(&self) {
        tokio::join!(self.walk(), self.ring());
    }

    async fn walk(&self) {
        let mut after = None;
        loop {
            let sessions = self.ids(ScopeKind::Session, after.as_deref(), WALK).await;
            // If sessions cannot be listed, requests report the error.
            let Ok(sessions) = sessions else { return };
            for session in &sessions {
                self.look_at(&ScopeKind::Session.bucket_name(session)).await;
            }
            match sessions.last() {
                Some(last) => after = Some(last.clone()),
                None => return,
            }
            sleep(WALK_PAUSE).await;
        }
    }

    async fn ring(&self) {
        loop {
            let now = self.now();
            let due = self.inner.alarm.take_due(now, AT_ONCE);
            if due.is_empty() {
                self.rest(now).await;
            }
            let mut looks = JoinSet::new();
            for scope in due {
                let engine = self.clone();
                looks.spawn(async move { engine.look_at(&scope).await });
            }
            looks.join_all().await;
        }
    }

    /// Waits for the next instant; `now` is the last reading of the clock.
    async fn rest(&self, now: Timestamp) {
        let alarm = &self.inner.alarm;
        let next = async {
            match alarm.next() {
                Some(Timestamp(at)) => {
                    let left = Duration::from_millis(at.saturating_sub(now.0));
                    sleep(left.min(LOOK_AGAIN)).await;
                }
                None => future::pending().await,
            }
        };
        tokio::select! {
            () = next => {}
            () = alarm.sooner() => {}
        }
    }

    /// Removes the expired entries of `scope`, and schedules its next expiry.
    async fn look_at(&self, scope: &str) {
        let now = self.now();
        let later = |pause: Duration| {
            let milliseconds = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            Timestamp(now.0.saturating_add(milliseconds))
        };
        let next = match self.wake(scope).await {
            Ok(None) => return,
            Ok(Some(at)) if at > now.0 => Timestamp(at),
            // An entry that is still there at its instant must not keep this loop busy.
            Ok(Some(_)) => later(LOOK_AGAIN),
            Err(failure) if failure.code == "SESSION_NOT_FOUND" => return,
            Err(failure) => {
                let Failure { code, message, .. } = &failure;
                let code = code.as_ref();
                if let Some(suppressed) = failures::admit(&format!("{code}: {message}")) {
                    let what = "what has expired could not be removed";
                    tracing::warn!(code, message, scope, suppressed, "{what}");
                }
                later(TRY_AGAIN)
            }
        };
        self.inner.alarm.set(scope, next);
    }
}
