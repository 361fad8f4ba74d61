//! HTTP requests to a server; `answer` has its answers, `bearer` the secrets that prove a caller.
//! The `server` module chooses the server and the credential.
//!
//! # Invariant
//!
//! A credential is sent only to the address it is for: redirects and proxies are not
//! followed. It is never printed.

mod answer;
mod bearer;

use std::{
    io::{self, BufReader},
    net::IpAddr,
    path::Path,
    time::Duration,
};

use http::{Method, Request, Response, StatusCode, Uri, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::{Agent, AsSendBody, BodyReader};

pub(crate) use self::{
    answer::{Answer, is_stream, not_a_server, parse, rejection, whole_body},
    bearer::Bearer,
};
use super::{
    problem::{Kind, Problem},
    tls,
};

/// The default address of a server.
pub(crate) const LISTEN_DEFAULT: &str = "127.0.0.1:8787";
const CONNECT_MAX: Duration = Duration::from_secs(3);
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// The longest silence on an event stream. A server sends a heartbeat every 15 seconds.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// The longest address of a request, in bytes: what the library for HTTP takes.
const ADDRESS_BYTES_MAX: usize = 65_534;
const EVENT_STREAM: &str = "text/event-stream";
/// The characters that are not percent-encoded in a path segment or a query value.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The time that an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerTime {
    /// The usual time, after the server waited this long.
    After(Duration),
    /// No limit: the body is a stream with heartbeats.
    Endless,
}

impl AnswerTime {
    /// The usual time.
    pub(crate) const USUAL: Self = Self::After(Duration::ZERO);
}

/// A client for the server at one address.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    agent: Agent,
    url: String,
}

/// A body that is read as it arrives.
pub(crate) type Stream = BufReader<BodyReader<'static>>;

/// A request that is ready to send.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    method: Method,
    path: String,
    /// The body, if the request has one.
    body: Option<Vec<u8>>,
}

impl Client {
    /// Creates a client for the server at `url`. Over https it trusts the authorities in the
    /// file `ca`, or those of this machine.
    ///
    /// # Errors
    ///
    /// `url` is not an address, or there is no authority to trust.
    pub(crate) fn new(url: &str, ca: Option<&Path>) -> Result<Self, Problem> {
        let uri: Option<Uri> = url.parse().ok();
        let scheme = uri.as_ref().and_then(Uri::scheme_str);
        let has_host = uri.as_ref().and_then(Uri::host).is_some_and(|it| !it.is_empty());
        if !matches!(scheme, Some("http" | "https")) || !has_host {
            let message = match foreign_scheme(url) {
                Some(other) => format!(
                    "{url} has the scheme {other}, and a server is called over http or https"
                ),
                None => format!("{url} is not an address of a server"),
            };
            return Err(Problem::usage(message).next(format!(
                "write it like http://{LISTEN_DEFAULT} or https://memory.example.com"
            )));
        }
        let path = uri.as_ref().map(|it| it.path().trim_end_matches('/'));
        if let Some(path @ ("/v1" | "/mcp")) = path {
            let root = url.trim_end_matches('/').strip_suffix(path).unwrap_or(url);
            return Err(Problem::usage(format!("{url} ends with a path of the server, {path}"))
                .next(format!("give the server's root: {root}")));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(CONNECT_MAX))
            .timeout_global(Some(ANSWER_MAX))
            .user_agent(concat!("shared-context/", env!("CARGO_PKG_VERSION")));
        if scheme == Some("https") {
            config = config.tls_config(tls::config(ca)?);
        }
        Ok(Self { agent: config.build().new_agent(), url: url.trim_end_matches('/').to_owned() })
    }

    /// Returns the address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns true if the server is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let uri: Option<Uri> = self.url.parse().ok();
        uri.as_ref().and_then(Uri::host).is_some_and(|host| {
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host == "localhost" || address.is_ok_and(|it| it.is_loopback() || it.is_unspecified())
        })
    }

    /// Builds a GET request. Segments of `path` are percent-encoded.
    pub(crate) fn get(&self, path: &[&str], query: &[(&str, String)]) -> Call {
        self.call(Method::GET, path, query)
    }

    /// Builds a POST request with the JSON `body`.
    pub(crate) fn post(&self, path: &[&str], body: impl Into<Vec<u8>>) -> Call {
        self.post_to(path, &[], body)
    }

    /// Builds a POST request as [`Client::post`] does, with a query.
    pub(crate) fn post_to(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        body: impl Into<Vec<u8>>,
    ) -> Call {
        Call { body: Some(body.into()), ..self.call(Method::POST, path, query) }
    }

    /// Builds a PATCH request with a merge patch in JSON.
    pub(crate) fn patch(&self, path: &[&str], body: impl Into<Vec<u8>>) -> Call {
        Call { body: Some(body.into()), ..self.call(Method::PATCH, path, &[]) }
    }

    /// Builds a PUT request with the JSON `body`, or with none.
    pub(crate) fn put(&self, path: &[&str], body: Option<Vec<u8>>) -> Call {
        Call { body, ..self.call(Method::PUT, path, &[]) }
    }

    /// Builds a DELETE request.
    pub(crate) fn delete(&self, path: &[&str]) -> Call {
        self.call(Method::DELETE, path, &[])
    }

    fn call(&self, method: Method, path: &[&str], query: &[(&str, String)]) -> Call {
        let mut text = self.url.clone();
        for segment in path {
            text.push('/');
            text.extend(utf8_percent_encode(segment, UNRESERVED));
        }
        for (nth, (name, value)) in query.iter().enumerate() {
            text.push(if nth == 0 { '?' } else { '&' });
            text.push_str(name);
            text.push('=');
            text.extend(utf8_percent_encode(value, UNRESERVED));
        }
        Call { method, path: text, body: None }
    }

    /// Sends `call` and returns the answer, whatever its status.
    ///
    /// # Errors
    ///
    /// The address is too long, or the server is unreachable.
    pub(crate) fn send(&self, call: &Call, bearer: Option<&Bearer>) -> Result<Answer, Problem> {
        let length = call.path.len();
        if length > ADDRESS_BYTES_MAX {
            return Err(Problem::usage(format!(
                "the address of the request has {length} bytes, at most {ADDRESS_BYTES_MAX} fit; \
                 shorten the arguments"
            )));
        }
        let request = call.request(bearer);
        let sent = match &call.body {
            Some(body) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(body)
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
            None => request
                .body(())
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
        };
        sent.and_then(|response| self.whole(response)).map_err(|error| self.not_answered(&error))
    }

    /// Sends `call`, a request for changes, and returns the stream of events after the
    /// revision `after`.
    ///
    /// # Errors
    ///
    /// The server is unreachable or rejects the request.
    pub(crate) fn stream(
        &self,
        call: &Call,
        bearer: &Bearer,
        after: u64,
    ) -> Result<Stream, Problem> {
        let request = call
            .request(Some(bearer))
            .header(header::ACCEPT, EVENT_STREAM)
            .header("Last-Event-ID", after)
            .body(())
            .map_err(ureq::Error::from);
        let sent = request.and_then(|request| self.open(request, AnswerTime::Endless));
        let response = sent.map_err(|error| self.not_answered(&error))?;
        if response.status() == StatusCode::OK && is_stream(&response) {
            return Ok(BufReader::new(response.into_body().into_reader()));
        }
        let answer = self.whole(response).map_err(|error| self.not_answered(&error))?;
        answer.accepted()?;
        Err(not_a_server(&self.url, "it does not send changes as they happen"))
    }

    /// Sends `request` and returns the answer with an unread body, which may take this long.
    ///
    /// # Errors
    ///
    /// No answer arrived.
    pub(crate) fn open(
        &self,
        request: Request<impl AsSendBody>,
        time: AnswerTime,
    ) -> Result<Response<ureq::Body>, ureq::Error> {
        let configured = |request| self.agent.configure_request(request);
        let request = match time {
            AnswerTime::After(wait) => {
                configured(request).timeout_global(Some(ANSWER_MAX.saturating_add(wait))).build()
            }
            AnswerTime::Endless => {
                configured(request).timeout_global(None).timeout_per_read(Some(SILENCE_MAX)).build()
            }
        };
        self.agent.run(request)
    }

    fn whole(&self, response: Response<ureq::Body>) -> Result<Answer, ureq::Error> {
        let status = response.status().as_u16();
        Ok(Answer { status, body: whole_body(response.into_body())?, url: self.url.clone() })
    }

    /// Converts a transport error into a problem.
    pub(crate) fn not_answered(&self, error: &ureq::Error) -> Problem {
        if matches!(error, ureq::Error::Http(_)) {
            return Problem::usage(
                "the credential or address holds characters that no request may; \
                 check that it was copied whole",
            );
        }
        if let Some(failure) = tls::failure(error) {
            return failure.problem(&self.url);
        }
        let message =
            format!("no shared-context server answers at {}: {}", self.url, reason(error));
        Problem::new(Kind::Unreachable, "SERVER_UNREACHABLE", message)
            .next("start one with `shared-context serve`")
    }
}

impl Call {
    fn request(&self, bearer: Option<&Bearer>) -> http::request::Builder {
        let request = Request::builder().method(self.method.clone()).uri(&self.path);
        match bearer {
            Some(Bearer { secret, .. }) => {
                request.header(header::AUTHORIZATION, format!("Bearer {secret}"))
            }
            None => request,
        }
    }
}

/// Returns the scheme of `url` if it has one, and another than http and https.
fn foreign_scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once("://")?;
    let is_scheme = scheme.starts_with(|it: char| it.is_ascii_alphabetic())
        && scheme.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it));
    let is_known = ["http", "https"].iter().any(|it| scheme.eq_ignore_ascii_case(it));
    (is_scheme && !is_known).then_some(scheme)
}

/// Returns the cause of a transport error as text.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(it) if it.kind() == io::ErrorKind::ConnectionRefused => {
            "nothing listens there".to_owned()
        }
        ureq::Error::Timeout(_) => "it does not answer in time".to_owned(),
        ureq::Error::HostNotFound => "there is no such host".to_owned(),
        ureq::Error::Protocol(_) => "what is there does not speak HTTP".to_owned(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was once said to hold characters that no request may.
    #[test]
    fn an_address_that_is_too_long_is_rejected_with_its_length() {
        let client = Client::new("http://127.0.0.1:1", None).unwrap();
        let call = client.get(&["context"], &[("task", "x".repeat(ADDRESS_BYTES_MAX))]);
        let problem = client.send(&call, None).unwrap_err();
        assert!(problem.message().contains("has 65566 bytes, at most 65534 fit"), "{problem:?}");
    }

    #[test]
    fn an_address_without_http_is_refused_with_a_word() {
        for url in ["", "127.0.0.1:8787", "ftp://x", "http://", "https://", "http://a b"] {
            assert_eq!(Client::new(url, None).unwrap_err().code(), "USAGE", "{url}");
        }
        assert_eq!(Client::new("http://127.0.0.1:1/", None).unwrap().url(), "http://127.0.0.1:1");
    }

    /// `ftp://x` was said to be no address, which it is.
    #[test]
    fn another_scheme_is_named_with_the_two_that_work() {
        for (url, scheme) in [("ftp://x", "ftp"), ("htps://memory.example.com", "htps")] {
            let problem = Client::new(url, None).unwrap_err();
            let expected = format!("has the scheme {scheme}, and a server is called over http or");
            assert!(problem.message().contains(&expected), "{problem:?}");
            assert!(problem.next_step().is_some_and(|it| it.contains("https://")), "{problem:?}");
        }
        for url in ["127.0.0.1:8787", "http://", "HTTPS://", "://x", "a b://x", "1a://x"] {
            let problem = Client::new(url, None).unwrap_err();
            assert!(problem.message().contains("is not an address of a server"), "{problem:?}");
        }
    }

    /// `http://host/v1` was answered with "no such route", by whatever command.
    #[test]
    fn an_address_with_a_path_is_rejected_with_its_root() {
        for path in ["/v1", "/v1/", "/mcp"] {
            let problem = Client::new(&format!("http://127.0.0.1:1{path}"), None).unwrap_err();
            let next = problem.next_step().unwrap_or_default();
            assert!(next.ends_with("root: http://127.0.0.1:1"), "{problem:?}");
        }
        assert!(Client::new("http://127.0.0.1:1/memory", None).is_ok());
    }

    #[test]
    fn only_this_machine_is_local() {
        let is_local = |url| Client::new(url, None).unwrap().is_local();
        assert!(is_local("http://127.0.0.1:8787") && is_local("http://localhost"));
        assert!(is_local("http://[::1]:8787") && is_local("http://127.9.9.9"));
        assert!(is_local("http://0.0.0.0:8787") && is_local("http://[::]:8787"));
        assert!(!is_local("http://10.0.0.1") && !is_local("http://localhost.example"));
        assert!(!is_local("http://127.0.0.1.example:8787"));
    }

    #[test]
    fn whatever_a_session_is_called_it_stays_one_segment() {
        let client = Client::new("http://127.0.0.1:1", None).unwrap();
        let call = client.get(&["v1", "a/b?c#d ä", "x"], &[("who", "a&b=c".to_owned())]);
        assert_eq!(call.path, "http://127.0.0.1:1/v1/a%2Fb%3Fc%23d%20%C3%A4/x?who=a%26b%3Dc");
    }
}
