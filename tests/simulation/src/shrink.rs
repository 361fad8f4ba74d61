//! Minimizes a failing script: fewer steps, fewer faults, less nesting and shorter requests, as
//! long as the same check fails.
//!
//! Uses delta debugging (Zeller and Hildebrandt, 2002) over a list of parts. Then it simplifies
//! each remaining part until nothing can be removed.

use serde_json::Value;

use crate::{
    fixtures::VALUE_MARKER,
    run,
    script::{EventKind, Payload, Script, Step, Storage},
    world::Flaw,
};

/// Maximum number of scripts to try.
const TRIES_MAX: usize = 20_000;

/// A minimized script.
#[derive(Debug)]
pub struct Shrunk {
    /// The script.
    pub script: Script,
    /// The failure.
    pub flaw: Flaw,
    /// Number of scripts tried.
    pub tries: usize,
}

/// Minimizes `script`, which fails with `flaw`.
pub fn shrink(script: &Script, flaw: &Flaw) -> Shrunk {
    let mut best = script.clone();
    best.steps.truncate(flaw.step + 1);
    let mut it = Shrinking { best: Shrunk { script: best, flaw: flaw.clone(), tries: 0 } };
    loop {
        let before = it.best.script.clone();
        it.leave_steps_out();
        it.leave_events_out();
        it.take_out_of_events();
        it.simplify();
        if it.best.script == before || it.best.tries >= TRIES_MAX {
            return it.best;
        }
    }
}

struct Shrinking {
    best: Shrunk,
}

impl Shrinking {
    /// Adopts `script` up to the failing step if it fails the same check.
    fn try_script(&mut self, mut script: Script) -> bool {
        if self.best.tries >= TRIES_MAX {
            return false;
        }
        self.best.tries += 1;
        let outcome = run::script(&script);
        match outcome.flaw {
            Some(flaw) if flaw.check == self.best.flaw.check => {
                script.steps.truncate(flaw.step + 1);
                self.best.script = script;
                self.best.flaw = flaw;
                true
            }
            _ => false,
        }
    }

    /// Removes as many steps as possible, in large chunks first.
    fn leave_steps_out(&mut self) {
        let mut size = (self.best.script.steps.len() / 2).max(1);
        loop {
            // Starts at the end, because later steps depend on earlier ones.
            let mut end = self.best.script.steps.len();
            while end > 0 {
                let from = end.saturating_sub(size);
                let mut script = self.best.script.clone();
                drop(script.steps.drain(from..end.min(script.steps.len())));
                self.try_script(script);
                end = from.min(self.best.script.steps.len());
            }
            if size == 1 {
                return;
            }
            size = size.div_ceil(2);
        }
    }

    /// Removes events one by one.
    fn leave_events_out(&mut self) {
        let mut nth = 0;
        while let Some(script) = edited(&self.best.script, &mut nth.clone(), &mut |step, at| {
            drop(step.during_mut()?.remove(at));
            Some(())
        }) {
            if !self.try_script(script) {
                nth += 1;
            }
        }
    }

    /// Moves nested steps before or after their step.
    fn take_out_of_events(&mut self) {
        for is_after in [false, true] {
            let mut nth = 0;
            while nth < self.best.script.steps.len() {
                let mut script = self.best.script.clone();
                let Some(step) = script.steps.get_mut(nth) else { break };
                let events = step.during_mut().map(std::mem::take).unwrap_or_default();
                let (inner, rest) = events
                    .into_iter()
                    .partition::<Vec<_>, _>(|it| matches!(it.kind, EventKind::Meanwhile(_)));
                let inner = inner.into_iter().filter_map(|it| match it.kind {
                    EventKind::Meanwhile(step) => Some(step),
                    _ => None,
                });
                let inner: Vec<Step> = inner.collect();
                if let Some(during) = step.during_mut() {
                    *during = rest;
                }
                if !inner.is_empty() {
                    let at = nth + usize::from(is_after);
                    drop(script.steps.splice(at..at, inner));
                    self.try_script(script);
                }
                nth += 1;
            }
        }
    }

    /// Shortens requests and simplifies values.
    fn simplify(&mut self) {
        if self.best.script.storage == Storage::Moving {
            let script = Script { storage: Storage::Snapshots, ..self.best.script.clone() };
            self.try_script(script);
        }
        let mut nth = 0;
        while nth < self.best.script.steps.len() {
            if !self.simplify_step(nth) {
                nth += 1;
            }
        }
    }

    /// Replaces a step by a simpler form that still fails. Returns true if there is one.
    fn simplify_step(&mut self, nth: usize) -> bool {
        simpler(&self.best.script.steps[nth]).into_iter().any(|simpler| {
            let mut script = self.best.script.clone();
            script.steps[nth] = simpler;
            self.try_script(script)
        })
    }
}

/// Returns the script with `edit` applied to the nth event, or `None` if there is no such event.
fn edited(
    script: &Script,
    nth: &mut usize,
    edit: &mut dyn FnMut(&mut Step, usize) -> Option<()>,
) -> Option<Script> {
    fn walk(
        step: &mut Step,
        nth: &mut usize,
        edit: &mut dyn FnMut(&mut Step, usize) -> Option<()>,
    ) -> bool {
        let count = step.during().len();
        for at in 0..count {
            if *nth == 0 {
                return edit(step, at).is_some();
            }
            *nth -= 1;
            let inner = step.during_mut().and_then(|it| it.get_mut(at));
            if let Some(EventKind::Meanwhile(inner)) = inner.map(|it| &mut it.kind)
                && walk(inner, nth, edit)
            {
                return true;
            }
        }
        false
    }
    let mut script = script.clone();
    script.steps.iter_mut().any(|step| walk(step, nth, edit)).then_some(script)
}

/// Returns simpler forms of a step.
fn simpler(step: &Step) -> Vec<Step> {
    let mut all = Vec::new();
    if let Step::ClockMs(by) = step {
        all.extend(
            [by / 2, by / 1_000 * 1_000].into_iter().filter(|it| it != by).map(Step::ClockMs),
        );
    }
    let Step::Ask(request) = step else { return all };
    if request.credential.is_some() {
        let mut simpler = request.clone();
        simpler.credential = None;
        all.push(Step::Ask(simpler));
    }
    if !request.keys.is_empty() {
        let mut simpler = request.clone();
        simpler.keys.clear();
        all.push(Step::Ask(simpler));
    }
    for (nth, event) in request.during.iter().enumerate() {
        if let EventKind::Meanwhile(inner) = &event.kind {
            for it in self::simpler(inner) {
                let mut simpler = request.clone();
                simpler.during[nth].kind = EventKind::Meanwhile(it);
                all.push(Step::Ask(simpler));
            }
        }
    }
    let Payload::Call(call) = &request.payload else { return all };
    for it in simpler_values(call) {
        let mut simpler = request.clone();
        simpler.payload = Payload::Call(it);
        all.push(Step::Ask(simpler));
    }
    all
}

/// Returns simpler forms of a request: without one member, or with a simpler member.
fn simpler_values(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match value {
        Value::Object(members) => {
            for name in members.keys().filter(|it| *it != "action") {
                let mut simpler = members.clone();
                simpler.remove(name);
                all.push(Value::Object(simpler));
            }
            for (name, value) in members.iter().filter(|(name, _)| *name != "document") {
                for it in simpler_values(value) {
                    let mut simpler = members.clone();
                    simpler.insert(name.clone(), it);
                    all.push(Value::Object(simpler));
                }
            }
        }
        Value::Array(items) => {
            // An empty list would change the request's meaning, and is usually rejected.
            for nth in 0..items.len() * usize::from(items.len() > 1) {
                let mut simpler = items.clone();
                simpler.remove(nth);
                all.push(Value::Array(simpler));
            }
            for (nth, item) in items.iter().enumerate() {
                for it in simpler_values(item) {
                    let mut simpler = items.clone();
                    simpler[nth] = it;
                    all.push(Value::Array(simpler));
                }
            }
        }
        Value::String(text) if text.starts_with(VALUE_MARKER) => {
            let chars = text.chars().count();
            let shorter = [VALUE_MARKER.len() + 1, chars / 2].into_iter().filter(|it| *it < chars);
            all.extend(shorter.map(|it| Value::from(text.chars().take(it).collect::<String>())));
        }
        _ => {}
    }
    all
}
