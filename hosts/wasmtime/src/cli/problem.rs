//! Why a command failed: what the person reads, what a program reads, and the
//! exit code.
//!
//! # Invariant
//!
//! Every problem says what to do next, in its message or after it, and none
//! holds a credential.

use std::process::ExitCode;

use serde_json::Value;
use shared_context_codec::Failure;
use shared_context_wasmtime::StartError;

/// What kind of problem it is; each has its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The server answered with an error.
    Refused,
    /// The command line, or what it names, is not usable.
    Usage,
    /// No shared-context server answers.
    Unreachable,
    /// The server or its storage could not be started.
    Start,
    /// A check of `doctor` or a claim of `demo` did not hold.
    Check,
}

/// The exit codes, as `--help` lists them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the server refused; the error's code says why
  2  the command line is not right, or a file or key it needs is missing
  3  no shared-context server answers
  4  the server or its storage could not start
  5  a check of `doctor` or a claim of `demo` did not hold";

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Problem {
    kind: Kind,
    failure: Failure,
    next: Option<String>,
    is_told: bool,
}

impl Problem {
    /// Creates a problem with the code `code`, for programs, and a text for people.
    pub(crate) fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self { kind, failure: Failure::new(code, message), next: None, is_told: false }
    }

    /// Creates a command line that is not right.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, "USAGE", message)
    }

    /// Something that was claimed and does not hold.
    pub(crate) fn check(message: impl Into<String>) -> Self {
        Self::new(Kind::Check, "CHECK_FAILED", message)
    }

    /// Returns what the server answered. Its message says what an agent should do; a
    /// person at a terminal has these commands as well.
    pub(crate) fn refused(failure: Failure) -> Self {
        let next = match &*failure.code {
            "SESSION_NOT_FOUND" => Some("`shared-context session list` shows those that exist"),
            "SESSION_EXISTS" => Some("`shared-context session show ID` shows it"),
            "SNAPSHOT_NOT_FOUND" | "SNAPSHOT_EXISTS" | "SNAPSHOT_LIMIT" => {
                Some("`shared-context snapshot list SESSION` shows those there are")
            }
            "UNAUTHENTICATED" => Some(
                "`shared-context token SESSION PARTICIPANT` mints a fresh credential, \
                 `shared-context doctor` checks the admin key",
            ),
            "STORAGE_UNAVAILABLE" | "INTERNAL" => Some(
                "the server's log (its standard error) says more; so does `shared-context doctor`",
            ),
            _ => None,
        };
        Self { kind: Kind::Refused, failure, next: next.map(str::to_owned), is_told: false }
    }

    /// Creates the same problem, with what to do next.
    #[must_use]
    pub(crate) fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    /// Creates the same problem of a command whose answer was printed and reports it.
    #[must_use]
    pub(crate) fn told(self) -> Self {
        Self { is_told: true, ..self }
    }

    /// Returns whether the one document of the command is printed already.
    pub(crate) fn is_told(&self) -> bool {
        self.is_told
    }

    /// Returns its kind.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns its code, for programs.
    pub(crate) fn code(&self) -> &str {
        &self.failure.code
    }

    /// Returns what is wrong.
    pub(crate) fn message(&self) -> &str {
        &self.failure.message
    }

    /// Returns what to do, when the message does not say.
    pub(crate) fn next_step(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Returns the problem as JSON: `{"error": {"code", "message", …, "next"}}`.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut failure = self.failure.clone();
        if let Some(next) = &self.next {
            let mut details = failure.details_map();
            details.insert("next".to_owned(), Value::from(next.as_str()));
            failure.details = Some(Value::from(details).to_string());
        }
        failure.to_json()
    }

    /// Returns what the program exits with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Refused => 1,
            Kind::Usage => 2,
            Kind::Unreachable => 3,
            Kind::Start => 4,
            Kind::Check => 5,
        })
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        let problem = Self::new(Kind::Start, "START_FAILED", error.message());
        match error.next_step() {
            Some(next) => problem.next(next),
            None => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_details_and_the_next_step_as_members() {
        let failure = Failure {
            details: Some(r#"{"limit":1000,"actual":1204}"#.to_owned()),
            ..Failure::new("VALUE_TOO_LARGE", "value has 1204 tokens")
        };
        let json = Problem::refused(failure).next("distill it").to_json();
        assert_eq!(
            String::from_utf8(json).unwrap(),
            r#"{"error":{"code":"VALUE_TOO_LARGE","message":"value has 1204 tokens","actual":1204,"limit":1000,"next":"distill it"}}"#
        );
    }

    #[test]
    fn every_kind_has_its_own_exit_code_and_help_names_it() {
        let kinds = [Kind::Refused, Kind::Usage, Kind::Unreachable, Kind::Start, Kind::Check];
        for (kind, line) in kinds.into_iter().zip(EXIT_CODES.lines().skip(2)) {
            let code = Problem::new(kind, "X", "").exit_code();
            let named = line.trim_start().chars().next().and_then(|it| it.to_digit(10)).unwrap();
            assert_eq!(
                format!("{code:?}"),
                format!("{:?}", ExitCode::from(u8::try_from(named).unwrap()))
            );
        }
    }
}
