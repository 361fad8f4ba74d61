//! Returns answers to JavaScript without a promise when they are ready, as nearly all
//! are. A promise would cost more than computing the answer.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::future_to_promise;

/// Polls `answering` once; returns its answer, or a promise if it has to wait.
pub(crate) fn at_once(answering: impl Future<Output = Array> + 'static) -> JsValue {
    let mut answering: Pin<Box<dyn Future<Output = Array>>> = Box::pin(answering);
    // The future keeps the waker of its first poll, so that waker relays to the task
    // which polls the future later.
    let relay = Arc::new(Relay::default());
    let waker = Waker::from(Arc::clone(&relay));
    let mut poll = move || answering.as_mut().poll(&mut Context::from_waker(&waker));
    match poll() {
        Poll::Ready(answer) => answer.into(),
        Poll::Pending => future_to_promise(poll_fn(move |context| {
            relay.0.register(context.waker());
            poll().map(|answer| Ok(answer.into()))
        }))
        .into(),
    }
}

#[derive(Default)]
struct Relay(AtomicWaker);

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}
