//! The methods of a bucket's object that the platform calls through `entry.mjs`.

use std::rc::Rc;

use js_sys::Array;
use shared_context_core::Scope;
use wasm_bindgen::prelude::*;
use worker::{Env, State, web_sys, worker_sys::DurableObjectState};

use crate::{
    directory::DirectoryClient,
    engine::Engine,
    exchange::{self, http},
    js::Storage,
    object::Object,
    remote::{BucketClient, encode_answer, read_caller},
    sockets::Sockets,
};

/// The Durable Object of a bucket.
#[wasm_bindgen(js_name = BucketObject)]
#[expect(missing_debug_implementations, reason = "only JavaScript uses it")]
pub struct Bucket {
    object: Rc<Object>,
    engine: Rc<Engine>,
}

#[wasm_bindgen(js_class = BucketObject)]
impl Bucket {
    /// Creates the object from `state`. Its name is that of its bucket.
    ///
    /// # Errors
    ///
    /// The object's name is not that of a bucket, or it has no `SQLite` storage.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState, env: Env) -> Result<Self, JsError> {
        let state = State::from(state);
        let scope = state.id().name().and_then(|it| Scope::of_bucket(&it));
        let scope = scope.ok_or_else(|| JsError::new("no bucket has the name of this object"))?;
        let storage = Storage::of(&state).map_err(|error| JsError::new(&error.0))?;
        let sockets = Sockets::wake(state, &*http()?);
        let (directory, others) = (DirectoryClient::new(env.clone()), BucketClient::new(env));
        let object = Object::new(scope, storage, directory, others, sockets);
        Ok(Self { engine: Rc::new(Engine::of(Rc::clone(&object))), object })
    }

    /// Answers an HTTP request, or returns a promise of the answer. `body` is `None` when
    /// it is too long.
    ///
    /// # Errors
    ///
    /// The Worker is not set up, or the request is invalid.
    pub fn respond(
        &self,
        method: &str,
        url: &str,
        headers: &str,
        body: Option<Vec<u8>>,
    ) -> Result<JsValue, JsError> {
        exchange::respond(Rc::clone(&self.engine), method, url, headers, body)
    }

    /// Performs a JSON tool request for the entry.
    ///
    /// # Errors
    ///
    /// `caller` was not written by the entry.
    pub async fn invoke(
        &self,
        scope: String,
        caller: String,
        request: Vec<u8>,
    ) -> Result<Array, JsError> {
        let caller = read_caller(&caller)?;
        Ok(encode_answer(self.object.invoke(&scope, &caller, &request).await))
    }

    /// Closes a WebSocket that its client has left.
    #[wasm_bindgen(js_name = socketLeft)]
    pub fn socket_left(&self, socket: web_sys::WebSocket) {
        self.object.sockets.left(&socket.into());
    }

    /// Handles the object's alarm.
    pub async fn alarm(&self) {
        self.object.wake().await;
    }
}
