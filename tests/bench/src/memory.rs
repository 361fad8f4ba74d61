//! Resident memory of a server process: idle, after reads in 20,000 sessions on disk, and after
//! searches in 100,000 projects.

use std::{
    env, fs,
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use shared_context_codec::Caller;
use shared_context_wasmtime::{
    Component, ComponentOptions, Engine, SqliteKv, SqliteOptions,
    folder::{Secrets, ServerFile},
};
use shared_context_wire::Engine as _;
use tokio::runtime::Builder;

use crate::{
    client::{Client, request},
    http,
    report::Report,
    rules::NoOp,
};

const SESSIONS: u32 = 20_000;
const KEYS: u32 = 10;
const PROJECTS: u32 = 100_000;
/// Number of sessions or projects read before memory is measured again.
const READ: u32 = 5_000;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("Resident memory of the server (MB)");
    let folder = tempfile::tempdir()?;
    let idle = resident(&folder.path().join("idle"), &[])?;
    let full = folder.path().join("full");
    report.note("writing 20,000 sessions of 10 keys, about a minute");
    let few = folder.path().join("few");
    fill(&few, SESSIONS / 10, session)?;
    fill(&full, SESSIONS, session)?;
    let bytes = fs::metadata(full.join("shared-context.db")).or_else(|_| largest(&full))?.len();
    let with_few = resident(&few, &reads_of_sessions(SESSIONS / 10))?;
    let with_many = resident(&full, &reads_of_sessions(SESSIONS))?;
    report.line("idle, empty", format!("{idle:.1}"));
    report.line("2,000 sessions of 10 keys, after 5,000 reads", format!("{with_few:.1}"));
    let megabytes = f64::from(u32::try_from(bytes / 1_000_000)?);
    report.goal(
        &format!("20,000 sessions of 10 keys ({megabytes:.0} MB on disk), after 5,000 reads"),
        format!("{with_many:.1}"),
        "under 80, not growing with sessions",
        with_many < 80.0 && with_many < with_few * 1.25,
    );
    report.note("writing 100,000 projects of one memory, about a minute");
    let [one, many] = [1, PROJECTS].map(|count| {
        let data = folder.path().join(format!("projects-{count}"));
        fill(&data, count, project)?;
        resident(&data, &searches_of_projects(count))
    });
    let (one, many) = (one?, many?);
    report.line("1 project, after 5,000 searches", format!("{one:.1}"));
    report.goal(
        "100,000 projects, after 5,000 searches",
        format!("{many:.1}"),
        "as with one project",
        many < one * 1.25,
    );
    Ok(())
}

fn largest(folder: &Path) -> std::io::Result<fs::Metadata> {
    let files = fs::read_dir(folder)?.filter_map(|it| it.ok()?.metadata().ok());
    files.max_by_key(fs::Metadata::len).ok_or_else(|| std::io::ErrorKind::NotFound.into())
}

/// A request to the JSON tool: whose it is, and its text.
pub(crate) type Request = (&'static str, String);

/// Returns the scope of the session `nth`, and the requests that make it.
fn session(nth: u32) -> (String, Vec<Request>) {
    let write = |key| {
        let value = "Connection pool reduced. ".repeat(8);
        let write = format!(r#"{{"action":"write","key":"key_{key}","value":"{value}"}}"#);
        ("orchestrator", write)
    };
    let create = ("admin", r#"{"action":"create_session"}"#.to_owned());
    (format!("session/s{nth}"), std::iter::once(create).chain((0..KEYS).map(write)).collect())
}

/// Returns the scope of the project `nth`, and the requests that make it.
fn project(nth: u32) -> (String, Vec<Request>) {
    let create = r#"{"action":"create_project"}"#.to_owned();
    let add = r#"{"action":"add_memories","memories":[{"memory_type":"learning",
        "title":"Pool of 60","content":{"lesson":"60 connections suffice at noon."}}]}"#;
    (format!("project/p{nth}"), vec![("admin", create), ("admin", add.to_owned())])
}

/// Performs the requests for `count` scopes, many at a time.
pub(crate) fn fill(
    folder: &Path,
    count: u32,
    scope: fn(u32) -> (String, Vec<Request>),
) -> Result<()> {
    let kv = SqliteKv::open(folder, &SqliteOptions::default())?;
    let component = Component::new(&ComponentOptions::default())?;
    let engine = Engine::new(component, kv, Arc::new(NoOp), Arc::new(NoOp));
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let writers = 128;
    runtime.block_on(async {
        let tasks = (0..writers).map(|writer| {
            let engine = engine.clone();
            tokio::spawn(async move {
                for nth in (writer..count).step_by(128) {
                    let (scope, requests) = scope(nth);
                    for (who, request) in requests {
                        let who = Caller::trusted(who);
                        engine.invoke(&scope, &who, request.as_bytes()).await?;
                    }
                }
                Ok::<(), anyhow::Error>(())
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await??;
        }
        engine.close().await;
        Ok(())
    })
}

/// Returns numbers below `count`, in no order.
fn some(count: u32) -> impl Iterator<Item = u32> {
    (0..READ).map(move |nth| nth.wrapping_mul(7_919) % count)
}

/// Returns requests that list and read sessions.
fn reads_of_sessions(count: u32) -> Vec<(String, &'static str)> {
    let paths =
        |nth| ["entries", "entries/key_3"].map(|it| (format!("/v1/sessions/s{nth}/{it}"), ""));
    some(count).flat_map(paths).collect()
}

/// Returns requests that search projects.
fn searches_of_projects(count: u32) -> Vec<(String, &'static str)> {
    let search = |nth| (format!("/v1/projects/p{nth}/memories/search"), r#"{"query":"pool"}"#);
    some(count).map(search).collect()
}

/// Starts a server process over `folder`, sends `requests` (a path, and the body of a POST) and
/// returns its resident memory in megabytes.
fn resident(folder: &Path, requests: &[(String, &str)]) -> Result<f64> {
    let server = ServerProcess::start(folder)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut client = Client::connect(server.address).await?;
        client.ask(&request("GET", "/healthz", None, "")).await?;
        for (path, body) in requests {
            let method = if body.is_empty() { "GET" } else { "POST" };
            client.ask(&request(method, path, Some(&server.admin_key), body)).await?;
        }
        Ok::<(), anyhow::Error>(())
    })?;
    server.resident()
}

/// A server in its own process, killed on drop.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    process: Child,
    pub(crate) address: SocketAddr,
    pub(crate) admin_key: String,
}

impl ServerProcess {
    /// Starts the server over `folder` and waits until it answers.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut process = Command::new(env::current_exe()?)
            .arg("--serve")
            .arg(folder)
            .stdin(Stdio::null())
            .spawn()?;
        let end = Instant::now() + Duration::from_mins(1);
        let url = loop {
            if let Some(file) = ServerFile::read(folder)
                && file.pid == process.id()
            {
                break file.url;
            }
            if Instant::now() > end || process.try_wait()?.is_some() {
                drop(process.kill());
                bail!("the server did not start");
            }
            sleep(Duration::from_millis(20));
        };
        let address = url.trim_start_matches("http://").trim_end_matches('/').parse()?;
        let keys = Secrets::read(folder)?.context("no keys")?;
        Ok(Self { process, address, admin_key: keys.admin_key })
    }

    /// Returns its resident memory in megabytes.
    pub(crate) fn resident(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let line = line.context("no VmRSS")?;
        let kilobytes: u32 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(f64::from(kilobytes) / 1_000.0)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Serves `folder` until killed.
pub(crate) fn serve(folder: &Path) -> Result<()> {
    let _started = http::serve(folder)?;
    loop {
        std::thread::park();
    }
}
