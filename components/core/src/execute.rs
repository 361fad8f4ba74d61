//! The entry point of the core: opens the bucket of a scope, decides the command, commits
//! once.
//!
//! Only this module opens buckets and commits; `session` and `project` read. Invariants: a command
//! commits at most once. After an error nothing has changed, except after [`Error::InDoubt`], and
//! that [`Error::LeaseExpired`] is not returned again. Only committed changes are logged.

use crate::{
    Error,
    command::Command,
    decision::Decision,
    kv::{Bucket, CommitError, Kv},
    participant::Caller,
    port::{Clock, Log, Ports, Tokenizer},
    project,
    reply::Outcome,
    scope::Scope,
    session,
};

/// The most attempts to decide a command when others commit concurrently.
const ATTEMPTS_MAX: u32 = 16;

/// Performs `command` on `scope` as `caller`.
///
/// # Errors
///
/// The first error that applies, in the order of [`Code::ALL`](crate::Code::ALL). After
/// any error except [`Error::InDoubt`] nothing that was asked for has changed.
pub fn execute<K: Kv, C: Clock, L: Log, T: Tokenizer>(
    ports: &Ports<'_, K, C, L, T>,
    scope: &Scope,
    caller: &Caller,
    command: &Command,
) -> Result<Outcome, Error> {
    for _ in 0..ATTEMPTS_MAX {
        let mut bucket = ports.kv.open(&scope.bucket_name())?;
        let read_at = bucket.revision();
        let now = ports.clock.now();
        let decided = match scope {
            Scope::Session(session) => {
                let tokenizer = ports.tokenizer;
                session::Request { bucket: &bucket, tokenizer, now, session, caller }
                    .decide(command)
            }
            Scope::Project(project) => {
                let tokenizer = ports.tokenizer;
                project::Request { bucket: &bucket, tokenizer, now, project, caller }
                    .decide(command)
            }
        };
        let (changes, result, records) = match decided {
            Err(Error::Overtaken) => continue,
            Err(error) => return Err(error),
            Ok(Decision::Answer(outcome)) => return Ok(outcome),
            Ok(Decision::Change { changes, outcome, records }) => (changes, Ok(outcome), records),
            Ok(Decision::Reject { changes, error, records }) => (changes, Err(error), records),
        };
        match bucket.commit(read_at, changes) {
            Ok(_) => {
                for record in &records {
                    ports.log.record(record);
                }
                return result;
            }
            Err(CommitError::Conflict) => {}
            Err(CommitError::Unchanged(err)) => return Err(Error::Unstored(err)),
            Err(CommitError::Failed(err)) => return Err(Error::InDoubt(err)),
        }
    }
    Err(Error::Overtaken)
}

/// Returns the error for a request that could not be parsed into a command. That is
/// `error`, unless the caller's credential is void, which takes precedence.
pub fn refuse(kv: &impl Kv, scope: &Scope, caller: &Caller, error: Error) -> Error {
    if caller.credential.is_none() {
        return error;
    }
    for _ in 0..ATTEMPTS_MAX {
        let Ok(bucket) = kv.open(&scope.bucket_name()) else { break };
        let loaded = match scope {
            Scope::Session(session) => session::load(&bucket, session, caller).map(drop),
            Scope::Project(project) => project::load(&bucket, project, caller).map(drop),
        };
        match loaded {
            Err(Error::Overtaken) => {}
            Err(void @ Error::Unauthenticated { .. }) => return void,
            _ => break,
        }
    }
    error
}
