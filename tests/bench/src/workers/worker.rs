//! Who is compared: Workers that keep sessions, each under a workerd of its own.
//!
//! They are asked the same: bodies of the JSON tool, with a credential of the same
//! length. Only ours looks at it.

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

/// Signs ours' credentials.
const SECRET: &str = "bench: signs the credentials of the benchmark";
const ADMIN_KEY: &str = "bench-admin-key-0123456789abcdef";
/// The sources of the others.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workers");

/// What a Worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The production Worker of this repository.
    Ours,
    /// A Durable Object in JavaScript that reads and writes, without rules.
    Plain,
    /// The state of an agent of Cloudflare's SDK.
    Agents,
    /// The component in a Worker, by jco.
    Jco,
}

impl Who {
    /// For people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Plain => "plain",
            Self::Agents => "agents",
            Self::Jco => "jco",
        }
    }

    /// Returns whether a session has to be made before it is written to.
    pub(super) fn creates(self) -> bool {
        matches!(self, Self::Ours | Self::Jco)
    }

    /// Returns the folder of its Worker: `wrangler.jsonc`, and the modules in `build`. Those in
    /// JavaScript are bundled into `folder`, as ours was.
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

/// A Worker that runs.
#[derive(Debug)]
pub(super) struct Contestant {
    pub(super) who: Who,
    pub(super) address: SocketAddr,
    /// What is deployed, gzipped.
    pub(super) bytes: usize,
    workerd: Workerd,
}

/// A session of a contestant, and how to ask for it.
#[derive(Debug)]
pub(super) struct Session {
    who: Who,
    path: String,
    credential: String,
}

impl Contestant {
    /// Starts it with its data in `folder`.
    pub(super) fn start(who: Who, folder: &Path) -> Result<Self> {
        let folder = folder.join(who.name());
        fs::create_dir_all(&folder)?;
        let worker = who.worker(&folder)?;
        let bytes = gzipped(&worker.join("build"))?;
        let setup = match who {
            Who::Ours => Setup::find(&folder).map(|it| it.keys(SECRET, ADMIN_KEY)),
            _ => Setup::foreign(worker, &folder),
        };
        let setup = setup.map_err(|why| anyhow!(why))?.without_rate_limit();
        Self::run(who, bytes, setup)
    }

    fn run(who: Who, bytes: usize, setup: Setup) -> Result<Self> {
        let workerd = setup.try_start().map_err(|why| anyhow!("{}: {why}", who.name()))?;
        let address = workerd.address().parse()?;
        Ok(Self { who, address, bytes, workerd })
    }

    /// Stops it and starts it anew; returns how long the start took.
    pub(super) fn restart(self) -> Result<(Self, Duration)> {
        let Self { who, bytes, workerd, .. } = self;
        let setup = workerd.stop();
        let start = Instant::now();
        Ok((Self::run(who, bytes, setup)?, start.elapsed()))
    }

    /// Makes the session `id`, where sessions are made.
    pub(super) async fn create(&self, client: &mut Client, id: &str) -> Result<Session> {
        let path = match self.who {
            Who::Ours | Who::Plain => format!("/v1/sessions/{id}/shared_context"),
            Who::Agents => format!("/agents/session/{id}"),
            Who::Jco => format!("/{id}"),
        };
        let mut session = Session { who: self.who, path, credential: "x".repeat(120) };
        match self.who {
            Who::Ours => {
                let body = format!(r#"{{"session_id":"{id}"}}"#);
                let create = request("POST", "/v1/sessions", Some(ADMIN_KEY), &body);
                let answer: Value = serde_json::from_slice(client.ask(&create).await?)?;
                let credential = answer.get("credential").and_then(Value::as_str);
                credential
                    .context("no credential in the answer")?
                    .clone_into(&mut session.credential);
            }
            Who::Jco => {
                let create = r#"{"action":"create_session"}"#;
                client.ask(&session.request_by("admin", create)).await?;
            }
            Who::Plain | Who::Agents => {}
        }
        Ok(session)
    }
}

impl Session {
    /// Returns a request with `body`, ready to be sent.
    pub(super) fn request(&self, body: &str) -> Vec<u8> {
        self.request_by("orchestrator", body)
    }

    fn request_by(&self, who: &str, body: &str) -> Vec<u8> {
        let caller = format!(r#"{{"participant":"{who}"}}"#);
        let caller = [("caller", &*caller)];
        let headers = if self.who == Who::Jco { &caller[..] } else { &[] };
        request_with("POST", &self.path, Some(&self.credential), headers, body)
    }
}

/// Returns the path that the variable `name` of the environment has.
pub(super) fn path(name: &str) -> Result<PathBuf> {
    let path = env::var_os(name).filter(|it| !it.is_empty());
    let path = path.with_context(|| format!("{name} is not set: `cargo xtask bench` sets it"))?;
    Ok(PathBuf::from(path).canonicalize()?)
}

/// Makes one module of `worker.mjs` in the folder `source`, and of what it imports.
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

/// Returns how large the modules in `folder` are, gzipped together.
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
