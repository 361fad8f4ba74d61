//! The secret that proves the caller of a request.
//!
//! # Invariant
//!
//! It is never printed; only its source is.

use std::fmt;

use crate::cli::problem::Problem;

/// A secret sent as a bearer token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub(crate) secret: String,
    kind: BearerKind,
}

/// The kind of a bearer token.
#[derive(Clone, PartialEq, Eq)]
enum BearerKind {
    /// A participant's credential.
    Credential,
    /// The operator's key, found in this file, variable or profile.
    AdminKey { source: String },
}

impl Bearer {
    /// Creates a participant's credential.
    pub(crate) fn credential(secret: String) -> Self {
        Self { secret, kind: BearerKind::Credential }
    }

    /// Creates the operator's key. `source` names the file, variable or profile that has it.
    pub(crate) fn admin_key(secret: String, source: String) -> Self {
        Self { secret, kind: BearerKind::AdminKey { source } }
    }

    /// Adds the source of a rejected admin key to `problem`, the answer of the server at `url`.
    pub(crate) fn explain(&self, problem: Problem, url: &str) -> Problem {
        match &self.kind {
            BearerKind::AdminKey { source } if problem.code() == "UNAUTHENTICATED" => {
                problem.next(format!(
                    "the admin key from {source} is not the key of {url}; check --data, \
                     SHARED_CONTEXT_ADMIN_KEY and --profile"
                ))
            }
            _ => problem,
        }
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(…)")
    }
}

#[cfg(test)]
mod tests {
    use shared_context_codec::Failure;

    use super::*;

    /// The next step was once to run `doctor`, also while `doctor` ran.
    #[test]
    fn a_rejected_admin_key_is_named_with_its_source() {
        let rejected = || {
            let failure = Failure::new("UNAUTHENTICATED", "it is not valid");
            Problem::rejected(failure)
        };
        let key = Bearer::admin_key("x".to_owned(), "d2/keys.json".to_owned());
        let problem = key.explain(rejected(), "http://127.0.0.1:1");
        assert_eq!(
            problem.next_step().unwrap_or_default(),
            "the admin key from d2/keys.json is not the key of http://127.0.0.1:1; check --data, \
             SHARED_CONTEXT_ADMIN_KEY and --profile"
        );
        let problem = Bearer::credential("x".to_owned()).explain(rejected(), "http://127.0.0.1:1");
        let next = problem.next_step().unwrap_or_default();
        assert!(next.contains("mints a fresh credential") && !next.contains("doctor"), "{next}");
    }
}
