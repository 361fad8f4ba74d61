//! Checks of replies, and that an error changed nothing.

use serde_json::{Value, json};

use super::Runner;
use crate::{
    case::{Expectation, HttpCall},
    expect,
    target::{HttpResponse, TargetError},
    template::{fill, fill_bytes, look_up},
};

impl Runner<'_> {
    /// Checks a reply and returns its body, parsed and raw.
    pub(super) fn check_reply(
        &self,
        expectation: &Expectation,
        reply: Result<Vec<u8>, TargetError>,
    ) -> Result<(Value, Vec<u8>), String> {
        let is_error_expected = matches!(expectation, Expectation::Error { .. });
        let body = match reply {
            Err(TargetError::Failed(message)) => return Err(message),
            Err(TargetError::Rejected(body)) if is_error_expected => body,
            Ok(body) if !is_error_expected => body,
            Ok(body) => {
                let body = String::from_utf8_lossy(&body);
                return Err(format!("an error was expected, got\n  {}", expect::shorten(&body)));
            }
            Err(TargetError::Rejected(body)) => {
                return Err(format!("rejected\n  {}", String::from_utf8_lossy(&body)));
            }
        };
        self.check_body(expectation, &body).map(|it| (it, body))
    }

    fn check_body(&self, expectation: &Expectation, body: &[u8]) -> Result<Value, String> {
        let parsed = |body| {
            serde_json::from_slice::<Value>(body)
                .map_err(|err| format!("{err}: {}", String::from_utf8_lossy(body)))
        };
        match expectation {
            Expectation::Exact(expected) => {
                let got = parsed(body)?;
                expect::compare(&fill(expected, &self.variables)?, &got, false).map(|()| got)
            }
            Expectation::Partial(expected) => {
                // A body that is not JSON is compared as text.
                let got = parsed(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into());
                expect::compare(&fill(expected, &self.variables)?, &got, true).map(|()| got)
            }
            Expectation::Bytes(expected) => {
                let expected = fill_bytes(expected, &self.variables)?;
                if expected != body {
                    let [expected, got] = [&*expected, body].map(String::from_utf8_lossy);
                    return Err(expect::difference(&expected, &got));
                }
                Ok(parsed(body).unwrap_or(Value::Null))
            }
            Expectation::Error { error, .. } => {
                let got = parsed(body)?;
                let message = look_up(&got, "error.message").and_then(Value::as_str);
                if message.is_none_or(str::is_empty) {
                    return Err(format!("an error needs a message:\n{got:#}"));
                }
                let expected = json!({"error": fill(error, &self.variables)?});
                expect::compare(&expected, &got, true).map(|()| got)
            }
        }
    }

    pub(super) fn check_response(
        &mut self,
        http: &HttpCall,
        response: &HttpResponse,
    ) -> Result<(), String> {
        let body = String::from_utf8_lossy(&response.body);
        if response.status != http.status {
            let (got, expected) = (response.status, http.status);
            return Err(format!(
                "status {got} instead of {expected}\n  {}",
                expect::shorten(&body)
            ));
        }
        let headers: Value = response
            .headers
            .iter()
            .map(|(name, it)| (name.clone(), Value::from(it.clone())))
            .collect();
        let expected = http
            .response_headers
            .iter()
            .map(|(name, value)| Ok((name.to_ascii_lowercase(), fill(value, &self.variables)?)));
        let expected: Value = expected.collect::<Result<_, String>>()?;
        expect::compare(&expected, &headers, true)?;
        let body = match &http.expectation {
            None => serde_json::from_slice(&response.body).unwrap_or(Value::Null),
            Some(expectation) => self.check_body(expectation, &response.body)?,
        };
        if matches!(http.expectation, Some(Expectation::Error { .. })) {
            check_problem(&headers, &body)?;
        }
        let whole = json!({"status": response.status, "headers": headers, "body": body});
        for (name, path) in &http.save {
            self.save(name, path, &whole)?;
        }
        self.save_text(http.save_text.as_deref(), &response.body);
        Ok(())
    }
}

/// Checks that a session looks the same before and after an error.
pub(super) fn check_unchanged(before: Option<&str>, after: Option<&str>) -> Result<(), String> {
    if before == after {
        return Ok(());
    }
    let difference = expect::difference(before.unwrap_or_default(), after.unwrap_or_default());
    Err(format!("rejected, but the session changed\n{difference}"))
}

/// Checks that an error over HTTP is a problem document (RFC 9457) that agrees with the response.
fn check_problem(headers: &Value, body: &Value) -> Result<(), String> {
    let code = look_up(body, "error.code").and_then(Value::as_str).unwrap_or_default();
    let problem = json!({
        "type": format!("urn:shared-context:error:{code}"),
        "title": {"any": "string"},
        "detail": look_up(body, "error.message"),
        "instance": headers.get("x-request-id"),
    });
    expect::compare(&json!({"content-type": "application/problem+json"}), headers, true)?;
    expect::compare(&problem, body, true)
}
