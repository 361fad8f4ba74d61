//! Last step of every response: errors become problem documents, and common headers are added.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{RETRY_AFTER, X_CONTENT_TYPE_OPTIONS},
    request::Parts,
};
use shared_context_codec::Failure;

use super::{
    Body, Http, METADATA_PATH, code, media, respond,
    route::{self, RouteMatch},
    table::{Access, Endpoint},
    trace, whole,
};

impl Http {
    /// Rejects a request for the host's reason `failure`, such as that it is stopping or that the
    /// request took too long.
    pub fn refuse(&self, head: &Parts, failure: Failure) -> Response<Body> {
        let matched = route::find(head.uri.path(), &head.method);
        self.finish(head, matched.as_ref(), Err(failure), HeaderMap::new(), None)
    }

    /// Rejects input before it is a request, for a reason of the host: its head cannot be parsed,
    /// there is no free connection, or no room for its response. The request id is taken from
    /// `headers`. `status` overrides the status of the code where HTTP has a more exact one.
    pub fn refuse_unread(
        &self,
        headers: &HeaderMap,
        status: Option<StatusCode>,
        failure: &Failure,
    ) -> Response<Bytes> {
        let request_id = self.request_ids.of(headers);
        let status = status.unwrap_or(code::of(&failure.code).status);
        let mut response = self.rejection(status, failure, &request_id);
        add_common_headers(response.headers_mut(), request_id);
        response
    }

    /// Completes a response: an error becomes a problem document, every response gets its id,
    /// `HEAD` loses its body, and the request is counted.
    pub(super) fn finish(
        &self,
        head: &Parts,
        matched: Option<&RouteMatch<'_>>,
        answer: Result<Response<Body>, Failure>,
        headers: HeaderMap,
        micros: Option<u64>,
    ) -> Response<Body> {
        let request_id = self.request_ids.of(&head.headers);
        let mut response = answer.unwrap_or_else(|failure| {
            let code = code::of(&failure.code);
            let operation = matched.and_then(|it| it.operation.as_ref());
            let status = match operation.map(|it| it.endpoint) {
                // The condition was a header.
                Some(
                    Endpoint::ListEntries
                    | Endpoint::ReadEntry
                    | Endpoint::WriteEntry
                    | Endpoint::DeleteEntry,
                ) if code.name == "VERSION_CONFLICT" => StatusCode::PRECONDITION_FAILED,
                _ => code.status,
            };
            let mut response = whole(self.rejection(status, &failure, &request_id));
            if let Some(operation) = operation
                && status == StatusCode::UNSUPPORTED_MEDIA_TYPE
            {
                response.headers_mut().extend([media::wanted(&head.headers, operation)]);
            }
            if status == StatusCode::UNAUTHORIZED {
                let is_mcp = operation.is_some_and(|it| it.access == Access::Credential);
                let metadata = is_mcp.then(|| {
                    format!("{}{METADATA_PATH}", self.address.url(&head.headers, &head.uri))
                });
                let challenge = respond::challenge(&head.headers, &failure, metadata.as_deref());
                response.headers_mut().extend([challenge]);
            }
            response
        });
        response.headers_mut().extend(headers);
        trace::pass_on(&head.headers, response.headers_mut());
        add_common_headers(response.headers_mut(), request_id);
        self.cors_origins.add_headers(&head.method, &head.headers, response.headers_mut());
        if head.method == Method::HEAD {
            respond::without_body(&mut response);
        }
        if let Some(state) = &self.state {
            let template = matched.map_or("unknown", |it| it.template);
            state.metrics.record_request(template, &head.method, response.status(), micros);
        }
        response
    }

    /// Builds the problem document of `failure`, and counts it.
    fn rejection(
        &self,
        status: StatusCode,
        failure: &Failure,
        request_id: &HeaderValue,
    ) -> Response<Bytes> {
        let code = code::of(&failure.code);
        if let Some(state) = &self.state {
            state.metrics.record_rejection(code.name);
        }
        let id = request_id.to_str().unwrap_or_default();
        let mut response = respond::problem(status, failure, id);
        if status == StatusCode::TOO_MANY_REQUESTS {
            // Also sent when the limit is not a rate, such as for streams: any delay will do.
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("15"));
        }
        if code.name == "OVERLOADED" {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
        }
        response
    }
}

/// Adds the headers of every response: its id, and `nosniff`.
fn add_common_headers(headers: &mut HeaderMap, request_id: HeaderValue) {
    headers.insert(trace::X_REQUEST_ID.clone(), request_id);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}
