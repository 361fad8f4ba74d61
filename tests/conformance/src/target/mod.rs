//! What a case runs on: a system that keeps sessions, behind one small trait.
//! A further host is one file below `target/` and one line in `Kind::all`.
//!
//! Leaves out what is expected of the answers: a target only carries them.

use std::fmt;

use serde_json::Value;

use crate::case::{Case, Storage};

mod component;
mod core;
mod http;
mod jco;
mod server;
mod sockets;
mod spin;
mod token;
mod wire;
mod workerd;

pub use http::{ADMIN_KEY, SECRET};

/// A system under test. It is made for one case and thrown away after it.
pub trait Target {
    /// Takes a credential for `participant` of `scope`, which is limited to
    /// `keys` unless there are none.
    fn credential(
        &mut self,
        scope: &str,
        participant: &str,
        keys: &[String],
    ) -> Result<Credential, Stop>;

    /// Sends a request of the JSON tool about `scope`, as in `session/main`, and answers the
    /// reply's body.
    fn invoke(
        &mut self,
        scope: &str,
        credential: &Credential,
        request: &[u8],
    ) -> Result<Vec<u8>, Stop>;

    /// Stops the system and starts it again over the same storage.
    fn restart(&mut self) -> Result<(), String>;

    /// Sets the system's clock, in milliseconds since the Unix epoch.
    fn set_clock(&mut self, now_ms: u64);

    /// Lets the storage behave as told. Called only on targets that can.
    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        Err(format!("this target's storage cannot be told to be {storage:?}"))
    }

    /// Lets the host count tokens with these encodings and no others. Called only
    /// on targets that can.
    fn set_encodings(&mut self, names: &[String]) -> Result<(), String> {
        Err(format!("this target's encodings cannot be told to be {names:?}"))
    }

    /// Returns the records given to the log since the last call, oldest first; `None`
    /// where they cannot be seen.
    fn logged(&mut self) -> Option<Vec<Value>> {
        None
    }

    /// Sends a request of HTTP. Called only on targets that speak it.
    fn http(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        Err(format!("this target does not speak HTTP: {} {}", request.method, request.target))
    }
}

/// What proves who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Who it was issued to.
    pub participant: String,
    /// The only keys it is for: patterns. All keys when empty.
    pub keys: Vec<String>,
    /// The proof, in the target's own form.
    pub token: String,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The system refused, with this body: `{"error":{…}}`.
    Refused(Vec<u8>),
    /// The target could not do its part; the case fails.
    Broken(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Broken(message)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(body) => write!(f, "refused: {}", String::from_utf8_lossy(body)),
            Self::Broken(message) => f.write_str(message),
        }
    }
}

/// A request of HTTP.
#[derive(Debug, Clone, Default)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// Path and query, as they are sent.
    pub target: String,
    /// Headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<Vec<u8>>,
}

/// A response of HTTP.
#[derive(Debug, Clone, Default)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Makes a system with nothing in it, as a case wants it to be.
pub type Start = Box<dyn Fn(&Case) -> Result<Box<dyn Target>, String> + Send + Sync>;

/// One kind of target: how it is made and what it can do.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub struct Kind {
    /// Its name, in the names of the tests.
    pub name: &'static str,
    /// Whether cases in HTTP run on it.
    pub speaks_http: bool,
    /// The ways in which its storage can be told to fail.
    pub faults: &'static [Storage],
    /// Whether a header that is sent twice reaches it as one, as on platforms that
    /// read requests themselves.
    pub joins_headers: bool,
    /// The encodings its host counts tokens with.
    pub encodings: &'static [&'static str],
    /// Whether its host can be told to have others.
    pub changes_encodings: bool,
    /// Whether its clock can be set.
    pub sets_clock: bool,
    /// Whether one instance of its interface serves all requests, and so remembers one
    /// at the next: rates, metrics, handshakes of MCP.
    pub is_kept: bool,
    /// Makes one.
    pub start: Start,
}

impl Kind {
    /// Returns every kind of target there is, or why one is missing here.
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

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind").field("name", &self.name).finish_non_exhaustive()
    }
}
