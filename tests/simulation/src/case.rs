//! A script without faults as a conformance case, in the format of
//! `tests/conformance/README.md`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    canary::Canary,
    script::{Ask, Request, Script, Step},
    world::World,
};

/// Returns the case that says what `script` does and what must be answered; `None` where a
/// case cannot say it: faults, requests inside of others, timers, credentials by
/// number, and answers of which there may be several.
pub fn conformance_case(script: &Script, title: &str) -> Option<String> {
    // What must be answered is the model's, also where the system is broken.
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
            Step::Wake { .. } => return None,
            Step::Ask(ask) => {
                let told = world.told();
                text += &step_of(ask, told.last()?.answer.as_ref()?)?;
            }
        }
    }
    Some(text)
}

/// One request and its answer.
fn step_of(ask: &Ask, answer: &Result<Value, String>) -> Option<String> {
    let mut text = format!("- as: {}\n", json!(ask.participant));
    if !ask.keys.is_empty() {
        writeln!(text, "  keys: {}", json!(ask.keys)).ok()?;
    }
    writeln!(text, "  session: {}", json!(ask.session)).ok()?;
    match &ask.request {
        _ if ask.credential.is_some() => return None,
        Request::Call(call) => writeln!(text, "  call: {call}").ok()?,
        Request::Raw { text: raw, .. } => match raw.strip_prefix("hex:") {
            Some(digits) => writeln!(text, "  raw: [{{hex: {digits}}}]").ok()?,
            None => writeln!(text, "  raw: {}", json!(raw)).ok()?,
        },
    }
    match answer {
        Ok(reply) => writeln!(text, "  expect_partial: {reply}").ok()?,
        Err(code) => writeln!(text, "  error: {{code: {code}}}").ok()?,
    }
    // What begins so is a variable there.
    (!text.contains('$')).then_some(text)
}
