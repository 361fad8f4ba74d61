//! The targets of cases: systems that store sessions, behind one small trait. A further host is
//! one file below `target/` and one line in `TargetKind::all`.
//!
//! A target only transports requests and replies. It knows no expectations.

use std::fmt;

use serde_json::Value;

use crate::case::{Case, Storage};

mod client;
mod component;
mod core;
mod http;
mod jco;
mod server;
mod spin;
mod token;
mod wire;
mod workerd;

pub use http::{ADMIN_KEY, SECRET};

/// A system under test. Each case gets a new one.
pub trait Target {
    /// Issues a credential for `participant` of `scope`, limited to `keys` unless they are empty.
    fn credential(
        &mut self,
        scope: &str,
        participant: &str,
        keys: &[String],
    ) -> Result<Credential, TargetError>;

    /// Sends a request to the JSON tool on `scope`, such as `session/main`, and returns the body of
    /// the reply.
    fn invoke(
        &mut self,
        scope: &str,
        credential: &Credential,
        request: &[u8],
    ) -> Result<Vec<u8>, TargetError>;

    /// Stops the system and starts it again over the same storage.
    fn restart(&mut self) -> Result<(), String>;

    /// Sets the system's clock, in milliseconds since the Unix epoch.
    fn set_clock(&mut self, now_ms: u64);

    /// Sets the behaviour of the storage. Called only on targets that support it.
    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        Err(format!("this target's storage cannot be set to {storage:?}"))
    }

    /// Limits the encodings of the host to these. Called only on targets that support it.
    fn set_encodings(&mut self, names: &[String]) -> Result<(), String> {
        Err(format!("this target's encodings cannot be set to {names:?}"))
    }

    /// Returns the records that were logged since the last call, oldest first, or `None` if the
    /// target cannot show them.
    fn logged(&mut self) -> Option<Vec<Value>> {
        None
    }

    /// Sends an HTTP request. Called only on targets that speak HTTP.
    fn http(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        Err(format!("this target does not speak HTTP: {} {}", request.method, request.target))
    }
}

/// The proof of a caller's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The participant that it was issued to.
    pub participant: String,
    /// The key patterns it is limited to; empty for all keys.
    pub keys: Vec<String>,
    /// The token, in the form of the target.
    pub token: String,
}

/// The reason why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetError {
    /// The system rejected the request with this body: `{"error":{…}}`.
    Rejected(Vec<u8>),
    /// The target failed, so the case fails.
    Failed(String),
}

impl From<String> for TargetError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(body) => write!(f, "rejected: {}", String::from_utf8_lossy(body)),
            Self::Failed(message) => f.write_str(message),
        }
    }
}

/// An HTTP request.
#[derive(Debug, Clone, Default)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<Vec<u8>>,
}

/// An HTTP response.
#[derive(Debug, Clone, Default)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Starts an empty system with the settings of a case.
pub type TargetFactory = Box<dyn Fn(&Case) -> Result<Box<dyn Target>, String> + Send + Sync>;

/// One kind of target: its constructor and its capabilities.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent capability")]
pub struct TargetKind {
    /// The name, a part of the test names.
    pub name: &'static str,
    /// It runs the cases with HTTP steps.
    pub speaks_http: bool,
    /// The storage faults that it supports.
    pub faults: &'static [Storage],
    /// A header that is sent twice reaches it as one, because its platform parses requests.
    pub joins_headers: bool,
    /// The encodings of its tokenizer.
    pub encodings: &'static [&'static str],
    /// Its encodings can be changed.
    pub changes_encodings: bool,
    /// Its clock can be set.
    pub sets_clock: bool,
    /// One instance serves all requests, so it has in-process state: rates, metrics, MCP
    /// handshakes.
    pub keeps_state: bool,
    /// Starts a target.
    pub start: TargetFactory,
}

impl TargetKind {
    /// Returns every kind of target, or the reason why it is unavailable.
    pub fn all() -> Vec<Result<Self, String>> {
        vec![
            Ok(core::kind()),
            Ok(component::in_memory()),
            Ok(component::over_sqlite()),
            Ok(wire::kind()),
            Ok(server::kind()),
            workerd::kind(),
            jco::kind(),
            spin::over_sqlite(),
            spin::over_key_value(),
            spin::real(),
        ]
    }
}

impl fmt::Debug for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TargetKind").field("name", &self.name).finish_non_exhaustive()
    }
}
