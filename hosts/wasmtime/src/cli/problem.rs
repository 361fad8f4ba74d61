//! The errors of commands: a message for people, JSON for programs, and an exit code.
//!
//! # Invariant
//!
//! Every problem says what to do next, and none contains a credential.

use std::process::ExitCode;

use serde_json::Value;
use shared_context_codec::Failure;
use shared_context_wasmtime::StartError;

/// The kind of a problem. Each has its own exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The server rejected the request.
    Rejected,
    /// The command line, or a file or value it names, is invalid.
    Usage,
    /// No shared-context server answers.
    Unreachable,
    /// The server or its storage could not be started.
    Start,
    /// A check of `doctor` or `evidence`, or a claim of `demo`, did not hold.
    Check,
}

/// The exit codes, as `--help` prints them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the server rejected the request; the error's code is the reason
  2  the command line is invalid, or a file or key it needs is missing
  3  no shared-context server answers
  4  the server or its storage could not start
  5  a check of `doctor` or `evidence`, or a claim of `demo`, did not hold";

/// The beginning of the advice to call another route.
const ROUTE_ADVICE: &str = "; call /v1/";

/// The error of a command.
#[derive(Debug)]
pub(crate) struct Problem {
    kind: Kind,
    failure: Failure,
    next: Option<String>,
    is_reported: bool,
}

impl Problem {
    /// Creates a problem with a `code` for programs and a `message` for people.
    pub(crate) fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self { kind, failure: Failure::new(code, message), next: None, is_reported: false }
    }

    /// Creates a usage error.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, "USAGE", message)
    }

    /// Creates the problem of a failed check.
    pub(crate) fn check(message: impl Into<String>) -> Self {
        Self::new(Kind::Check, "CHECK_FAILED", message)
    }

    /// Creates a problem from the server's error. The message advises an agent; `next` adds
    /// commands for a person at a terminal.
    pub(crate) fn rejected(failure: Failure) -> Self {
        let next = match &*failure.code {
            "KEY_NOT_FOUND" => Some("`shared-context ls SESSION` lists the keys"),
            "SECTION_NOT_FOUND" => Some(
                "`shared-context outline index PROJECT` lists the sections, \
                 `shared-context outline put` writes one",
            ),
            "HANDOFF_NOT_FOUND" => Some("`shared-context handoff list PROJECT` lists the handoffs"),
            "PACKET_NOT_FOUND" => Some(
                "`shared-context context generate SESSION TASK --for PARTICIPANT` makes one; \
                 name its participant with --for",
            ),
            "ENVELOPE_NOT_FOUND" => {
                Some("`shared-context assemble SESSION --keep` keeps one and prints its id")
            }
            "NOT_OWNER" | "LEASE_EXPIRED" => Some(
                "`shared-context outline acquire PROJECT MARKER` acquires a section without owner",
            ),
            "FORBIDDEN" if failure.message.contains(ROUTE_ADVICE) => Some(
                "name the session of the credential, or call with --as PARTICIPANT and the admin key",
            ),
            "SESSION_NOT_FOUND" => Some("`shared-context session list` shows those that exist"),
            "SESSION_EXISTS" => Some("`shared-context session show ID` shows it"),
            "PROJECT_NOT_FOUND" => Some(
                "`shared-context project list` shows those that exist, \
                 `shared-context project create PROJECT` creates one",
            ),
            "PROJECT_EXISTS" => Some("`shared-context project show PROJECT` shows it"),
            "MEMORY_NOT_FOUND" => Some("`shared-context memory search PROJECT` finds memories"),
            "SNAPSHOT_NOT_FOUND" | "SNAPSHOT_EXISTS" | "SNAPSHOT_LIMIT" => {
                Some("`shared-context snapshot list SESSION` lists the snapshots")
            }
            "MISSING_NOT_FOUND" => Some("`shared-context missing SESSION` lists the reports"),
            "UNAUTHENTICATED" => {
                Some("`shared-context token SESSION PARTICIPANT` mints a fresh credential")
            }
            "STORAGE_UNAVAILABLE" | "INTERNAL" => {
                Some("read the server's log (its standard error), or run `shared-context doctor`")
            }
            _ => None,
        };
        Self { kind: Kind::Rejected, failure, next: next.map(str::to_owned), is_reported: false }
    }

    /// Names options in place of members of the request, each with its option: a person at a
    /// terminal wrote `--max-tokens`, and `max_tokens` was made of it.
    #[must_use]
    pub(crate) fn with_options(mut self, options: &[(&str, &str)]) -> Self {
        let is_end = |it: char| !(it.is_ascii_alphanumeric() || matches!(it, '_' | '.'));
        let words = self.failure.message.split_inclusive(is_end).map(|it| {
            let word = it.trim_end_matches(is_end);
            let option = options.iter().find(|(member, _)| *member == word);
            option.map_or_else(|| it.to_owned(), |(member, option)| it.replace(member, option))
        });
        self.failure.message = words.collect();
        self
    }

    /// Sets the next step.
    #[must_use]
    pub(crate) fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    /// Marks the problem as already reported by the command's output.
    #[must_use]
    pub(crate) fn reported(self) -> Self {
        Self { is_reported: true, ..self }
    }

    /// Returns true if the command's JSON document is already printed.
    pub(crate) fn is_reported(&self) -> bool {
        self.is_reported
    }

    /// Returns the kind.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the error code, for programs.
    pub(crate) fn code(&self) -> &str {
        &self.failure.code
    }

    /// Returns the message.
    pub(crate) fn message(&self) -> &str {
        &self.failure.message
    }

    /// Returns the message for a person at a terminal. It lacks the example of a request, and what
    /// a program would call next where [`Problem::next_step`] has the command for it.
    pub(crate) fn text(&self) -> &str {
        let message = self.message();
        let cut = match self.code() {
            "KEY_NOT_FOUND" | "SECTION_NOT_FOUND" | "HANDOFF_NOT_FOUND" | "PACKET_NOT_FOUND"
            | "ENVELOPE_NOT_FOUND" | "PROJECT_NOT_FOUND" | "MEMORY_NOT_FOUND"
            | "SNAPSHOT_NOT_FOUND" | "MISSING_NOT_FOUND" => message.find("; "),
            "FORBIDDEN" => message.find(ROUTE_ADVICE),
            _ if message.ends_with('}') => message.find("; for example {"),
            _ => None,
        };
        cut.filter(|_| self.kind == Kind::Rejected)
            .and_then(|it| message.get(..it))
            .unwrap_or(message)
    }

    /// Returns the further member `name` of the server's error.
    pub(crate) fn detail(&self, name: &str) -> Option<Value> {
        self.failure.details_map().remove(name)
    }

    /// Returns the next step, if the message does not contain it.
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

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Rejected => 1,
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
        let json = Problem::rejected(failure).next("distill it").to_json();
        assert_eq!(
            String::from_utf8(json).unwrap(),
            r#"{"error":{"code":"VALUE_TOO_LARGE","message":"value has 1204 tokens","actual":1204,"limit":1000,"next":"distill it"}}"#
        );
    }

    /// A person at a terminal was once shown actions and JSON of the interface for programs.
    #[test]
    fn a_person_reads_commands_instead_of_actions() {
        let rejected = |code: &'static str, message: &str| {
            Problem::rejected(Failure::new(code, message.to_owned()))
        };
        for (code, message, text) in [
            (
                "MALFORMED_REQUEST",
                r#"there is no type "x"; it must be one of a, b; for example {"memories":[{}]}"#,
                r#"there is no type "x"; it must be one of a, b"#,
            ),
            ("MALFORMED_REQUEST", "it is {}", "it is {}"),
            (
                "SECTION_NOT_FOUND",
                "there is no section §1.0; read_index shows those there are",
                "there is no section §1.0",
            ),
            (
                "FORBIDDEN",
                "the credential is for session u; call /v1/sessions/u with it",
                "the credential is for session u",
            ),
            ("FORBIDDEN", "only a; or b", "only a; or b"),
        ] {
            let problem = rejected(code, message);
            assert_eq!((problem.text(), problem.message()), (text, message));
            assert!(
                text == message || code == "MALFORMED_REQUEST" || problem.next_step().is_some()
            );
        }
    }

    #[test]
    fn a_message_names_the_option_that_was_written() {
        let of = |message: &str| {
            let options = [("max_tokens", "--max-tokens"), ("budget.tokens", "--budget")];
            Problem::rejected(Failure::new("X", message))
                .with_options(&options)
                .message()
                .to_owned()
        };
        assert_eq!(of("max_tokens is 0; it must be 1"), "--max-tokens is 0; it must be 1");
        assert_eq!(of("it is less than budget.tokens"), "it is less than --budget");
        assert_eq!(of("the max_tokens_of it"), "the max_tokens_of it");
    }

    #[test]
    fn every_kind_has_its_own_exit_code_and_help_names_it() {
        let kinds = [Kind::Rejected, Kind::Usage, Kind::Unreachable, Kind::Start, Kind::Check];
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
