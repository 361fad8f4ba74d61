//! The timer: looks at a session when something in it expires, so that an entry
//! goes at its instant although nobody writes.
//!
//! Readers never see an expired entry, swept or not; what waits for the timer is
//! room in the store, and word of it to those who watch. Instants are those of
//! the engine's clock, which may be set: it is looked at again every second of
//! real time. Not here: what expires, which the rules know.

use std::{future, time::Duration};

use shared_context_core::{ScopeKind, time::Timestamp};
use shared_context_wire::Engine as _;
use tokio::{task::JoinSet, time::sleep};

use super::Engine;
use crate::{Failure, failures};

/// How long the clock is left alone while something is to expire.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// After how long a session that could not be looked at is tried again.
const TRY_AGAIN: Duration = Duration::from_mins(1);
/// How many sessions are looked at together: they share a flush of the disk.
const AT_ONCE: usize = 16;
/// After how many sessions, and for how long, the first walk lets others work.
const WALK: usize = 32;
const WALK_PAUSE: Duration = Duration::from_millis(10);

impl Engine {
    /// Removes what expires when it expires, for as long as this is polled.
    /// First it walks once over all sessions there are, to learn of their
    /// instants.
    pub async fn keep_time(&self) {
        tokio::join!(self.walk(), self.ring());
    }

    async fn walk(&self) {
        let mut after = None;
        loop {
            let sessions = self.ids(ScopeKind::Session, after.as_deref(), WALK).await;
            // Without a list there is none to walk over; requests tell why.
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

    /// Waits for the next instant; `now` is what the clock said last.
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

    /// Has what has expired in `scope` removed, and sets the alarm for what
    /// expires next.
    async fn look_at(&self, scope: &str) {
        let now = self.now();
        let later = |pause: Duration| {
            let milliseconds = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            Timestamp(now.0.saturating_add(milliseconds))
        };
        let next = match self.wake(scope).await {
            Ok(None) => return,
            Ok(Some(at)) if at > now.0 => Timestamp(at),
            // What is not gone at its instant must not keep this thread busy.
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
