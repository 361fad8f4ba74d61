//! The compared Workers, each under its own workerd.
//!
//! All receive the same requests: bodies of the JSON tool, with a credential of the same length.
//! Only ours verifies it.

use std::{
    env, fs,
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use shared_context_workers::{Setup, Workerd};

use crate::client::{Client, request, request_with};

/// Signs the credentials of our Worker.
const SECRET: &str = "bench: signs the credentials of the benchmark";
const ADMIN_KEY: &str = "bench-admin-key-0123456789abcdef";
/// The sources of the other Workers.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workers");

/// The kinds of Workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerKind {
    /// The production Worker of this repository.
    Ours,
    /// A Durable Object in JavaScript that reads and writes, without rules.
    Plain,
    /// The agent state of Cloudflare's SDK.
    Agents,
    /// The component in a Worker, transpiled by jco.
    Jco,
}

impl WorkerKind {
    /// Returns the name in the output.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Plain => "plain",
            Self::Agents => "agents",
            Self::Jco => "jco",
        }
    }

    /// Returns true if a session must be created before writes.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::Ours | Self::Jco)
    }

    /// Returns the folder of the Worker: `wrangler.jsonc`, and the modules in `build`. Bundles the
    /// JavaScript Workers into `folder`, as our build does.
    fn worker(self, folder: &Path) -> Result<PathBuf> {
        match self {
            Self::Ours => path("WORKERD_WORKER"),
            Self::Jco => path("WORKERD_JCO"),
            Self::Plain | Self::Agents => {
                let source = Path::new(SOURCES).join(self.name());
                let worker = folder.join("bundled");
                bundle(&source, &worker.join("build/worker.mjs"))?;
                fs::copy(source.join("wrangler.jsonc"), worker.join("wrangler.jsonc"))?;
                Ok(worker)
            }
        }
    }
}

/// A running Worker.
#[derive(Debug)]
pub(super) struct RunningWorker {
    pub(super) kind: WorkerKind,
    pub(super) address: SocketAddr,
    /// Deployed size, gzipped, in bytes.
    pub(super) bytes: usize,
    workerd: Workerd,
}

/// A session of a Worker, and its address and credential.
#[derive(Debug)]
pub(super) struct Session {
    kind: WorkerKind,
    path: String,
    credential: String,
}

impl RunningWorker {
    /// Starts the Worker with its data in `folder`.
    pub(super) fn start(kind: WorkerKind, folder: &Path) -> Result<Self> {
        let folder = folder.join(kind.name());
        fs::create_dir_all(&folder)?;
        let worker = kind.worker(&folder)?;
        let bytes = gzipped(&worker.join("build"))?;
        let setup = match kind {
            WorkerKind::Ours => Setup::find(&folder).map(|it| it.keys(SECRET, ADMIN_KEY)),
            _ => Setup::foreign(worker, &folder),
        };
        let setup = setup.map_err(|why| anyhow!(why))?.without_rate_limit();
        Self::run(kind, bytes, setup)
    }

    fn run(kind: WorkerKind, bytes: usize, setup: Setup) -> Result<Self> {
        let workerd = setup.try_start().map_err(|why| anyhow!("{}: {why}", kind.name()))?;
        let address = workerd.address().parse()?;
        Ok(Self { kind, address, bytes, workerd })
    }

    /// Restarts the Worker. Returns the time of the start.
    pub(super) fn restart(self) -> Result<(Self, Duration)> {
        let Self { kind, bytes, workerd, .. } = self;
        let setup = workerd.stop();
        let start = Instant::now();
        Ok((Self::run(kind, bytes, setup)?, start.elapsed()))
    }

    /// Creates the session `id`, if this kind of Worker requires it.
    pub(super) async fn create(&self, client: &mut Client, id: &str) -> Result<Session> {
        let path = match self.kind {
            WorkerKind::Ours | WorkerKind::Plain => format!("/v1/sessions/{id}/shared_context"),
            WorkerKind::Agents => format!("/agents/session/{id}"),
            WorkerKind::Jco => format!("/{id}"),
        };
        let mut session = Session { kind: self.kind, path, credential: "x".repeat(120) };
        match self.kind {
            WorkerKind::Ours => {
                let body = format!(r#"{{"session_id":"{id}"}}"#);
                let create = request("POST", "/v1/sessions", Some(ADMIN_KEY), &body);
                let answer: Value = serde_json::from_slice(client.ask(&create).await?)?;
                let credential = answer.get("credential").and_then(Value::as_str);
                credential
                    .context("no credential in the answer")?
                    .clone_into(&mut session.credential);
            }
            WorkerKind::Jco => {
                let create = r#"{"action":"create_session"}"#;
                client.ask(&session.request_by("admin", create)).await?;
            }
            WorkerKind::Plain | WorkerKind::Agents => {}
        }
        Ok(session)
    }
}

impl Session {
    /// Returns the bytes of a request with `body`.
    pub(super) fn request(&self, body: &str) -> Vec<u8> {
        self.request_by("orchestrator", body)
    }

    fn request_by(&self, participant: &str, body: &str) -> Vec<u8> {
        let caller = format!(r#"{{"participant":"{participant}"}}"#);
        let caller = [("caller", &*caller)];
        let headers = if self.kind == WorkerKind::Jco { &caller[..] } else { &[] };
        request_with("POST", &self.path, Some(&self.credential), headers, body)
    }
}

/// Returns the path in the environment variable `name`.
pub(super) fn path(name: &str) -> Result<PathBuf> {
    let path = env::var_os(name).filter(|it| !it.is_empty());
    let path = path.with_context(|| format!("{name} is not set: `cargo xtask bench` sets it"))?;
    Ok(PathBuf::from(path).canonicalize()?)
}

/// Bundles `worker.mjs` in the folder `source` and its imports into one module.
fn bundle(source: &Path, module: &Path) -> Result<()> {
    let mut alias = std::ffi::OsString::from("--alias:cloudflare:email=");
    alias.push(source.join("email.mjs"));
    let output = Command::new(path("WORKERD_ESBUILD")?)
        .arg(source.join("worker.mjs"))
        .args(["--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=error"])
        .args(["--platform=node", "--main-fields=module,main", "--conditions=workerd,worker"])
        .args(["--external:cloudflare:workers", "--external:node:*"])
        .arg(alias)
        .arg(format!("--outfile={}", module.display()))
        .env("NODE_PATH", path("WORKERD_NODE_MODULES")?)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "esbuild: {said}");
    Ok(())
}

/// Returns the size of the modules in `folder`, gzipped together.
fn gzipped(folder: &Path) -> Result<usize> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_some_and(|it| it == "mjs" || it == "wasm") {
            gzip.write_all(&fs::read(path)?)?;
        }
    }
    Ok(gzip.finish()?.len())
}
