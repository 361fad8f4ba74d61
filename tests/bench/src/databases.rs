//! `PostgreSQL` and Redis on the same disk, for comparison. They listen on a socket in the
//! benchmark's folder and stop at the end. Databases that are not installed are skipped.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::durable::{CLIENTS, PERIOD};

/// The user that runs `PostgreSQL`, which does not run as root.
const POSTGRES: &str = "postgres";
const PORT: &str = "54329";

/// Measures upserts per second with pgbench for each number of clients. Returns `None` if
/// `PostgreSQL` is not installed.
pub(crate) fn postgres(folder: &Path) -> Result<Option<Vec<f64>>> {
    let Some(programs) = postgres_programs() else { return Ok(None) };
    fs::create_dir_all(folder)?;
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let Some(user) = user_id(POSTGRES) else { return Ok(None) };
        chown(folder, Some(user), None)?;
        for parent in folder.ancestors().take(2) {
            fs::set_permissions(parent, fs::Permissions::from_mode(0o755))?;
        }
    }
    let run = |program: &str| {
        let mut command = if is_root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", POSTGRES, "--regid", POSTGRES, "--clear-groups", "--"]);
            command.arg(programs.join(program));
            command
        } else {
            Command::new(programs.join(program))
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir(folder);
        command
    };
    let data = folder.join("data");
    succeed(run("initdb").arg("-D").arg(&data).args(["--auth", "trust", "--username", "bench"]))?;
    let mut server = ServerGuard(
        run("postgres")
            .arg("-D")
            .arg(&data)
            .args(["-p", PORT, "-c", "listen_addresses=", "-c", "max_connections=300"])
            .arg("-k")
            .arg(folder)
            .spawn()?,
    );
    let client = |program: &str| {
        let mut command = run(program);
        command.args(["-p", PORT, "-U", "bench", "-h"]).arg(folder);
        command
    };
    let sql = |text: &str| succeed(client("psql").args(["-d", "postgres", "-c", text]));
    let end = Instant::now() + Duration::from_secs(20);
    while let Err(err) = sql("SELECT 1") {
        if Instant::now() > end || server.0.try_wait()?.is_some() {
            return Err(err.context("PostgreSQL did not start"));
        }
        sleep(Duration::from_millis(100));
    }
    sql("CREATE TABLE entry (session int, key text, value text, version int, \
         PRIMARY KEY (session, key))")?;
    let script = folder.join("upsert.sql");
    fs::write(
        &script,
        format!(
            "INSERT INTO entry VALUES (:client_id, 'findings_summary', '{}', 1) ON CONFLICT \
             (session, key) DO UPDATE SET value = excluded.value, version = entry.version + 1;\n",
            "Connection pool reduced. ".repeat(8)
        ),
    )?;
    let rates = CLIENTS.map(|clients| {
        let seconds = PERIOD.as_secs().to_string();
        let output = client("pgbench")
            .args(["-n", "-j", "2", "-T", &seconds, "-c", &clients.to_string(), "-f"])
            .arg(&script)
            .arg("postgres")
            .stdout(Stdio::piped())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = text.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate = rate.and_then(|it| it.split_whitespace().next()).context("pgbench failed")?;
        Ok(rate.parse()?)
    });
    rates.into_iter().collect::<Result<_>>().map(Some)
}

/// Measures writes per second with redis-benchmark for each number of clients, with every write
/// flushed. Returns `None` if Redis is not installed.
pub(crate) fn redis(folder: &Path) -> Result<Option<Vec<f64>>> {
    fs::create_dir_all(folder)?;
    let socket = folder.join("redis.sock");
    let spawned = Command::new("redis-server")
        .args(["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "always"])
        .arg("--dir")
        .arg(folder)
        .arg("--unixsocket")
        .arg(&socket)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _server = match spawned {
        Ok(child) => ServerGuard(child),
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(err.into()),
    };
    let end = Instant::now() + Duration::from_secs(10);
    while !socket.exists() {
        if Instant::now() > end {
            bail!("Redis did not start");
        }
        sleep(Duration::from_millis(50));
    }
    let rates = CLIENTS.map(|clients| {
        let requests = if clients == 1 { "8000" } else { "60000" };
        let output = Command::new("redis-benchmark")
            .arg("-s")
            .arg(&socket)
            .args(["-t", "set", "-d", "200", "-r", "256", "--csv", "-n", requests, "-c"])
            .arg(clients.to_string())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.starts_with("\"SET\"")).context("no figure")?;
        let rate = line.split(',').nth(1).context("no figure")?.trim_matches('"');
        Ok(rate.parse()?)
    });
    rates.into_iter().collect::<Result<_>>().map(Some)
}

/// Returns the program folder of the newest installed `PostgreSQL` server.
fn postgres_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|it| Some(it.ok()?.path().join("bin")));
    folders.filter(|it| it.join("initdb").exists() && it.join("pgbench").exists()).max()
}

fn user_id(name: &str) -> Option<u32> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(2)?.parse().ok()
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if !status.success() {
        bail!("{} failed: {status}", command.get_program().display());
    }
    Ok(())
}

/// A server process that is stopped on drop.
#[derive(Debug)]
struct ServerGuard(Child);

impl Drop for ServerGuard {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(i32::try_from(self.0.id()).unwrap_or(0)) {
            let _asked = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        drop(self.0.wait());
    }
}
