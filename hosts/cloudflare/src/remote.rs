//! Sends JSON tool requests from the entry to an object, or from a session's object to its
//! project's, and reads the replies. Used for requests about many sessions, about one that does not
//! exist yet, or about the project of a session.

use js_sys::{Array, Uint8Array};
use serde::{Deserialize, Serialize};
use shared_context_codec::{Caller, Credential, Effect, Failure, Reply};
use shared_context_core::{Scope, port::KvError};
use wasm_bindgen::prelude::*;
use worker::Env;

use crate::{js, object};

/// The Worker's binding for the class.
const BINDING: &str = "BUCKET";

#[wasm_bindgen]
extern "C" {
    /// A stub for calling a bucket's object from elsewhere.
    type BucketStub;

    #[wasm_bindgen(method, catch)]
    async fn invoke(
        this: &BucketStub,
        scope: &str,
        caller: &str,
        request: Uint8Array,
    ) -> Result<JsValue, JsValue>;
}

/// A [`Caller`] as the entry sends it to an object.
#[derive(Serialize, Deserialize)]
struct CallerForm {
    participant: String,
    credential: Option<(u64, u64)>,
    keys: Vec<String>,
    session: Option<String>,
}

/// A [`Failure`] as an object sends it to the entry.
#[derive(Serialize, Deserialize)]
struct FailureForm {
    code: String,
    message: String,
    details: Option<String>,
}

impl From<&Caller> for CallerForm {
    fn from(caller: &Caller) -> Self {
        let Caller { participant, credential, keys, session } = caller.clone();
        let credential = credential.map(|it| (it.incarnation, it.epoch));
        Self { participant, credential, keys, session }
    }
}

impl From<CallerForm> for Caller {
    fn from(form: CallerForm) -> Self {
        let CallerForm { participant, credential, keys, session } = form;
        let credential = credential.map(|(incarnation, epoch)| Credential { incarnation, epoch });
        Self { participant, credential, keys, session }
    }
}

/// Parses the caller that the entry sent.
///
/// # Errors
///
/// The text was not written by the entry.
pub(crate) fn read_caller(text: &str) -> Result<Caller, JsError> {
    Ok(serde_json::from_str::<CallerForm>(text)?.into())
}

/// Encodes an object's answer for the entry: the revision, the next expiry, the body and
/// the effect; or only the text of a failure.
pub(crate) fn encode_answer(answer: Result<Reply, Failure>) -> Array {
    match answer {
        Ok(Reply { revision, body, effect, next_expiry_ms }) => {
            let next = next_expiry_ms.map_or(JsValue::NULL, |it| js::number(it).into());
            Array::of4(
                &js::number(revision).into(),
                &next,
                &Uint8Array::from(&body[..]).into(),
                &effect.as_str().into(),
            )
        }
        Err(Failure { code, message, details }) => {
            let form = FailureForm { code: code.into_owned(), message, details };
            Array::of1(&serde_json::to_string(&form).unwrap_or_default().into())
        }
    }
}

/// Decodes an answer that [`encode_answer`] encoded.
fn decode_answer(answer: &JsValue) -> Option<Result<Reply, Failure>> {
    let answer = Array::from(answer);
    if answer.length() == 1 {
        let form: FailureForm = serde_json::from_str(&answer.get(0).as_string()?).ok()?;
        let FailureForm { code, message, details } = form;
        return Some(Err(Failure { code: code.into(), message, details }));
    }
    let revision = js::whole(answer.get(0).as_f64()?)?;
    let next_expiry_ms = answer.get(1).as_f64().and_then(js::whole);
    let body = Uint8Array::new(&answer.get(2)).to_vec();
    let effect = Effect::named(&answer.get(3).as_string()?)?;
    Some(Ok(Reply { revision, body, effect, next_expiry_ms }))
}

/// A client of the bucket objects, for the entry.
pub(crate) struct BucketClient {
    env: Env,
}

impl BucketClient {
    /// Creates the client from the bindings in `env`.
    pub(crate) fn new(env: Env) -> Self {
        Self { env }
    }

    /// Implements [`Engine::invoke`](shared_context_wire::Engine::invoke).
    pub(crate) async fn invoke(
        &self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        if Scope::of_bucket(scope).is_none() {
            // An invalid name wakes no object.
            return object::reject_invalid_session_id(scope, caller, request);
        }
        let stub = self.stub(scope).map_err(object::unavailable)?;
        let caller = serde_json::to_string(&CallerForm::from(caller)).unwrap_or_default();
        let answer = stub.invoke(scope, &caller, Uint8Array::from(request)).await;
        let answer = answer.map_err(|thrown| object::lost(request, js::failed(&thrown)))?;
        let invalid = || object::lost(request, KvError("an object's answer is invalid".to_owned()));
        decode_answer(&answer).ok_or_else(invalid)?
    }

    fn stub(&self, scope: &str) -> Result<BucketStub, KvError> {
        let namespace = self.env.durable_object(BINDING);
        let stub = namespace.and_then(|it| it.get_by_name(scope));
        stub.map(worker::Stub::into_rpc).map_err(|error| KvError(error.to_string()))
    }
}
