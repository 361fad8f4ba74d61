//! The actions that need no session, from JSON to JSON: the rules of the context pipeline and of
//! compaction in the caller's own process.
//!
//! Requests and replies are those of the actions of the same name, and so are the errors. Tokens are
//! estimated (spec 8.2). The `revision` of a reply is 0, because there is no session.
//!
//! Invariant: it names each form and each reply that it needs, never the list of all of them, so
//! that a component of these functions alone does not link the rest.

use serde::Serialize;
use shared_context_core::{
    Command, CompactionCommand, ContextCommand, Error,
    item::{ITEMS_BYTES_MAX, TASK_BYTES_MAX},
    text::{self, Candidate, METHOD},
    time::Timestamp,
    tokens::{self, Estimator, Tokens},
};

use crate::{
    action::{ActionInfo, Form, ToCommand},
    compaction, context,
    form::{self, form},
    json::{ParseError, to_vec},
    refusal::malformed_in,
};

/// The revision in replies.
const NO_REVISION: u64 = 0;
/// The most texts of a request for their relevance.
const TEXTS_MAX: usize = 5_000;

/// An action, and the parser of its request.
struct Action {
    info: &'static ActionInfo,
    command: ToCommand,
}

const PLAN_WINDOW: Action = action("plan_window", context::ACTIONS, context::FORMS);
const ASSEMBLE: Action = action("assemble_context", context::ACTIONS, context::FORMS);
const EXTRACT: Action = action("extract", compaction::ACTIONS, compaction::FORMS);
const COMPACT: Action = action("compact", compaction::ACTIONS, compaction::FORMS);
const CHECK_SUMMARY: Action = action("check_summary", compaction::ACTIONS, compaction::FORMS);

/// Returns the action `name`, while compiling.
#[expect(clippy::panic, reason = "while compiling")]
const fn action(name: &str, actions: &'static [ActionInfo], forms: &[Form]) -> Action {
    match (actions, forms) {
        ([info, actions @ ..], [form, forms @ ..]) => {
            if is_same(info.name.as_bytes(), name.as_bytes()) {
                Action { info, command: form.command }
            } else {
                action(name, actions, forms)
            }
        }
        _ => panic!("there is no such action"),
    }
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        ([], []) => true,
        ([a, more_a @ ..], [b, more_b @ ..]) => *a == *b && is_same(more_a, more_b),
        _ => false,
    }
}

impl Action {
    fn command(&self, request: &str) -> Result<Command, Error> {
        (self.command)(request.as_bytes(), |_| false).map_err(|ParseError(what)| {
            let members: Vec<&str> = self.info.members().collect();
            malformed_in(Some((self.info.name, &members)), &what)
        })?
    }
}

/// Plans a context window, as the action `plan_window` does.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, also for an `encoding`: there is no tokenizer.
pub fn plan_window(request: &str) -> Result<Vec<u8>, Error> {
    let Command::Context(ContextCommand::PlanWindow(it)) = PLAN_WINDOW.command(request)? else {
        return Err(no_session("request_id"));
    };
    let planned = it.answer(&Estimator::Approximate, |by, text| match by {
        Estimator::Approximate => Ok(tokens::approximate(text)),
        Estimator::Encoding(_) => Err(Error::malformed(format!(
            "encoding {} needs a tokenizer, and there is none; leave encoding out",
            by.as_str()
        ))),
    })?;
    Ok(context::encode_window(&planned, NO_REVISION))
}

/// Assembles what an agent is shown, as the action `assemble_context` does, of the items of the
/// request. `now_ms` is the time, in milliseconds since the Unix epoch.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, also for the members that need a session: `entries`, `round_state`,
/// `previous`, `keep` and `request_id`. `BUDGET_TOO_SMALL`.
pub fn assemble(request: &str, now_ms: u64) -> Result<Vec<u8>, Error> {
    let Command::Context(ContextCommand::Assemble(it)) = ASSEMBLE.command(request)? else {
        return Err(no_session("request_id"));
    };
    let assembled = it.assemble_alone(Timestamp(now_ms), &count)?;
    Ok(context::encode_assembled(&assembled, NO_REVISION))
}

/// Extracts the facts of a conversation, as the action `extract` does.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn extract(request: &str) -> Result<Vec<u8>, Error> {
    compaction(&EXTRACT, request)
}

/// Compacts a conversation, as the action `compact` does.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, also for `keep` and `request_id`, which need a session;
/// `TARGET_UNREACHABLE`.
pub fn compact(request: &str) -> Result<Vec<u8>, Error> {
    compaction(&COMPACT, request)
}

/// Checks a summary of a conversation, as the action `check_summary` does.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn check_summary(request: &str) -> Result<Vec<u8>, Error> {
    compaction(&CHECK_SUMMARY, request)
}

fn compaction(action: &Action, request: &str) -> Result<Vec<u8>, Error> {
    let Command::Compaction(command) = action.command(request)? else {
        return Err(no_session("request_id"));
    };
    if matches!(&command, CompactionCommand::Compact(it) if it.keeps) {
        return Err(no_session("keep"));
    }
    Ok(compaction::encode(&command.answer(&count)?, NO_REVISION))
}

/// Estimates the tokens of a text.
#[expect(clippy::unnecessary_wraps, reason = "a tokenizer can fail")]
fn count(text: &str) -> Result<Tokens, Error> {
    Ok(tokens::approximate(text))
}

fn no_session(member: &str) -> Error {
    Error::malformed(format!("{member} needs a session, and there is none; leave it out"))
}

/// A request for the relevance of texts.
#[derive(Debug, Default)]
struct RelevanceForm {
    task: String,
    texts: Vec<String>,
}

form! { RelevanceForm: task, texts }

/// The relevance of texts.
#[derive(Serialize)]
struct RelevanceReply {
    /// The name of the method.
    method: &'static str,
    /// The score of each text, 0 to 1.
    scores: Vec<f64>,
}

/// Returns how relevant texts are for a task: `{"task":"…","texts":["…"]}` is answered with
/// `{"method":"lexical/1","scores":[0.5]}`, a score of 0 to 1 for each text.
///
/// # Errors
///
/// `MALFORMED_REQUEST`: a request of another form, a task over 65536 bytes, more than 5000 texts, or
/// texts over 2 MiB together.
pub fn relevance(request: &str) -> Result<Vec<u8>, Error> {
    let form: Result<RelevanceForm, _> = form::parse(request.as_bytes());
    let it = form
        .map_err(|ParseError(what)| malformed_in(Some(("relevance", &["task", "texts"])), &what))?;
    let bytes = it.texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len()));
    let fits = [
        ("bytes of the task", it.task.len(), TASK_BYTES_MAX),
        ("texts", it.texts.len(), TEXTS_MAX),
        ("bytes of texts", bytes, ITEMS_BYTES_MAX),
    ];
    if let Some((what, sent, max)) = fits.into_iter().find(|(_, sent, max)| sent > max) {
        let problem = format!("the request has {sent} {what}, at most {max} fit; send less");
        return Err(Error::malformed(problem));
    }
    let candidates: Vec<_> = it.texts.iter().map(|it| Candidate::alone(it)).collect();
    let scores = text::relevance(&it.task, &candidates);
    let scores = scores.iter().map(|it| f64::from(it.0) / f64::from(text::Score::ONE.0)).collect();
    Ok(to_vec(&RelevanceReply { method: METHOD, scores }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn json(reply: Result<Vec<u8>, Error>) -> Value {
        serde_json::from_slice(&reply.unwrap()).unwrap()
    }

    fn message(reply: Result<Vec<u8>, Error>) -> String {
        reply.unwrap_err().to_string()
    }

    const CHAT: &str = r#""items":[
        {"id":"m1","kind":"user_message","text":"DECISION: Use PostgreSQL."},
        {"id":"m2","kind":"session_history","text":"Hello, I will look at it now."}]"#;

    #[test]
    fn a_conversation_is_compacted_without_a_session() {
        let reply = json(compact(&format!("{{{CHAT},\"target_tokens\":1000}}")));
        assert_eq!(reply["revision"], 0);
        let facts = json(extract(&format!("{{{CHAT}}}")));
        assert_eq!(facts["facts"][0]["class"], "decision");
        let check = json(check_summary(&format!("{{{CHAT},\"summary\":\"Nothing yet.\"}}")));
        assert_eq!(check["revision"], 0);
    }

    #[test]
    fn an_assembly_needs_no_session() {
        let reply = json(assemble(&format!("{{\"task\":\"PostgreSQL\",{CHAT}}}"), 60_000));
        assert_eq!(reply["envelope"]["created_at"], "1970-01-01T00:01:00Z");
        assert_eq!(reply["envelope"].get("session"), None);
        assert!(reply["text"].as_str().unwrap().contains("Use PostgreSQL."), "{reply}");
    }

    #[test]
    fn what_needs_a_session_is_rejected() {
        for member in [
            r#""entries":"*""#,
            r#""round_state":true"#,
            r#""previous":"ENV-3""#,
            r#""keep":true"#,
            r#""request_id":"a""#,
        ] {
            let message = message(assemble(&format!("{{{CHAT},{member}}}"), 0));
            assert!(message.contains("session"), "{member}: {message}");
        }
        for member in [r#""keep":true"#, r#""keep":true,"request_id":"a""#] {
            let message = message(compact(&format!("{{{CHAT},{member}}}")));
            assert!(message.contains("needs a session"), "{member}: {message}");
        }
        let message = message(plan_window(r#"{"sample":"a","encoding":"o200k_base"}"#));
        assert!(message.contains("there is none"), "{message}");
    }

    #[test]
    fn a_window_is_planned_without_a_session() {
        let reply = json(plan_window(r#"{"used_tokens":164000,"sample":"words"}"#));
        assert_eq!(reply["level"], "yellow");
        assert_eq!(reply["estimate"]["estimated_tokens"], 2);
    }

    #[test]
    fn relevance_is_a_score_for_each_text() {
        let reply = json(relevance(
            r#"{"task":"Which database?","texts":["The database is PostgreSQL.","Lunch at noon."]}"#,
        ));
        assert_eq!(reply["method"], "lexical/1");
        let scores: Vec<f64> = serde_json::from_value(reply["scores"].clone()).unwrap();
        assert!(matches!(scores[..], [first, 0.0] if first > 0.0 && first <= 1.0), "{scores:?}");
        assert_eq!(json(relevance(r#"{"task":"","texts":[]}"#))["scores"], json!([]));
    }

    #[test]
    fn an_error_names_the_action_and_the_member() {
        let unknown = message(compact(r#"{"items":[],"targettokens":1}"#));
        assert!(unknown.contains("target_tokens"), "{unknown}");
        let missing = message(relevance(r#"{"task":""}"#));
        assert!(missing.contains("relevance needs texts"), "{missing}");
    }
}
