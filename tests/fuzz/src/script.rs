//! The format of a script: requests separated by the byte 0x1E, as in RFC 7464.
//!
//! A JSON tool request follows a line that names its caller. An HTTP request looks as on
//! the wire, with a blank line before its body:
//!
//! ```text
//! subagent:a only inv_*,scope +1000 /other
//! {"action":"list_keys"}
//!
//! subagent:a @webshop
//! {"action":"read_index"}
//!
//! PUT /v1/sessions/main/entries/scope
//! as: agent
//! if-match: "3"
//!
//! a value
//! ```

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};

/// The separator of requests.
pub const SEPARATOR: u8 = 0x1E;
/// The maximum number of requests of one input: more would only be slower.
pub const REQUESTS_MAX: usize = 24;

/// Returns the requests of an input.
pub fn requests(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    input.split(|byte| *byte == SEPARATOR).take(REQUESTS_MAX)
}

/// A JSON tool request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequest<'i> {
    /// The calling participant.
    pub participant: String,
    /// The keys that the caller is limited to; if empty, all keys.
    pub keys: Vec<String>,
    /// The session.
    pub session: String,
    /// The project, if the request is about one: its caller acts in the session.
    pub project: Option<String>,
    /// The time that passes before the request, in milliseconds.
    pub passes: u64,
    /// The request.
    pub request: &'i [u8],
}

impl<'i> ToolRequest<'i> {
    /// Reads a request. By default it is from the orchestrator of `main`.
    pub fn read(written: &'i [u8]) -> Self {
        let (line, request) = split_line(written);
        let line = String::from_utf8_lossy(line);
        let mut read = Self {
            participant: "orchestrator".to_owned(),
            keys: Vec::new(),
            session: "main".to_owned(),
            project: None,
            passes: 0,
            request,
        };
        let mut words = line.split(' ').filter(|it| !it.is_empty());
        if let Some(participant) = words.next() {
            participant.clone_into(&mut read.participant);
        }
        while let Some(word) = words.next() {
            if word == "only" {
                let keys = words.next().unwrap_or_default();
                read.keys = keys.split(',').map(str::to_owned).collect();
            } else if let Some(session) = word.strip_prefix('/') {
                session.clone_into(&mut read.session);
            } else if let Some(project) = word.strip_prefix('@') {
                read.project = Some(project.to_owned());
            } else if let Some(passes) = word.strip_prefix('+') {
                read.passes = milliseconds(passes);
            }
        }
        read
    }
}

/// An HTTP request.
#[derive(Debug)]
pub struct HttpRequest {
    /// The name of its credential.
    pub who: String,
    /// The time that passes before the request, in milliseconds.
    pub passes: u64,
    /// The request, without the credential.
    pub request: Request<Bytes>,
}

impl HttpRequest {
    /// Reads a request; returns `None` if no client could have sent it.
    pub fn read(written: &[u8]) -> Option<Self> {
        let (line, mut rest) = split_line(written);
        let (method, target) = str::from_utf8(line).ok()?.split_once(' ')?;
        let mut request = Request::builder().method(method).uri(target).body(Bytes::new()).ok()?;
        // Hosts pass only these targets to the wire: paths, or `*`.
        let path = request.uri().path();
        if !path.starts_with('/') && path != "*" {
            return None;
        }
        let mut sent = Self { who: String::new(), passes: 0, request: Request::default() };
        loop {
            let (line, after) = split_line(rest);
            rest = after;
            if line.is_empty() {
                break;
            }
            let colon = line.iter().position(|byte| *byte == b':');
            let (name, value) = colon.and_then(|at| line.split_at_checked(at))?;
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            match name {
                b"as" => sent.who = String::from_utf8_lossy(value).into_owned(),
                b"passes" => sent.passes = milliseconds(&String::from_utf8_lossy(value)),
                _ => {
                    let name = HeaderName::from_bytes(name).ok()?;
                    request.headers_mut().append(name, HeaderValue::from_bytes(value).ok()?);
                }
            }
        }
        *request.body_mut() = Bytes::copy_from_slice(rest);
        Some(Self { request, ..sent })
    }
}

/// Parses a number of milliseconds, at most ten years.
fn milliseconds(text: &str) -> u64 {
    const TEN_YEARS: u64 = 10 * 365 * 86_400_000;
    text.parse().unwrap_or(0).min(TEN_YEARS)
}

fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let (line, rest) = text.split_at(end);
    (line.strip_suffix(b"\r").unwrap_or(line), rest.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_request_names_its_caller() {
        let read = ToolRequest::read(b"subagent:a only inv_*,scope +1000 /other\n{}\n");
        assert_eq!((read.participant.as_str(), read.session.as_str()), ("subagent:a", "other"));
        assert_eq!((read.keys, read.passes), (vec!["inv_*".into(), "scope".into()], 1_000));
        assert_eq!((read.request, read.project), (&b"{}\n"[..], None));
        let read = ToolRequest::read(b"subagent:a /other @webshop\n{}");
        assert_eq!((read.session.as_str(), read.project.as_deref()), ("other", Some("webshop")));
        assert_eq!(ToolRequest::read(b"").participant, "orchestrator");
    }

    #[test]
    fn an_http_request_looks_as_on_the_wire() {
        let text = b"PUT /v1?a=b\nas: agent\nIf-Match: \"3\"\nif-match: x\n\nbody\n\n";
        let sent = HttpRequest::read(text).unwrap();
        assert_eq!(sent.who, "agent");
        assert_eq!(sent.request.uri(), "/v1?a=b");
        assert_eq!(sent.request.headers().get_all("if-match").iter().count(), 2);
        assert_eq!(sent.request.headers().len(), 2);
        assert_eq!(&sent.request.body()[..], b"body\n\n");
        for none in ["", "GET", "GET x y", "GET /\nno header\n\n", "G T /\n", "GET http://\n"] {
            assert!(HttpRequest::read(none.as_bytes()).is_none(), "{none}");
        }
    }

    #[test]
    fn requests_are_split_at_separators() {
        let seen: Vec<_> = requests(b"a\x1eb\x1e").collect();
        assert_eq!(seen, [&b"a"[..], b"b", b""]);
        assert_eq!(requests(&[SEPARATOR; 100]).count(), REQUESTS_MAX);
    }
}
