//! The Worker of `hosts/cloudflare` under the real workerd: Durable Objects over
//! `SQLite`, with the module around it that sets the clock and lets storage fail.
//!
//! Where there is no workerd there is no such target, and it is said why.

use serde_json::json;
use shared_context_workers::{Place, Setup, UnderTest, Workerd};
use tempfile::TempDir;

use crate::{
    case::{Case, Storage},
    target::{
        HttpRequest, HttpResponse, Kind,
        http::{ADMIN_KEY, OverHttp, SECRET, Server},
        sockets::Sockets,
    },
};

/// Returns the target `workerd`.
pub(super) fn kind() -> Result<Kind, String> {
    Place::find().map_err(|why| format!("workerd: skipped, {why}"))?;
    Ok(Kind {
        name: "workerd",
        speaks_http: true,
        faults: &Storage::FAULTS,
        joins_headers: true,
        encodings: &[],
        changes_encodings: false,
        sets_clock: true,
        is_kept: true,
        start: Box::new(|case| Ok(Box::new(OverHttp(UnderWorkerd::start(case)?)))),
    })
}

#[derive(Debug)]
struct UnderWorkerd {
    client: Sockets,
    /// `None` only while it is restarted. Dropped before its folder.
    workerd: Option<Workerd>,
    now_ms: u64,
    storage: Storage,
    /// Whether the test module knows clock and storage.
    is_told: bool,
    _folder: TempDir,
}

impl UnderWorkerd {
    fn start(case: &Case) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|err| err.to_string())?;
        let setup = Setup::find(folder.path())?.under_test().keys(SECRET, ADMIN_KEY);
        let setup = match case.rate_limit {
            None => setup.without_rate_limit(),
            Some(limit) => setup.text("SHARED_CONTEXT_RATE", &limit.per_second.to_string()),
        };
        Ok(Self {
            client: Sockets::new(),
            workerd: Some(setup.try_start()?),
            now_ms: 0,
            storage: Storage::Works,
            is_told: false,
            _folder: folder,
        })
    }

    fn tell(&self, module: &UnderTest) -> Result<(), String> {
        // What expires unasked would come between two steps of a case, or not.
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

impl Server for UnderWorkerd {
    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let workerd = self.workerd.as_ref().ok_or("workerd does not run")?;
        if !self.is_told {
            self.tell(&workerd.under_test())?;
            self.is_told = true;
        }
        let response = self.client.send(workerd.url(), request);
        response.map_err(|err| format!("{err}; workerd said: {}", workerd.log()))
    }

    fn restart(&mut self) -> Result<(), String> {
        self.is_told = false;
        let setup = self.workerd.take().map(Workerd::kill);
        self.workerd = setup.map(Setup::try_start).transpose()?;
        Ok(())
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.is_told = false;
    }

    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        self.storage = storage;
        self.is_told = false;
        Ok(())
    }
}
