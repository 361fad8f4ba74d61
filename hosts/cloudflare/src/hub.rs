//! Wakes the requests in an object that wait for a change of its bucket.

use std::{cell::RefCell, time::Duration};

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use shared_context_wire::Woken;

use crate::js;

/// The waiting requests of one object.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
}

impl Notifier {
    /// Wakes all waiting requests.
    pub(crate) fn notify(&self) {
        for waiting in self.waiting.take() {
            // A request that has ended has dropped its receiver.
            let _ = waiting.send(());
        }
    }

    /// Waits for [`Notifier::notify`], for at most `at_most`.
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
        // Requests that have ended are removed, so the list does not grow without bound.
        waiting.retain(|it| !it.is_canceled());
        waiting.push(wake);
        woken
    }
}
