//! Instances that served a request and wait for the next one about the same session or project.
//!
//! A new instance costs several times what a short request computes in it.
//!
//! # Invariants
//!
//! - An instance is used for one scope only, from its first request to its end.
//! - An instance that was stopped or asked about another scope, holds a bucket or more memory than
//!   [`MEMORY_BYTES_MAX`], or served [`REQUESTS_MAX`] requests is not kept. Nor is one for longer
//!   than [`IDLE_MAX`], or after [`AGE_MAX`].
//! - At most so many wait as the options allow. The one that waits for longest is dropped first.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use wasmtime::{Store, component};

use super::interfaces::Functions;
use crate::State;

/// The memory limit of an instance that waits: four times what a short request needs.
const MEMORY_BYTES_MAX: usize = 2 << 20;
/// The maximum number of requests of an instance, and its maximum age.
const REQUESTS_MAX: u32 = 1_000;
const AGE_MAX: Duration = Duration::from_mins(1);
/// The longest time that an instance waits.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// An instance without its slot.
pub(super) struct Running {
    pub(super) guest: component::Instance,
    pub(super) functions: Functions,
    pub(super) store: Store<State>,
    /// True if it was stopped in the middle of a request, or was asked about another scope.
    pub(super) is_spent: bool,
    requests: u32,
    since: Instant,
}

impl Running {
    pub(super) fn new(guest: component::Instance, store: Store<State>) -> Self {
        let since = Instant::now();
        Self { guest, functions: Functions::default(), store, is_spent: false, requests: 0, since }
    }

    /// Returns true if it may serve a further request of its scope.
    fn is_reusable(&self) -> bool {
        !self.is_spent
            && self.requests < REQUESTS_MAX
            && self.since.elapsed() < AGE_MAX
            && self.store.data().is_clean(MEMORY_BYTES_MAX)
    }
}

/// The instances that wait.
pub(super) struct Waiting {
    max: usize,
    /// The one that waits for longest first.
    queue: Mutex<VecDeque<Waiter>>,
}

struct Waiter {
    scope: Arc<str>,
    running: Running,
    since: Instant,
}

impl Waiting {
    /// Creates an empty queue for `max` instances.
    pub(super) fn new(max: u32) -> Self {
        Self { max: usize::try_from(max).unwrap_or(usize::MAX), queue: Mutex::default() }
    }

    /// Takes out an instance of `scope`, the one that was used last.
    pub(super) fn take(&self, scope: &str) -> Option<Running> {
        let mut queue = self.queue();
        let place = queue.iter().rposition(|it| *it.scope == *scope)?;
        queue.remove(place).map(|it| it.running)
    }

    /// Lets an instance of `scope` wait, if it may serve a further request.
    pub(super) fn put(&self, scope: Arc<str>, mut running: Running) {
        running.requests = running.requests.saturating_add(1);
        running.store.data_mut().end_request();
        if self.max == 0 || !running.is_reusable() {
            return;
        }
        let waiter = Waiter { scope, running, since: Instant::now() };
        let mut queue = self.queue();
        // Dropped after the queue is free again.
        let surplus = if queue.len() >= self.max { queue.pop_front() } else { None };
        queue.push_back(waiter);
        drop(queue);
        drop(surplus);
    }

    /// Drops the instances that have waited for too long.
    pub(super) fn sweep(&self) {
        loop {
            let mut queue = self.queue();
            let late = queue.pop_front_if(|it| it.since.elapsed() >= IDLE_MAX);
            drop(queue);
            if late.is_none() {
                return;
            }
        }
    }

    /// Returns the number of instances that wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.queue().len()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Waiter>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("max", &self.max).finish_non_exhaustive()
    }
}
