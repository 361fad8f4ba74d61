//! Runs the component under wasmtime: compiled once, with a fresh instance for each request, or
//! with one that served the same session before (`warm`).
//!
//! The component's imports are in `host`; the rules are inside the component. Invariants:
//! an instance that trapped serves no further call, no call exceeds the time and memory of
//! [`ComponentOptions`], and no two sessions share an instance.

use std::{fmt, sync::Arc, thread, time::Duration};

use tokio::runtime::{Handle, RuntimeFlavor};
use wasmtime::{
    Engine, Store, StoreContextMut, StoreLimitsBuilder, Trap, UpdateDeadline,
    component::{self, ComponentExportIndex, InstancePre, Linker},
};

pub use self::interfaces::Interface;
use self::{
    interfaces::Indices,
    setup::{config, tick},
    warm::{Running, Waiting},
};
use crate::{
    Caller, ComponentOptions, Effect, Failure, Host, Reply, StartError, State,
    bindings::{SharedContext, exports::shared_context::core::tool, shared_context::core::types},
    failures,
    options::{COMPONENT, MODULES, TABLE_ELEMENTS_MAX},
    slots::{Slot, Slots},
};

mod interfaces;
mod setup;
#[cfg(test)]
mod tests;
mod warm;

/// The compiled component. Clones share it.
#[derive(Clone)]
pub struct Component {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    pre: InstancePre<State>,
    indices: Indices,
    /// The index of the export that serves nearly every request, and of the one for expired entries.
    invoke: ComponentExportIndex,
    wake: ComponentExportIndex,
    options: ComponentOptions,
    /// Slots for instances.
    slots: Slots,
    /// Slots for instances that compute for longer than a tick.
    processors: Slots,
    waiting: Arc<Waiting>,
}

/// The interface of the JSON tool.
const TOOL: &str = "shared-context:core/tool@0.1.0";
/// The minimum number of ticks in `time_max`.
const TICKS_MIN: u32 = 20;
/// The longest tick. A request that computes for longer yields its thread's other tasks to
/// another thread, and takes turns with other sessions. Requests below it go first.
const TICK_MAX: Duration = Duration::from_millis(2);
/// How long a runtime thread sleeps so that another thread can take over its tasks.
const YIELD_PAUSE: Duration = Duration::from_micros(200);

impl Component {
    /// Returns the bytes of the embedded component. Any component host can run it.
    pub fn bytes() -> &'static [u8] {
        COMPONENT
    }

    /// Compiles the component in `options`, or loads it from the cache.
    ///
    /// # Errors
    ///
    /// The machine lacks something that wasmtime needs, such as address space. The
    /// component is invalid, has an import that the host does not provide, or lacks a
    /// required export.
    pub fn new(options: &ComponentOptions) -> Result<Self, StartError> {
        let started = |it: wasmtime::Error| {
            StartError::new(format!("cannot start the component under wasmtime: {it:#}"))
        };
        let engine = Engine::new(&config(options)).map_err(started)?;
        let component = component::Component::new(&engine, &options.bytes).map_err(started)?;
        let mut linker = Linker::new(&engine);
        SharedContext::add_to_linker::<_, component::HasSelf<_>>(&mut linker, |it| it)
            .map_err(started)?;
        let pre = linker.instantiate_pre(&component).map_err(started)?;
        let indices = Indices::new(&pre).map_err(started)?;
        let tool = component.get_export_index(None, TOOL);
        let function = |name| component.get_export_index(Some(tool.as_ref()?), name);
        let Some((invoke, wake)) = function("invoke").zip(function("wake")) else {
            return Err(StartError::new(format!("the component does not export {TOOL}")));
        };
        let instances = usize::try_from(options.instances_max.max(1)).unwrap_or(usize::MAX);
        // One processor is left to short requests.
        let processors = thread::available_parallelism().map_or(1, Into::into);
        let processors = processors.saturating_sub(1).max(1);
        let inner = Inner {
            pre,
            indices,
            invoke,
            wake,
            options: options.clone(),
            slots: Slots::new(instances, instances.div_ceil(2)),
            processors: Slots::new(processors, processors),
            waiting: Arc::new(Waiting::new(options.warm_instances_max)),
            engine,
        };
        let waiting = Arc::downgrade(&inner.waiting);
        tick(inner.engine.weak(), tick_length(options), inner.slots.clone(), waiting)?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Performs one request of the JSON tool on `scope` (`session/{id}`), in a fresh
    /// instance, or in one that served `scope` before
    /// ([`warm_instances_max`](ComponentOptions::warm_instances_max)).
    ///
    /// # Errors
    ///
    /// The tool's errors; `INTERNAL` if the component was stopped.
    pub fn invoke(
        &self,
        host: &Host,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        self.instance_for(scope, host)?.invoke(scope, caller, request)
    }

    /// Removes the expired entries of `scope`, in an instance as that of [`Component::invoke`].
    /// Returns the time of the next expiry, or an earlier one, in milliseconds since the epoch.
    ///
    /// # Errors
    ///
    /// The tool's errors; `INTERNAL` if the component was stopped.
    pub fn wake(&self, host: &Host, scope: &str) -> Result<Option<u64>, Failure> {
        self.instance_for(scope, host)?.wake(scope)
    }

    /// Calls functions of the typed interface `I`, in a fresh instance.
    ///
    /// # Errors
    ///
    /// The function's errors; `INTERNAL` if the component was stopped.
    pub fn call<I: Interface, T>(
        &self,
        host: &Host,
        call: impl FnOnce(&I, &mut Store<State>) -> Called<T>,
    ) -> Result<T, Failure> {
        self.instance(host)?.call(call)
    }

    /// Creates an instance for several requests that need no isolation from each other.
    /// Blocks while the maximum number of instances is in use.
    ///
    /// # Errors
    ///
    /// `INTERNAL`: there is no memory for it, or it failed to start.
    pub fn instance(&self, host: &Host) -> Result<Instance, Failure> {
        self.instance_in(self.inner.slots.take(None), host)
    }

    /// Creates an instance as [`Component::instance`] does, for a request about `scope`.
    fn instance_for(&self, scope: &str, host: &Host) -> Result<Instance, Failure> {
        self.instance_in(self.inner.slots.take(Some(scope.into())), host)
    }

    /// Waits for an instance slot, for a request about `scope`, without blocking the
    /// thread.
    pub(crate) async fn wait_for_slot(&self, scope: &str) -> Slot {
        self.inner.slots.wait(Some(scope.into())).await
    }

    /// Returns an instance in `slot`: one that served its holder before, or else a new one.
    pub(crate) fn instance_in(&self, slot: Slot, host: &Host) -> Result<Instance, Failure> {
        let waiting = slot.holder().as_ref().and_then(|it| self.inner.waiting.take(it));
        let mut running = match waiting {
            Some(mut it) => {
                it.store.data_mut().begin_request(host.clone());
                it
            }
            None => self.start(&slot, host)?,
        };
        // More bytes than fit into its memory are the same bytes passed repeatedly.
        running.store.set_hostcall_fuel(self.inner.options.memory_bytes_max);
        Ok(Instance { running: Some(running), inner: Arc::clone(&self.inner), slot })
    }

    /// Starts a new instance.
    fn start(&self, slot: &Slot, host: &Host) -> Result<Running, Failure> {
        let options = &self.inner.options;
        let limits = StoreLimitsBuilder::new()
            .memory_size(options.memory_bytes_max)
            .table_elements(TABLE_ELEMENTS_MAX)
            .instances(usize::try_from(MODULES).unwrap_or_default())
            .trap_on_grow_failure(true)
            .build();
        let mut store = Store::new(&self.inner.engine, State::new(host.clone(), limits));
        store.limiter(|it| &mut it.limits);
        let (time_max, host_time_max) = (options.time_max, options.host_time_max);
        let (tick, processors) = (tick_length(options), self.inner.processors.clone());
        let holder = slot.holder().clone();
        store.epoch_deadline_callback(move |mut store: StoreContextMut<'_, State>| {
            let State { meter, processor, .. } = store.data_mut();
            if meter.computed() >= time_max || meter.hosted() >= host_time_max {
                return Ok(UpdateDeadline::Interrupt);
            }
            if meter.elapsed() >= tick {
                yield_thread(|| {
                    processor.take_if(|it| it.is_wanted_by_another());
                    processor.get_or_insert_with(|| processors.take(holder.clone()));
                });
            }
            Ok(UpdateDeadline::Continue(1))
        });
        store.set_epoch_deadline(1);
        let guest = self.inner.pre.instantiate(&mut store).map_err(|it| stopped(&it, false))?;
        Ok(Running::new(guest, store))
    }
}

/// The result of a typed function under wasmtime. The outer error is a trap.
pub type Called<T> = wasmtime::Result<Result<T, types::Error>>;

/// One instance of the component. It is unusable after an `INTERNAL` error.
pub struct Instance {
    /// Absent only while it is dropped.
    running: Option<Running>,
    inner: Arc<Inner>,
    /// Dropped last: the slot is free only when the instance is gone, or waits.
    slot: Slot,
}

impl Instance {
    /// Does what [`Component::invoke`] does, in this instance.
    ///
    /// # Errors
    ///
    /// As for [`Component::invoke`].
    pub fn invoke(
        &mut self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        let invoke = self.inner.invoke;
        let caller = caller.into();
        let reply = self.run(Some(scope), |Running { guest, store, .. }| {
            let invoke =
                guest.get_typed_func::<InvokeArguments<'_>, InvokeResults>(&mut *store, invoke)?;
            invoke.call(store, (scope, &caller, request)).map(|(reply,)| reply)
        })?;
        let tool::Reply { revision, body, effect, next_expiry_ms } = reply;
        let effect = match effect {
            tool::Effect::Done => Effect::Done,
            tool::Effect::Created => Effect::Created,
            tool::Effect::Unchanged => Effect::Unchanged,
        };
        Ok(Reply { revision, body, effect, next_expiry_ms })
    }

    /// Does what [`Component::wake`] does, in this instance.
    ///
    /// # Errors
    ///
    /// As for [`Component::wake`].
    pub fn wake(&mut self, scope: &str) -> Result<Option<u64>, Failure> {
        let wake = self.inner.wake;
        self.run(Some(scope), |Running { guest, store, .. }| {
            let wake = guest.get_typed_func::<(&str,), WakeResults>(&mut *store, wake)?;
            wake.call(store, (scope,)).map(|(next,)| next)
        })
    }

    /// Does what [`Component::call`] does, in this instance.
    ///
    /// # Errors
    ///
    /// As for [`Component::call`].
    pub fn call<I: Interface, T>(
        &mut self,
        call: impl FnOnce(&I, &mut Store<State>) -> Called<T>,
    ) -> Result<T, Failure> {
        let inner = Arc::clone(&self.inner);
        self.run(None, |Running { guest, functions, store, .. }| {
            let functions = I::find(functions, &inner.indices, guest, store)?;
            call(functions, store)
        })
    }

    /// Calls the component within its limits. It may open only the bucket `scope`, or, if
    /// that is `None`, the first bucket it opens.
    fn run<T>(
        &mut self,
        scope: Option<&str>,
        run: impl FnOnce(&mut Running) -> Called<T>,
    ) -> Result<T, Failure> {
        let Some(running) = &mut self.running else { return Err(gone()) };
        running.is_spent |= self.slot.holder().as_deref() != scope;
        running.store.data_mut().begin_call(scope);
        running.store.set_epoch_deadline(1);
        let answer = run(running);
        running.store.data_mut().processor = None;
        match answer {
            Ok(answer) => Ok(answer?),
            Err(error) => {
                running.is_spent = true;
                Err(stopped(&error, running.store.data().has_committed))
            }
        }
    }
}

impl Drop for Instance {
    /// Lets it wait for the next request of its session, if it may.
    fn drop(&mut self) {
        if let Some(running) = self.running.take()
            && let Some(scope) = self.slot.holder()
        {
            self.inner.waiting.put(Arc::clone(scope), running);
        }
    }
}

/// The parameters and results of `tool.invoke`, checked against the component when it is
/// looked up.
type InvokeArguments<'a> = (&'a str, &'a types::Caller, &'a [u8]);
type InvokeResults = (Result<tool::Reply, types::Error>,);
/// The results of `tool.wake`.
type WakeResults = (Result<Option<u64>, types::Error>,);

/// Returns the failure of an instance that is being dropped.
fn gone() -> Failure {
    Failure::new("INTERNAL", "the instance is gone; try again")
}

/// Logs the reason and returns the failure of a request whose instance was stopped.
fn stopped(error: &wasmtime::Error, has_committed: bool) -> Failure {
    // The location of a panic is useful; that of an exceeded limit is not.
    let has_panicked = error.downcast_ref() == Some(&Trap::UnreachableCodeReached);
    let reason = if has_panicked { format!("{error:#}") } else { error.root_cause().to_string() };
    if let Some(suppressed) = failures::admit(&reason) {
        tracing::error!(reason, suppressed, "the component was stopped");
    }
    let effect = if has_committed {
        "whether its change was made is not known: read before you try again"
    } else {
        "nothing was changed: try again"
    };
    Failure::new(
        "INTERNAL",
        format!(
            "the request was stopped inside the component, which took too long, needed too much \
             memory or failed; {effect}, and report it to the operator if it happens twice"
        ),
    )
}

/// Returns the interval at which instances are checked.
fn tick_length(options: &ComponentOptions) -> Duration {
    (options.time_max / TICKS_MIN).min(TICK_MAX)
}

/// Lets another runtime thread take over the tasks that wait for this one while the
/// component continues here. Then does `work`, which may block.
fn yield_thread(work: impl FnOnce()) {
    // Outside a multi-threaded runtime no task waits for this thread.
    let is_shared = |it: Handle| it.runtime_flavor() == RuntimeFlavor::MultiThread;
    if !Handle::try_current().is_ok_and(is_shared) {
        return work();
    }
    tokio::task::block_in_place(|| {
        thread::sleep(YIELD_PAUSE);
        work();
    });
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component").finish_non_exhaustive()
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").finish_non_exhaustive()
    }
}
