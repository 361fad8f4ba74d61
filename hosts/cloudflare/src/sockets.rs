//! The open Web sockets of an object. Each socket's position in the feed is stored with it,
//! so the object can leave memory while they are open (the platform's hibernation).
//!
//! # Invariants
//!
//! - A message is sent once the changes it reports are durable. The socket's new position
//!   is stored directly after, so an object that wakes continues from there.
//! - Only one call sends at a time, so each socket gets its messages in order.

use std::{cell::RefCell, rc::Rc};

use futures_util::lock::Mutex;
use shared_context_codec::Failure;
use shared_context_wire::http::{Ending, Http, Socket};
use wasm_bindgen::JsValue;
use worker::{State, WebSocket, WebSocketPair};

use crate::{engine::Engine, js, object::Object};

/// The open sockets of one object.
pub(crate) struct Sockets {
    state: State,
    open: RefCell<Vec<OpenSocket>>,
    sending: Mutex<()>,
}

struct OpenSocket {
    /// The platform's socket, with the client at its other end.
    far: WebSocket,
    /// The wire's socket; taken while messages are sent on it.
    near: Option<Box<Socket>>,
}

impl Sockets {
    /// Restores the sockets of the object with the state `state`, which may have hibernated.
    pub(crate) fn wake(state: State, http: &Http) -> Self {
        let mut open = Vec::new();
        for far in state.get_websockets() {
            let kept = far.deserialize_attachment::<String>().ok().flatten().unwrap_or_default();
            match http.resume(&kept, js::now()) {
                Ok(near) => open.push(OpenSocket { far, near: Some(near) }),
                Err(failure) => end(&far, &failure),
            }
        }
        Self { state, open: RefCell::new(open), sending: Mutex::new(()) }
    }

    /// Accepts `socket`; returns the client's end.
    ///
    /// # Errors
    ///
    /// `INTERNAL`: the platform could not open a WebSocket.
    pub(crate) fn accept(&self, socket: Box<Socket>) -> Result<JsValue, Failure> {
        let no_socket =
            |_| Failure::new("INTERNAL", "no WebSocket could be opened; read the changes in pages");
        let WebSocketPair { client, server } = WebSocketPair::new().map_err(no_socket)?;
        self.state.accept_web_socket(&server);
        server.serialize_attachment(socket.kept()).map_err(no_socket)?;
        self.open.borrow_mut().push(OpenSocket { far: server, near: Some(socket) });
        Ok(AsRef::<worker::web_sys::WebSocket>::as_ref(&client).into())
    }

    /// Returns true if no socket is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.borrow().is_empty()
    }

    /// Sends each socket the changes after its position.
    pub(crate) async fn send_changes(&self, object: &Rc<Object>) {
        let engine = Engine::of(Rc::clone(object));
        let _sending = self.sending.lock().await;
        let all: Vec<_> = self.open.borrow().iter().map(|it| it.far.clone()).collect();
        for far in all {
            let Some(mut near) = self.take(&far) else { continue };
            loop {
                let messages = near.catch_up(&engine).await;
                if object.settle().await.is_err() {
                    // These changes are not durable; the platform restarts the object.
                    break;
                }
                let is_sent = messages.iter().all(|it| far.send_with_str(it).is_ok());
                let is_kept = is_sent && far.serialize_attachment(near.kept()).is_ok();
                if let Some(code) = near.close_code() {
                    close(&far, code);
                }
                if !is_kept || !near.has_more() {
                    break;
                }
            }
            self.put_back(&far, near);
        }
        self.forget_closed();
    }

    /// Closes and forgets `far`, which its client has left.
    pub(crate) fn left(&self, far: &WebSocket) {
        close(far, NORMAL);
        self.forget_closed();
    }

    fn forget_closed(&self) {
        self.open.borrow_mut().retain(|it| is_open(&it.far));
    }

    fn take(&self, far: &WebSocket) -> Option<Box<Socket>> {
        self.open.borrow_mut().iter_mut().find(|it| it.far == *far)?.near.take()
    }

    fn put_back(&self, far: &WebSocket, near: Box<Socket>) {
        if let Some(own) = self.open.borrow_mut().iter_mut().find(|it| it.far == *far) {
            own.near = Some(near);
        }
    }
}

/// The code of a normal closure (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

fn is_open(far: &WebSocket) -> bool {
    let far: &worker::web_sys::WebSocket = far.as_ref();
    far.ready_state() == worker::web_sys::WebSocket::OPEN
}

/// Sends the reason why the feed ends, and closes the socket.
fn end(far: &WebSocket, failure: &Failure) {
    let Ending { message, close_code } = Ending::of(failure);
    // A client that has disconnected does not need the reason.
    drop(far.send_with_str(message));
    close(far, close_code);
}

fn close(far: &WebSocket, code: u16) {
    // It may be closed already.
    drop(far.close(Some(code), None::<&str>));
}
