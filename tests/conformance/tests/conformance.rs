//! Runs every case on every target that supports it. Each pair is one test, named
//! `target::system/section-what`.
//!
//! `cargo test -p shared-context-conformance --test conformance -- core::store`
//! runs the tests of one target and one system.

use std::{
    io,
    path::Path,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use libtest_mimic::{Arguments, Failed, Trial};
use shared_context_conformance::{
    case::{self, Case},
    coverage, run,
    target::{ADMIN_KEY, HttpRequest, SECRET, TargetKind},
};
use shared_context_system::secrets;
use tracing_subscriber::EnvFilter;

/// A writer that captures the log of all hosts in this process.
#[derive(Clone, Default)]
struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CapturedLog {
    fn start() -> Self {
        let (captured, filter) = (Self::default(), EnvFilter::new("info,shared_context=trace"));
        let writer = captured.clone();
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
        log.with_writer(move || writer.clone()).init();
        captured
    }

    /// Fails if the log contains a value, a credential or a secret of any case.
    fn check(&self) {
        secrets::secret(SECRET);
        secrets::secret(ADMIN_KEY);
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets::check(&String::from_utf8_lossy(&log));
    }
}

fn main() -> Result<ExitCode, String> {
    let arguments = Arguments::from_args();
    let log = CapturedLog::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let cases: Vec<_> = case::read_all(&folder)?
        .into_iter()
        .map(|(path, case)| (path.with_extension("").display().to_string(), Arc::new(case)))
        .collect();
    let mut trials = Vec::new();
    for kind in TargetKind::all() {
        let kind = match kind {
            Ok(kind) => Arc::new(kind),
            Err(why) => {
                trials.push(Trial::test(why, || Ok(())).with_ignored_flag(true));
                continue;
            }
        };
        let fitting = cases.iter().filter(|(_, case)| fits(&kind, case));
        trials.extend(fitting.map(|(path, case)| trial(&kind, path, case)));
        if kind.speaks_http {
            let cases: Vec<Case> = cases.iter().map(|(_, case)| Case::clone(case)).collect();
            let name = format!("{}::every operation of its API has a case", kind.name);
            let kind = Arc::clone(&kind);
            trials.push(Trial::test(name, move || Ok(every_operation_has_a_case(&kind, &cases)?)));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    log.check();
    Ok(conclusion.exit_code())
}

fn fits(kind: &TargetKind, case: &Case) -> bool {
    (kind.speaks_http || !case.needs_http())
        && case.needed_faults().iter().all(|it| kind.faults.contains(it))
        && (!kind.joins_headers || !case.needs_repeated_headers())
        && case.encodings.iter().all(|it| kind.encodings.contains(&it.as_str()))
        && (kind.changes_encodings || !case.needs_other_encodings())
        && (kind.sets_clock || !case.needs_clock())
        && case.needs_state().is_none_or(|it| it == kind.keeps_state)
}

fn trial(kind: &Arc<TargetKind>, path: &str, case: &Arc<Case>) -> Trial {
    let name = format!("{}::{path}", kind.name);
    let (kind, path, case) = (Arc::clone(kind), path.to_owned(), Arc::clone(case));
    Trial::test(name, move || {
        run::run(&case, &kind.start).map_err(|message| {
            let (title, cites) = (&case.title, case.cites.join(", "));
            Failed::from(format!("{title} ({cites})\ncases/{path}.yaml, {message}"))
        })
    })
}

/// Checks that every operation in the `OpenAPI` document of the target has a case.
fn every_operation_has_a_case(kind: &TargetKind, cases: &[Case]) -> Result<(), String> {
    let nothing = case::parse("{title: The OpenAPI document, cites: [], sessions: [], steps: []}")?;
    let request = HttpRequest {
        method: "GET".to_owned(),
        target: "/openapi.json".to_owned(),
        ..HttpRequest::default()
    };
    let response = (kind.start)(&nothing)?.http(&request)?;
    let api = serde_json::from_slice(&response.body).map_err(|err| err.to_string())?;
    match coverage::uncovered_operations(cases, &api).as_slice() {
        [] => Ok(()),
        uncovered => Err(format!(
            "no case asks for {} and gets it: add a step `http: …` to cases/http",
            uncovered.join(", ")
        )),
    }
}
