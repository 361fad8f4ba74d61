//! Latency over HTTP: one client on an open connection, with the server on the same machine.
//! `/healthz` shows the cost of HTTP alone.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use shared_context_wasmtime::{Server, ServerOptions};
use tokio::runtime::{Builder, Runtime};

use crate::{
    client::{Client, request, request_with},
    report::Report,
};

const ROUNDS: usize = 8_000;

/// A running server, which creates sessions and their credentials.
#[derive(Debug)]
pub(crate) struct RunningServer {
    pub(crate) server: Server,
    pub(crate) runtime: Runtime,
}

/// Starts a server over `folder` without a rate limit.
pub(crate) fn serve(folder: &Path) -> Result<RunningServer> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let mut options = ServerOptions::new(folder, "127.0.0.1:0".parse()?);
    options.rate_limit = None;
    let server = runtime.block_on(Server::start(options))?;
    Ok(RunningServer { server, runtime })
}

impl RunningServer {
    /// Creates a session and returns the orchestrator's credential.
    pub(crate) async fn create(&self, session: &str) -> Result<String> {
        let mut client = Client::connect(self.server.address()).await?;
        let body = format!(r#"{{"session_id":"{session}"}}"#);
        let create = request("POST", "/v1/sessions", Some(self.server.admin_key()), &body);
        let answer: serde_json::Value = serde_json::from_slice(client.ask(&create).await?)?;
        let credential = answer.get("credential").and_then(serde_json::Value::as_str);
        Ok(credential.context("no credential in the answer")?.to_owned())
    }
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("HTTP, one client (p50, µs)");
    let folder = tempfile::tempdir()?;
    let started = serve(folder.path())?;
    let credential = started.runtime.block_on(started.create("bench"))?;
    let value = "Connection pool reduced from 200 to 20. ".repeat(5);
    let tool =
        |body: &str| request("POST", "/v1/sessions/bench/shared_context", Some(&credential), body);
    let write = format!(r#"{{"action":"write","key":"findings_summary","value":"{value}"}}"#);
    let requests = [
        request("GET", "/healthz", None, ""),
        tool(r#"{"action":"read","key":"findings_summary"}"#),
        request("GET", "/v1/sessions/bench/entries/findings_summary", Some(&credential), ""),
        tool(r#"{"action":"list_keys"}"#),
        mcp_read(&credential, true),
        mcp_read(&credential, false),
    ];
    let address = started.server.address();
    // The client has its own thread and runtime, as another process would.
    let client = Builder::new_current_thread().enable_all().build()?;
    let medians = client.block_on(async {
        let mut client = Client::connect(address).await?;
        client.ask(&tool(&write)).await?;
        let mut spent = vec![Vec::with_capacity(ROUNDS); requests.len()];
        // Alternates the requests, so that disturbances of the machine affect all of them alike.
        for _ in 0..ROUNDS {
            for (request, spent) in requests.iter().zip(&mut spent) {
                let start = Instant::now();
                client.ask(request).await?;
                spent.push(start.elapsed().as_nanos());
            }
        }
        let medians = spent.iter_mut().map(|it| median(it));
        medians.collect::<Result<Vec<f64>>>()
    })?;
    let [health, read, entry, list, modern, legacy] = medians.as_slice() else {
        anyhow::bail!("a median is missing")
    };
    report.line("GET /healthz", format!("{health:.1}"));
    let ratio = read / health;
    report.goal(
        "read, JSON tool",
        format!("{read:.1}  = {ratio:.2} × healthz"),
        "at most 1.5 ×",
        ratio <= 1.5,
    );
    let ratio = entry / health;
    report.goal(
        "read, GET entry",
        format!("{entry:.1}  = {ratio:.2} × healthz"),
        "at most 1.5 ×",
        ratio <= 1.5,
    );
    let reads = started.runtime.block_on(async {
        let mut client = Client::connect(started.server.address()).await?;
        let metrics = client.ask(&request("GET", "/metrics", None, "")).await?;
        Ok::<_, anyhow::Error>(String::from_utf8_lossy(metrics).into_owned())
    })?;
    let count = |name: &str| {
        let line = reads.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|it| it.parse::<f64>().ok()).unwrap_or_default()
    };
    let [all, kept] =
        ["entry_reads", "kept_entry_reads"].map(|it| count(&format!("shared_context_{it}_total")));
    report.line("answered by replies that were kept", format!("{:.2} %", 100.0 * kept / all));
    report.line("list_keys of one key", format!("{list:.1}  = {:.2} × healthz", list / health));
    for (version, micros) in [(MODERN, modern), (LEGACY, legacy)] {
        let ratio = micros / read;
        report.goal(
            &format!("read, MCP tools/call {version}"),
            format!("{micros:.1}  = {ratio:.2} × read, JSON tool"),
            "at most 1.5 ×",
            ratio <= 1.5,
        );
    }
    started.runtime.block_on(started.server.stop());
    Ok(())
}

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// Returns the same read as an MCP tool call, with everything its protocol version requires.
fn mcp_read(credential: &str, is_modern: bool) -> Vec<u8> {
    let version = if is_modern { MODERN } else { LEGACY };
    let meta = format!(
        r#","_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#
    );
    let meta = if is_modern { &*meta } else { "" };
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"context_read","arguments":{{"keys":["findings_summary"]}}{meta}}}}}"#
    );
    let mut headers =
        vec![("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", version)];
    if is_modern {
        headers.extend([("Mcp-Method", "tools/call"), ("Mcp-Name", "context_read")]);
    }
    request_with("POST", "/mcp", Some(credential), &headers, &body)
}

/// Returns the median of nanoseconds, in microseconds.
fn median(nanos: &mut [u128]) -> Result<f64> {
    nanos.sort_unstable();
    let median = nanos.get(nanos.len() / 2).context("nothing was measured")?;
    Ok(f64::from(u32::try_from(*median)?) / 1_000.0)
}
