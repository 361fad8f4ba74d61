//! Damaged rows of a project: a request succeeds or is an error that changes nothing, and never a
//! panic.

use shared_context_core::{
    Code, Command, MemoriesCommand, ProjectCommand, ProjectId, check_project_rows,
    memories::{Mark, MemoryRef, UpdateMemory},
    port::{Bucket, Change, Kv, Row},
};

use crate::{
    AGENT, DAY, START, add, add_all, ask, change, command, decision, id, issue, later, learning,
    mark, project, read, rehydration, search, state, supersede, support::TestHost, update, words,
};

/// Returns a project with a row of each kind.
fn populated() -> TestHost {
    let host = project();
    let who = "orchestrator in s1";
    let old = add(&host, who, decision("Tokens", "Sign them with RS256")).id;
    let new = add(&host, who, decision("Tokens", "Sign them with EdDSA")).id;
    ask(&host, who, supersede(old, new));
    let lesson = add(&host, "subagent:a in s1", learning("Pools", "They run dry")).id;
    let title = Some("Pools of connections".to_owned());
    ask(&host, AGENT, change(UpdateMemory { title, ..update(lesson) }));
    add_all(&host, who, vec![issue("Login", crate::Severity::High), state("Now", 40)]);
    read(&host, who, lesson);
    let new = vec![learning("Retries", "Back off").checked().unwrap()];
    host.ask_project(who, &crate::named("r1", MemoriesCommand::Add(new))).unwrap();
    host
}

/// Returns requests of every kind, with their callers.
fn requests(host: &TestHost) -> Vec<(&'static str, Command)> {
    let first = MemoryRef::parse("DEC-2026-02-20-001").unwrap();
    let all = crate::find(host, search()).found;
    let ids: Vec<_> = all.iter().map(|it| it.memory.id).collect();
    let title = Some("Next".to_owned());
    let reason = shared_context_core::Line::parse("reason", "a name").unwrap();
    let new = vec![learning("Retries", "Back off").checked().unwrap()];
    let memories = vec![
        MemoriesCommand::Search(Box::new(words("pools tokens"))),
        MemoriesCommand::Read(vec![first, id(ids[0])]),
        MemoriesCommand::Rehydrate(rehydration(2_000, Some("tokens"))),
        MemoriesCommand::DecisionLog { limit: 10 },
        MemoriesCommand::Maintain { is_dry_run: true },
        MemoriesCommand::Add(vec![learning("Pools", "They run dry again").checked().unwrap()]),
        change(UpdateMemory { title, ..update(ids[1]) }),
        mark(&ids, Mark::Deleted),
        mark(&ids, Mark::Active),
        MemoriesCommand::Redact { id: id(ids[2]), reason },
        MemoriesCommand::Maintain { is_dry_run: false },
    ];
    let mut all = vec![("orchestrator in s1", crate::named("r1", MemoriesCommand::Add(new)))];
    all.extend(memories.into_iter().map(|it| ("orchestrator in s1", command(it))));
    let changes = ProjectCommand::Changes { since: None, limit: 100 };
    all.push(("admin", Command::Project(changes)));
    all.push(("admin", Command::Project(ProjectCommand::Show)));
    all.push(("admin", Command::Project(ProjectCommand::Archive)));
    all
}

/// Returns damaged forms of a row: cut, longer, of another format, and with bits that are flipped.
fn damaged(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let step = (bytes.len() / 12).max(1);
    all.extend((0..bytes.len()).step_by(step).map(|it| bytes[..it].to_vec()));
    all.extend([[bytes, &[0]].concat(), [bytes, &[0xFF; 30]].concat()]);
    for at in (0..bytes.len()).step_by(step).chain([0, 1, bytes.len() - 1]) {
        for flipped in [0x01, 0x80, 0xFF] {
            let mut other = bytes.to_vec();
            other[at] ^= flipped;
            all.push(other);
        }
    }
    all
}

fn set_row(host: &TestHost, row: &str, bytes: Vec<u8>) {
    let mut bucket = host.kv.open("project/p").unwrap();
    bucket.commit(bucket.revision(), vec![Change::Put(row.to_owned(), bytes)]).unwrap();
}

/// A memory whose id was damaged was counted under another number, and the next request asked for
/// 64 GiB of memory.
#[test]
fn damage_is_an_error_that_changes_nothing_or_an_answer() {
    let host = populated();
    let (rows, requests) = (host.project_rows(""), requests(&host));
    let kinds = ["c/", "i/", "m/", "meta", "n/", "q/", "s/", "u/", "v/"];
    assert!(kinds.iter().all(|kind| rows.iter().any(|it| it.0.starts_with(kind))), "{rows:?}");
    let (mut errors, mut answers) = (0, 0);
    let is_tried = |row: &&Row| !row.0.starts_with("c/") || row.0.ends_with('5');
    for (row, bytes) in rows.iter().filter(is_tried) {
        for (nth, other) in damaged(bytes).into_iter().enumerate() {
            // All requests in a row, the first of them another one each time.
            let host = populated();
            set_row(&host, row, other);
            let first = nth % requests.len();
            later(&host, DAY * 40);
            for (who, request) in requests[first..].iter().chain(&requests[..first]) {
                let before = host.project_rows("");
                if host.ask_project(who, request).is_ok() {
                    answers += 1;
                } else {
                    errors += 1;
                    assert_eq!(host.project_rows(""), before, "{row} {request:?}");
                }
            }
        }
    }
    println!("{answers} answers and {errors} errors over damaged rows");
    assert!(errors > 100 && answers > 100);
    assert_eq!(host.now.get(), START);
}

/// A row that is cut or longer is never read as a whole one.
#[test]
fn a_row_that_is_cut_or_longer_is_found() {
    let host = populated();
    let project = ProjectId::new("p").unwrap();
    let all = host.project_rows("");
    check_project_rows(&project, &all).unwrap();
    for (nth, (row, bytes)) in all.iter().enumerate() {
        if row.starts_with("c/") || row.starts_with("q/") {
            continue;
        }
        let cuts = (0..bytes.len()).map(|it| bytes[..it].to_vec());
        for other in cuts.chain([[bytes.as_slice(), &[0]].concat()]) {
            let mut rows = all.clone();
            rows[nth].1.clone_from(&other);
            let found = check_project_rows(&project, &rows);
            // A page of sketches may end with memories that are gone.
            let is_same = row.starts_with("n/") && found.is_ok() && other.len() > bytes.len();
            let code = found.err().map(|it| it.code());
            assert!(is_same || code == Some(Code::StorageUnavailable), "{row} {}", other.len());
        }
    }
}
