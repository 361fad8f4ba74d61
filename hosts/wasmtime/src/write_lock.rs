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
pub(crate) struct WriteLocks {
    locks: Mutex<HashMap<String, Arc<sync::Mutex<()>>>>,
}

/// The write lock of one bucket, held until it is dropped.
#[derive(Debug)]
pub(crate) struct WriteLock {
    owner: Arc<WriteLocks>,
    bucket: String,
    lock: Option<Arc<sync::Mutex<()>>>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl WriteLocks {
    /// Locks `bucket`, first come, first served.
    pub(crate) async fn lock(self: &Arc<Self>, bucket: &str) -> WriteLock {
        let lock = Arc::clone(self.locks().entry(bucket.to_owned()).or_default());
        // Created before the wait, so that a cancelled wait cleans up too.
        let mut write_lock = WriteLock {
            owner: Arc::clone(self),
            bucket: bucket.to_owned(),
            lock: Some(Arc::clone(&lock)),
            guard: None,
        };
        write_lock.guard = Some(lock.lock_owned().await);
        write_lock
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<String, Arc<sync::Mutex<()>>>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        drop(self.guard.take());
        drop(self.lock.take());
        let mut locks = self.owner.locks();
        // Others get the lock only through this map.
        if locks.get(&self.bucket).is_some_and(|it| Arc::strong_count(it) == 1) {
            locks.remove(&self.bucket);
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
    async fn writers_of_one_bucket_take_turns_in_order() {
        let locks = Arc::new(WriteLocks::default());
        let (served, inside) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let first = locks.lock("a").await;
        let mut waiting = Vec::new();
        for n in 0..20 {
            let (locks, served, inside) = (locks.clone(), served.clone(), inside.clone());
            waiting.push(tokio::spawn(async move {
                let _lock = locks.lock("a").await;
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
        assert!(locks.locks().is_empty());
    }

    #[tokio::test]
    async fn buckets_do_not_wait_for_each_other() {
        let locks = Arc::new(WriteLocks::default());
        let _a = locks.lock("a").await;
        timeout(Duration::from_secs(5), locks.lock("b")).await.unwrap();
    }

    #[tokio::test]
    async fn a_cancelled_wait_leaves_nothing_behind() {
        let locks = Arc::new(WriteLocks::default());
        let first = locks.lock("a").await;
        timeout(Duration::from_millis(1), locks.lock("a")).await.unwrap_err();
        drop(first);
        assert!(locks.locks().is_empty());
        let first = locks.lock("a").await;
        let mut second = Box::pin(locks.lock("a"));
        timeout(Duration::from_millis(1), &mut second).await.unwrap_err();
        drop(first);
        drop(second);
        assert!(locks.locks().is_empty());
    }
}
