//! Making a script that fails small: fewer steps, fewer faults, less nesting,
//! shorter requests, as long as the same check still fails.
//!
//! Delta debugging (Zeller and Hildebrandt, 2002) over a list of parts, and then
//! simpler forms of each part that is left, until nothing can be left out.

use serde_json::Value;

use crate::{
    cast::MARK,
    run,
    script::{Deed, Request, Script, Step, Storage},
    world::Flaw,
};

/// How many scripts are tried.
const TRIES_MAX: usize = 20_000;

/// A script that was made small.
#[derive(Debug)]
pub struct Shrunk {
    /// The script.
    pub script: Script,
    /// What is wrong in it.
    pub flaw: Flaw,
    /// How many scripts were tried.
    pub tries: usize,
}

/// Makes `script`, in which `flaw` is found, small.
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
    /// Takes `script` if it still fails, as far as it fails.
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

    /// Leaves out as many steps as it can, many at once first.
    fn leave_steps_out(&mut self) {
        let mut size = (self.best.script.steps.len() / 2).max(1);
        loop {
            // From the end: what comes later depends on what comes before.
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

    /// Leaves out what happens during steps, one by one.
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

    /// Lets what happens during a step happen before or after it.
    fn take_out_of_events(&mut self) {
        for is_after in [false, true] {
            let mut nth = 0;
            while nth < self.best.script.steps.len() {
                let mut script = self.best.script.clone();
                let Some(step) = script.steps.get_mut(nth) else { break };
                let events = step.during_mut().map(std::mem::take).unwrap_or_default();
                let (inner, rest) = events
                    .into_iter()
                    .partition::<Vec<_>, _>(|it| matches!(it.deed, Deed::Meanwhile(_)));
                let inner = inner.into_iter().filter_map(|it| match it.deed {
                    Deed::Meanwhile(step) => Some(step),
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

    /// Makes requests shorter and values plainer.
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

    /// Returns whether a simpler form of a step fails as well; then it is taken.
    fn simplify_step(&mut self, nth: usize) -> bool {
        simpler(&self.best.script.steps[nth]).into_iter().any(|simpler| {
            let mut script = self.best.script.clone();
            script.steps[nth] = simpler;
            self.try_script(script)
        })
    }
}

/// Returns the script with the nth of all events changed; `None` when there are no more.
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
            if let Some(Deed::Meanwhile(inner)) = inner.map(|it| &mut it.deed)
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

/// Simpler forms of a step.
fn simpler(step: &Step) -> Vec<Step> {
    let mut all = Vec::new();
    if let Step::ClockMs(by) = step {
        all.extend(
            [by / 2, by / 1_000 * 1_000].into_iter().filter(|it| it != by).map(Step::ClockMs),
        );
    }
    let Step::Ask(ask) = step else { return all };
    if ask.credential.is_some() {
        let mut simpler = ask.clone();
        simpler.credential = None;
        all.push(Step::Ask(simpler));
    }
    if !ask.keys.is_empty() {
        let mut simpler = ask.clone();
        simpler.keys.clear();
        all.push(Step::Ask(simpler));
    }
    for (nth, event) in ask.during.iter().enumerate() {
        if let Deed::Meanwhile(inner) = &event.deed {
            for it in self::simpler(inner) {
                let mut simpler = ask.clone();
                simpler.during[nth].deed = Deed::Meanwhile(it);
                all.push(Step::Ask(simpler));
            }
        }
    }
    let Request::Call(call) = &ask.request else { return all };
    for it in simpler_values(call) {
        let mut simpler = ask.clone();
        simpler.request = Request::Call(it);
        all.push(Step::Ask(simpler));
    }
    all
}

/// Simpler forms of a request: without one member, with less in one.
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
            // With nothing in it a list would be another request, mostly none at all.
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
        Value::String(text) if text.starts_with(MARK) => {
            let chars = text.chars().count();
            let shorter = [MARK.len() + 1, chars / 2].into_iter().filter(|it| *it < chars);
            all.extend(shorter.map(|it| Value::from(text.chars().take(it).collect::<String>())));
        }
        _ => {}
    }
    all
}
