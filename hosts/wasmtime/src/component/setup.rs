//! Shared setup of all instances: the engine's configuration, the cache of compiled code,
//! and the ticker.

use std::{sync::Weak, thread, time::Duration};

use wasmtime::{
    CacheConfig, Config, Enabled, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig,
};

use super::warm::Waiting;
use crate::{
    Cache, ComponentOptions, StartError,
    options::{MODULES, STACK_BYTES_MAX, TABLE_ELEMENTS_MAX},
    slots::Slots,
};

/// The memory that a usual request touches. Clearing it by hand is cheaper than by a system
/// call.
const RESIDENT_BYTES: usize = 256 << 10;
/// How many times longer a tick is while there is no instance.
const IDLE_FACTOR: u32 = 10;

pub(super) fn config(options: &ComponentOptions) -> Config {
    let mut pool = PoolingAllocationConfig::new();
    let instances = options.instances_max.max(1).saturating_add(options.warm_instances_max);
    // Each instance has its own share of the pool and cannot take another's.
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(MODULES))
        .max_core_instances_per_component(MODULES)
        .total_memories(instances)
        .max_memories_per_component(1)
        .total_tables(instances.saturating_mul(MODULES))
        .max_tables_per_component(MODULES)
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_memory_size(options.memory_bytes_max)
        .linear_memory_keep_resident(RESIDENT_BYTES)
        .table_keep_resident(RESIDENT_BYTES)
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(STACK_BYTES_MAX)
        .generate_address_map(false)
        .cache(cache(&options.cache));
    config
}

/// Opens the cache. A failure is logged and only makes the start slower.
fn cache(cache: &Cache) -> Option<wasmtime::Cache> {
    let folder = match cache {
        Cache::None => return None,
        Cache::Folder(folder) => folder.clone(),
        Cache::User => {
            directories::ProjectDirs::from("", "", "shared-context")?.cache_dir().to_owned()
        }
    };
    // A folder of its own: wasmtime removes unknown files from it.
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

/// Starts a thread that increments the engine's epoch every `pause`, and less often while
/// all `slots` are free. It drops instances that have waited for too long, and ends with the
/// engine.
pub(super) fn tick(
    engine: EngineWeak,
    pause: Duration,
    slots: Slots,
    waiting: Weak<Waiting>,
) -> Result<(), StartError> {
    let run = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            if let Some(waiting) = waiting.upgrade() {
                waiting.sweep();
            }
            thread::sleep(if slots.are_free() { pause * IDLE_FACTOR } else { pause });
        }
    };
    thread::Builder::new()
        .name("shared-context-ticker".to_owned())
        .spawn(run)
        .map(drop)
        .map_err(|it| StartError::new(format!("cannot start the ticking thread: {it}")))
}
