//! A million sessions on one host: the start, its memory, and reads and writes beside a host
//! with a thousand.

use std::{fs, path::Path, time::Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::{
    client::{Client, request},
    memory::{self, Request, ServerProcess},
    report::{Report, percentile},
};

const FEW: u32 = 1_000;
const MANY: u32 = 1_000_000;
const KEYS: u32 = 10;
/// How many sessions are read and written.
const ASKED: u32 = 4_000;
/// How many pages of the list of sessions are read.
const PAGES: u32 = 500;

/// What was measured of one host: milliseconds, megabytes and microseconds.
struct Measured {
    bytes: u64,
    start: f64,
    idle: f64,
    used: f64,
    reads: Vec<f64>,
    writes: Vec<f64>,
    lists: Vec<f64>,
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("A million sessions of ten keys on one host");
    let folder = tempfile::tempdir()?;
    report.note("writing 1,001,000 sessions, some minutes");
    let [few, many] = [FEW, MANY].map(|count| {
        let data = folder.path().join(count.to_string());
        memory::fill(&data, count, session)?;
        measure_host(&data, count)
    });
    let (few, many) = (few?, many?);
    let megabytes = f64::from(u32::try_from(many.bytes / 1_000_000)?);
    report.line("on the disk", format!("{:.1} GB", megabytes / 1e3));
    report.goal(
        "from the start of the process to the first answer",
        format!("{:.0} ms, with a thousand sessions {:.0}", many.start, few.start),
        "5 s",
        many.start < 5_000.0,
    );
    report.goal(
        "memory after the first answer, and after 12,500 requests",
        format!(
            "{:.1} and {:.1} MB, with a thousand {:.1} and {:.1}",
            many.idle, many.used, few.idle, few.used
        ),
        "100 MB",
        many.used < 100.0,
    );
    for (what, few, many) in [
        ("reads", &few.reads, &many.reads),
        ("writes", &few.writes, &many.writes),
        ("pages of the list of sessions", &few.lists, &many.lists),
    ] {
        let of = |all: &[f64]| percentile(all, 50).zip(percentile(all, 99));
        let ((few_p50, few_p99), (many_p50, many_p99)) =
            of(few).zip(of(many)).context("nothing was measured")?;
        let ratio = many_p99 / few_p99;
        report.goal(
            &format!("{what}, p50 and p99 (µs), each of another session"),
            format!("{many_p50:.0} and {many_p99:.0}, with a thousand {few_p50:.0} and {few_p99:.0} = {ratio:.2} ×"),
            "p99 at most 1.5 ×",
            ratio <= 1.5,
        );
    }
    Ok(())
}

/// Returns the scope of the session `nth`, and the request that makes it with its keys.
fn session(nth: u32) -> (String, Vec<Request>) {
    let entries: Vec<_> = (0..KEYS)
        .map(|key| {
            json!({
                "key": format!("key_{key}"), "value": "Connection pool reduced. ".repeat(8),
            })
        })
        .collect();
    let create = json!({"action": "create_session"});
    let write = json!({"action": "write_batch", "writes": entries});
    let requests = vec![("admin", create.to_string()), ("orchestrator", write.to_string())];
    (format!("session/s{nth:07}"), requests)
}

/// Starts a server over `folder` with `count` sessions, and measures it.
fn measure_host(folder: &Path, count: u32) -> Result<Measured> {
    let bytes = fs::metadata(folder.join("shared-context.db"))?.len();
    let began = Instant::now();
    let server = ServerProcess::start(folder)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut client = Client::connect(server.address).await?;
        let admin = Some(server.admin_key.as_str());
        client.ask(&request("GET", "/v1/sessions/s0000007/entries/key_3", admin, "")).await?;
        let start = began.elapsed().as_secs_f64() * 1e3;
        let idle = server.resident()?;
        let asked = |seed: u32| {
            (0..ASKED).map(move |nth| (nth.wrapping_mul(7_919).wrapping_add(seed)) % count)
        };
        let reads = asked(1).map(|nth| {
            let path = format!("/v1/sessions/s{nth:07}/entries/key_3");
            request("GET", &path, admin, "")
        });
        let reads = time(&mut client, reads).await?;
        let mut writes = Vec::new();
        for nth in asked(2) {
            let path = format!("/v1/sessions/s{nth:07}/credentials");
            let mint = request("POST", &path, admin, r#"{"participant":"orchestrator"}"#);
            let minted: Value = serde_json::from_slice(client.ask(&mint).await?)?;
            let credential = minted.get("credential").and_then(Value::as_str);
            let credential = credential.context("no credential in the answer")?;
            let path = format!("/v1/sessions/s{nth:07}/shared_context");
            let write = r#"{"action":"write","key":"key_3","value":"Pool of 60."}"#;
            writes.push(request("POST", &path, Some(credential), write));
        }
        let writes = time(&mut client, writes.into_iter()).await?;
        let lists = asked(3).take(usize::try_from(PAGES)?).map(|nth| {
            request("GET", &format!("/v1/sessions?limit=100&after=s{nth:07}"), admin, "")
        });
        let lists = time(&mut client, lists).await?;
        let used = server.resident()?;
        Ok(Measured { bytes, start, idle, used, reads, writes, lists })
    })
}

/// Sends `requests` one after the other. Returns the microseconds of each, in order.
async fn time(client: &mut Client, requests: impl Iterator<Item = Vec<u8>>) -> Result<Vec<f64>> {
    let mut spent = Vec::new();
    for request in requests {
        let began = Instant::now();
        client.ask(&request).await?;
        spent.push(began.elapsed().as_secs_f64() * 1e6);
    }
    spent.sort_unstable_by(f64::total_cmp);
    Ok(spent)
}
