//! Requests on a project.

use shared_context_core::{
    Caller, Command, Error, Outcome, Scope, ScopeKind, SessionId, execute,
    port::{Bucket, Kv, NoTokenizer, Ports, ReadError, Row},
};

use crate::support::TestHost;

impl TestHost {
    /// Executes `command` on the project `p` as `who`: a participant, optionally of a session, as in
    /// `subagent:a in s1`.
    pub(crate) fn ask_project(&self, who: &str, command: &Command) -> Result<Outcome, Error> {
        self.ask_project_as(&project_caller(who), command)
    }

    /// Executes `command` on the project `p`.
    pub(crate) fn ask_project_as(
        &self,
        caller: &Caller,
        command: &Command,
    ) -> Result<Outcome, Error> {
        let ports = Ports { kv: &self, clock: self, log: self, tokenizer: &NoTokenizer };
        execute(&ports, &Scope::parse(ScopeKind::Project, "p")?, caller, command)
    }

    /// Returns the stored rows of the project `p` whose names begin with `prefix`.
    pub(crate) fn project_rows(&self, prefix: &str) -> Vec<Row> {
        let bucket = self.kv.open("project/p").map_err(ReadError::from);
        bucket.and_then(|it| it.scan(prefix, None, u32::MAX)).unwrap_or_default()
    }
}

/// Returns the caller `who`.
pub(crate) fn project_caller(who: &str) -> Caller {
    let (participant, session) = match who.split_once(" in ") {
        Some((participant, session)) => (participant, SessionId::new(session)),
        None => (who, None),
    };
    let mut caller = Caller::trusted(participant).unwrap();
    caller.session = session;
    caller
}
