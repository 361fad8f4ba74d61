//! Who waits in an object for a change of its bucket.

use std::{cell::RefCell, time::Duration};

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use shared_context_wire::Woken;

use crate::js;

/// Those who wait.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
}

impl Hub {
    /// Wakes all who wait.
    pub(crate) fn tell(&self) {
        for waiting in self.waiting.take() {
            // Who has gone is not told.
            let _ = waiting.send(());
        }
    }

    /// Waits to be woken, for `at_most`.
    pub(crate) async fn wait(&self, at_most: Duration) -> Woken {
        let woken = self.listen();
        match select(woken, Box::pin(js::sleep(at_most))).await {
            Either::Left(_) => Woken::Changed,
            Either::Right(_) => Woken::TimeUp,
        }
    }

    fn listen(&self) -> oneshot::Receiver<()> {
        let (wake, woken) = oneshot::channel();
        let mut waiting = self.waiting.borrow_mut();
        // Those who have gone leave room for those who come.
        waiting.retain(|it| !it.is_canceled());
        waiting.push(wake);
        woken
    }
}
