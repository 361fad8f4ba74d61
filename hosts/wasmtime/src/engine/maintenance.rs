//! Daily maintenance: archives and removes the memories of all projects by the rules.
//!
//! A pass goes over all projects, the first when the server starts. So what became due while no
//! server ran is done soon after the start. Days are those of the engine's clock, which may be
//! set. The rules are in the component. Invariant: memory does not grow with the number of
//! projects.

use std::time::Duration;

use shared_context_codec::maintenance::{DAY_MS, RUNS_MAX, has_more, is_over, maintain_request};
use shared_context_core::{ScopeKind, time::Timestamp};
use shared_context_wire::Engine as _;
use tokio::time::sleep;

use super::Engine;
use crate::{Failure, failures};

/// The interval at which the clock is checked.
const CHECK_PAUSE: Duration = Duration::from_secs(1);
/// When a pass is repeated that could not list the projects.
const RETRY_PAUSE: Duration = Duration::from_mins(1);
/// A pass pauses after this many projects and after each run, for this long, to let others work.
const BATCH: usize = 32;
const PAUSE: Duration = Duration::from_millis(10);

impl Engine {
    /// Maintains all projects, at once and then once a day, for as long as the future is polled.
    pub async fn maintain_daily(&self) {
        loop {
            let begun = self.now();
            if self.maintain_all().await.is_err() {
                sleep(RETRY_PAUSE).await;
                continue;
            }
            while !is_due(begun, self.now()) {
                sleep(CHECK_PAUSE).await;
            }
        }
    }

    /// Maintains all projects once.
    pub(super) async fn maintain_all(&self) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let projects = self.ids(ScopeKind::Project, after.as_deref(), BATCH).await?;
            for project in &projects {
                self.maintain(&ScopeKind::Project.bucket_name(project)).await;
            }
            match projects.last() {
                Some(last) => after = Some(last.clone()),
                None => return Ok(()),
            }
            sleep(PAUSE).await;
        }
    }

    /// Maintains one project until nothing is left to do.
    async fn maintain(&self, scope: &str) {
        let (caller, request) = maintain_request();
        for _ in 0..RUNS_MAX {
            match self.invoke(scope, &caller, request).await {
                Ok(reply) if has_more(&reply) => sleep(PAUSE).await,
                Ok(_) => return,
                Err(failure) if is_over(failure.code.as_ref()) => return,
                Err(Failure { code, message, .. }) => {
                    let code = code.as_ref();
                    if let Some(suppressed) = failures::admit(&format!("{code}: {message}")) {
                        let what = "a project could not be maintained";
                        tracing::warn!(code, message, scope, suppressed, "{what}");
                    }
                    return;
                }
            }
        }
    }
}

/// Returns true if the next pass is due at `now`: a day after the pass that was begun at `begun`,
/// or when the clock was set back by a day.
fn is_due(begun: Timestamp, now: Timestamp) -> bool {
    now.0.abs_diff(begun.0) >= DAY_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_due_after_a_day_by_the_clock() {
        let begun = Timestamp(10 * DAY_MS);
        for (now, due) in [(0, false), (DAY_MS - 1, false), (DAY_MS, true), (9 * DAY_MS, true)] {
            assert_eq!(is_due(begun, Timestamp(begun.0 + now)), due, "{now}");
        }
        assert!(!is_due(begun, Timestamp(9 * DAY_MS + 1)));
        assert!(is_due(begun, Timestamp(9 * DAY_MS)), "the clock was set back");
    }
}
