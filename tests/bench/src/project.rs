//! A project in a component of which every request gets a fresh instance, over storage in memory.

use std::cell::Cell;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use shared_context_codec::Caller;
use shared_context_core::memory_kv::MemoryKv;
use shared_context_wasmtime::{Component, ComponentOptions, Host};

use crate::rules::{NoOp, cpu_micros_of};

/// The bucket of the project.
pub(crate) const SCOPE: &str = "project/bench";
/// Number of measurements per figure.
const TIMES: usize = 30;

/// A project, and its orchestrator.
pub(crate) struct Project {
    component: Component,
    host: Host,
    rejected: Cell<u32>,
}

impl Project {
    /// Creates a project.
    pub(crate) fn new() -> Result<Self> {
        let component = Component::new(&ComponentOptions::default())?;
        let host = Host::new(MemoryKv::default(), NoOp, NoOp);
        let project = Self { component, host, rejected: Cell::new(0) };
        let create = json!({"action": "create_project", "memories_max": 50_000});
        project.send(&Caller::trusted("admin"), &create);
        Ok(project)
    }

    /// Sends a request of the orchestrator; one that is rejected is counted.
    pub(crate) fn ask(&self, request: &Value) {
        self.send(&Caller::trusted("orchestrator"), request);
    }

    fn send(&self, who: &Caller, request: &Value) {
        let answer = self.component.invoke(&self.host, SCOPE, who, request.to_string().as_bytes());
        self.rejected.set(self.rejected.get() + u32::from(answer.is_err()));
    }

    /// Returns the median CPU time of the requests that `request` makes, in milliseconds.
    pub(crate) fn median(&self, request: impl Fn(usize) -> Value) -> f64 {
        let once = |nth| {
            let request = request(nth);
            cpu_micros_of(|| self.ask(&request)) / 1_000.0
        };
        let mut all: Vec<f64> = (0..TIMES).map(once).collect();
        all.sort_by(f64::total_cmp);
        all.get(TIMES / 2).copied().unwrap_or_default()
    }

    /// Fails if a request was rejected: its time would be that of nothing.
    pub(crate) fn ensure_none_rejected(&self) -> Result<()> {
        let rejected = self.rejected.get();
        ensure!(rejected == 0, "{rejected} of the measured requests were rejected");
        Ok(())
    }
}
