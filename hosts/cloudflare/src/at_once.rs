//! Answers that need not wait: nearly all. A promise costs more than what it is
//! waited for.

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

/// Returns what `answering` answers, or a promise of it if it has to wait.
pub(crate) fn at_once(answering: impl Future<Output = Array> + 'static) -> JsValue {
    let mut answering: Pin<Box<dyn Future<Output = Array>>> = Box::pin(answering);
    // Whoever is to wake the future keeps the waker it was first seen with; so that
    // one passes it on to whoever drives the future later.
    let relay = Arc::new(Relay::default());
    let waker = Waker::from(Arc::clone(&relay));
    let mut look = move || answering.as_mut().poll(&mut Context::from_waker(&waker));
    match look() {
        Poll::Ready(answer) => answer.into(),
        Poll::Pending => future_to_promise(poll_fn(move |context| {
            relay.0.register(context.waker());
            look().map(|answer| Ok(answer.into()))
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
