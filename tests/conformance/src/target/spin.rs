//! The application of `hosts/spin`: in the emulator with a settable clock and storage faults, over
//! `SQLite` and over the key-value store; and on Spin itself.
//!
//! If the application is not built or Spin is missing, the target is unavailable with a reason.

use shared_context_spin_tests as spin;
use shared_context_spin_tests::{Emulator, Over, Place, Program, Runtime, Setup};
use tempfile::TempDir;

use crate::{
    case::Storage,
    target::{
        HttpRequest, HttpResponse, TargetKind,
        client::HttpClient,
        http::{ADMIN_KEY, OverHttp, SECRET, Server},
    },
};

/// Returns the target `spin`.
pub(super) fn over_sqlite() -> Result<TargetKind, String> {
    in_emulator("spin", Over::Sqlite, &Storage::FAULTS)
}

/// Returns the target `spin-key-value`. Its commits never conflict, because the store cannot
/// compare revisions.
pub(super) fn over_key_value() -> Result<TargetKind, String> {
    let faults = &[Storage::ReadsFail, Storage::CommitsFail, Storage::AnswersLost];
    in_emulator("spin-key-value", Over::KeyValue, faults)
}

/// Returns the target `spin-real`.
pub(super) fn real() -> Result<TargetKind, String> {
    let name = "spin-real";
    let place = Place::find().map_err(|why| format!("{name}: skipped, {why}"))?;
    let runtime = Runtime::spin().map_err(|why| format!("{name}: skipped, {why}"))?;
    Ok(TargetKind {
        sets_clock: false,
        start: Box::new(move |_| {
            let (folder, setup) = setup(&place, Over::Sqlite)?;
            let mut spin = SpinServer {
                client: HttpClient::new(),
                runtime: runtime.clone(),
                setup,
                program: None,
                _folder: folder,
            };
            spin.restart()?;
            Ok(Box::new(OverHttp(spin)))
        }),
        ..in_emulator(name, Over::Sqlite, &[])?
    })
}

fn in_emulator(
    name: &'static str,
    over: Over,
    faults: &'static [Storage],
) -> Result<TargetKind, String> {
    let place = Place::find().map_err(|why| format!("{name}: skipped, {why}"))?;
    Ok(TargetKind {
        name,
        speaks_http: true,
        faults,
        joins_headers: false,
        encodings: &[],
        changes_encodings: false,
        sets_clock: true,
        keeps_state: false,
        start: Box::new(move |_| {
            let (folder, setup) = setup(&place, over)?;
            let mut emulator = EmulatorServer {
                client: HttpClient::new(),
                setup,
                emulator: None,
                now_ms: 0,
                storage: Storage::Works,
                _folder: folder,
            };
            emulator.restart()?;
            Ok(Box::new(OverHttp(emulator)))
        }),
    })
}

/// Returns the setup of an empty application and its data folder.
fn setup(place: &Place, over: Over) -> Result<(TempDir, Setup), String> {
    let folder = TempDir::new().map_err(|err| err.to_string())?;
    let setup = place.setup(over, folder.path()).keys(SECRET, ADMIN_KEY);
    Ok((folder, setup))
}

#[derive(Debug)]
struct EmulatorServer {
    client: HttpClient,
    setup: Setup,
    /// `None` only during a restart. Dropped before its folder.
    emulator: Option<Emulator>,
    now_ms: u64,
    storage: Storage,
    _folder: TempDir,
}

impl EmulatorServer {
    fn configure(&self) {
        let Some(emulator) = &self.emulator else { return };
        emulator.set_clock(Some(self.now_ms));
        emulator.set_storage(match self.storage {
            Storage::Works => spin::Storage::Works,
            Storage::ReadsFail => spin::Storage::ReadsFail,
            Storage::CommitsFail => spin::Storage::CommitsFail,
            Storage::AnswersLost => spin::Storage::AnswersLost,
            Storage::CommitsConflict => spin::Storage::CommitsConflict,
        });
    }
}

impl Server for EmulatorServer {
    fn send(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        let emulator = self.emulator.as_ref().ok_or("the emulator does not run")?;
        let response = self.client.send(emulator.url(), request)?;
        match emulator.failures().as_slice() {
            [] => Ok(response),
            failures => Err(format!("{}; the log: {:?}", failures.join("; "), emulator.log())),
        }
    }

    fn restart(&mut self) -> Result<(), String> {
        self.emulator = None;
        let started = Emulator::start(&self.setup).map_err(|err| format!("{err:#}"))?;
        self.emulator = Some(started);
        self.configure();
        Ok(())
    }

    fn set_clock(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.configure();
    }

    fn set_storage(&mut self, storage: Storage) -> Result<(), String> {
        self.storage = storage;
        self.configure();
        Ok(())
    }
}

#[derive(Debug)]
struct SpinServer {
    client: HttpClient,
    runtime: Runtime,
    setup: Setup,
    /// `None` only during a restart. Dropped before its folder.
    program: Option<Program>,
    _folder: TempDir,
}

impl Server for SpinServer {
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

    /// Does nothing: cases that need it do not run on this target.
    fn set_clock(&mut self, _: u64) {}
}
