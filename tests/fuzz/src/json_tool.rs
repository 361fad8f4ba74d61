//! Requests of the JSON tool, made twice to equal sessions: the same bytes come
//! back, a refusal changes nothing, and what is left can be exported and imported.

use serde_json::Value;
use shared_context_codec::{Caller, Code, Failure, Reply};

use crate::{
    cases, import,
    place::Place,
    script::{Asked, requests},
};

/// Makes the requests of `input`.
pub fn run(input: &[u8]) {
    let places = [Place::inhabited(), Place::inhabited()];
    let before = places[0].revisions();
    for written in requests(input) {
        let asked = Asked::read(written);
        let [first, second] = places.each_ref().map(|place| ask(place, &asked));
        assert_eq!(first, second, "not the same twice: {asked:?}");
    }
    let [place, other] = places;
    let after = place.revisions();
    assert_eq!(after, other.revisions());
    if after != before {
        for (name, _) in after {
            assert_eq!(place.rows(&name), other.rows(&name), "not the same rows twice");
            import::check_export(&place, name.strip_prefix("session/").unwrap_or_default());
        }
    }
}

/// Asks, and checks what is true of every answer.
pub(crate) fn ask(place: &Place, asked: &Asked<'_>) -> Result<Reply, Failure> {
    place.pass(asked.passes);
    let caller = Caller { keys: asked.keys.clone(), ..Caller::trusted(&asked.participant) };
    let before = place.revisions();
    let answer = place.invoke(&asked.session, &caller, asked.request);
    match &answer {
        Ok(reply) => {
            let body: Value = serde_json::from_slice(&reply.body).expect("a reply is JSON");
            assert!(body.is_object(), "a reply is an object");
        }
        Err(failure) => {
            check_failure(failure);
            assert_eq!(place.revisions(), before, "a refusal changed something: {failure}");
        }
    }
    answer
}

/// Checks what is true of every refusal.
pub(crate) fn check_failure(failure: &Failure) {
    let is_known = Code::ALL.iter().any(|it| it.as_str() == failure.code);
    assert!(is_known, "nobody knows {failure}");
    assert!(!failure.message.is_empty(), "it says nothing: {failure}");
    let told: Value = serde_json::from_slice(&failure.to_json()).expect("a refusal is JSON");
    assert_eq!(told["error"]["code"], *failure.code);
}

/// Returns the requests of the conformance suite.
pub fn seeds() -> Vec<Vec<u8>> {
    cases::scripts(|step| {
        let request = cases::tool_request(step)?;
        Some([cases::asked_by(step).as_bytes(), b"\n", &request].concat())
    })
}
