//! `doctor`: checks the machine for everything that a server needs.
//!
//! # Invariant
//!
//! A check changes nothing that is stored. Test files are removed.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::Path,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use shared_context_core::memory_kv::MemoryKv;
use shared_context_wasmtime::{
    Caller, Component, ComponentOptions, Contents, Examined, Host, SqliteKv, SystemClock,
    TracingLog, Verification,
    folder::{DATABASE_FILE, SECRETS_FILE, Secrets},
};

use super::{
    client::parse,
    output::{BOLD, DIMMED, GREEN, Output, RED, grouped, plain},
    problem::{Kind, Problem},
    progress::{Progress, size},
    server::{Server, ServerArgs},
};

/// The duration of the disk measurement.
const DISK_TIME: Duration = Duration::from_millis(300);
/// The bytes written before each sync: a page of the database.
const DISK_BYTES: usize = 4096;
/// The earliest plausible time: 2026-01-01, in hours since the epoch.
const CLOCK_MIN: Duration = Duration::from_hours(490_896);
/// The tolerated clock skew of a file's modification time.
const CLOCK_SKEW_MAX: Duration = Duration::from_mins(1);

/// Check what a server needs, step by step
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shared-context doctor
  shared-context doctor --data /var/lib/shared-context
  shared-context doctor --json | jq -e .is_healthy

It can run beside the server. It exits with 5 when something is wrong.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Failed,
    /// There is nothing to check yet.
    Absent,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    is_healthy: bool,
    checks: &'a [Check],
}

/// The result of a check that did not fail.
enum Finding {
    Healthy(String),
    Absent(String),
}

/// Runs `doctor`.
pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<(), Problem> {
    let folder = arguments.server.folder()?;
    let server = arguments.server.find()?;
    let mut checks = Vec::new();
    let mut check = |name, found: Result<Finding, Problem>| {
        let check = Check::new(name, found);
        let shown = output.text(&check.human(output));
        checks.push(check);
        shown
    };
    check("data folder", data_folder(&folder))?;
    check("key file", key_file(&folder))?;
    let (found, is_running) = running(&server);
    check("server", found)?;
    check("admin key", admin_key(&server, is_running))?;
    check("database", database(&folder))?;
    if let Some(verification) = Verification::read(&folder) {
        check("verification", verified(&verification))?;
    }
    check("clock", clock(&folder))?;
    check("component", component())?;
    check("disk", disk(&folder))?;
    let failed = checks.iter().filter(|it| it.verdict == Verdict::Failed).count();
    let report = Report { is_healthy: failed == 0, checks: &checks };
    let document = serde_json::to_vec(&report).unwrap_or_default();
    let verdict = if failed == 0 { "\nnothing is wrong\n" } else { "" };
    output.answer(&document, || Ok(verdict.to_owned()))?;
    match failed {
        0 => Ok(()),
        1 => Err(Problem::check("a check failed; the next step is printed below it").reported()),
        _ => Err(Problem::check(format!(
            "{failed} checks failed; the next steps are printed below them"
        ))
        .reported()),
    }
}

impl Check {
    fn new(name: &'static str, found: Result<Finding, Problem>) -> Self {
        match found {
            Ok(Finding::Healthy(found)) => Self { name, verdict: Verdict::Ok, found, next: None },
            Ok(Finding::Absent(found)) => {
                Self { name, verdict: Verdict::Absent, found, next: None }
            }
            Err(problem) => Self {
                name,
                verdict: Verdict::Failed,
                found: problem.message().to_owned(),
                next: problem.next_step().map(str::to_owned),
            },
        }
    }

    fn human(&self, output: Output) -> String {
        let (style, mark) = match self.verdict {
            Verdict::Ok => (GREEN, "✓"),
            Verdict::Failed => (RED, "✗"),
            Verdict::Absent => (DIMMED, "–"),
        };
        let Self { name, found, next, .. } = self;
        let first = format!("{style}{mark}{style:#} {BOLD}{name:<12}{BOLD:#} ");
        let indent = " ".repeat(15);
        let mut text = output.wrapped(&first, &indent, &plain(found)) + "\n";
        if let Some(next) = next {
            let first = format!("{indent}{BOLD}next:{BOLD:#} ");
            text.push_str(&output.warning(&first, &indent, &plain(next)));
            text.push('\n');
        }
        text
    }
}

fn wrong(message: impl Into<String>, next: &str) -> Problem {
    Problem::new(Kind::Check, "CHECK_FAILED", message).next(next)
}

fn data_folder(folder: &Path) -> Result<Finding, Problem> {
    let shown = folder.display();
    match fs::metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Finding::Absent(format!("{shown} is not there yet; `serve` makes it")));
        }
        Ok(it) if it.is_dir() => {}
        _ => return Err(wrong(format!("{shown} is not a folder"), "name another with --data")),
    }
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(Finding::Healthy(format!("{shown} can be written"))),
        Err(error) => Err(wrong(
            format!("{shown} cannot be written: {error}"),
            "let the user who runs the server write there, or name another with --data",
        )),
    }
}

fn key_file(folder: &Path) -> Result<Finding, Problem> {
    let path = folder.join(SECRETS_FILE);
    Ok(match Secrets::read(folder)? {
        Some(_) => Finding::Healthy(format!("{} is readable by its owner only", path.display())),
        None => Finding::Absent("there is none yet; `serve` makes it".to_owned()),
    })
}

/// Checks the server's health. Also returns true if a server answers.
fn running(server: &Server) -> (Result<Finding, Problem>, bool) {
    #[derive(Deserialize)]
    struct Health {
        status: String,
        version: String,
        #[serde(default)]
        reason: String,
    }
    let since = Instant::now();
    let url = server.client.url();
    match server.health().and_then(|body| parse::<Health>(&body, &server.client)) {
        Ok(Health { status, version, .. }) if status == "ok" => {
            let elapsed = milliseconds(since.elapsed());
            let found = format!("{url} answers within {elapsed}, version {version}");
            (Ok(Finding::Healthy(found)), true)
        }
        Ok(Health { status, reason, .. }) => {
            let said = format!("{url} says it is {status}: {reason}");
            let problem = wrong(said, "do what it says, and read the server's log");
            (Err(problem), true)
        }
        Err(problem) if !server.is_expected() => {
            // Without a folder that is named, the default address was called.
            let found = if server.is_absent() {
                problem.message().to_owned()
            } else {
                format!("none runs at {url}")
            };
            let found = format!("{found}; `shared-context serve` starts one");
            (Ok(Finding::Absent(found)), false)
        }
        Err(problem) => (Err(problem), false),
    }
}

fn admin_key(server: &Server, is_running: bool) -> Result<Finding, Problem> {
    if !is_running {
        return Ok(Finding::Absent("not checked, because no server answers".to_owned()));
    }
    let call = server.client.get(&["v1", "sessions"], &[("limit", "1".to_owned())]);
    server.send(&call, Some(&server.admin()?))?;
    Ok(Finding::Healthy("the server accepts it".to_owned()))
}

/// Checks every page and every checksum, as a server does when it starts.
fn database(folder: &Path) -> Result<Finding, Problem> {
    let since = Instant::now();
    let path = folder.join(DATABASE_FILE);
    let bytes = fs::metadata(&path).map_or(0, |it| it.len());
    let progress = Progress::start(&format!("checking the database, {}", size(bytes)));
    let Some(Examined { format, contents, .. }) = SqliteKv::examine(folder)? else {
        return Ok(Finding::Absent("there is none yet; `serve` makes it".to_owned()));
    };
    drop(progress);
    let (kib, elapsed) = (grouped(bytes.div_ceil(1024)), milliseconds(since.elapsed()));
    let found = match contents {
        Some(Contents { commits, rows, .. }) => format!(
            "format {format}, {kib} KiB, every page sound, each of {} rows as it was written, all \
             {} acknowledged commits (checked in {elapsed})",
            grouped(rows),
            grouped(commits),
        ),
        None => format!(
            "format {format}, {kib} KiB, every page sound (checked in {elapsed}); the next start \
             of the server brings it to the present format"
        ),
    };
    Ok(Finding::Healthy(found))
}

/// Shows how far the server has verified its large database while it serves it.
fn verified(found: &Verification) -> Result<Finding, Problem> {
    let (verified, of) = (grouped(found.verified), grouped(found.of));
    if found.has_found_damage {
        return Err(wrong(
            "the server found a damaged session or project; its log names it",
            "restore the data folder from a backup, or start the server once with --accept-loss",
        ));
    }
    Ok(Finding::Healthy(if found.is_finished() {
        format!("the server verified all {of} sessions and projects while it served them")
    } else {
        format!("the server has verified {verified} of {of} sessions and projects so far")
    }))
}

fn clock(folder: &Path) -> Result<Finding, Problem> {
    let now = SystemTime::now();
    let next = "set this machine's clock, for example by NTP";
    if now.duration_since(UNIX_EPOCH).unwrap_or_default() < CLOCK_MIN {
        return Err(wrong("it is before 2026", next));
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let newest = entries.filter_map(|it| it.metadata().ok()?.modified().ok()).max();
    match newest.and_then(|it| it.duration_since(now).ok()) {
        Some(ahead) if ahead > CLOCK_SKEW_MAX => Err(wrong(
            format!("it is at least {} s behind: the data was written later", ahead.as_secs()),
            next,
        )),
        _ => Ok(Finding::Healthy("it is later than everything that was written".to_owned())),
    }
}

/// Starts the component and calls it, over storage in memory.
fn component() -> Result<Finding, Problem> {
    let since = Instant::now();
    let component = Component::new(&ComponentOptions::default())?;
    let started = since.elapsed();
    let host = Host::new(MemoryKv::default(), SystemClock, TracingLog);
    let (scope, orchestrator) = ("session/doctor", Caller::trusted("orchestrator"));
    let ask = |caller: &Caller, request: &str| {
        component.invoke(&host, scope, caller, request.as_bytes()).map_err(|failure| {
            wrong(
                format!("it answers {}: {}", failure.code, failure.message),
                "this build is broken: build it anew",
            )
        })
    };
    ask(&Caller::trusted("admin"), r#"{"action":"create_session"}"#)?;
    let cold = since.elapsed();
    ask(&orchestrator, r#"{"action":"write","key":"scope","value":"x"}"#)?;
    ask(&orchestrator, r#"{"action":"read","key":"scope"}"#)?;
    Ok(Finding::Healthy(format!(
        "starts in {} and answers first after {}",
        milliseconds(started),
        milliseconds(cold),
    )))
}

/// Measures how many syncs per second the disk can do. That bounds how many changes per
/// second a single participant can make.
fn disk(folder: &Path) -> Result<Finding, Problem> {
    if !folder.is_dir() {
        return Ok(Finding::Absent("measured once the data folder is there".to_owned()));
    }
    let failed = |error: std::io::Error| {
        let next = match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "let the user who runs the server write there, or name another with --data"
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on the disk",
            _ => "check the disk, or name a folder on another one with --data",
        };
        wrong(format!("a file cannot be written and synced: {error}"), next)
    };
    let mut file: File = tempfile::tempfile_in(folder).map_err(failed)?;
    let page = [0_u8; DISK_BYTES];
    let since = Instant::now();
    let mut syncs = 0_u32;
    while since.elapsed() < DISK_TIME {
        file.write_all(&page).and_then(|()| file.sync_data()).map_err(failed)?;
        syncs = syncs.saturating_add(1);
    }
    let each = since.elapsed() / syncs.max(1);
    let rate = 1.0 / each.as_secs_f64().max(f64::EPSILON);
    Ok(Finding::Healthy(format!("{rate:.0} syncs a second, {} each", milliseconds(each))))
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use shared_context_wasmtime::SqliteOptions;

    use super::*;

    fn seen(found: Result<Finding, Problem>) -> (Verdict, String) {
        let check = Check::new("x", found);
        (check.verdict, check.found)
    }

    #[test]
    fn an_empty_folder_is_no_illness() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        assert_eq!(seen(data_folder(&missing)).0, Verdict::Absent);
        assert_eq!(seen(disk(&missing)).0, Verdict::Absent);
        assert_eq!(seen(data_folder(folder.path())).0, Verdict::Ok);
        assert_eq!(seen(key_file(folder.path())).0, Verdict::Absent);
        assert_eq!(seen(database(folder.path())).0, Verdict::Absent);
        assert_eq!(seen(clock(folder.path())).0, Verdict::Ok);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn a_database_is_looked_at_and_a_damaged_one_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        drop(SqliteKv::open(folder.path(), &SqliteOptions::default()).unwrap());
        let path = folder.path().join(DATABASE_FILE);
        assert!(path.is_file(), "the library calls its database otherwise");
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let before = files();
        assert_eq!(seen(database(folder.path())).0, Verdict::Ok);
        assert_eq!(files(), before, "nothing is left behind");
        File::options().write(true).open(&path).unwrap().set_len(5000).unwrap();
        let (verdict, found) = seen(database(folder.path()));
        assert_eq!(verdict, Verdict::Failed, "{found}");
    }

    #[test]
    fn what_the_server_verified_is_shown() {
        let stored = |rest: &str| {
            let text = format!(r#"{{"database":"x","of":2000,"last_id":7,{rest}}}"#);
            seen(verified(&serde_json::from_str(&text).unwrap()))
        };
        for (rest, verdict, text) in [
            (r#""verified":1000,"has_found_damage":false"#, Verdict::Ok, "1,000 of 2,000"),
            (r#""verified":2000,"has_found_damage":false"#, Verdict::Ok, "all 2,000"),
            (r#""verified":2000,"has_found_damage":true"#, Verdict::Failed, "damaged"),
        ] {
            let found = stored(rest);
            assert!(found.0 == verdict && found.1.contains(text), "{found:?}");
        }
    }

    #[test]
    fn a_clock_that_stepped_back_is_seen_by_what_was_written_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("x")).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_hours(1)).unwrap();
        assert!(seen(clock(folder.path())).1.contains("behind"));
    }
}
