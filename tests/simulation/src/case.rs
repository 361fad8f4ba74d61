//! Renders a script without faults as a conformance case, in the format of
//! `tests/conformance/README.md`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    canary::Canary,
    script::{Payload, Request, Script, Step},
    world::World,
};

/// Returns `script` as a conformance case with the correct answers. Returns `None` if a case cannot
/// express it: faults, nested requests, timers, credentials by number, and requests with more than
/// one correct answer.
pub fn conformance_case(script: &Script, title: &str) -> Option<String> {
    // The answers come from the model, so they are correct even for a broken system.
    let canary = script.canary.as_deref().and_then(Canary::find);
    let world = World::new(script.storage, canary);
    let mut text = format!("title: {}\n", json!(title));
    text += "cites: [spec 5.3]\nsessions: []\nsteps:\n";
    for step in &script.steps {
        if !step.during().is_empty() {
            return None;
        }
        world.play(step);
        match step {
            Step::ClockMs(by) => writeln!(text, "- clock_step: {by}ms").ok()?,
            Step::Elsewhere(_) => text += "- elsewhere: true\n",
            Step::Compare(_) => {}
            Step::Wake { .. } | Step::Project(_) => return None,
            Step::Ask(request) => {
                let exchanges = world.exchanges();
                text += &step_of(request, exchanges.last()?.answer.as_ref()?)?;
            }
        }
    }
    Some(text)
}

/// Returns the step of one request and its answer.
fn step_of(request: &Request, answer: &Result<Value, String>) -> Option<String> {
    let mut text = format!("- as: {}\n", json!(request.participant));
    if !request.keys.is_empty() {
        writeln!(text, "  keys: {}", json!(request.keys)).ok()?;
    }
    writeln!(text, "  session: {}", json!(request.session)).ok()?;
    match &request.payload {
        _ if request.credential.is_some() => return None,
        Payload::Call(call) => writeln!(text, "  call: {call}").ok()?,
        Payload::Raw { text: raw, .. } => match raw.strip_prefix("hex:") {
            Some(digits) => writeln!(text, "  raw: [{{hex: {digits}}}]").ok()?,
            None => writeln!(text, "  raw: {}", json!(raw)).ok()?,
        },
    }
    match answer {
        Ok(reply) => writeln!(text, "  expect_partial: {reply}").ok()?,
        Err(code) => writeln!(text, "  error: {{code: {code}}}").ok()?,
    }
    // Cases read a word that begins with `$` as a variable.
    (!text.contains('$')).then_some(text)
}
