//! The Worker of `hosts/cloudflare` under the real workerd: Durable Objects over `SQLite`, with a
//! test module that sets the clock and injects storage faults.
//!
//! If workerd is missing, the target is unavailable with a reason.

use serde_json::json;
use shared_context_workers::{Place, Setup, UnderTest, Workerd};
use tempfile::TempDir;

use crate::{
    case::{Case, Storage},
    target::{
        HttpRequest, HttpResponse, TargetKind,
        client::HttpClient,
        http::{ADMIN_KEY, OverHttp, SECRET, Server},
    },
};

/// Returns the target `workerd`.
pub(super) fn kind() -> Result<TargetKind, String> {
    Place::find().map_err(|why| format!("workerd: skipped, {why}"))?;
    Ok(TargetKind {
        name: "workerd",
        speaks_http: true,
        faults: &Storage::FAULTS,
        joins_headers: true,
        encodings: &[],
        changes_encodings: false,
        sets_clock: true,
        keeps_state: true,
        start: Box::new(|case| Ok(Box::new(OverHttp(WorkerdServer::start(case)?)))),
    })
}

#[derive(Debug)]
struct WorkerdServer {
    client: HttpClient,
    /// `None` only during a restart. Dropped before its folder.
    workerd: Option<Workerd>,
    now_ms: u64,
    storage: Storage,
    /// The test module has the current clock and storage mode.
    is_configured: bool,
    _folder: TempDir,
}

impl WorkerdServer {
    fn start(case: &Case) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|err| err.to_string())?;
        let setup = Setup::find(folder.path())?.under_test().keys(SECRET, ADMIN_KEY);
        let setup = match case.rate_limit {
            None => setup.without_rate_limit(),
            Some(limit) => setup.text("SHARED_CONTEXT_RATE", &limit.per_second.to_string()),
        };
        Ok(Self {
            client: HttpClient::new(),
            workerd: Some(setup.try_start()?),
            now_ms: 0,
            storage: Storage::Works,
            is_configured: false,
            _folder: folder,
        })
    }

    fn configure(&self, module: &UnderTest) -> Result<(), String> {
        // Alarms would remove expired entries at random points between two steps of a case.
        module.try_tell("clock", &json!({"at": self.now_ms, "held": true}))?;
        let mode = match self.storage {
            Storage::Works => "works",
            Storage::ReadsFail => "reads_fail",
            Storage::CommitsFail => "commits_fail",
            Storage::AnswersLost => "answers_lost",
            Storage::CommitsConflict => "commits_conflict",
        };
        module.try_tell("storage", &json!({"mode": mode})).map(drop)
    }
}

impl Server for WorkerdServer {
    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let workerd = self.workerd.as_ref().ok_or("workerd does not run")?;
        if !self.is_configured {
            self.configure(&workerd.under_test())?;
            self.is_configured = true;
        }
        let response = self.client.send(workerd.url(), request);
        response.map_err(|err| format!("{err}; workerd said: {}", workerd.log()))
    }

    fn restart(&mut self) -> Result<(), String> {
        self.is_configured = false;
        let setup = self.workerd.take().map(Workerd::kill);
        self.workerd = setup.map(Setup::try_start).transpose()?;
        Ok(())
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.is_configured = false;
    }

    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        self.storage = storage;
        self.is_configured = false;
        Ok(())
    }
}
