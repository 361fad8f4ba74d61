//! Durable writes per second, through the engine and over HTTP, compared with the disk's flushes
//! and with other databases in the same run.

use std::{
    fs::File,
    io::Write,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use shared_context_codec::Caller;
use shared_context_wasmtime::{Component, ComponentOptions, Engine, SqliteKv, SqliteOptions};
use shared_context_wire::Engine as _;
use tokio::runtime::Builder;

use crate::{
    client::{Client, request},
    databases,
    http::{self, RunningServer},
    report::Report,
    rules::NoOp,
};

/// Numbers of sessions written to at once.
pub(crate) const CLIENTS: [usize; 4] = [1, 16, 64, 256];
/// Duration of each measurement.
pub(crate) const PERIOD: Duration = Duration::from_secs(4);

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("Durable writes a second, 200-byte values, one session a client");
    let folder = tempfile::Builder::new().prefix("shared-context-bench").tempdir()?;
    report.note("through the engine, about 20 s");
    let engine = engine(&folder.path().join("engine"))?;
    report.note("over HTTP, about 20 s");
    let http = over_http(&folder.path().join("http"))?;
    report.note("PostgreSQL and Redis, about 40 s where they are installed");
    let postgres = databases::postgres(&folder.path().join("postgres"))?;
    let redis = databases::redis(&folder.path().join("redis"))?;

    for (index, clients) in CLIENTS.into_iter().enumerate() {
        let [Some(engine), Some(http)] = [&engine, &http].map(|it| it.get(index)) else { continue };
        let figure = format!("{:.0}  = {:.2} × flushes", engine.rate, engine.of_disk());
        let what = format!("{clients:3} sessions, engine");
        if clients == 1 {
            let flushes = format!("{:.0}", engine.flushes);
            report.line("the disk's own flushes (fdatasync), then", flushes);
            report.goal(&what, figure, "0.9 × flushes", engine.of_disk() >= 0.9);
        } else {
            report.line(&what, figure);
        }
        let what = format!("{clients:3} sessions, HTTP");
        let figure = format!("{:.0}  = {:.2} × flushes", http.rate, http.of_disk());
        match postgres.as_ref().and_then(|it| it.get(index)) {
            Some(postgres) => {
                let ratio = http.rate / postgres;
                let figure = format!("{figure} = {ratio:.2} × PostgreSQL ({postgres:.0})");
                if clients == 64 {
                    report.goal(&what, figure, "0.5 × PostgreSQL", ratio >= 0.5);
                } else {
                    report.line(&what, figure);
                }
            }
            None => report.line(&what, figure),
        }
    }
    if postgres.is_none() {
        report.line("PostgreSQL", "skipped: not installed (Debian: postgresql)");
    }
    match redis {
        Some(redis) => {
            let figures: Vec<String> =
                CLIENTS.iter().zip(redis).map(|(n, it)| format!("{n}: {it:.0}")).collect();
            report.line("Redis, appendfsync always, by clients", figures.join("  "));
        }
        None => report.line("Redis", "skipped: not installed (Debian: redis-server)"),
    }
    Ok(())
}

/// Writes per second, and the disk's flushes per second right before and after, since a disk's
/// speed varies from minute to minute.
#[derive(Debug, Clone, Copy)]
struct WriteRate {
    rate: f64,
    flushes: f64,
}

impl WriteRate {
    fn by(folder: &Path, measure: impl FnOnce() -> Result<f64>) -> Result<Self> {
        let before = flushes(folder)?;
        let rate = measure()?;
        Ok(Self { rate, flushes: f64::midpoint(before, flushes(folder)?) })
    }

    fn of_disk(&self) -> f64 {
        self.rate / self.flushes
    }
}

/// Returns how many small appends the disk flushes per second.
fn flushes(folder: &Path) -> Result<f64> {
    let mut file = File::create(folder.join("flushes"))?;
    let (start, mut count) = (Instant::now(), 0_u32);
    while start.elapsed() < PERIOD / 4 {
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

fn write(round: u32) -> String {
    let value = format!("{round:08} {}", "Connection pool reduced. ".repeat(8));
    format!(r#"{{"action":"write","key":"findings_summary","value":"{value}"}}"#)
}

/// Measures writes per second through the component and the storage, without HTTP.
fn engine(folder: &Path) -> Result<Vec<WriteRate>> {
    let kv = SqliteKv::open(folder, &SqliteOptions::default())?;
    let component = Component::new(&ComponentOptions::default())?;
    let engine = Engine::new(component, kv, Arc::new(NoOp), Arc::new(NoOp));
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let measure = |clients| {
        runtime.block_on(async {
            let mut tasks = Vec::new();
            for client in 0..clients {
                let engine = engine.clone();
                let scope = format!("session/{clients}-{client}");
                let admin = Caller::trusted("admin");
                let create = br#"{"action":"create_session"}"#;
                engine.invoke(&scope, &admin, create).await?;
                tasks.push(async move {
                    let (who, start, mut count) =
                        (Caller::trusted("orchestrator"), Instant::now(), 0);
                    while start.elapsed() < PERIOD {
                        let write = write(count);
                        engine.invoke(&scope, &who, write.as_bytes()).await?;
                        count += 1;
                    }
                    Ok(count)
                });
            }
            rate(tasks.into_iter().map(tokio::spawn).collect()).await
        })
    };
    let results = CLIENTS.map(|clients| WriteRate::by(folder, || measure(clients)));
    runtime.block_on(engine.close());
    results.into_iter().collect()
}

/// Measures writes per second over HTTP, with the clients on the same machine.
fn over_http(folder: &Path) -> Result<Vec<WriteRate>> {
    let started: RunningServer = http::serve(folder)?;
    let address = started.server.address();
    let clients_runtime = Builder::new_current_thread().enable_all().build()?;
    let measure = |clients| {
        clients_runtime.block_on(async {
            let mut tasks = Vec::new();
            for client in 0..clients {
                let session = format!("{clients}-{client}");
                let credential = started.create(&session).await?;
                let mut connection = Client::connect(address).await?;
                tasks.push(async move {
                    let path = format!("/v1/sessions/{session}/shared_context");
                    let (start, mut count) = (Instant::now(), 0);
                    while start.elapsed() < PERIOD {
                        let request = request("POST", &path, Some(&credential), &write(count));
                        connection.ask(&request).await?;
                        count += 1;
                    }
                    Ok(count)
                });
            }
            rate(tasks.into_iter().map(tokio::spawn).collect()).await
        })
    };
    let results = CLIENTS.map(|clients| WriteRate::by(folder, || measure(clients)));
    started.runtime.block_on(started.server.stop());
    results.into_iter().collect()
}

/// Returns the rate of all `tasks` together, per second.
async fn rate(tasks: Vec<tokio::task::JoinHandle<Result<u32>>>) -> Result<f64> {
    let (start, mut count) = (Instant::now(), 0);
    for task in tasks {
        count += task.await.map_err(|err| anyhow!("a client failed: {err}"))??;
    }
    let seconds = start.elapsed().as_secs_f64();
    Some(f64::from(count) / seconds).filter(|it| *it > 0.0).context("nothing was written")
}
