//! Builds requests of the JSON tool.

use serde::Serialize;

/// A request of the JSON tool, built member by member.
#[derive(Debug, Clone)]
pub(crate) struct ToolRequest {
    /// The object so far, without its closing brace.
    json: Vec<u8>,
}

impl ToolRequest {
    /// Begins a request for `action`.
    pub(crate) fn new(action: &str) -> Self {
        Self { json: b"{\"action\":".to_vec() }.value(action)
    }

    /// Begins a request with this id, without an action.
    pub(crate) fn named(request_id: &str) -> Self {
        Self { json: b"{\"request_id\":".to_vec() }.value(request_id)
    }

    /// Adds the member `name`, unless `value` is `None`.
    pub(crate) fn with(mut self, name: &str, value: Option<impl Serialize>) -> Self {
        let Some(value) = value else { return self };
        self.json.push(b',');
        let mut named = self.value(name);
        named.json.push(b':');
        named.value(value)
    }

    /// Completes the request with the members of `object`: unparsed JSON after its opening brace.
    pub(crate) fn with_members_of(mut self, object: &[u8]) -> Vec<u8> {
        if object.trim_ascii_start().first() != Some(&b'}') {
            self.json.push(b',');
        }
        self.json.extend_from_slice(object);
        self.json
    }

    /// Completes the request.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.json.push(b'}');
        self.json
    }

    /// Appends `value`: a text, a number, a list of those, or JSON that was parsed before. All of
    /// these serialize.
    fn value(mut self, value: impl Serialize) -> Self {
        let written = serde_json::to_writer(&mut self.json, &value);
        debug_assert!(written.is_ok(), "{written:?}");
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(request: Vec<u8>, json: &str) {
        assert_eq!(String::from_utf8(request).unwrap(), json);
    }

    #[test]
    fn a_request_has_the_members_that_were_given() {
        check(ToolRequest::new("inspect").into_bytes(), r#"{"action":"inspect"}"#);
        let request = ToolRequest::new("read").with("key", Some("a\"b")).with("x", None::<u64>);
        check(request.clone().into_bytes(), r#"{"action":"read","key":"a\"b"}"#);
        let request = request.with("versions", Some(vec![1, 2]));
        check(
            request.with_members_of(b" } "),
            r#"{"action":"read","key":"a\"b","versions":[1,2] } "#,
        );
        let request = ToolRequest::new("redact").with_members_of(br#""reason":"x"}"#);
        check(request, r#"{"action":"redact","reason":"x"}"#);
    }
}
