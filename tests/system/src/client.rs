//! A client that does as it should: whole requests of JSON over connections that
//! are kept.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::{Agent, http};

use crate::secrets;

/// The time limit for an answer before the test fails.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// The longest body of an answer, in bytes: longer than a whole session.
const BODY_MAX: u64 = 64 << 20;

/// A client that calls a server with one credential.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    url: String,
    credential: String,
}

/// The answer of a server.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: http::HeaderMap,
    /// The body.
    pub text: String,
}

impl Client {
    /// Returns a client of the server at `url` with `credential`.
    pub fn new(url: &str, credential: &str) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWER_MAX))
            .proxy(None)
            .build()
            .into();
        secrets::secret(credential);
        Self { agent, url: url.to_owned(), credential: credential.to_owned() }
    }

    /// Returns where the server is, such as `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the same without `http://`.
    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Returns the credential this client shows.
    pub fn credential(&self) -> &str {
        &self.credential
    }

    /// Returns another client of the same server, over a separate connection.
    #[must_use]
    pub fn with_credential(&self, credential: &str) -> Self {
        Self::new(&self.url, credential)
    }

    /// Sends one request and reads the whole answer.
    ///
    /// # Errors
    ///
    /// No whole answer came: whether the request was carried out is unknown.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Answer, ureq::Error> {
        secrets::request(path, headers.iter().copied(), body);
        let mut request =
            http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if !self.credential.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.credential));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = match body {
            Some(body) => self.agent.run(request.body(body)?)?,
            None => self.agent.run(request.body(())?)?,
        };
        let text = response.body_mut().with_config().limit(BODY_MAX).read_to_string()?;
        secrets::answer(&text);
        Ok(Answer { status: response.status().as_u16(), headers: response.headers().clone(), text })
    }

    /// As [`Client::try_send`] with a body of JSON, which must be answered.
    pub fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(|it| serde_json::to_vec(it).unwrap());
        let headers: &[_] =
            if body.is_some() { &[("content-type", "application/json")] } else { &[] };
        self.try_send(method, path, headers, body.as_deref())
            .unwrap_or_else(|error| panic!("{method} {path} got no answer: {error}"))
    }

    /// `GET`.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    /// `POST` of JSON.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body))
    }

    /// Sends a request of the JSON tool on `session`.
    pub fn tool(&self, session: &str, request: &Value) -> Answer {
        self.post(&tool_path(session), request)
    }

    /// As [`Client::tool`].
    ///
    /// # Errors
    ///
    /// As [`Client::try_send`].
    pub fn try_tool(&self, session: &str, request: &Value) -> Result<Answer, ureq::Error> {
        self.try_post(&tool_path(session), request)
    }

    /// As [`Client::post`].
    ///
    /// # Errors
    ///
    /// As [`Client::try_send`].
    pub fn try_post(&self, path: &str, body: &Value) -> Result<Answer, ureq::Error> {
        let body = serde_json::to_vec(body).unwrap();
        self.try_send("POST", path, &[("content-type", "application/json")], Some(&body))
    }

    /// Writes an entry.
    pub fn write(&self, session: &str, key: &str, value: &str) -> Answer {
        self.tool(session, &json!({"action": "write", "key": key, "value": value}))
    }

    /// Reads an entry.
    pub fn read(&self, session: &str, key: &str) -> Answer {
        self.tool(session, &json!({"action": "read", "key": key}))
    }

    /// Creates `session` as the admin; returns its orchestrator.
    #[must_use]
    pub fn create_session(&self, session: &str, config: &Value) -> Self {
        let body = json!({"session_id": session, "config": config});
        let created = self.post("/v1/sessions", &body).expect(201);
        self.with_credential(created["credential"].as_str().unwrap())
    }

    /// Mints a credential of `session` for `participant`; returns that participant.
    #[must_use]
    pub fn mint(&self, session: &str, participant: &str) -> Self {
        let path = format!("/v1/sessions/{session}/credentials");
        let minted = self.post(&path, &json!({"participant": participant})).expect(201);
        self.with_credential(minted["credential"].as_str().unwrap())
    }
}

impl Answer {
    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the body as JSON; the answer must have the status `status`.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// Returns the message of an error; the answer must have `status` and `code`.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> String {
        let body = self.expect(status);
        assert_eq!(body["error"]["code"], code, "{body}");
        body["error"]["message"].as_str().unwrap().to_owned()
    }
}

fn tool_path(session: &str) -> String {
    format!("/v1/sessions/{session}/shared_context")
}
