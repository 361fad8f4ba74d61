//! Conditions that do not hold, and requests that are asked twice.

use shared_context_core::{
    Batch, Code, Command, Condition, Config, RequestId, Write, WriteOptions, port::Revision,
    store::expiry::Expiry, time::Timestamp,
};

use crate::{CHIEF, a_delete, ask, delete, readers, refused, session, ttl, write};

fn created(key: &str, value: &str, options: WriteOptions) -> Write {
    let condition = Condition { if_version: Some(0), if_revision: None };
    Write { condition, options, ..Write::new(key, value).unwrap() }
}

/// Compare-and-set once was none between callers of one participant: a failed
/// condition counted as met when the entry already was what was to be written. Eight
/// callers all took one lock, and of 480 acknowledged increments 119 were counted.
#[test]
fn a_failed_condition_is_a_conflict_whatever_is_there() {
    let host = session(Config::default());
    for (key, options) in [("plain", WriteOptions::default()), ("lease", ttl(9))] {
        let first = Command::Write(created(key, "held", options.clone()));
        ask(&host, CHIEF, &first);
        let rows = host.rows("");
        assert_eq!(refused(&host, CHIEF, &first), Code::VersionConflict, "{key}");
        let batch = Batch::new(vec![created(key, "held", options)], Vec::new(), None).unwrap();
        assert_eq!(refused(&host, CHIEF, &Command::WriteBatch(batch)), Code::VersionConflict);
        assert_eq!(host.rows(""), rows, "a refusal is no change");
    }
}

/// A stale batch once passed its fence when the fence held the value it wrote, and
/// overwrote newer state.
#[test]
fn a_stale_batch_does_not_pass_its_fence() {
    let host = session(Config::default());
    write(&host, "fence", "1");
    let seen = ask(&host, CHIEF, &Command::Write(Write::new("fence", "2").unwrap())).revision;
    let fence = |at: Revision| {
        let condition = Condition { if_version: None, if_revision: Some(at) };
        let fence = Write { condition, ..Write::new("fence", "2").unwrap() };
        let writes = vec![fence, Write::new("state", "x").unwrap()];
        Command::WriteBatch(Batch::new(writes, Vec::new(), None).unwrap())
    };
    let newer = ask(&host, CHIEF, &fence(seen)).revision;
    let rows = host.rows("");
    assert_eq!(refused(&host, CHIEF, &fence(seen)), Code::VersionConflict);
    assert_eq!(host.rows(""), rows);
    // The same value in an entry of the same key that was created anew is another one.
    delete(&host, "fence");
    write(&host, "fence", "2");
    assert_eq!(refused(&host, CHIEF, &fence(newer)), Code::VersionConflict);
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
