//! The application of `hosts/spin`: in the stand-in, where the clock is set and storage
//! fails as told, over `SQLite` and over the key-value store; and on Spin itself.
//!
//! Where the application was not built, or there is no Spin, there is no such target,
//! and it is said why.

use shared_context_spin_tests as spin;
use shared_context_spin_tests::{Over, Place, Program, Runtime, Setup, StandIn};
use tempfile::TempDir;

use crate::{
    case::Storage,
    target::{
        HttpRequest, HttpResponse, Kind,
        http::{ADMIN_KEY, OverHttp, SECRET, Server},
        sockets::Sockets,
    },
};

/// Returns the target `spin`.
pub(super) fn over_sqlite() -> Result<Kind, String> {
    in_stand_in("spin", Over::Sqlite, &Storage::FAULTS)
}

/// Returns the target `spin-key-value`. Nobody can come first there: nothing is compared.
pub(super) fn over_key_value() -> Result<Kind, String> {
    let faults = &[Storage::ReadsFail, Storage::CommitsFail, Storage::AnswersLost];
    in_stand_in("spin-key-value", Over::KeyValue, faults)
}

/// Returns the target `spin-real`.
pub(super) fn real() -> Result<Kind, String> {
    let name = "spin-real";
    let place = Place::find().map_err(|why| format!("{name}: skipped, {why}"))?;
    let runtime = Runtime::spin().map_err(|why| format!("{name}: skipped, {why}"))?;
    Ok(Kind {
        sets_clock: false,
        start: Box::new(move |_| {
            let (folder, setup) = setup(&place, Over::Sqlite)?;
            let mut spin = OnSpin {
                client: Sockets::new(),
                runtime: runtime.clone(),
                setup,
                program: None,
                _folder: folder,
            };
            spin.restart()?;
            Ok(Box::new(OverHttp(spin)))
        }),
        ..in_stand_in(name, Over::Sqlite, &[])?
    })
}

fn in_stand_in(name: &'static str, over: Over, faults: &'static [Storage]) -> Result<Kind, String> {
    let place = Place::find().map_err(|why| format!("{name}: skipped, {why}"))?;
    Ok(Kind {
        name,
        speaks_http: true,
        faults,
        joins_headers: false,
        encodings: &[],
        changes_encodings: false,
        sets_clock: true,
        is_kept: false,
        start: Box::new(move |_| {
            let (folder, setup) = setup(&place, over)?;
            let mut stand_in = InStandIn {
                client: Sockets::new(),
                setup,
                stand_in: None,
                now_ms: 0,
                storage: Storage::Works,
                _folder: folder,
            };
            stand_in.restart()?;
            Ok(Box::new(OverHttp(stand_in)))
        }),
    })
}

/// Returns the application with nothing in it, and the folder it will keep all in.
fn setup(place: &Place, over: Over) -> Result<(TempDir, Setup), String> {
    let folder = TempDir::new().map_err(|err| err.to_string())?;
    let setup = place.setup(over, folder.path()).keys(SECRET, ADMIN_KEY);
    Ok((folder, setup))
}

#[derive(Debug)]
struct InStandIn {
    client: Sockets,
    setup: Setup,
    /// `None` only while it is restarted. Dropped before its folder.
    stand_in: Option<StandIn>,
    now_ms: u64,
    storage: Storage,
    _folder: TempDir,
}

impl InStandIn {
    fn tell(&self) {
        let Some(stand_in) = &self.stand_in else { return };
        stand_in.set_clock(Some(self.now_ms));
        stand_in.set_storage(match self.storage {
            Storage::Works => spin::Storage::Works,
            Storage::ReadsFail => spin::Storage::ReadsFail,
            Storage::CommitsFail => spin::Storage::CommitsFail,
            Storage::AnswersLost => spin::Storage::AnswersLost,
            Storage::CommitsConflict => spin::Storage::CommitsConflict,
        });
    }
}

impl Server for InStandIn {
    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let stand_in = self.stand_in.as_ref().ok_or("the stand-in does not run")?;
        let response = self.client.send(stand_in.url(), request)?;
        match stand_in.failures().as_slice() {
            [] => Ok(response),
            failures => Err(format!("{}; the log: {:?}", failures.join("; "), stand_in.log())),
        }
    }

    fn restart(&mut self) -> Result<(), String> {
        self.stand_in = None;
        let started = StandIn::start(&self.setup).map_err(|err| format!("{err:#}"))?;
        self.stand_in = Some(started);
        self.tell();
        Ok(())
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.tell();
    }

    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        self.storage = storage;
        self.tell();
        Ok(())
    }
}

#[derive(Debug)]
struct OnSpin {
    client: Sockets,
    runtime: Runtime,
    setup: Setup,
    /// `None` only while it is restarted. Dropped before its folder.
    program: Option<Program>,
    _folder: TempDir,
}

impl Server for OnSpin {
    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let program = self.program.as_ref().ok_or("Spin does not run")?;
        let response = self.client.send(program.url(), request);
        response.map_err(|err| format!("{err}; Spin said: {}", program.said()))
    }

    fn restart(&mut self) -> Result<(), String> {
        let killed = self.program.take().map(Program::kill).transpose();
        killed.map_err(|err| format!("{err:#}"))?;
        let started = Program::start(&self.runtime, &self.setup);
        self.program = Some(started.map_err(|err| format!("{err:#}"))?);
        Ok(())
    }

    /// No case that needs it runs here.
    fn set_clock(&mut self, _: u64) {}
}
