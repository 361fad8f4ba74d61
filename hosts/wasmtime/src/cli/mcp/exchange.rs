//! Sends one request to the server and recovers from temporary failures.
//!
//! An invalid credential is replaced once. A `Retry-After` is honoured once. A server that
//! went away is looked up again.
//!
//! # Invariant
//!
//! A request that may have been carried out is sent again only if it is repeatable.

use std::{
    io::{self, BufReader},
    thread,
    time::Duration,
};

use http::{HeaderMap, Method, Request, StatusCode, header};
use ureq::{BodyReader, Timeout};

use super::{
    message::{self, Id, Message, ServerMessage},
    upstream::{Need, Target, Upstream},
};
use crate::cli::{
    client::{AnswerTime, Bearer, is_stream, not_a_server, rejection, whole_body},
    problem::{Kind, Problem},
    tls,
};

/// The longest `Retry-After` that is honoured. If it is longer, the rejection is returned.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// The number of times one request looks up the server again.
const MOVES_MAX: u32 = 2;

/// A request to the server's MCP endpoint.
#[derive(Debug)]
pub(super) struct Call<'c> {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: &'c [u8],
    /// True if it may be sent again after an unknown outcome.
    pub(super) is_repeatable: bool,
    /// True if the answer may be an endless stream.
    pub(super) time: AnswerTime,
    pub(super) need: Need,
}

/// The server's answer.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    url: String,
}

/// The body of an answer.
pub(super) enum Body {
    /// The whole body.
    Whole(Vec<u8>),
    /// An event stream that is read as it arrives.
    Stream(BodyReader<'static>),
}

/// The reason for a missing answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request was not carried out.
    NotDone(Problem),
    /// The outcome of the request is unknown.
    Unknown(Problem),
}

/// Sends `call` and returns the answer, whatever its status.
///
/// # Errors
///
/// No server that could be found sent an answer.
pub(super) fn send(upstream: &Upstream, call: &Call<'_>) -> Result<Answer, Failure> {
    let mut target = upstream.found(call.need).map_err(Failure::NotDone)?;
    let (mut was_renewed, mut has_waited, mut was_sent, mut moves) = (false, false, false, 0);
    loop {
        let error = match try_send(&target, call) {
            Ok(answer) if answer.status == StatusCode::UNAUTHORIZED && !was_renewed => {
                was_renewed = true;
                match upstream.renewed(&target).map_err(Failure::NotDone)? {
                    Some(other) => target = other,
                    None => return Ok(answer),
                }
                continue;
            }
            Ok(answer) if answer.status == StatusCode::TOO_MANY_REQUESTS && !has_waited => {
                has_waited = true;
                match answer.retry_after().filter(|it| *it <= WAIT_MAX) {
                    Some(wait) => thread::sleep(wait),
                    None => return Ok(answer),
                }
                continue;
            }
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        upstream.doubt(&target);
        was_sent |= may_have_been_sent(&error);
        let failed = if was_sent { Failure::Unknown } else { Failure::NotDone };
        // A slow server will be slow again.
        let is_hopeless = moves == MOVES_MAX || is_slow(&error) || is_unsendable(&error);
        if is_hopeless || (was_sent && !call.is_repeatable) {
            return Err(failed(target.server.client.not_answered(&error)));
        }
        moves = moves.saturating_add(1);
        target = upstream.replaced(&target, call.need).map_err(failed)?;
    }
}

fn try_send(target: &Target, call: &Call<'_>) -> Result<Answer, ureq::Error> {
    let client = &target.server.client;
    let Bearer { secret, .. } = &target.bearer;
    let mut request = Request::builder()
        .method(call.method.clone())
        .uri(format!("{}{}", client.url(), target.path))
        .header(header::AUTHORIZATION, format!("Bearer {secret}"));
    if let Some(headers) = request.headers_mut() {
        headers.extend(call.headers.clone());
    }
    let response = match call.method {
        Method::POST => client.open(request.body(call.body)?, call.time)?,
        _ => client.open(request.body(())?, call.time)?,
    };
    let (status, headers) = (response.status(), response.headers().clone());
    let body = if is_stream(&response) {
        Body::Stream(response.into_body().into_reader())
    } else {
        Body::Whole(whole_body(response.into_body())?)
    };
    Ok(Answer { status, headers, body, url: client.url().to_owned() })
}

/// Returns true if a server may have read the request that failed with `error`.
fn may_have_been_sent(error: &ureq::Error) -> bool {
    if tls::is_certificate_rejected(error) {
        return false;
    }
    match error {
        ureq::Error::Io(error) => error.kind() != io::ErrorKind::ConnectionRefused,
        ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Http(_)
        | ureq::Error::BadUri(_) => false,
        _ => true,
    }
}

/// Returns true if the request cannot be sent at all.
fn is_unsendable(error: &ureq::Error) -> bool {
    tls::is_certificate_rejected(error)
        || matches!(error, ureq::Error::Http(_) | ureq::Error::BadUri(_))
}

/// Returns true if a server was reached and did not answer in time.
fn is_slow(error: &ureq::Error) -> bool {
    matches!(error, ureq::Error::Timeout(it) if !matches!(it, Timeout::Connect | Timeout::Resolve))
}

impl Answer {
    /// Returns the server's `Retry-After`.
    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// Returns true if the rejection is temporary.
    pub(super) fn is_temporary(&self) -> bool {
        matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
    }

    /// Parses a whole body as an MCP message.
    pub(super) fn message(&self) -> Option<ServerMessage> {
        match &self.body {
            Body::Whole(body) => ServerMessage::parse(body),
            Body::Stream(_) => None,
        }
    }

    /// Returns the line that answers the request `id`: the server's message, or an error
    /// built from the HTTP rejection.
    pub(super) fn line(self, id: &Id) -> Vec<u8> {
        let is_message = self.message().is_some();
        let why = match self.body {
            Body::Whole(body) if is_message => return body,
            Body::Whole(body) => {
                if let Some(failure) = rejection(&body) {
                    let code = match self.status {
                        StatusCode::BAD_REQUEST
                        | StatusCode::PAYLOAD_TOO_LARGE
                        | StatusCode::UNSUPPORTED_MEDIA_TYPE => message::INVALID_REQUEST,
                        _ => message::INTERNAL_ERROR,
                    };
                    return error_line(id, code, &Problem::rejected(failure));
                }
                format!("it answers with status {}", self.status.as_u16())
            }
            Body::Stream(_) => "it answers with a stream where none was asked for".to_owned(),
        };
        error_line(id, message::INTERNAL_ERROR, &not_a_server(&self.url, &why))
    }

    /// Describes the rejection of `what` for a person.
    pub(super) fn rejection(&self, what: &str) -> String {
        let failure = match &self.body {
            Body::Whole(body) => rejection(body),
            Body::Stream(_) => None,
        };
        match failure {
            Some(failure) => format!("{what} was refused: {}", failure.message),
            None => format!("{what} was refused with status {}", self.status.as_u16()),
        }
    }

    /// Returns the body of an event stream.
    ///
    /// # Errors
    ///
    /// The answer is not a successful event stream.
    pub(super) fn stream(self) -> Result<BufReader<BodyReader<'static>>, Box<Self>> {
        match self.body {
            Body::Stream(body) if self.status == StatusCode::OK => Ok(BufReader::new(body)),
            _ => Err(Box::new(self)),
        }
    }
}

impl Failure {
    /// Returns the line that answers `message`, which has the id `id`.
    ///
    /// An unknown outcome is returned to the agent as the tool's result, because the agent
    /// has to check it.
    pub(super) fn line(&self, message: &Message, id: &Id) -> Vec<u8> {
        match self {
            Self::Unknown(problem) if message.method == "tools/call" => {
                let warning = if message.is_repeatable() {
                    "Send it again: twice is as good as once"
                } else {
                    "It may have been done or not: read what it was about first, and send it \
                     again only if it was not"
                };
                let problem = problem.message();
                let text = format!("the server did not answer ({problem}). {warning}");
                message::tool_error(id, message.version().is_some(), "OUTCOME_UNKNOWN", &text)
            }
            Self::Unknown(problem) | Self::NotDone(problem) => {
                error_line(id, message::INTERNAL_ERROR, problem)
            }
        }
    }

    /// Returns the problem.
    pub(super) fn problem(&self) -> &Problem {
        let (Self::NotDone(problem) | Self::Unknown(problem)) = self;
        problem
    }
}

/// Returns the problem that the stream from `url` ended before the answer.
pub(super) fn cut_off(url: &str) -> Problem {
    let message = format!("the server at {url} ended the answer before it was whole");
    Problem::new(Kind::Unreachable, "SERVER_UNREACHABLE", message)
}

/// Returns a JSON-RPC error for `problem`, with the same error object that the server puts
/// in its errors.
fn error_line(id: &Id, code: i32, problem: &Problem) -> Vec<u8> {
    let mut message = problem.message().to_owned();
    if let Some(next) = problem.next_step() {
        message = format!("{message}; {next}");
    }
    let data = serde_json::from_slice(&problem.to_json()).ok();
    message::error(Some(id), code, &message, data)
}
