//! A project in a component of which every request gets a fresh instance.

use std::{cell::Cell, time::Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use shared_context_codec::Caller;
use shared_context_core::{memory_kv::MemoryKv, port::Kv};
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
    /// Creates a project over storage in memory.
    pub(crate) fn new() -> Result<Self> {
        Self::over(MemoryKv::default())
    }

    /// Creates a project over `kv`.
    pub(crate) fn over<K>(kv: K) -> Result<Self>
    where
        K: Kv<Bucket: Send> + Send + Sync + 'static,
    {
        let component = Component::new(&ComponentOptions::default())?;
        let host = Host::new(kv, NoOp, NoOp);
        let project = Self { component, host, rejected: Cell::new(0) };
        let create = json!({"action": "create_project", "memories_max": 50_000});
        project.send(SCOPE, &Caller::trusted("admin"), &create);
        Ok(project)
    }

    /// Sends a request of the orchestrator; one that is rejected is counted.
    pub(crate) fn ask(&self, request: &Value) {
        self.send(SCOPE, &Caller::trusted("orchestrator"), request);
    }

    /// Sends a request to a bucket; one that is rejected is counted.
    pub(crate) fn send(&self, scope: &str, who: &Caller, request: &Value) {
        let answer = self.component.invoke(&self.host, scope, who, request.to_string().as_bytes());
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

    /// Returns how long each of `count` requests to a bucket takes, in milliseconds, the shortest
    /// first.
    pub(crate) fn times(
        &self,
        scope: &str,
        count: usize,
        request: impl Fn(usize) -> Value,
    ) -> Vec<f64> {
        let who = Caller::trusted("orchestrator");
        let once = |nth| {
            let request = request(nth);
            let start = Instant::now();
            self.send(scope, &who, &request);
            start.elapsed().as_secs_f64() * 1_000.0
        };
        let mut all: Vec<f64> = (0..count).map(once).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Fails if a request was rejected: its time would be that of nothing.
    pub(crate) fn ensure_none_rejected(&self) -> Result<()> {
        let rejected = self.rejected.get();
        ensure!(rejected == 0, "{rejected} of the measured requests were rejected");
        Ok(())
    }
}
