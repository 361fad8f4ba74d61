//! An HTTP client for targets that listen on a socket.

use std::time::Duration;

use shared_context_system::secrets;

use crate::target::{HttpRequest, HttpResponse};

/// Timeout of one request.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(30);

/// A client that sends requests unchanged: it follows no redirects and rejects nothing. It
/// registers secrets in requests and responses, which must not appear in logs.
#[derive(Debug)]
pub(super) struct HttpClient(ureq::Agent);

impl HttpClient {
    pub(super) fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .allow_non_standard_methods(true)
            .timeout_global(Some(REQUEST_TIME_MAX));
        Self(config.build().new_agent())
    }

    /// Sends `request` to the server at `url` and reads the whole response.
    pub(super) fn send(&self, url: &str, request: &HttpRequest) -> Result<HttpResponse, String> {
        let headers = request.headers.iter().map(|(name, value)| (&**name, &**value));
        secrets::request(&request.target, headers, request.body.as_deref());
        let shown = format!("{} {}", request.method, request.target);
        let mut builder = ureq::http::Request::builder()
            .method(request.method.as_str())
            .uri(format!("{url}{}", request.target));
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        let sent = match &request.body {
            Some(body) => builder.body(body.as_slice()).map(|it| self.0.run(it)),
            None => builder.body(()).map(|it| self.0.run(it)),
        };
        let response = sent.map_err(|err| format!("{shown}: {err}"))?;
        let response = response.map_err(|err| format!("{shown}: {err}"))?;
        let (head, mut body) = response.into_parts();
        let headers = head.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let body = body.read_to_vec().map_err(|err| format!("{shown}: {err}"))?;
        secrets::answer(&String::from_utf8_lossy(&body));
        Ok(HttpResponse { status: head.status.as_u16(), headers: headers.collect(), body })
    }
}
