//! Room for instances: as many as the pool has, and a place to wait for those
//! that come later.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Inner;

/// Room for instances. The pool itself would refuse one too many.
pub(super) struct Slots {
    room: Mutex<Room>,
    freed: Condvar,
}

struct Room {
    free: u32,
    waiting: u32,
}

/// Room for one instance.
pub(super) struct Slot(pub(super) Arc<Inner>);

impl Slots {
    pub(super) fn new(free: u32) -> Self {
        Self { room: Mutex::new(Room { free, waiting: 0 }), freed: Condvar::new() }
    }

    pub(super) fn take(inner: &Arc<Inner>) -> Slot {
        let slots = &inner.slots;
        let mut room = slots.room();
        while room.free == 0 {
            room.waiting += 1;
            room = slots.freed.wait(room).unwrap_or_else(PoisonError::into_inner);
            room.waiting -= 1;
        }
        room.free -= 1;
        Slot(Arc::clone(inner))
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let slots = &self.0.slots;
        let mut room = slots.room();
        room.free += 1;
        // Waking is a call to the system, even when there is nobody to wake.
        if room.waiting > 0 {
            slots.freed.notify_one();
        }
    }
}
