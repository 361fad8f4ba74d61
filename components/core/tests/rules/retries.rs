//! Retries: a condition that the first try met, and requests that are asked twice.

use shared_context_core::{
    Batch, Code, Command, Condition, Config, Delete, Reply, RequestId, Write, WriteOptions,
    port::Revision, store::expiry::Expiry, time::Timestamp,
};

use crate::{CHIEF, a_delete, ask, delete, key, readers, refused, session, ttl, write};

fn created(key: &str, value: &str, options: WriteOptions) -> Write {
    let condition = Condition { if_version: Some(0), if_revision: None };
    Write { condition, options, ..Write::new(key, value).unwrap() }
}

/// Whoever does not know whether a write happened may write again under the same
/// condition: it succeeds when the entry is just as it was to be.
#[test]
fn a_repeated_conditional_write_finds_its_own_work() {
    let host = session(Config::default());
    let at = WriteOptions {
        expiry: Some(Expiry::At(Timestamp(2_000_000))),
        access: readers(&["*", CHIEF]),
        keeps_history: Some(false),
    };
    let first = Command::Write(created("x", "1", at.clone()));
    let revision = ask(&host, CHIEF, &first).revision;
    let rows = host.rows("");
    assert_eq!(ask(&host, CHIEF, &first).revision, revision);
    assert_eq!(host.rows(""), rows, "it is no change");
    assert_eq!(refused(&host, "subagent:a", &first), Code::VersionConflict, "not their work");

    let others: [(&str, WriteOptions); 4] = [
        ("2", at.clone()),
        ("1", WriteOptions { expiry: Some(Expiry::At(Timestamp(2_000_001))), ..at.clone() }),
        ("1", WriteOptions { access: readers(&["*"]), ..at.clone() }),
        ("1", WriteOptions { keeps_history: Some(true), ..at.clone() }),
    ];
    for (value, options) in others {
        let other = Command::Write(created("x", value, options));
        assert_eq!(refused(&host, CHIEF, &other), Code::VersionConflict, "{other:?}");
    }
    let lasting = Command::Write(created("x", "1", WriteOptions::default()));
    assert_eq!(refused(&host, CHIEF, &lasting), Code::VersionConflict, "that one never expires");
    // From when a life is counted is not repeated, so that it is one is all that counts.
    let counted = created("y", "1", ttl(9));
    let revision = ask(&host, CHIEF, &Command::Write(counted.clone())).revision;
    host.now.set(1_005_000);
    assert_eq!(ask(&host, CHIEF, &Command::Write(counted.clone())).revision, revision);
    assert_eq!(refused(&host, "subagent:a", &Command::Write(counted)), Code::VersionConflict);
}

#[test]
fn a_batch_may_find_some_of_its_work_done() {
    let host = session(Config::default());
    write(&host, "old", "1");
    let a = || created("a", "1", WriteOptions::default());
    let first = ask(&host, CHIEF, &Command::Write(a())).revision;
    let batch = |deletes: Vec<Delete>| {
        let writes = vec![a(), created("b", "1", WriteOptions::default())];
        Command::WriteBatch(Batch::new(writes, deletes, None).unwrap())
    };
    let done = ask(&host, CHIEF, &batch(Vec::new()));
    let Reply::BatchWritten(it) = done.reply else { panic!() };
    let revisions: Vec<_> = it.written.iter().map(|it| it.entry.revision).collect();
    assert_eq!(revisions, [first, first.next()]);
    let again = ask(&host, CHIEF, &batch(Vec::new()));
    assert_eq!(again.revision, done.revision, "all of it is done: no change");
    let gone = Delete { key: key("old"), condition: Condition::default(), request_id: None };
    let third = ask(&host, CHIEF, &batch(vec![gone.clone()])).revision;
    assert_eq!(third, done.revision.next());
    assert_eq!(refused(&host, CHIEF, &batch(vec![gone])), Code::KeyNotFound, "a delete is not");
}

/// The first answer comes back whatever happened since, until the session is over.
#[test]
fn a_repeated_request_is_answered_as_the_first_time() {
    let host = session(Config::default());
    let id = |it: &str| Some(RequestId::parse(it).unwrap());
    let options = WriteOptions {
        expiry: Some(Expiry::At(Timestamp(1_001_000))),
        access: readers(&[CHIEF]),
        ..WriteOptions::default()
    };
    let first = Write { request_id: id("1"), ..created("x", "1", options) };
    let batch = |request_id| {
        let writes = vec![Write::new("y", "1").unwrap(), Write::new("z", "1").unwrap()];
        Command::WriteBatch(Batch::new(writes, Vec::new(), request_id).unwrap())
    };
    let asked = [Command::Write(first.clone()), batch(id("2"))];
    let told: Vec<_> = asked.iter().map(|it| ask(&host, CHIEF, it)).collect();
    delete(&host, "y");
    host.now.set(1_002_000);
    let rows = host.rows("");
    for (command, told) in asked.iter().zip(told) {
        let again = ask(&host, CHIEF, command);
        assert_eq!((again.revision, again.reply), (told.revision, told.reply), "{command:?}");
    }
    assert_eq!(host.rows(""), rows);

    let other = |it: Write| refused(&host, CHIEF, &Command::Write(it));
    let later = WriteOptions { expiry: None, ..first.options.clone() };
    assert_eq!(other(Write { options: later, ..first.clone() }), Code::RequestIdReused);
    let condition = Condition { if_version: None, if_revision: Some(Revision(2)) };
    let edited = WriteOptions { expiry: None, ..first.options.clone() };
    assert_eq!(other(Write { condition, options: edited, ..first.clone() }), Code::RequestIdReused);
    assert_eq!(refused(&host, CHIEF, &batch(id("1"))), Code::RequestIdReused);
    let fresh = Write { request_id: id("3"), ..first };
    assert_eq!(other(fresh), Code::MalformedRequest, "a new request cannot expire in the past");

    ask(&host, "admin", &Command::ArchiveSession);
    assert_eq!(refused(&host, CHIEF, &asked[0]), Code::SessionArchived);
    assert_eq!(refused(&host, CHIEF, &a_delete("z")), Code::SessionArchived);
}
