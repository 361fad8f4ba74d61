//! A memory budget that all connections share.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

/// The longest wait for memory.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// The interval at which others are asked to free memory meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A budget of bytes.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    free: Arc<Semaphore>,
    bytes_max: u32,
}

/// A part of the budget, held until it is dropped.
pub(super) type MemoryPermit = OwnedSemaphorePermit;

impl MemoryBudget {
    pub(super) fn new(bytes_max: u32) -> Self {
        let permits = usize::try_from(bytes_max).unwrap_or(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(permits)), bytes_max }
    }

    /// Takes `bytes`, if they are free now. A request for more than the whole budget takes
    /// all of it.
    pub(super) fn try_take(&self, bytes: usize) -> Option<MemoryPermit> {
        Arc::clone(&self.free).try_acquire_many_owned(self.permits(bytes)).ok()
    }

    /// Takes `bytes`, or returns `None` if they do not become free in time. Meanwhile it
    /// calls `clear` repeatedly, which asks others to free memory.
    pub(super) async fn take(&self, bytes: usize, clear: impl Fn()) -> Option<MemoryPermit> {
        if let Some(taken) = self.try_take(bytes) {
            return Some(taken);
        }
        let until = Instant::now() + WAIT_MAX;
        let mut permit = pin!(Arc::clone(&self.free).acquire_many_owned(self.permits(bytes)));
        loop {
            clear();
            let next = (Instant::now() + ASK_EVERY).min(until);
            match timeout_at(next, &mut permit).await {
                Ok(taken) => return taken.ok(),
                Err(_) if next == until => return None,
                Err(_) => {}
            }
        }
    }

    fn permits(&self, bytes: usize) -> u32 {
        u32::try_from(bytes).unwrap_or(u32::MAX).min(self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn memory_is_taken_and_freed_and_waits_are_short() {
        let budget = MemoryBudget::new(10);
        let six = budget.take(6, || ()).await.unwrap();
        assert!(budget.try_take(5).is_none() && budget.try_take(4).is_some());
        let began = Instant::now();
        assert!(budget.take(5, || ()).await.is_none());
        assert!(began.elapsed() >= WAIT_MAX);
        let cleared = std::sync::Mutex::new(Some(six));
        let five = budget.take(5, || drop(cleared.lock().unwrap().take())).await.unwrap();
        assert!(budget.take(100, || ()).await.is_none());
        drop(five);
        assert!(budget.take(100, || ()).await.is_some());
    }
}
