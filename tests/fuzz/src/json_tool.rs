//! JSON tool requests, made to two equal sessions and their projects: both give the same bytes, a
//! rejection changes nothing, the sessions can be exported and imported afterwards, and all rows of the
//! project fit together.

use serde_json::Value;
use shared_context_codec::{Caller, Code, Failure, Reply};
use shared_context_core::{ProjectId, check_project_rows};

use crate::{
    cases,
    host::MemoryHost,
    import,
    script::{ToolRequest, requests},
};

/// Makes the requests of `input`.
pub fn run(input: &[u8]) {
    let hosts = [MemoryHost::populated(), MemoryHost::populated()];
    let before = hosts[0].revisions();
    for written in requests(input) {
        let request = ToolRequest::read(written);
        let [first, second] = hosts.each_ref().map(|host| send(host, &request));
        assert_eq!(first, second, "two different replies: {request:?}");
    }
    let [host, other] = hosts;
    let after = host.revisions();
    assert_eq!(after, other.revisions());
    if after != before {
        for (name, _) in after {
            assert_eq!(host.rows(&name), other.rows(&name), "different rows");
            match name.strip_prefix("project/").and_then(ProjectId::new) {
                Some(project) => {
                    let checked = check_project_rows(&project, &host.rows(&name));
                    assert!(checked.is_ok(), "{checked:?}");
                }
                None => import::check_export(&host, name.trim_start_matches("session/")),
            }
        }
    }
}

/// Sends a request and checks the properties of every answer.
pub(crate) fn send(host: &MemoryHost, sent: &ToolRequest<'_>) -> Result<Reply, Failure> {
    host.pass(sent.passes);
    let caller = Caller { keys: sent.keys.clone(), ..Caller::trusted(&sent.participant) };
    let before = host.revisions();
    let answer = match &sent.project {
        None => host.invoke(&sent.session, &caller, sent.request),
        Some(project) => {
            let caller = MemoryHost::of_session(caller, &sent.session);
            host.invoke_project(project, &caller, sent.request)
        }
    };
    match &answer {
        Ok(reply) => {
            let body: Value = serde_json::from_slice(&reply.body).expect("a reply is JSON");
            assert!(body.is_object(), "a reply is an object");
        }
        Err(failure) => {
            check_failure(failure);
            // That a lost lease was reported is stored.
            let is_recorded = failure.code == Code::LeaseExpired.as_str();
            assert!(
                is_recorded || host.revisions() == before,
                "a rejection changed something: {failure}"
            );
        }
    }
    answer
}

/// Checks the properties of every error.
pub(crate) fn check_failure(failure: &Failure) {
    let is_known = Code::ALL.iter().any(|it| it.as_str() == failure.code);
    assert!(is_known, "an unknown code: {failure}");
    assert!(!failure.message.is_empty(), "no message: {failure}");
    let json: Value = serde_json::from_slice(&failure.to_json()).expect("an error is JSON");
    assert_eq!(json["error"]["code"], *failure.code);
}

/// Returns the requests of the conformance suite.
pub fn seeds() -> Vec<Vec<u8>> {
    cases::scripts(|step| {
        let request = cases::tool_request(step)?;
        Some([cases::caller_line(step).as_bytes(), b"\n", &request].concat())
    })
}
