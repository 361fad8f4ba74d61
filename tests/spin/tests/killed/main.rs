//! Aborts instances in the middle of requests, as happens when Spin stops, a machine
//! fails, or a limit of time or memory is reached. Acknowledged changes must be stored, and
//! others must have happened completely or not at all.
//!
//! `SHARED_CONTEXT_KILL_SEED` repeats the random choices of an earlier run, and
//! `SHARED_CONTEXT_KILL_ROUNDS=10` runs longer.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: an unexpected result fails it"
)]

mod requests;
mod rows;

use std::{
    env,
    fmt::Write as _,
    fs,
    process::ExitCode,
    sync::mpsc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use shared_context_spin_tests::{
    Kill, Over, Program, Setup,
    suite::{self, App, Test, TestHost},
};
use shared_context_system::{
    Client, Killable, MemoryKills, leases, takeover, tell,
    writers::{self, Account, Writer},
};

use crate::{
    requests::{InitialState, REQUESTS, Request},
    rows::rows,
};

/// The time of all requests, in milliseconds since 1970. The same requests at the same time
/// leave the same rows.
const NOW_MS: u64 = 1_771_596_000_000;
const ROUNDS_DEFAULT: usize = 5;
/// The writes of a writer in a round: few enough that a session's audit trail still has the
/// whole round when it is checked.
const WRITES_MAX: usize = 100;

fn main() -> ExitCode {
    suite::main(&[
        Test::in_emulator("an_aborted_request_is_atomic_over_sqlite", over_sqlite),
        Test::in_emulator("an_aborted_request_is_atomic_over_key_value", over_key_value),
        Test::in_emulator("aborted_writers_lose_no_acknowledged_change", random_aborts),
        Test::anywhere("a_killed_process_loses_no_acknowledged_change", process),
        Test::anywhere("a_killed_process_loses_no_acknowledged_memory", memories),
        Test::anywhere("a_section_whose_owner_is_gone_has_one_new_owner", owner),
        Test::anywhere("a_section_that_agents_contend_for_has_one_owner", owners),
    ])
}

fn over_sqlite(host: &TestHost) {
    check(host, Over::Sqlite);
}

fn over_key_value(host: &TestHost) {
    check(host, Over::KeyValue);
}

/// Aborts the instance of every kind of request before and after each of its calls to
/// storage.
fn check(host: &TestHost, over: Over) {
    let template = tempfile::tempdir().unwrap();
    let app = start(host, over, &template);
    let initial = InitialState::make(&app.admin());
    drop(app);
    let (empty, nothing) = (tempfile::tempdir().unwrap(), InitialState::empty());
    let mut table = "| request | calls to storage | ended | as before | as after |\n\
                     |---|---:|---:|---:|---:|\n"
        .to_owned();
    for request in &REQUESTS {
        let (template, initial) =
            if request.is_first { (&empty, &nothing) } else { (&template, &initial) };
        let [calls, ended, before, after] = check_one(host, over, template, initial, request);
        let name = request.name;
        writeln!(table, "| {name} | {calls} | {ended} | {before} | {after} |").unwrap();
    }
    tell(&format!("\n{over:?}\n{table}"));
}

/// Returns the number of calls of the request, the number of aborts, and how many of these
/// left the rows as before the request and as after it.
fn check_one(
    host: &TestHost,
    over: Over,
    template: &tempfile::TempDir,
    initial: &InitialState,
    request: &Request,
) -> [u64; 4] {
    let folder = copy(template);
    let before = rows(folder.path());
    let app = start(host, over, &folder);
    let calls = app.emulator().calls();
    let status = (request.send)(&app.admin(), initial).status;
    assert_eq!(status, request.status, "{}", request.name);
    let calls = app.emulator().calls() - calls;
    drop(app);
    let after = rows(folder.path());
    assert_eq!(before != after, request.changes, "{}", request.name);
    let mut counts = [calls, 0, 0, 0];
    for kill in (1..=calls).flat_map(|nth| [Kill::Before(nth), Kill::After(nth)]) {
        let what = format!("{} ended {kill:?}", request.name);
        let folder = copy(template);
        let app = start(host, over, &folder);
        app.emulator().kill(kill);
        let answer = (request.send)(&app.admin(), initial);
        assert_eq!((answer.status, &*answer.text), (500, ""), "{what}");
        assert_eq!(app.emulator().killed(), 1, "{what}");
        let left = rows(folder.path());
        assert!(left == before || left == after, "{what}: neither before nor after: {left:#?}");
        let is_done = request.changes && left == after;
        counts[1] += 1;
        counts[if is_done { 3 } else { 2 }] += 1;
        // A retry succeeds, or reports that the change was made.
        let again = (request.send)(&app.admin(), initial);
        assert!(again.status < 500, "{what}, and then: {}", again.text);
        if !is_done {
            assert_eq!(again.status, request.status, "{what}, and then: {}", again.text);
            assert_eq!(rows(folder.path()), after, "{what}, and then done");
        }
        let kept = app.admin().create_session("kept", &serde_json::json!({}));
        kept.write("kept", "scope", "acknowledged").expect(200);
        drop(app);
        let app = start(host, over, &folder);
        let kept = app.admin().with_credential(kept.credential());
        assert_eq!(kept.read("kept", "scope").expect(200)["value"], "acknowledged", "{what}");
    }
    counts
}

fn start(host: &TestHost, over: Over, folder: &tempfile::TempDir) -> App {
    let app = host.start(&host.place().setup(over, folder.path()));
    app.emulator().set_clock(Some(NOW_MS));
    app
}

/// Copies the state in `template` to a new folder, for another start.
fn copy(template: &tempfile::TempDir) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in fs::read_dir(template).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    folder
}

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|it| it.parse().ok())
}

fn rounds() -> usize {
    setting("SHARED_CONTEXT_KILL_ROUNDS").map_or(ROUNDS_DEFAULT, |it| it.try_into().unwrap())
}

fn sessions(count: usize) -> Vec<String> {
    (0..count).map(|nth| format!("session-{nth}")).collect()
}

/// Runs 32 writers, eight per session, whose instances are aborted at random.
fn random_aborts(host: &TestHost) {
    const WRITERS: usize = 32;
    /// A write makes several calls, so each writer gets through much of a round.
    const ONE_CALL_IN: u64 = 150;
    let random = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into();
    let seed = setting("SHARED_CONTEXT_KILL_SEED").unwrap_or_else(random);
    tell(&format!("SHARED_CONTEXT_KILL_SEED={seed}"));
    let folder = tempfile::tempdir().unwrap();
    let app = host.app(&folder);
    let (admin, sessions) = (app.admin(), sessions(4));
    let writers = Writer::spread(&admin, &sessions, WRITERS, 5);
    let mut account = Account::default();
    for round in 0..rounds() {
        let seed = seed.wrapping_add(round.try_into().unwrap());
        app.emulator().kill(Kill::Randomly { seed, one_in: ONE_CALL_IN });
        let (sender, _acknowledged) = mpsc::channel();
        let (mut writes, ()) = writers::run(app.url(), &writers, round, WRITES_MAX, sender, || ());
        app.emulator().kill(Kill::Never);
        if round % 2 == 0 {
            account.send_again(&admin, &writers, &mut writes);
        }
        account.check(&admin, &sessions, &writes);
    }
    let (figures, killed) = (account.figures(), app.emulator().killed());
    assert!(killed > 0 && figures.acknowledged > 100, "{killed} ended: {figures:?}");
    tell(&format!(
        "{WRITERS} writers, {} rounds, {killed} instances ended: {}",
        rounds(),
        summary(&account)
    ));
}

/// Kills the process that runs all instances while eight writers write.
fn process(host: &TestHost) {
    const WRITERS: usize = 8;
    let began = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let setup = host.setup(Over::Sqlite, &folder);
    let mut program = host.program(&setup);
    let sessions = sessions(2);
    let admin = |url: &str| Client::new(url, setup.admin_key());
    let writers = Writer::spread(&admin(program.url()), &sessions, WRITERS, 5);
    let mut account = Account::default();
    for round in 0..rounds() {
        let (sender, acknowledged) = mpsc::channel();
        let url = program.url().to_owned();
        // Each round is killed at another point, and some before the first answer.
        let until = if round % 5 == 4 { 0 } else { 100 + round * 97 % 400 };
        let kill = || {
            assert_eq!(acknowledged.iter().take(until).count(), until);
            program.kill().unwrap();
        };
        let (mut writes, ()) = writers::run(&url, &writers, round, WRITES_MAX, sender, kill);
        program = host.program(&setup);
        let admin = admin(program.url());
        if round % 2 == 0 {
            account.send_again(&admin, &writers, &mut writes);
        }
        account.check(&admin, &sessions, &writes);
    }
    tell(&format!(
        "kill -9, {WRITERS} writers, {} rounds: {}; {} s",
        rounds(),
        summary(&account),
        began.elapsed().as_secs(),
    ));
}

/// A process that runs all instances, and the operator's client.
struct Running {
    program: Program,
    admin: Client,
}

impl Running {
    fn start(host: &TestHost, setup: &Setup) -> Self {
        let program = host.program(setup);
        let admin = Client::new(program.url(), setup.admin_key());
        Self { program, admin }
    }
}

impl Killable for Running {
    fn admin(&self) -> Client {
        self.admin.with_credential(self.admin.credential())
    }

    fn kill(self) {
        self.program.kill().unwrap();
    }
}

/// Kills the process while participants of four sessions add memories to one project.
fn memories(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let setup = host.setup(Over::Sqlite, &folder);
    let kills = MemoryKills { host: "Spin", writers: 4, rounds: 3, batch: 100, batches: 4 };
    kills.check(|| Running::start(host, &setup));
}

/// Kills the process under an agent that owns a section and does not come back in time.
fn owner(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let setup = host.setup(Over::Sqlite, &folder);
    takeover::check("Spin", || Running::start(host, &setup));
}

/// Kills the process under agents that contend for one section.
fn owners(host: &TestHost) {
    let folder = tempfile::tempdir().unwrap();
    let setup = host.setup(Over::Sqlite, &folder);
    leases::check("Spin", || Running::start(host, &setup));
}

fn summary(account: &Account) -> String {
    let figures = account.figures();
    format!(
        "{} acknowledged, lost 0, {} refused for their version; {} in doubt, of them {} sent \
         again under their request id, {} of the others stored",
        figures.acknowledged,
        figures.refused,
        figures.in_doubt,
        figures.sent_again,
        figures.in_doubt_stored,
    )
}
