//! Write locks: one writer at a time per bucket.
//!
//! They only improve speed: changes that would conflict wait here instead of failing at the
//! disk. Correctness is the storage's. Invariant: a bucket without writers takes no memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{self, OwnedMutexGuard};

/// The buckets that someone writes or waits to write.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    taken: Mutex<HashMap<String, Arc<sync::Mutex<()>>>>,
}

/// The write lock of one bucket, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    bucket: String,
    lock: Option<Arc<sync::Mutex<()>>>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Locks `bucket`, first come, first served.
    pub(crate) async fn take(self: &Arc<Self>, bucket: &str) -> Turn {
        let lock = Arc::clone(self.taken().entry(bucket.to_owned()).or_default());
        // Created before the wait, so that a cancelled wait cleans up too.
        let mut turn = Turn {
            turns: Arc::clone(self),
            bucket: bucket.to_owned(),
            lock: Some(Arc::clone(&lock)),
            guard: None,
        };
        turn.guard = Some(lock.lock_owned().await);
        turn
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<String, Arc<sync::Mutex<()>>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.guard.take());
        drop(self.lock.take());
        let mut taken = self.turns.taken();
        // Others get the lock only through this map.
        if taken.get(&self.bucket).is_some_and(|it| Arc::strong_count(it) == 1) {
            taken.remove(&self.bucket);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn turns_of_one_bucket_come_in_order_and_one_at_a_time() {
        let turns = Arc::new(Turns::default());
        let (served, inside) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let first = turns.take("a").await;
        let mut waiting = Vec::new();
        for n in 0..20 {
            let (turns, served, inside) = (turns.clone(), served.clone(), inside.clone());
            waiting.push(tokio::spawn(async move {
                let _turn = turns.take("a").await;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                served.lock().unwrap().push(n);
                inside.fetch_sub(1, Ordering::SeqCst);
            }));
            tokio::task::yield_now().await;
        }
        drop(first);
        for it in waiting {
            it.await.unwrap();
        }
        assert_eq!(*served.lock().unwrap(), (0..20).collect::<Vec<_>>());
        assert!(turns.taken().is_empty());
    }

    #[tokio::test]
    async fn buckets_do_not_wait_for_each_other() {
        let turns = Arc::new(Turns::default());
        let _a = turns.take("a").await;
        timeout(Duration::from_secs(5), turns.take("b")).await.unwrap();
    }

    #[tokio::test]
    async fn who_stops_waiting_leaves_nothing_behind() {
        let turns = Arc::new(Turns::default());
        let first = turns.take("a").await;
        timeout(Duration::from_millis(1), turns.take("a")).await.unwrap_err();
        drop(first);
        assert!(turns.taken().is_empty());
        let first = turns.take("a").await;
        let mut second = Box::pin(turns.take("a"));
        timeout(Duration::from_millis(1), &mut second).await.unwrap_err();
        drop(first);
        drop(second);
        assert!(turns.taken().is_empty());
    }
}
