//! `serve`: runs the library's server as a process.
//!
//! It prints its address and a first call, logs to standard error, and stops on a signal.
//! Invariant: the admin key is printed only on a terminal; the log contains neither keys
//! nor values.

use std::{
    env, fs,
    io::{self, IsTerminal},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use anstream::AutoStream;
use clap::ValueEnum;
use http::Uri;
use serde_json::json;
use shared_context_wasmtime::{
    Server, ServerOptions,
    folder::{DATABASE_FILE, SECRETS_FILE},
};
use shared_context_wire::http::{CorsOrigins, RateLimit, parse_public_url, parse_rate};
use tracing_subscriber::EnvFilter;

use super::{
    argument::{seconds, switch},
    client::LISTEN_DEFAULT,
    output::{BOLD, DIMMED, GREEN, Output},
    problem::{Kind, Problem},
    progress::{Progress, size},
    server::data_folder,
    signals::{Signals, no_thread},
};

/// The largest disk limit that can be set: 16 TiB.
const DISK_MIB_MAX: u64 = 1 << 24;
/// The largest connection limit that can be set: each connection may take 64 KiB for a
/// request head.
const CONNECTIONS_MAX: usize = 1 << 16;
/// The largest time limit for a request head, in seconds: an hour.
const HEAD_SECONDS_MAX: u64 = 3_600;
/// The default log filter, used when `SHARED_CONTEXT_LOG` is not set.
const LOG_DEFAULT: &str = "info";

/// The notice of a server that was built without the component.
const NATIVE: &str = "
Built without WebAssembly: the same rules and storage, in the process itself. A request
has no limits on time and memory here, so this is for a first look.
";

/// Start a server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context serve
  shared-context serve --listen 9000 --data /srv/context --log-format json
  shared-context serve --listen 0 --json   any free port; prints which
  shared-context serve --connections-max 20000 --head-time-max 15s

Ctrl-C or SIGTERM stops it. Requests in progress are finished, and nothing
acknowledged is lost. It does not start if an acknowledged write is missing: the
error names what is missing and what to do. The first start creates the signing
secret and the admin key in the data folder; SHARED_CONTEXT_SECRET and
SHARED_CONTEXT_ADMIN_KEY replace them.
SHARED_CONTEXT_LOG filters the log, as in warn or info,shared_context=debug.")]
pub(crate) struct Arguments {
    /// Address and port to listen on, or a port of this machine; port 0 takes any
    /// free one
    #[arg(
        long,
        env = "SHARED_CONTEXT_LISTEN",
        value_name = "ADDRESS",
        default_value = LISTEN_DEFAULT,
        value_parser = address
    )]
    listen: SocketAddr,
    /// Where everything is kept [default: the user's data folder]
    #[arg(long, env = "SHARED_CONTEXT_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// The address of a proxy in front, as its clients write it: /mcp takes requests
    /// for that name too
    #[arg(long, env = "SHARED_CONTEXT_PUBLIC_URL", value_name = "URL", value_parser = parse_public_url)]
    public_url: Option<Uri>,
    /// The origins whose web pages may use the server from a browser, with commas
    /// between them, such as `https://app.example.com`; * for every page
    #[arg(
        long,
        value_name = "ORIGINS",
        env = "SHARED_CONTEXT_CORS_ORIGINS",
        default_value = "",
        hide_default_value = true,
        value_parser = CorsOrigins::parse
    )]
    cors_origins: CorsOrigins,
    /// How many requests a second each participant may make, and twice that at
    /// once, beside 64 live streams; all participants of a session together have
    /// eight times that; off for any number of each
    #[arg(
        long,
        env = "SHARED_CONTEXT_RATE",
        value_name = "N|off",
        default_value = "200",
        value_parser = rate
    )]
    rate: Rate,
    /// How many connections there may be at a time, 1 to 65536, as far as `ulimit -n`
    /// allows; one more closes the one that has been idle the longest
    #[arg(
        long,
        env = "SHARED_CONTEXT_CONNECTIONS_MAX",
        value_name = "N",
        default_value = "4096",
        value_parser = connections
    )]
    connections_max: usize,
    /// How long a client may take to send the head of a request, and a connection may
    /// be idle, from 1s to 1h
    #[arg(
        long,
        env = "SHARED_CONTEXT_HEAD_TIME_MAX",
        value_name = "TIME",
        default_value = "60s",
        value_parser = head_time
    )]
    head_time_max: Duration,
    /// Whether a session's next request may run in the instance of the component that
    /// served its last one, which is faster, or each in a fresh one
    #[arg(long, env = "SHARED_CONTEXT_INSTANCES", value_name = "KIND", default_value = "warm")]
    instances: Instances,
    /// The most MiB the database may take on the disk [default: no limit]
    #[arg(long, env = "SHARED_CONTEXT_DISK_MAX_MIB", value_name = "N", value_parser = disk_mib)]
    disk_max_mib: Option<u64>,
    /// Verify all of a database of up to so many MiB before it is served; of a larger
    /// one, a session is verified when it is first used, and the others meanwhile
    #[arg(
        long,
        env = "SHARED_CONTEXT_VERIFY_FIRST_MIB",
        value_name = "N",
        default_value = "256",
        value_parser = verify_mib
    )]
    verify_first_mib: u64,
    /// Archive and remove the memories of all projects by the rules, at the start and
    /// then once a day, as `memory maintain` does
    #[arg(long, env = "SHARED_CONTEXT_MAINTAIN_DAILY", value_parser = switch)]
    maintain_daily: bool,
    /// Start although acknowledged writes are missing or damaged, and log the
    /// losses; a damaged database is kept under another name
    #[arg(long)]
    accept_loss: bool,
    /// The form of the log on standard error
    #[arg(long, env = "SHARED_CONTEXT_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

/// The form of the log.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// A JSON object a line
    Json,
}

/// Which instance of the component serves a request.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Instances {
    /// The one that served the session's last request, if it still waits
    Warm,
    /// A new one each time
    Fresh,
}

/// The rate limit for each participant; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rate(Option<RateLimit>);

/// Runs `serve` until a signal stops it.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    start_log(arguments.log_format, LOG_DEFAULT)?;
    let folder = data_folder(arguments.data.as_deref())?;
    let mut options = options(&folder, arguments.listen);
    options.rate_limit = arguments.rate.0;
    options.public_url.clone_from(&arguments.public_url);
    options.cors_origins.clone_from(&arguments.cors_origins);
    options.connections_max = arguments.connections_max;
    if matches!(arguments.instances, Instances::Fresh) {
        options.component.warm_instances_max = 0;
    }
    options.head_time_max = arguments.head_time_max;
    options.maintains_daily = arguments.maintain_daily;
    options.storage.accepts_loss = arguments.accept_loss;
    options.storage.verified_first_bytes_max = arguments.verify_first_mib.saturating_mul(1 << 20);
    options.storage.bytes_max = arguments.disk_max_mib.map(|it| it.saturating_mul(1 << 20));
    let is_key_kept = options.admin_key.is_none();
    let runtime = tokio::runtime::Runtime::new().map_err(|error| no_thread(&error))?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        let bytes = fs::metadata(folder.join(DATABASE_FILE)).map_or(0, |it| it.len());
        let progress = Progress::start(&format!("starting, with a database of {}", size(bytes)));
        let server = Server::start(options).await?;
        drop(progress);
        let folder = folder.canonicalize().unwrap_or(folder);
        greet(&server, &folder, is_key_kept, arguments.listen, output)?;
        tracing::info!(url = server.url(), data = %folder.display(), "started");
        let signal = signals.next().await;
        tracing::info!(signal, "stopping: what has begun is finished");
        tokio::select! {
            () = server.stop() => tracing::info!("stopped: all that was acknowledged is kept"),
            signal = signals.next() => {
                tracing::warn!(signal, "stopped at once: all that was acknowledged is kept");
            }
        }
        Ok(())
    })
}

/// Builds the options of a server on `listen` over the data folder `folder`. Secrets in the
/// environment override those in the folder.
pub(crate) fn options(folder: &Path, listen: SocketAddr) -> ServerOptions {
    let secret = |name: &str| env::var(name).ok().filter(|it| !it.is_empty());
    let mut options = ServerOptions::new(folder, listen);
    options.secret = secret("SHARED_CONTEXT_SECRET");
    options.admin_key = secret("SHARED_CONTEXT_ADMIN_KEY");
    options
}

/// Prints that the server is up, and a first call.
fn greet(
    server: &Server,
    folder: &Path,
    is_key_kept: bool,
    listen: SocketAddr,
    output: Output,
) -> Result<(), Problem> {
    let url = server.url();
    let keys = folder.join(SECRETS_FILE);
    let document = json!({
        "url": url, "data": folder, "admin_key_file": is_key_kept.then_some(&keys),
        "process": std::process::id(),
    });
    if !listen.ip().is_loopback() {
        tracing::warn!(
            "others than this machine can connect, and nothing is encrypted: \
             put a proxy with TLS in front"
        );
    }
    output.answer(document.to_string().as_bytes(), || {
        let is_shown = io::stdout().is_terminal();
        let keys_path = keys.display().to_string();
        let admin = match (is_key_kept, is_shown) {
            (true, true) => {
                format!(
                    "{}\n             {DIMMED}kept in {keys_path}{DIMMED:#}",
                    server.admin_key()
                )
            }
            (true, false) => format!("in {keys_path}"),
            (false, _) => "as SHARED_CONTEXT_ADMIN_KEY says".to_owned(),
        };
        let key = match (is_key_kept, is_shown) {
            (true, true) => server.admin_key().to_owned(),
            (true, false) => {
                let path = keys_path.replace('\'', "'\\''");
                format!("$(sed -n 's/.*\"admin_key\": *\"\\([^\"]*\\)\".*/\\1/p' '{path}')")
            }
            (false, _) => "$SHARED_CONTEXT_ADMIN_KEY".to_owned(),
        };
        let version = env!("CARGO_PKG_VERSION");
        let folder = folder.display();
        let first_call = first_call(&url, &key);
        let native = if cfg!(feature = "wasm") { "" } else { NATIVE };
        Ok(format!(
            "{GREEN}✓{GREEN:#} {BOLD}shared-context {version} is up{BOLD:#}\n\n  \
             {DIMMED}url{DIMMED:#}        {BOLD}{url}{BOLD:#}\n  \
             {DIMMED}data{DIMMED:#}       {folder}\n  \
             {DIMMED}admin key{DIMMED:#}  {admin}\n{native}\n\
             A first call, to paste into another terminal: create a session, write with the\n\
             credential that comes back.\n\n{first_call}\n\
             {DIMMED}Ctrl-C stops it; nothing acknowledged is lost.{DIMMED:#}\n"
        ))
    })
}

/// Returns commands that create a session and write into it. The session's name differs
/// each second, so that they can be pasted twice.
fn first_call(url: &str, key: &str) -> String {
    format!(
        r#"  URL={url} S=first-$(date +%s)
  JSON='Content-Type: application/json'
  KEY={key}
  TOKEN=$(curl -sS $URL/v1/sessions -H "Authorization: Bearer $KEY" \
    -H "$JSON" -d '{{"session_id":"'$S'"}}' |
    sed 's/.*"credential":"\([^"]*\).*/\1/')
  curl -sS $URL/v1/sessions/$S/shared_context -H "$JSON" \
    -H "Authorization: Bearer $TOKEN" \
    -d '{{"action":"write","key":"scope","value":"Find the parameter."}}'
"#
    )
}

/// Starts logging to standard error, with the filter in `SHARED_CONTEXT_LOG` or else
/// `usual`.
pub(crate) fn start_log(format: LogFormat, usual: &str) -> Result<(), Problem> {
    let filter = env::var("SHARED_CONTEXT_LOG").ok().filter(|it| !it.is_empty());
    let filter = EnvFilter::builder().parse(filter.as_deref().unwrap_or(usual));
    let filter = filter.map_err(|_| {
        Problem::usage("SHARED_CONTEXT_LOG is not a choice of log lines")
            .next("write it like warn, or info,shared_context=debug")
    })?;
    let is_coloured = AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(is_coloured)
        // A closed standard error is not a reason to fail.
        .log_internal_errors(false);
    let started = match format {
        LogFormat::Text => log.compact().try_init(),
        LogFormat::Json => log.json().flatten_event(true).with_current_span(false).try_init(),
    };
    started.map_err(|error| Problem::new(Kind::Start, "START_FAILED", error.to_string()))
}

/// Parses an address and port, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    local
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|_| format!("write an IP address and a port, such as {LISTEN_DEFAULT}, or a port"))
}

fn rate(text: &str) -> Result<Rate, String> {
    parse_rate(text).map(Rate)
}

/// Parses the connection limit.
fn connections(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|it| (1..=CONNECTIONS_MAX).contains(it));
    count.ok_or_else(|| format!("write a number from 1 to {CONNECTIONS_MAX}"))
}

/// Parses the limit of the database on the disk.
fn disk_mib(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|it| (1..=DISK_MIB_MAX).contains(it));
    count.ok_or_else(|| format!("write a number of MiB from 1 to {DISK_MIB_MAX}"))
}

/// Parses the size up to which all of a database is verified first.
fn verify_mib(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|it| *it <= DISK_MIB_MAX);
    count.ok_or_else(|| format!("write a number of MiB from 0 to {DISK_MIB_MAX}"))
}

/// Parses the time limit for a request head.
fn head_time(text: &str) -> Result<Duration, String> {
    let seconds = seconds(text).ok().filter(|it| (1..=HEAD_SECONDS_MAX).contains(it));
    let seconds = seconds.ok_or("write a time from 1s to 1h, such as 15s or 2m")?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Serve {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(arguments: &[&str]) -> Result<Arguments, String> {
        let parsed = Serve::try_parse_from([&["serve"], arguments].concat());
        parsed.map(|it| it.arguments).map_err(|it| it.to_string())
    }

    #[test]
    fn what_is_not_set_is_as_the_library_has_it() {
        let Arguments { listen, connections_max, head_time_max, rate, verify_first_mib, .. } =
            parse(&[]).unwrap();
        let usual = ServerOptions::new("x", listen);
        assert_eq!(verify_first_mib << 20, usual.storage.verified_first_bytes_max);
        assert_eq!(connections_max, usual.connections_max);
        assert_eq!(head_time_max, usual.head_time_max);
        assert_eq!(rate, Rate(usual.rate_limit));
    }

    #[test]
    fn a_limit_that_makes_no_sense_is_refused_with_those_that_do() {
        for (flag, good, bad, hint) in [
            ("--connections-max", ["1", "65536"], ["0", "65537", "-1", "many"], "from 1 to 65536"),
            ("--disk-max-mib", ["1", "16777216"], ["0", "16777217", "-1", "all"], "from 1 to"),
            ("--verify-first-mib", ["0", "16777216"], ["16777217", "-1", "all", ""], "from 0 to"),
            ("--head-time-max", ["1s", "1h"], ["0s", "3601s", "60", "soon"], "from 1s to 1h"),
        ] {
            for value in good {
                parse(&[flag, value]).unwrap();
            }
            for value in bad {
                let error = parse(&[&format!("{flag}={value}")]).unwrap_err();
                assert!(error.contains(flag) && error.contains(hint), "{value}: {error}");
            }
        }
    }

    #[test]
    fn an_address_may_be_a_port() {
        assert_eq!(address("9000").unwrap().to_string(), "127.0.0.1:9000");
        assert_eq!(address("localhost:1").unwrap().to_string(), "127.0.0.1:1");
        assert_eq!(address("[::]:80").unwrap().to_string(), "[::]:80");
        for text in ["", "127.0.0.1", "99999", "example.org:80", "http://127.0.0.1:1"] {
            assert!(address(text).is_err(), "{text}");
        }
        assert!(address(LISTEN_DEFAULT).is_ok());
    }

    #[test]
    fn the_first_call_fits_a_terminal() {
        let text = first_call("http://127.0.0.1:8787", &"f".repeat(64));
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
