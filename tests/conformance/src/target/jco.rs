//! The component transpiled to JavaScript by jco: the Worker of `examples/cloudflare-jco` under the
//! real workerd, with a wrapper that sets the clock and collects the log.
//!
//! If the example is not built or workerd is missing, the target is unavailable with a reason.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};
use shared_context_core::ScopeKind;
use shared_context_workers::{Place, Setup, Workerd};
use tempfile::TempDir;

use crate::target::{
    Credential, HttpRequest, HttpResponse, Target, TargetError, TargetKind, client::HttpClient,
    http::segment, token,
};

/// The module that wraps the Worker.
const WRAPPER: &str = include_str!("jco.mjs");

/// Returns the target `jco`.
pub(super) fn kind() -> Result<TargetKind, String> {
    let example = example().map_err(|why| format!("jco: skipped, {why}"))?;
    Ok(TargetKind {
        name: "jco",
        speaks_http: false,
        faults: &[],
        joins_headers: false,
        encodings: &[],
        changes_encodings: false,
        sets_clock: true,
        keeps_state: true,
        start: Box::new(move |_| Ok(Box::new(Example::start(&example)?))),
    })
}

/// Returns the folder of the built example.
fn example() -> Result<PathBuf, String> {
    Place::find()?;
    let folder = env::var_os("WORKERD_JCO").filter(|it| !it.is_empty());
    let folder = folder.map(PathBuf::from).ok_or(
        "WORKERD_JCO is not set: `cargo xtask workers` builds examples/cloudflare-jco, and sets it",
    )?;
    folder
        .join("build/worker.mjs")
        .canonicalize()
        .and_then(|_| folder.canonicalize())
        .map_err(|err| format!("{} is not a built example: {err}", folder.display()))
}

#[derive(Debug)]
struct Example {
    client: HttpClient,
    /// `None` only during a restart. Dropped before its folder.
    workerd: Option<Workerd>,
    now_ms: u64,
    /// The wrapper has the current clock.
    is_clock_set: bool,
    _folder: TempDir,
}

impl Example {
    fn start(example: &Path) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|err| err.to_string())?;
        let worker = folder.path().join("under-test");
        wrap(example, &worker).map_err(|err| format!("{}: {err}", worker.display()))?;
        let setup = Setup::foreign(worker, folder.path().join("data"))?;
        Ok(Self {
            client: HttpClient::new(),
            workerd: Some(setup.try_start()?),
            now_ms: 0,
            is_clock_set: false,
            _folder: folder,
        })
    }

    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let workerd = self.workerd.as_ref().ok_or("workerd does not run")?;
        if !self.is_clock_set {
            self.is_clock_set = true;
            let clock = json!({"at": self.now_ms}).to_string();
            self.post("/-/clock", Vec::new(), clock.as_bytes())?;
            return self.send(request);
        }
        let response = self.client.send(workerd.url(), request);
        response.map_err(|err| format!("{err}; workerd said: {}", workerd.log()))
    }

    fn post(
        &mut self,
        target: &str,
        headers: Vec<(String, String)>,
        body: &[u8],
    ) -> Result<HttpResponse, String> {
        let (method, target) = ("POST".to_owned(), target.to_owned());
        self.send(&HttpRequest { method, target, headers, body: Some(body.to_vec()) })
    }
}

impl Target for Example {
    fn credential(
        &mut self,
        scope: &str,
        participant: &str,
        keys: &[String],
    ) -> Result<Credential, TargetError> {
        token::issue(self, scope, participant, keys)
    }

    fn invoke(
        &mut self,
        scope: &str,
        credential: &Credential,
        request: &[u8],
    ) -> Result<Vec<u8>, TargetError> {
        let caller = token::caller(credential)?;
        let bound = caller.credential;
        let caller = json!({
            "participant": caller.participant,
            "credential": bound.map(|it| json!({"incarnation": it.incarnation, "epoch": it.epoch})),
            "keys": caller.keys,
            "session": caller.session,
        });
        let path = match ScopeKind::split(scope) {
            Some((ScopeKind::Project, id)) => format!("/projects/{}", segment(id)),
            Some((ScopeKind::Session, id)) => format!("/{}", segment(id)),
            None => return Err(TargetError::Failed(format!("there is no scope {scope}"))),
        };
        let headers = vec![("Caller".to_owned(), to_ascii(&caller.to_string()))];
        let response = self.post(&path, headers, request)?;
        match response.status {
            200 => Ok(response.body),
            400 | 503 => Err(TargetError::Rejected(response.body)),
            status => {
                let shown = String::from_utf8_lossy(&response.body);
                Err(TargetError::Failed(format!("status {status}: {shown}")))
            }
        }
    }

    fn restart(&mut self) -> Result<(), String> {
        self.is_clock_set = false;
        let setup = self.workerd.take().map(Workerd::kill);
        self.workerd = setup.map(Setup::try_start).transpose()?;
        Ok(())
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.is_clock_set = false;
    }

    fn logged(&mut self) -> Option<Vec<Value>> {
        let response = self.post("/-/logged", Vec::new(), b"").ok()?;
        let lines: Vec<Value> = serde_json::from_slice(&response.body).ok()?;
        Some(lines.iter().map(record).collect())
    }
}

/// Creates the folder `worker`: the Worker of `example` with the wrapper as its entry module.
fn wrap(example: &Path, worker: &Path) -> std::io::Result<()> {
    let build = worker.join("build");
    fs::create_dir_all(&build)?;
    symlink(example.join("wrangler.jsonc"), worker.join("wrangler.jsonc"))?;
    for file in fs::read_dir(example.join("build"))? {
        let file = file?;
        let is_entry = file.file_name() == "worker.mjs";
        let name = if is_entry { "example.mjs".into() } else { file.file_name() };
        symlink(file.path(), build.join(name))?;
    }
    fs::write(build.join("worker.mjs"), WRAPPER)
}

/// Escapes the characters of `json` that a header cannot contain.
fn to_ascii(json: &str) -> String {
    let mut text = String::new();
    for it in json.chars() {
        if it.is_ascii() {
            text.push(it);
        } else {
            text.extend(it.encode_utf16(&mut [0; 2]).iter().map(|it| format!("\\u{it:04x}")));
        }
    }
    text
}

/// Converts a log line of the example to a record with the member names of the suite.
fn record(line: &Value) -> Value {
    let names = [
        ("session", "/session"),
        ("project", "/project"),
        ("revision", "/revision"),
        ("action", "/action"),
        ("participant", "/participant"),
        ("at_ms", "/atMs"),
        ("key", "/entry/key"),
        ("version", "/entry/version"),
        ("value_tokens", "/entry/valueTokens"),
        ("label", "/label"),
        ("reason", "/reason"),
    ];
    let members = names.into_iter().filter_map(|(name, place)| {
        let value = line.pointer(place)?;
        Some((name.to_owned(), value.clone()))
    });
    Value::Object(members.collect::<Map<_, _>>())
}
