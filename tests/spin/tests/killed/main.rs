//! Instances that end in the middle of what they do, as they do when Spin stops, a
//! machine fails, or a limit of time or memory is met: what was acknowledged is there,
//! and what was not happened whole or not at all.
//!
//! `SHARED_CONTEXT_KILL_SEED` begins chance where an earlier run did, and
//! `SHARED_CONTEXT_KILL_ROUNDS=10` is the long form.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: whatever is not as it should be fails it"
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
    Kill, Over,
    story::{self, App, Stage, Test},
};
use shared_context_system::{
    Client, tell,
    writers::{self, Account, Writer},
};

use crate::{
    requests::{Prepared, REQUESTS, Request},
    rows::rows,
};

/// When all of it happens, in milliseconds since 1970: the same requests at the same
/// time leave the same rows.
const NOW_MS: u64 = 1_771_596_000_000;
const ROUNDS_DEFAULT: usize = 5;
/// So that a session's audit trail still has a whole round when it is checked.
const WRITES_MAX: usize = 100;

fn main() -> ExitCode {
    story::main(&[
        Test::in_stand_in("a_request_that_ends_at_any_call_happened_or_did_not", over_sqlite),
        Test::in_stand_in("nor_is_it_half_done_over_the_key_value_store", over_key_value),
        Test::in_stand_in("writers_that_end_by_chance_lose_nothing_acknowledged", by_chance),
        Test::anywhere("a_killed_process_has_all_that_was_acknowledged", process),
    ])
}

fn over_sqlite(stage: &Stage) {
    check(stage, Over::Sqlite);
}

fn over_key_value(stage: &Stage) {
    check(stage, Over::KeyValue);
}

/// Ends the instance of every kind of request before and after each of its calls to
/// storage.
fn check(stage: &Stage, over: Over) {
    let template = tempfile::tempdir().unwrap();
    let app = start(stage, over, &template);
    let prepared = Prepared::make(&app.admin());
    drop(app);
    let (empty, nothing) = (tempfile::tempdir().unwrap(), Prepared::nothing());
    let mut table = "| request | calls to storage | ended | as before | as after |\n\
                     |---|---:|---:|---:|---:|\n"
        .to_owned();
    for request in &REQUESTS {
        let (template, prepared) =
            if request.is_first { (&empty, &nothing) } else { (&template, &prepared) };
        let [calls, ended, before, after] = check_one(stage, over, template, prepared, request);
        let name = request.name;
        writeln!(table, "| {name} | {calls} | {ended} | {before} | {after} |").unwrap();
    }
    tell(&format!("\n{over:?}\n{table}"));
}

/// Returns how many calls the request makes, how often it was ended, and how often that
/// left everything as it was before it, and as it is after it.
fn check_one(
    stage: &Stage,
    over: Over,
    template: &tempfile::TempDir,
    prepared: &Prepared,
    request: &Request,
) -> [u64; 4] {
    let folder = copy(template);
    let before = rows(folder.path());
    let app = start(stage, over, &folder);
    let calls = app.stand_in().calls();
    let status = (request.send)(&app.admin(), prepared).status;
    assert_eq!(status, request.status, "{}", request.name);
    let calls = app.stand_in().calls() - calls;
    drop(app);
    let after = rows(folder.path());
    assert_eq!(before != after, request.changes, "{}", request.name);
    let mut counts = [calls, 0, 0, 0];
    for kill in (1..=calls).flat_map(|nth| [Kill::Before(nth), Kill::After(nth)]) {
        let what = format!("{} ended {kill:?}", request.name);
        let folder = copy(template);
        let app = start(stage, over, &folder);
        app.stand_in().kill(kill);
        let answer = (request.send)(&app.admin(), prepared);
        assert_eq!((answer.status, &*answer.text), (500, ""), "{what}");
        assert_eq!(app.stand_in().killed(), 1, "{what}");
        let left = rows(folder.path());
        assert!(left == before || left == after, "{what}: neither before nor after: {left:#?}");
        let is_done = request.changes && left == after;
        counts[1] += 1;
        counts[if is_done { 3 } else { 2 }] += 1;
        // Who asks again gets there, or is told that it is done.
        let again = (request.send)(&app.admin(), prepared);
        assert!(again.status < 500, "{what}, and then: {}", again.text);
        if !is_done {
            assert_eq!(again.status, request.status, "{what}, and then: {}", again.text);
            assert_eq!(rows(folder.path()), after, "{what}, and then done");
        }
        let kept = app.admin().create_session("kept", &serde_json::json!({}));
        kept.write("kept", "scope", "acknowledged").expect(200);
        drop(app);
        let app = start(stage, over, &folder);
        let kept = app.admin().with_credential(kept.credential());
        assert_eq!(kept.read("kept", "scope").expect(200)["value"], "acknowledged", "{what}");
    }
    counts
}

fn start(stage: &Stage, over: Over, folder: &tempfile::TempDir) -> App {
    let app = stage.start(&stage.place().setup(over, folder.path()));
    app.stand_in().set_clock(Some(NOW_MS));
    app
}

/// Returns what is stored in `template`, for one more start.
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

/// 32 writers, eight to a session, whose instances end by chance.
fn by_chance(stage: &Stage) {
    const WRITERS: usize = 32;
    /// A write is some calls long, so this is a good part of a round for each writer.
    const ONE_CALL_IN: u64 = 150;
    let chance = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into();
    let seed = setting("SHARED_CONTEXT_KILL_SEED").unwrap_or_else(chance);
    tell(&format!("SHARED_CONTEXT_KILL_SEED={seed}"));
    let folder = tempfile::tempdir().unwrap();
    let app = stage.app(&folder);
    let (admin, sessions) = (app.admin(), sessions(4));
    let writers = Writer::spread(&admin, &sessions, WRITERS, 5);
    let mut account = Account::default();
    for round in 0..rounds() {
        let seed = seed.wrapping_add(round.try_into().unwrap());
        app.stand_in().kill(Kill::Randomly { seed, one_in: ONE_CALL_IN });
        let (told, _acknowledged) = mpsc::channel();
        let (mut writes, ()) = writers::run(app.url(), &writers, round, WRITES_MAX, told, || ());
        app.stand_in().kill(Kill::Never);
        if round % 2 == 0 {
            account.send_again(&admin, &writers, &mut writes);
        }
        account.check(&admin, &sessions, &writes);
    }
    let (figures, killed) = (account.figures(), app.stand_in().killed());
    assert!(killed > 0 && figures.acknowledged > 100, "{killed} ended: {figures:?}");
    tell(&format!(
        "{WRITERS} writers, {} rounds, {killed} instances ended: {}",
        rounds(),
        of(&account)
    ));
}

/// The process that runs all instances is killed under eight writers.
fn process(stage: &Stage) {
    const WRITERS: usize = 8;
    let began = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let setup = stage.setup(Over::Sqlite, &folder);
    let mut program = stage.program(&setup);
    let sessions = sessions(2);
    let admin = |url: &str| Client::new(url, setup.admin_key());
    let writers = Writer::spread(&admin(program.url()), &sessions, WRITERS, 5);
    let mut account = Account::default();
    for round in 0..rounds() {
        let (told, acknowledged) = mpsc::channel();
        let url = program.url().to_owned();
        // Each round dies at another place, and some before the first answer.
        let until = if round % 5 == 4 { 0 } else { 100 + round * 97 % 400 };
        let kill = || {
            assert_eq!(acknowledged.iter().take(until).count(), until);
            program.kill().unwrap();
        };
        let (mut writes, ()) = writers::run(&url, &writers, round, WRITES_MAX, told, kill);
        program = stage.program(&setup);
        let admin = admin(program.url());
        if round % 2 == 0 {
            account.send_again(&admin, &writers, &mut writes);
        }
        account.check(&admin, &sessions, &writes);
    }
    tell(&format!(
        "kill -9, {WRITERS} writers, {} rounds: {}; {} s",
        rounds(),
        of(&account),
        began.elapsed().as_secs(),
    ));
}

fn of(account: &Account) -> String {
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
