//! An application, ready to serve: its components composed, compiled and linked.
//!
//! Invariant: compiled code is cached in the process and on disk, so a start takes
//! milliseconds.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use anyhow::{Context as _, anyhow};
use wasmtime::{
    Cache, CacheConfig, Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    component::{self, Linker},
};
use wasmtime_wasi_http::p2::bindings::ProxyPre;

use crate::{
    clock::WallClock,
    compose::compose,
    faults::Faults,
    host::{Host, key_value::Stores},
    manifest::Manifest,
    output::{Lines, Output},
    routes::Router,
    variables::{self, Sources, Texts},
};

/// Spin's default limit of concurrent component instances. It allows as many linear memories
/// and twice as many tables. Each component of a composition has its own, so an application
/// of three serves a third of this at once. All emulators of a process share the limit.
const INSTANCES_MAX: u32 = 1000;

/// An application.
pub(crate) struct App {
    pub(crate) router: Router,
    components: BTreeMap<String, LinkedComponent>,
}

/// A linked component of an application.
pub(crate) struct LinkedComponent {
    pub(crate) component: Arc<Component>,
    pub(crate) pre: ProxyPre<Host>,
}

/// The settings of a component from the manifest.
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) texts: Texts,
    pub(crate) environment: BTreeMap<String, String>,
    /// The labels of databases it may open.
    pub(crate) databases: BTreeSet<String>,
    /// The labels of stores it may open.
    pub(crate) stores: BTreeSet<String>,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
    pub(crate) shared: Arc<Shared>,
}

/// The state that all components of an application share.
pub(crate) struct Shared {
    pub(crate) faults: Faults,
    pub(crate) clock: WallClock,
    /// The file of the database "default".
    pub(crate) database: PathBuf,
    pub(crate) stores: Arc<Stores>,
    /// The errors of failed requests.
    pub(crate) failures: Lines,
}

impl Shared {
    /// Opens the state in the folder `state`, creating the folder if necessary.
    ///
    /// # Errors
    ///
    /// The folder cannot be created.
    pub(crate) fn new(state: &Path, failures: Lines) -> anyhow::Result<Self> {
        fs::create_dir_all(state)
            .with_context(|| format!("cannot make the state folder {}", state.display()))?;
        Ok(Self {
            failures,
            faults: Faults::default(),
            clock: WallClock::default(),
            database: state.join("sqlite_db.db"),
            stores: Arc::new(Stores::new(state.join("sqlite_key_value.db"))),
        })
    }
}

impl App {
    /// Loads the application of `manifest`. Its components log to `state` and to `lines`.
    ///
    /// # Errors
    ///
    /// A file is missing, or Spin would reject the application.
    pub(crate) fn load(
        mut manifest: Manifest,
        sources: &Sources<'_>,
        shared: &Arc<Shared>,
        state: &Path,
        lines: &Lines,
    ) -> anyhow::Result<Self> {
        let mut texts = variables::resolve(&manifest, sources)?;
        let read = |path: &Path| {
            let path = manifest.path(path);
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let logs = state.join("logs");
        // Tests only inspect standard error.
        let stdout = if matches!(lines, Lines::Collected(_)) { &Lines::Quiet } else { lines };
        let mut components = BTreeMap::new();
        for (name, it) in &manifest.components {
            let about = || format!("component {name:?}");
            let bytes = read(it.file()?).with_context(about)?;
            let bytes = compose(name, bytes, it, &read).with_context(about)?;
            let pre = link(bytes).with_context(about)?;
            let component = Component {
                texts: texts.remove(name).unwrap_or_default(),
                environment: it.environment.clone(),
                databases: it.sqlite_databases.iter().cloned().collect(),
                stores: it.key_value_stores.iter().cloned().collect(),
                stdout: Output::open(name, "stdout", &logs, stdout.clone())?,
                stderr: Output::open(name, "stderr", &logs, lines.clone())?,
                shared: Arc::clone(shared),
                name: name.clone(),
            };
            let linked = LinkedComponent { component: Arc::new(component), pre };
            components.insert(name.clone(), linked);
        }
        let router = Router::new(std::mem::take(&mut manifest.routes))?;
        Ok(Self { router, components })
    }

    /// Returns the component `name`.
    pub(crate) fn component(&self, name: &str) -> Option<&LinkedComponent> {
        self.components.get(name)
    }
}

/// Compiles and links components. A process has one.
struct Compiler {
    engine: Engine,
    linker: Linker<Host>,
    /// Compiled components by their bytes.
    compiled: Mutex<Vec<(Vec<u8>, component::Component)>>,
}

impl Compiler {
    fn new() -> wasmtime::Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(INSTANCES_MAX)
            .total_memories(INSTANCES_MAX)
            .total_tables(2 * INSTANCES_MAX)
            .total_stacks(INSTANCES_MAX)
            .total_core_instances(4 * INSTANCES_MAX)
            .table_elements(100_000)
            .max_core_instances_per_component(200)
            .max_memories_per_component(32)
            .max_tables_per_component(64)
            .max_component_instance_size(10 << 20)
            .max_core_instance_size(10 << 20)
            .linear_memory_keep_resident(2 << 20)
            .table_keep_resident(1 << 19);
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool)).cache(cache());
        let engine = Engine::new(&config)?;
        let mut linker = Linker::new(&engine);
        Host::link(&mut linker)?;
        Ok(Self { engine, linker, compiled: Mutex::default() })
    }

    fn compile(&self, bytes: Vec<u8>) -> wasmtime::Result<component::Component> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, it)) = compiled.iter().find(|(other, _)| *other == bytes) {
            return Ok(it.clone());
        }
        let component = component::Component::new(&self.engine, &bytes)?;
        compiled.push((bytes, component.clone()));
        Ok(component)
    }
}

fn link(bytes: Vec<u8>) -> anyhow::Result<ProxyPre<Host>> {
    static COMPILER: OnceLock<Result<Compiler, String>> = OnceLock::new();
    let compiler = COMPILER
        .get_or_init(|| Compiler::new().map_err(|it| format!("{it:#}")))
        .as_ref()
        .map_err(|why| anyhow!("cannot start wasmtime: {why}"))?;
    let component = compiler
        .compile(bytes)
        .map_err(explained)
        .context("it is no component; `spin build` makes one of a module")?;
    let pre = compiler
        .linker
        .instantiate_pre(&component)
        .map_err(explained)
        .context("it imports what the emulator does not have")?;
    ProxyPre::new(pre)
        .map_err(explained)
        .context("it does not export wasi:http/incoming-handler@0.2.0")
}

/// Converts an error of wasmtime, which does not implement the standard error trait.
#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
pub(crate) fn explained(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:#}")
}

/// Opens the cache of compiled code on disk: beside the program, in cargo's build folder.
/// Without it a start takes a second longer.
fn cache() -> Option<Cache> {
    let program = env::current_exe().ok()?;
    let folder = program.ancestors().skip(1).find(|it| !it.ends_with("deps"))?;
    let mut config = CacheConfig::new();
    config.with_directory(folder.join("spin-emulator-compiled"));
    Cache::new(config).ok()
}
