//! Live streams of changes: the memory of a thousand streams, the delay until one write reaches all
//! of them, and the time a reader needs to catch up.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Builder,
    task::JoinSet,
};

use crate::{
    client::{Client, request},
    memory::ServerProcess,
    report::Report,
};

const STREAMS: usize = 1_000;
/// Number of writes, one after the other, to open streams.
const WRITES: usize = 20;
/// Number of changes that a reader catches up on.
const MISSED: usize = 1_000;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    report.section("Live streams of one session");
    let folder = tempfile::tempdir()?;
    let server = ServerProcess::start(folder.path())?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let before = server.resident()?;
    let figures = runtime.block_on(measure_writes(&server))?;
    let with_streams = figures.resident;
    report.goal(
        "memory of the server with 1,000 open streams",
        format!("{with_streams:.1} MB  ({before:.1} MB before)"),
        "under 200 MB",
        with_streams < 200.0,
    );
    report.line("a write, answered, nobody watching", format!("{:.1} ms", figures.alone));
    report.line("a write, answered, 1,000 watching", format!("{:.1} ms", figures.answered));
    report.line(
        "from the write to the first, the median and the last of 1,000 streams",
        format!("{:.1} / {:.1} / {:.1} ms", figures.first, figures.median, figures.last),
    );
    let caught_up = runtime.block_on(catch_up(&server))?;
    report.line("1,000 missed changes, from opening to the last", format!("{caught_up:.1} ms"));
    Ok(())
}

/// Median times of 20 writes to 1,000 streams, in milliseconds, and the memory of the server in
/// megabytes.
struct StreamFigures {
    resident: f64,
    alone: f64,
    answered: f64,
    first: f64,
    median: f64,
    last: f64,
}

async fn measure_writes(server: &ServerProcess) -> Result<StreamFigures> {
    let mut writer = Client::connect(server.address).await?;
    let credential = create(server, &mut writer, "watched").await?;
    let write = write("watched", &credential);
    let mut alone = Vec::new();
    for _ in 0..WRITES {
        let start = Instant::now();
        writer.ask(&write).await?;
        alone.push(start.elapsed());
    }
    let mut streams = Vec::with_capacity(STREAMS);
    for _ in 0..STREAMS {
        streams.push(Stream::open(server, "watched", &credential, "").await?);
    }
    let resident = server.resident()?;
    let (mut answered, mut first, mut median, mut last) = (vec![], vec![], vec![], vec![]);
    for _ in 0..WRITES {
        let mut reading = JoinSet::new();
        for mut stream in streams.drain(..) {
            reading.spawn(async move {
                stream.read(1).await?;
                Ok::<_, anyhow::Error>((stream, Instant::now()))
            });
        }
        tokio::task::yield_now().await;
        let start = Instant::now();
        writer.ask(&write).await?;
        answered.push(start.elapsed());
        let mut delays = Vec::with_capacity(STREAMS);
        while let Some(read) = reading.join_next().await {
            let (stream, at) = read??;
            streams.push(stream);
            delays.push(at.saturating_duration_since(start));
        }
        delays.sort_unstable();
        first.extend(delays.first());
        median.extend(delays.get(STREAMS / 2));
        last.extend(delays.last());
    }
    Ok(StreamFigures {
        resident: server.resident()?.max(resident),
        alone: median_millis(alone)?,
        answered: median_millis(answered)?,
        first: median_millis(first)?,
        median: median_millis(median)?,
        last: median_millis(last)?,
    })
}

/// Returns the time a reader needs to catch up on 1,000 changes, in milliseconds.
async fn catch_up(server: &ServerProcess) -> Result<f64> {
    let mut writer = Client::connect(server.address).await?;
    let credential = create(server, &mut writer, "missed").await?;
    let write = write("missed", &credential);
    for _ in 0..MISSED {
        writer.ask(&write).await?;
    }
    let mut took = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        let mut stream = Stream::open(server, "missed", &credential, "?since=1").await?;
        stream.read(MISSED).await?;
        took.push(start.elapsed());
    }
    median_millis(took)
}

async fn create(server: &ServerProcess, client: &mut Client, session: &str) -> Result<String> {
    let body = format!(r#"{{"session_id":"{session}"}}"#);
    let create = request("POST", "/v1/sessions", Some(&server.admin_key), &body);
    let answer: serde_json::Value = serde_json::from_slice(client.ask(&create).await?)?;
    let credential = answer.get("credential").and_then(serde_json::Value::as_str);
    Ok(credential.context("no credential in the answer")?.to_owned())
}

fn write(session: &str, credential: &str) -> Vec<u8> {
    let body = r#"{"action":"write","key":"findings_summary","value":"Pool reduced to 20."}"#;
    let path = format!("/v1/sessions/{session}/shared_context");
    request("POST", &path, Some(credential), body)
}

/// An open stream whose events are only counted.
#[derive(Debug)]
struct Stream {
    socket: TcpStream,
    buffer: Vec<u8>,
    events: usize,
}

impl Stream {
    async fn open(
        server: &ServerProcess,
        session: &str,
        credential: &str,
        query: &str,
    ) -> Result<Self> {
        let mut socket = TcpStream::connect(server.address).await?;
        let head = format!(
            "GET /v1/sessions/{session}/changes{query} HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {credential}\r\nAccept: text/event-stream\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await?;
        let mut stream = Self { socket, buffer: Vec::new(), events: 0 };
        while !contains(&stream.buffer, b"retry: ") {
            stream.read_more().await?;
        }
        if !stream.buffer.starts_with(b"HTTP/1.1 200 ") {
            bail!("refused: {}", String::from_utf8_lossy(&stream.buffer));
        }
        stream.count();
        Ok(stream)
    }

    /// Reads until `count` more events have arrived.
    async fn read(&mut self, count: usize) -> Result<()> {
        while self.events < count {
            self.read_more().await?;
            self.count();
        }
        self.events -= count;
        Ok(())
    }

    /// Counts the events in the buffer, and discards it.
    fn count(&mut self) {
        const EVENT: &[u8] = b"event: change\n";
        let mut rest = self.buffer.as_slice();
        while let Some(at) = rest.windows(EVENT.len()).position(|it| it == EVENT) {
            self.events += 1;
            rest = rest.get(at + EVENT.len()..).unwrap_or_default();
        }
        // The start of another event may be at the end.
        let rest_len = rest.len().min(EVENT.len() - 1);
        self.buffer = rest.get(rest.len() - rest_len..).unwrap_or_default().to_vec();
    }

    async fn read_more(&mut self) -> Result<()> {
        if self.socket.read_buf(&mut self.buffer).await? == 0 {
            bail!("the server closed a stream");
        }
        Ok(())
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|it| it == part)
}

/// Returns the median, in milliseconds.
fn median_millis(mut took: Vec<Duration>) -> Result<f64> {
    took.sort_unstable();
    let median = took.get(took.len() / 2).context("nothing was measured")?;
    Ok(median.as_secs_f64() * 1_000.0)
}
