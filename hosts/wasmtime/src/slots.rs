//! Slots for instances and for long computations, given out fairly.
//!
//! The holder of a slot is a session. Each session waits in its own queue, and the queues
//! take turns: a session with many requests delays only itself. Invariant: no caller waits
//! while there is a free slot that it may have.

use std::{
    collections::VecDeque,
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use tokio::sync::oneshot;

/// The session that a slot is for; `None` if it is not known.
pub(crate) type Holder = Option<Arc<str>>;

/// A fixed number of slots, with a limit for each holder.
#[derive(Debug, Clone)]
pub(crate) struct Slots(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    count: usize,
    share_max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// The number of slots of each known holder.
    held: Vec<(Arc<str>, usize)>,
    /// The queues, in the order of their turns.
    queues: VecDeque<Queue>,
}

/// The waiting requests of one holder, first come, first served.
#[derive(Debug)]
struct Queue {
    holder: Holder,
    waiting: VecDeque<oneshot::Sender<Slot>>,
}

/// One slot, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    shared: Arc<Shared>,
    holder: Holder,
}

impl Slots {
    /// Creates `count` slots, of which a known holder has `share_max` at most.
    pub(crate) fn new(count: usize, share_max: usize) -> Self {
        let state = State { free: count, held: Vec::new(), queues: VecDeque::new() };
        Self(Arc::new(Shared { count, share_max, state: Mutex::new(state) }))
    }

    /// Returns true if all slots are free.
    pub(crate) fn are_free(&self) -> bool {
        self.0.state().free == self.0.count
    }

    /// Waits for a slot without blocking the thread.
    pub(crate) async fn wait(&self, holder: Holder) -> Slot {
        loop {
            if self.0.state().try_take(&holder, self.0.share_max) {
                return Slot { shared: Arc::clone(&self.0), holder };
            }
            let (slot, given) = oneshot::channel();
            self.0.join(holder.clone(), slot);
            // Queued senders are never dropped unsent, so this succeeds.
            if let Ok(slot) = given.await {
                return slot;
            }
        }
    }

    /// Waits for a slot and blocks the thread.
    pub(crate) fn take(&self, holder: Holder) -> Slot {
        block_on(self.wait(holder))
    }
}

impl Slot {
    pub(crate) fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Returns true if another holder waits for a slot.
    pub(crate) fn is_wanted_by_another(&self) -> bool {
        self.shared.state().queues.iter().any(|it| it.holder != self.holder)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.state().give_back(&self.holder);
        self.shared.give_out();
    }
}

impl Shared {
    /// Adds `slot` to the queue of `holder`, and hands out the free slots.
    fn join(self: &Arc<Self>, holder: Holder, slot: oneshot::Sender<Slot>) {
        let mut state = self.state();
        match state.queues.iter_mut().find(|it| it.holder == holder) {
            Some(queue) => queue.waiting.push_back(slot),
            None => state.queues.push_back(Queue { holder, waiting: VecDeque::from([slot]) }),
        }
        drop(state);
        self.give_out();
    }

    /// Gives the free slots to the queues in turn.
    fn give_out(self: &Arc<Self>) {
        loop {
            let Some((holder, waiting)) = self.state().next(self.share_max) else { return };
            // If the receiver has left meanwhile, the slot is freed as it is dropped.
            drop(waiting.send(Slot { shared: Arc::clone(self), holder }));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes a slot for `holder`, if one is free and `holder` is below its limit.
    fn try_take(&mut self, holder: &Holder, share_max: usize) -> bool {
        if self.free == 0 || !self.has_share(holder, share_max) {
            return false;
        }
        self.free -= 1;
        if let Some(holder) = holder {
            match self.held.iter_mut().find(|it| it.0 == *holder) {
                Some((_, held)) => *held += 1,
                None => self.held.push((Arc::clone(holder), 1)),
            }
        }
        true
    }

    fn give_back(&mut self, holder: &Holder) {
        self.free += 1;
        let nth = self.held.iter().position(|it| Some(&it.0) == holder.as_ref());
        if let Some(nth) = nth
            && let Some((_, held)) = self.held.get_mut(nth)
        {
            *held -= 1;
            if *held == 0 {
                self.held.swap_remove(nth);
            }
        }
    }

    /// Returns true if `holder` may have one more slot.
    fn has_share(&self, holder: &Holder, share_max: usize) -> bool {
        let held = self.held.iter().find(|it| Some(&it.0) == holder.as_ref());
        held.is_none_or(|it| it.1 < share_max)
    }

    /// Takes a slot for the next waiter that may have it.
    fn next(&mut self, share_max: usize) -> Option<(Holder, oneshot::Sender<Slot>)> {
        self.queues.retain_mut(|queue| {
            queue.waiting.retain(|it| !it.is_closed());
            !queue.waiting.is_empty()
        });
        let nth = self.queues.iter().position(|it| self.has_share(&it.holder, share_max))?;
        let holder = self.queues.get(nth)?.holder.clone();
        if !self.try_take(&holder, share_max) {
            return None;
        }
        let mut queue = self.queues.remove(nth)?;
        let waiting = queue.waiting.pop_front();
        self.queues.push_back(queue);
        waiting.map(|it| (holder, it))
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks on `future` and returns its output. Unlike tokio's `block_on` it may be called
/// anywhere.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(it) => return it,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "a holder need not be known")]
    fn of(session: &str) -> Holder {
        Some(session.into())
    }

    /// Starts a task that waits for a slot and then appends its session to `order`.
    fn begin(slots: &Slots, session: &'static str, order: &Arc<Mutex<Vec<&'static str>>>) {
        let (slots, order) = (slots.clone(), Arc::clone(order));
        tokio::spawn(async move {
            let slot = slots.wait(of(session)).await;
            order.lock().unwrap().push(session);
            tokio::task::yield_now().await;
            drop(slot);
        });
    }

    /// All requests once waited in one queue: a session with a hundred requests delayed the
    /// request of another one by all of them.
    #[tokio::test]
    async fn sessions_take_turns_despite_a_flood() {
        let slots = Slots::new(1, 1);
        let (order, taken) = (Arc::default(), slots.wait(of("flood")).await);
        for session in ["flood"; 100].into_iter().chain(["a", "b", "a"]) {
            begin(&slots, session, &order);
            tokio::task::yield_now().await;
        }
        drop(taken);
        // The last task frees its slot after it is in the order.
        while order.lock().unwrap().len() < 103 || slots.0.state().free == 0 {
            tokio::task::yield_now().await;
        }
        let order = order.lock().unwrap();
        assert_eq!(order[..6], ["flood", "a", "b", "flood", "a", "flood"]);
        let state = slots.0.state();
        assert!(state.free == 1 && state.held.is_empty() && state.queues.is_empty());
    }

    #[tokio::test]
    async fn a_session_never_has_more_than_its_share() {
        let slots = Slots::new(4, 2);
        let first = [slots.wait(of("flood")).await, slots.wait(of("flood")).await];
        let order = Arc::default();
        begin(&slots, "flood", &order);
        tokio::task::yield_now().await;
        assert!(order.lock().unwrap().is_empty());
        // A holder that is not known has no limit.
        let unknown = [slots.wait(None).await, slots.wait(None).await];
        assert_eq!(slots.0.state().free, 0);
        assert!(unknown[0].is_wanted_by_another() && !first[0].is_wanted_by_another());
        drop(unknown);
        let other = slots.take(of("other"));
        drop(first);
        while order.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        drop(other);
    }

    #[tokio::test]
    async fn a_cancelled_wait_keeps_no_slot() {
        let slots = Slots::new(1, 1);
        let taken = slots.wait(of("a")).await;
        let mut given = Box::pin(slots.wait(of("b")));
        let mut context = Context::from_waker(Waker::noop());
        assert!(given.as_mut().poll(&mut context).is_pending());
        let mut left = Box::pin(slots.wait(of("c")));
        assert!(left.as_mut().poll(&mut context).is_pending());
        drop(left);
        drop(taken);
        // Given, and dropped before it was received.
        drop(given);
        drop(slots.wait(of("d")).await);
        assert_eq!(slots.0.state().free, 1);
    }
}
