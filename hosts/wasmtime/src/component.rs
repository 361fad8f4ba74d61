//! The component under wasmtime: compiled once, a fresh instance for each
//! request, limits on both.
//!
//! Not here: what it can reach (`host`), and the rules, which are inside it.
//! Invariants: an instance that trapped answers no further call; no call takes
//! longer or more memory than [`ComponentOptions`] say.

use std::{fmt, mem, path::PathBuf, sync::Arc, thread, time::Duration};

use wasmtime::{
    CacheConfig, Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy,
    PoolingAllocationConfig, Store, StoreLimitsBuilder, UpdateDeadline,
    component::{self, ComponentExportIndex, InstancePre, Linker},
};

use self::slots::{Slot, Slots};
use crate::{
    Caller, Failure, Host, Reply, StartError, State,
    bindings::{
        SharedContext, SharedContextIndices, exports::shared_context::core::tool,
        shared_context::core::types,
    },
};

mod slots;
#[cfg(test)]
mod tests;

/// The component's bytes, found by the build script.
const COMPONENT: &[u8] = include_bytes!(env!("SHARED_CONTEXT_COMPONENT_FILE"));

/// How the component is run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ComponentOptions {
    /// Where its compiled form is kept between starts.
    pub cache: Cache,
    /// The most memory an instance may take, in bytes.
    pub memory_bytes_max: usize,
    /// The longest an instance may compute between two calls to its host.
    pub time_max: Duration,
    /// How many instances there may be at one time; further calls wait.
    pub instances_max: u32,
}

/// Where compiled code is kept. It is run unseen: nobody else should be able to
/// write there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cache {
    /// In the platform's place for a user's caches.
    #[default]
    User,
    /// In a folder of its own inside this one.
    Folder(PathBuf),
    /// Nowhere: each start compiles anew, for about 0.2 s.
    None,
}

impl Default for ComponentOptions {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, Into::into);
        Self {
            cache: Cache::default(),
            memory_bytes_max: 128 << 20,
            time_max: Duration::from_secs(1),
            instances_max: u32::try_from(threads).unwrap_or(u32::MAX).saturating_mul(2).max(16),
        }
    }
}

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
    memory_bytes_max: usize,
    slots: Slots,
}

/// The interface of the JSON tool.
const TOOL: &str = "shared-context:core/tool@0.1.0";
/// Core modules in the component: the program, and the two by which
/// `wit-component` lets it import before it is instantiated.
const MODULES: u32 = 3;
/// What an instance needs on a usual request; resetting it by hand is cheaper
/// than by a call to the system.
const RESIDENT_BYTES: usize = 256 << 10;
/// Of how many ticks of the ticker `time_max` is made.
const TICKS: u32 = 20;
/// How often `time_max` begins anew because the host was called.
const EXTENSIONS_MAX: u32 = 60;

impl Component {
    /// The component itself, as any component host can run it.
    pub fn bytes() -> &'static [u8] {
        COMPONENT
    }

    /// Compiles the component, or loads it from the cache.
    ///
    /// # Errors
    ///
    /// The machine does not have what wasmtime needs, such as address space.
    pub fn new(options: &ComponentOptions) -> Result<Self, StartError> {
        let started = |it: wasmtime::Error| {
            StartError::new(format!("cannot start the component under wasmtime: {it:#}"))
        };
        let engine = Engine::new(&config(options)).map_err(started)?;
        let component = component::Component::new(&engine, COMPONENT).map_err(started)?;
        let mut linker = Linker::new(&engine);
        SharedContext::add_to_linker::<_, component::HasSelf<_>>(&mut linker, |it| it)
            .map_err(started)?;
        let pre = linker.instantiate_pre(&component).map_err(started)?;
        let exports = SharedContextIndices::new(&pre).map_err(started)?;
        let invoke = component
            .get_export_index(None, TOOL)
            .and_then(|tool| component.get_export_index(Some(&tool), "invoke"))
            .ok_or_else(|| StartError::new(format!("the component does not export {TOOL}")))?;
        let inner = Inner {
            pre,
            exports,
            invoke,
            memory_bytes_max: options.memory_bytes_max,
            slots: Slots::new(options.instances_max.max(1)),
            engine,
        };
        tick(inner.engine.weak(), options.time_max / TICKS)?;
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
        self.instance(host)?.invoke(scope, caller, request)
    }

    /// Removes what has expired in `scope`, in a fresh instance, and tells when
    /// the next of its entries expires, or earlier, in milliseconds since the
    /// epoch.
    ///
    /// # Errors
    ///
    /// What the tool answers; `INTERNAL` when the component was stopped.
    pub fn wake(&self, host: &Host, scope: &str) -> Result<Option<u64>, Failure> {
        self.instance(host)?.wake(scope)
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
    /// `INTERNAL`: there is no memory for it.
    pub fn instance(&self, host: &Host) -> Result<Instance, Failure> {
        let slot = Slots::take(&self.inner);
        let limits = StoreLimitsBuilder::new()
            .memory_size(self.inner.memory_bytes_max)
            .trap_on_grow_failure(true)
            .build();
        let mut store = Store::new(&self.inner.engine, State::new(host.clone(), limits));
        store.limiter(|it| &mut it.limits);
        store.epoch_deadline_callback(|mut store| {
            let state = store.data_mut();
            // Waiting for the host is not the component's fault, within reason.
            if mem::take(&mut state.has_called) && state.extensions < EXTENSIONS_MAX {
                state.extensions += 1;
                return Ok(UpdateDeadline::Continue(TICKS.into()));
            }
            Ok(UpdateDeadline::Interrupt)
        });
        store.set_epoch_deadline(TICKS.into());
        let guest = self.inner.pre.instantiate(&mut store).map_err(|it| stopped(&it, false))?;
        Ok(Instance { guest, store, slot })
    }
}

/// What a function of the typed interfaces answers, under wasmtime: the outer
/// error is a trap.
pub type Called<T> = wasmtime::Result<Result<T, types::Error>>;

/// One instance of the component. After an `INTERNAL` error it is of no use.
pub struct Instance {
    guest: component::Instance,
    store: Store<State>,
    /// Dropped last: only then is there room for another.
    slot: Slot,
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
        let invoke = self.slot.0.invoke;
        let caller = caller.into();
        let reply = self.run(|instance, store| {
            let invoke = instance
                .get_typed_func::<InvokeArguments<'_>, InvokeResults>(&mut *store, invoke)?;
            invoke.call(store, (scope, &caller, request)).map(|(reply,)| reply)
        })?;
        let tool::Reply { revision, body, next_expiry_ms } = reply;
        Ok(Reply { revision, body, next_expiry_ms })
    }

    /// As [`Component::wake`], in this instance.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn wake(&mut self, scope: &str) -> Result<Option<u64>, Failure> {
        self.call(|guest, store| guest.shared_context_core_tool().call_wake(store, scope))
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
        let inner = Arc::clone(&self.slot.0);
        self.run(|instance, store| call(&inner.exports.load(&mut *store, instance)?, store))
    }

    /// Runs the component, within its limits.
    fn run<T>(
        &mut self,
        run: impl FnOnce(&component::Instance, &mut Store<State>) -> Called<T>,
    ) -> Result<T, Failure> {
        self.store.data_mut().begin_call();
        self.store.set_epoch_deadline(TICKS.into());
        match run(&self.guest, &mut self.store) {
            Ok(answer) => Ok(answer?),
            Err(trap) => Err(stopped(&trap, self.store.data().has_committed)),
        }
    }
}

/// What `tool.invoke` takes and gives; checked against the component when it is
/// looked up.
type InvokeArguments<'a> = (&'a str, &'a types::Caller, &'a [u8]);
type InvokeResults = (Result<tool::Reply, types::Error>,);

/// The failure of a request whose instance was stopped.
fn stopped(trap: &wasmtime::Error, has_committed: bool) -> Failure {
    tracing::error!(reason = format!("{trap:#}"), "the component was stopped");
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

fn config(options: &ComponentOptions) -> Config {
    let mut pool = PoolingAllocationConfig::new();
    let instances = options.instances_max.max(1);
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(MODULES))
        .total_memories(instances)
        .total_tables(instances.saturating_mul(MODULES))
        .max_memory_size(options.memory_bytes_max)
        .linear_memory_keep_resident(RESIDENT_BYTES)
        .table_keep_resident(RESIDENT_BYTES)
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .concurrency_support(false)
        .epoch_interruption(true)
        .generate_address_map(false)
        .cache(cache(&options.cache));
    config
}

/// Opens the cache. Without it a start takes longer, and that is all.
fn cache(cache: &Cache) -> Option<wasmtime::Cache> {
    let folder = match cache {
        Cache::None => return None,
        Cache::Folder(folder) => folder.clone(),
        Cache::User => {
            directories::ProjectDirs::from("", "", "shared-context")?.cache_dir().to_owned()
        }
    };
    // One of its own: wasmtime removes from it whatever it does not know.
    let folder = folder.join("compiled");
    let mut config = CacheConfig::new();
    config.with_directory(&folder);
    wasmtime::Cache::new(config)
        .inspect_err(|error| {
            let folder = folder.display();
            tracing::warn!(%folder, %error, "compiled code cannot be kept for the next start");
        })
        .ok()
}

/// Moves the engine's clock on, for as long as there is an engine.
fn tick(engine: EngineWeak, pause: Duration) -> Result<(), StartError> {
    let run = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(pause);
        }
    };
    thread::Builder::new()
        .name("shared-context-ticker".to_owned())
        .spawn(run)
        .map(drop)
        .map_err(|it| StartError::new(format!("cannot start the ticking thread: {it}")))
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
