//! The component under wasmtime: compiled once, a fresh instance for each
//! request, limits on both.
//!
//! Not here: what it can reach (`host`), and the rules, which are inside it.
//! Invariants: an instance that trapped answers no further call; no call takes
//! longer or more memory than [`ComponentOptions`] say.

use std::{fmt, sync::Arc, thread, time::Duration};

use tokio::runtime::{Handle, RuntimeFlavor};
use wasmtime::{
    Engine, Store, StoreContextMut, StoreLimitsBuilder, Trap, UpdateDeadline,
    component::{self, ComponentExportIndex, InstancePre, Linker},
};

pub use self::options::{Cache, ComponentOptions};
pub(crate) use self::{
    options::{BUCKETS_MAX, RECORDS_MAX},
    slots::Slot,
};
use self::{
    options::{COMPONENT, MODULES, TABLE_ELEMENTS_MAX},
    setup::{config, tick},
    slots::Slots,
};
use crate::{
    Caller, Effect, Failure, Host, Reply, StartError, State,
    bindings::{
        SharedContext, SharedContextIndices, exports::shared_context::core::tool,
        shared_context::core::types,
    },
    failures,
};

mod options;
mod setup;
mod slots;
#[cfg(test)]
mod tests;

/// The component, compiled. Clones share it.
#[derive(Clone)]
pub struct Component {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    pre: InstancePre<State>,
    /// Where the exports are; finding all of them costs more than one call.
    exports: SharedContextIndices,
    /// Where the export is that serves nearly every request.
    invoke: ComponentExportIndex,
    options: ComponentOptions,
    /// Room for instances.
    slots: Slots,
    /// Room for those of them that compute for longer than a tick.
    processors: Slots,
}

/// The interface of the JSON tool.
const TOOL: &str = "shared-context:core/tool@0.1.0";
/// Of how many ticks of the ticker `time_max` is made, or of more.
const TICKS: u32 = 20;
/// The longest tick. What computes for longer gives its thread's other tasks away and
/// takes turns with other sessions: requests that stay below it stand before those of
/// others.
const TICK_MAX: Duration = Duration::from_millis(2);
/// How long a thread of a runtime sleeps, that another can take over its tasks.
const GIVE_WAY: Duration = Duration::from_micros(200);

impl Component {
    /// Returns the component that this library carries, as any component host can run it.
    pub fn bytes() -> &'static [u8] {
        COMPONENT
    }

    /// Compiles the component that `options` name, or loads it from the cache.
    ///
    /// # Errors
    ///
    /// The machine does not have what wasmtime needs, such as address space; the
    /// component is none, wants what it is not given, or lacks what is asked of it.
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
        let exports = SharedContextIndices::new(&pre).map_err(started)?;
        let invoke = component
            .get_export_index(None, TOOL)
            .and_then(|tool| component.get_export_index(Some(&tool), "invoke"))
            .ok_or_else(|| StartError::new(format!("the component does not export {TOOL}")))?;
        let instances = usize::try_from(options.instances_max.max(1)).unwrap_or(usize::MAX);
        // One is left to those who take microseconds.
        let processors = thread::available_parallelism().map_or(1, Into::into);
        let processors = processors.saturating_sub(1).max(1);
        let inner = Inner {
            pre,
            exports,
            invoke,
            options: options.clone(),
            slots: Slots::new(instances, instances.div_ceil(2)),
            processors: Slots::new(processors, processors),
            engine,
        };
        tick(inner.engine.weak(), pace(options), inner.slots.clone())?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Performs one request of the JSON tool on `scope` (`session/{id}`), in a
    /// fresh instance.
    ///
    /// # Errors
    ///
    /// What the tool answers; `INTERNAL` when the component was stopped.
    pub fn invoke(
        &self,
        host: &Host,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        self.instance_of(scope, host)?.invoke(scope, caller, request)
    }

    /// Removes what has expired in `scope`, in a fresh instance, and tells when
    /// the next of its entries expires, or earlier, in milliseconds since the
    /// epoch.
    ///
    /// # Errors
    ///
    /// What the tool answers; `INTERNAL` when the component was stopped.
    pub fn wake(&self, host: &Host, scope: &str) -> Result<Option<u64>, Failure> {
        self.instance_of(scope, host)?.wake(scope)
    }

    /// Calls a function of the typed interfaces, in a fresh instance.
    ///
    /// # Errors
    ///
    /// What the function answers; `INTERNAL` when the component was stopped.
    pub fn call<T>(
        &self,
        host: &Host,
        call: impl FnOnce(&SharedContext, &mut Store<State>) -> Called<T>,
    ) -> Result<T, Failure> {
        self.instance(host)?.call(call)
    }

    /// Makes an instance, to be used for more than one request where isolation
    /// between them is not needed. Waits while there are as many as there may be.
    ///
    /// # Errors
    ///
    /// `INTERNAL`: there is no memory for it, or it failed as it began.
    pub fn instance(&self, host: &Host) -> Result<Instance, Failure> {
        self.instance_in(self.inner.slots.take(None), host)
    }

    /// As [`Component::instance`], for a request about `scope`.
    fn instance_of(&self, scope: &str, host: &Host) -> Result<Instance, Failure> {
        self.instance_in(self.inner.slots.take(Some(scope.into())), host)
    }

    /// Waits for room for an instance, for a request about `scope`, without keeping the
    /// thread.
    pub(crate) async fn room(&self, scope: &str) -> Slot {
        self.inner.slots.wait(Some(scope.into())).await
    }

    /// As [`Component::instance`], where there is room.
    pub(crate) fn instance_in(&self, slot: Slot, host: &Host) -> Result<Instance, Failure> {
        let options = &self.inner.options;
        let limits = StoreLimitsBuilder::new()
            .memory_size(options.memory_bytes_max)
            .table_elements(TABLE_ELEMENTS_MAX)
            .instances(usize::try_from(MODULES).unwrap_or_default())
            .trap_on_grow_failure(true)
            .build();
        let mut store = Store::new(&self.inner.engine, State::new(host.clone(), limits));
        store.limiter(|it| &mut it.limits);
        // More than its memory holds is the same bytes handed over many times.
        store.set_hostcall_fuel(options.memory_bytes_max);
        let (time_max, host_time_max) = (options.time_max, options.host_time_max);
        let (tick, processors) = (pace(options), self.inner.processors.clone());
        let holder = slot.holder().clone();
        store.epoch_deadline_callback(move |mut store: StoreContextMut<'_, State>| {
            let State { meter, processor, .. } = store.data_mut();
            if meter.computed() >= time_max || meter.hosted() >= host_time_max {
                return Ok(UpdateDeadline::Interrupt);
            }
            if meter.elapsed() >= tick {
                give_way(|| {
                    processor.take_if(|it| it.is_wanted_by_another());
                    processor.get_or_insert_with(|| processors.take(holder.clone()));
                });
            }
            Ok(UpdateDeadline::Continue(1))
        });
        store.set_epoch_deadline(1);
        let guest = self.inner.pre.instantiate(&mut store).map_err(|it| stopped(&it, false))?;
        Ok(Instance { guest, store, inner: Arc::clone(&self.inner), _slot: slot })
    }
}

/// What a function of the typed interfaces answers, under wasmtime: the outer
/// error is a trap.
pub type Called<T> = wasmtime::Result<Result<T, types::Error>>;

/// One instance of the component. After an `INTERNAL` error it is of no use.
pub struct Instance {
    guest: component::Instance,
    store: Store<State>,
    inner: Arc<Inner>,
    /// Dropped last: only then is there room for another.
    _slot: Slot,
}

impl Instance {
    /// As [`Component::invoke`], in this instance.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn invoke(
        &mut self,
        scope: &str,
        caller: &Caller,
        request: &[u8],
    ) -> Result<Reply, Failure> {
        let invoke = self.inner.invoke;
        let caller = caller.into();
        let reply = self.run(Some(scope), |instance, store| {
            let invoke = instance
                .get_typed_func::<InvokeArguments<'_>, InvokeResults>(&mut *store, invoke)?;
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

    /// As [`Component::wake`], in this instance.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn wake(&mut self, scope: &str) -> Result<Option<u64>, Failure> {
        let inner = Arc::clone(&self.inner);
        self.run(Some(scope), |instance, store| {
            let guest = inner.exports.load(&mut *store, instance)?;
            guest.shared_context_core_tool().call_wake(store, scope)
        })
    }

    /// As [`Component::call`], in this instance.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn call<T>(
        &mut self,
        call: impl FnOnce(&SharedContext, &mut Store<State>) -> Called<T>,
    ) -> Result<T, Failure> {
        let inner = Arc::clone(&self.inner);
        self.run(None, |instance, store| call(&inner.exports.load(&mut *store, instance)?, store))
    }

    /// Runs the component on the bucket called `scope`, or on the first that it opens,
    /// within its limits.
    fn run<T>(
        &mut self,
        scope: Option<&str>,
        run: impl FnOnce(&component::Instance, &mut Store<State>) -> Called<T>,
    ) -> Result<T, Failure> {
        self.store.data_mut().begin_call(scope);
        self.store.set_epoch_deadline(1);
        let answer = run(&self.guest, &mut self.store);
        self.store.data_mut().processor = None;
        match answer {
            Ok(answer) => Ok(answer?),
            Err(error) => Err(stopped(&error, self.store.data().has_committed)),
        }
    }
}

/// What `tool.invoke` takes and gives; checked against the component when it is
/// looked up.
type InvokeArguments<'a> = (&'a str, &'a types::Caller, &'a [u8]);
type InvokeResults = (Result<tool::Reply, types::Error>,);

/// Returns the failure of a request whose instance was stopped.
fn stopped(error: &wasmtime::Error, has_committed: bool) -> Failure {
    // Where it panicked is worth knowing; where a limit was reached is not.
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
             memory or failed; {effect}, and tell the operator if it happens twice"
        ),
    )
}

/// Returns how often an instance is looked at.
fn pace(options: &ComponentOptions) -> Duration {
    (options.time_max / TICKS).min(TICK_MAX)
}

/// Lets another thread of the runtime take over the tasks that wait for this one,
/// for as long as the component goes on here, and does `work`, which may wait.
fn give_way(work: impl FnOnce()) {
    // Elsewhere nobody waits for this thread.
    let is_shared = |it: Handle| it.runtime_flavor() == RuntimeFlavor::MultiThread;
    if !Handle::try_current().is_ok_and(is_shared) {
        return work();
    }
    tokio::task::block_in_place(|| {
        thread::sleep(GIVE_WAY);
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
