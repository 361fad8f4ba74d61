//! The common part of targets behind HTTP: turns the requests of a case into HTTP requests, and
//! responses into replies.
//!
//! Session administration goes to its own routes, everything else to the JSON tool. A participant
//! sends a credential that was minted for it. The status must agree with the error code.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use shared_context_core::ScopeKind;

use crate::{
    case::{ADMIN, Storage},
    target::{Credential, HttpRequest, HttpResponse, Target, TargetError},
};

/// The secret with which servers under test sign credentials.
pub const SECRET: &str = "conformance: signs the credentials";
/// The admin key of servers under test.
pub const ADMIN_KEY: &str = "conformance-admin-key-0123456789abcdef";

/// The status of each error code of the JSON tool.
const STATUSES: [(&str, u16); 53] = [
    ("UNAUTHENTICATED", 401),
    ("MALFORMED_REQUEST", 400),
    ("INVALID_KEY", 400),
    ("INVALID_PATH", 400),
    ("FORMAT_TOO_NEW", 422),
    ("DOCUMENT_ALTERED", 422),
    ("SESSION_NOT_FOUND", 404),
    ("PROJECT_NOT_FOUND", 404),
    ("SESSION_EXISTS", 409),
    ("PROJECT_EXISTS", 409),
    ("SESSION_ARCHIVED", 409),
    ("PROJECT_ARCHIVED", 409),
    ("FORBIDDEN", 403),
    ("REQUEST_ID_REUSED", 409),
    ("CHANGES_TRUNCATED", 410),
    ("SNAPSHOT_NOT_FOUND", 404),
    ("SNAPSHOT_EXISTS", 409),
    ("SNAPSHOT_LIMIT", 409),
    ("ROUND_OPEN", 409),
    ("ROUND_NOT_OPEN", 409),
    ("ROUND_NOT_FOUND", 404),
    ("DELTA_NOT_FOUND", 404),
    ("ENVELOPE_NOT_FOUND", 404),
    ("MISSING_NOT_FOUND", 404),
    ("PACKET_NOT_FOUND", 404),
    ("MEMORY_NOT_FOUND", 404),
    ("SECTION_NOT_FOUND", 404),
    ("HANDOFF_NOT_FOUND", 404),
    ("KEY_NOT_FOUND", 404),
    ("PATH_NOT_FOUND", 404),
    ("PATH_EXISTS", 409),
    ("TOKENIZER_UNAVAILABLE", 503),
    ("VALUE_TOO_LARGE", 413),
    ("SECTION_TOO_LARGE", 413),
    ("SENSITIVE_VALUE", 422),
    ("BUDGET_TOO_SMALL", 422),
    ("TARGET_UNREACHABLE", 422),
    ("FEEDBACK_GIVEN", 409),
    ("SUPERSEDES_ITSELF", 409),
    ("MEMORY_ARCHIVED", 409),
    ("NOT_OWNER", 409),
    ("LEASE_EXPIRED", 409),
    ("HANDOFF_SETTLED", 409),
    ("VERSION_CONFLICT", 409),
    ("IDENTITY_CONFLICT", 409),
    ("STORE_FULL", 409),
    ("ROUND_FULL", 409),
    ("STATE_TOO_LARGE", 409),
    ("ENVELOPE_LIMIT", 409),
    ("PACKET_LIMIT", 409),
    ("MEMORY_LIMIT", 409),
    ("STORAGE_UNAVAILABLE", 503),
    ("REQUEST_TOO_LARGE", 413),
];

/// An HTTP server under test.
pub(super) trait Server {
    /// Sends one request and waits for the response.
    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String>;

    /// As [`Target::restart`].
    fn restart(&mut self) -> Result<(), String>;

    /// As [`Target::set_clock`].
    fn set_clock(&mut self, now_ms: u64);

    /// As [`Target::set_storage`].
    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        Err(format!("this server's storage cannot be set to {storage:?}"))
    }

    /// As [`Target::set_encodings`].
    fn set_encodings(&mut self, names: &[String]) -> Result<(), String> {
        Err(format!("this server's encodings cannot be set to {names:?}"))
    }
}

/// A target behind HTTP.
#[derive(Debug)]
pub(super) struct OverHttp<S>(pub(super) S);

/// A plain administrative request, which has a separate route. Other requests go to the JSON tool
/// unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AdminRequest<'r> {
    action: String,
    #[serde(borrow)]
    config: Option<&'r RawValue>,
    #[serde(borrow)]
    document: Option<&'r RawValue>,
    memories_max: Option<u32>,
}

impl<S: Server> OverHttp<S> {
    fn post(&mut self, target: String, token: &str, body: Vec<u8>) -> Result<Vec<u8>, TargetError> {
        self.request("POST", target, token, Some(body))
    }

    /// Returns the session that mints credentials for `scope`. For a project it is a session that
    /// names it, created if necessary.
    fn session(&mut self, scope: &str) -> Result<String, TargetError> {
        let (kind, id) = split(scope)?;
        if kind == ScopeKind::Session {
            return Ok(id.to_owned());
        }
        let session = super::token::session_of(id);
        let body = json!({"session_id": session, "config": {"project": id}}).to_string();
        match self.post("/v1/sessions".to_owned(), ADMIN_KEY, body.into_bytes()) {
            Ok(_) => {}
            Err(TargetError::Rejected(error))
                if String::from_utf8_lossy(&error).contains("SESSION_EXISTS") => {}
            Err(broken) => return Err(broken),
        }
        Ok(session)
    }

    fn request(
        &mut self,
        method: &str,
        target: String,
        token: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, TargetError> {
        let mut headers = vec![("Authorization".to_owned(), format!("Bearer {token}"))];
        if body.is_some() {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let request = HttpRequest { method: method.to_owned(), target, headers, body };
        let response = self.0.send(&request)?;
        reply(response)
    }

    /// Sends `request` to its own route if it is administrative.
    fn administer(
        &mut self,
        kind: ScopeKind,
        id: &str,
        token: &str,
        request: &[u8],
    ) -> Option<Result<Vec<u8>, TargetError>> {
        let AdminRequest { action, config, document, memories_max } =
            serde_json::from_slice(request).ok()?;
        let path = format!("/v1/{}s/{}", kind.as_str(), segment(id));
        Some(match (action.as_str(), config, document) {
            ("create_session", config, None) => {
                let body = json!({"session_id": id}).to_string();
                let config = config.map(|it| format!(",\"config\":{it}}}"));
                let body = match (body.strip_suffix('}'), config) {
                    (Some(body), Some(config)) => format!("{body}{config}"),
                    _ => body,
                };
                let created = self.post("/v1/sessions".to_owned(), token, body.into_bytes());
                created.and_then(|body| without_credential(&body).map_err(TargetError::Failed))
            }
            ("import_session", None, Some(document)) => {
                let target = format!("/v1/sessions/import?session_id={}", segment(id));
                let imported = self.post(target, token, document.get().as_bytes().to_vec());
                imported.and_then(|body| without_credential(&body).map_err(TargetError::Failed))
            }
            ("import_project", None, Some(document)) => {
                let document = document.get().as_bytes().to_vec();
                self.post(path + "/import", token, document)
            }
            ("export_session" | "export_project", None, None) => {
                self.request("GET", path + "/export", token, None)
            }
            ("inspect", None, None) => self.request("GET", path + "/inspect", token, None),
            ("create_project", None, None) => {
                let body = memories_max.map(|it| json!({"memories_max": it}).to_string());
                self.request("PUT", path, token, body.map(String::into_bytes))
            }
            ("show_session" | "show_project", None, None) => self.request("GET", path, token, None),
            ("delete_session" | "delete_project", None, None) => {
                self.request("DELETE", path, token, None)
            }
            ("archive_session" | "archive_project", None, None) => {
                self.request("POST", path + "/archive", token, None)
            }
            ("revoke_credentials", None, None) => {
                self.request("POST", path + "/revoke", token, None)
            }
            _ => return None,
        })
    }
}

impl<S: Server> Target for OverHttp<S> {
    fn credential(
        &mut self,
        scope: &str,
        participant: &str,
        keys: &[String],
    ) -> Result<Credential, TargetError> {
        let token = if participant == ADMIN {
            ADMIN_KEY.to_owned()
        } else {
            let session = self.session(scope)?;
            let target = format!("/v1/sessions/{}/credentials", segment(&session));
            let keys = Some(keys).filter(|it| !it.is_empty());
            let body = json!({"participant": participant, "keys": keys}).to_string();
            let minted = self.post(target, ADMIN_KEY, body.into_bytes())?;
            let minted: Value = serde_json::from_slice(&minted).map_err(|err| err.to_string())?;
            let credential = minted.get("credential").and_then(Value::as_str);
            credential.ok_or_else(|| format!("no credential in {minted}"))?.to_owned()
        };
        Ok(Credential { participant: participant.to_owned(), keys: keys.to_vec(), token })
    }

    fn invoke(
        &mut self,
        scope: &str,
        credential: &Credential,
        request: &[u8],
    ) -> Result<Vec<u8>, TargetError> {
        if let Some((kind, id)) = ScopeKind::split(scope)
            && let Some(reply) = self.administer(kind, id, &credential.token, request)
        {
            return reply;
        }
        let (kind, id) = split(scope)?;
        let target = format!("/v1/{}s/{}/shared_context", kind.as_str(), segment(id));
        self.post(target, &credential.token, request.to_vec())
    }

    fn restart(&mut self) -> Result<(), String> {
        self.0.restart()
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.0.set_clock(now_ms);
    }

    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        self.0.set_storage(storage)
    }

    fn set_encodings(&mut self, names: &[String]) -> Result<(), String> {
        self.0.set_encodings(names)
    }

    fn http(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        self.0.send(request)
    }
}

fn split(scope: &str) -> Result<(ScopeKind, &str), TargetError> {
    ScopeKind::split(scope).ok_or_else(|| TargetError::Failed(format!("{scope} is no scope")))
}

/// Converts `response` to a reply: its body, or the error of its problem document.
fn reply(response: HttpResponse) -> Result<Vec<u8>, TargetError> {
    if (200..300).contains(&response.status) {
        return Ok(response.body);
    }
    let shown = String::from_utf8_lossy(&response.body).into_owned();
    let problem: Value = serde_json::from_slice(&response.body)
        .map_err(|err| format!("status {} with {shown:?}: {err}", response.status))?;
    let error = problem.get("error").ok_or_else(|| format!("a problem without error: {shown}"))?;
    let code = error.get("code").and_then(Value::as_str).unwrap_or_default();
    if !STATUSES.contains(&(code, response.status)) {
        return Err(TargetError::Failed(format!("status {} for {code}: {shown}", response.status)));
    }
    let content_type = response.headers.iter().find(|(name, _)| name == "content-type");
    if content_type.is_none_or(|(_, value)| value != "application/problem+json") {
        return Err(TargetError::Failed(format!(
            "an error without a problem document: {content_type:?}"
        )));
    }
    Err(TargetError::Rejected(json!({ "error": error }).to_string().into_bytes()))
}

/// Returns the session object from the response to its creation, without the orchestrator's
/// credential.
fn without_credential(body: &[u8]) -> Result<Vec<u8>, String> {
    let mut created: Value = serde_json::from_slice(body).map_err(|err| err.to_string())?;
    let members = created.as_object_mut().ok_or("the created session is no object")?;
    for name in ["credential", "expires_at"] {
        members.remove(name).ok_or_else(|| format!("no {name} with the created session"))?;
    }
    Ok(created.to_string().into_bytes())
}

/// Percent-encodes `text` as one path segment: all except letters, digits and `-._~`.
pub(super) fn segment(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
