//! Tests of storage failures, of the audit log, and of retention.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/golden.rs"]
mod golden;
mod support;

use shared_context_core::{
    Batch, Code, Command, Condition, Error, Key, Label, Outcome, Reply, RequestId, Write,
    pattern::{ParticipantPattern, Participants},
    port::{Bucket, Change, Kv, Revision},
    store::{access::AccessChange, expiry::Expiry},
    time::Timestamp,
};
use support::{Failure, TestHost};

fn created() -> TestHost {
    let host = TestHost::default();
    host.ask("admin", &Command::CreateSession(Box::default())).unwrap();
    host
}

fn write(host: &TestHost, key: &str, value: &str) -> Result<u64, Code> {
    let command = Command::Write(Write::new(key, value).unwrap());
    match host.ask("orchestrator", &command) {
        Ok(Outcome { reply: Reply::Written(it), .. }) => Ok(it.entry.version),
        Ok(other) => panic!("{other:?}"),
        Err(err) => Err(err.code()),
    }
}

/// Overwrites `row` with `bytes`.
fn damage(host: &TestHost, row: &str, bytes: &[u8]) {
    let mut bucket = host.kv.open("session/s").unwrap();
    let change = Change::Put(row.to_owned(), bytes.to_vec());
    bucket.commit(bucket.revision(), vec![change]).unwrap();
}

/// The next write builds on the state that a read shows, whether the unknown commit
/// happened or not.
#[test]
fn versions_are_correct_after_a_failed_commit() {
    for (failure, next) in [(Failure::BeforeCommit, 2), (Failure::AfterCommit, 3)] {
        let host = created();
        assert_eq!(write(&host, "scope", "a"), Ok(1));
        host.fail_next.set(Some(failure));
        assert_eq!(write(&host, "scope", "b"), Err(Code::StorageUnavailable));
        assert_eq!(write(&host, "scope", "c"), Ok(next));
    }
}

/// Both are `STORAGE_UNAVAILABLE`, but an agent must react differently: the error of a
/// read once said that the change may have been made.
#[test]
fn only_a_failed_commit_has_an_unknown_result() {
    let host = created();
    let command = Command::Write(Write::new("scope", "a").unwrap());
    host.fail_next.set(Some(Failure::BeforeCommit));
    let in_doubt = host.ask("orchestrator", &command).unwrap_err();
    assert!(in_doubt.to_string().contains("is not known; read before"), "{in_doubt}");
    // A full disk stores nothing, but was once reported as an unknown result.
    host.fail_next.set(Some(Failure::Unchanged));
    let unstored = host.ask("orchestrator", &command).unwrap_err();
    assert!(unstored.to_string().contains("nothing was changed, try again"), "{unstored}");
    assert_eq!(unstored.code(), in_doubt.code());
    damage(&host, "meta", b"\x63rest");
    let unread = host.ask("orchestrator", &command).unwrap_err();
    assert!(unread.to_string().contains("nothing was changed, try again"), "{unread}");
    assert_eq!(unread.code(), in_doubt.code());
}

/// Without a read transaction, a bucket may change between two reads. Whichever read
/// returns `Moved`, the command is retried and has its usual result.
#[test]
fn a_command_is_retried_when_the_bucket_moves() {
    let key = || Key::parse("scope").unwrap();
    let commands = [
        Command::Read { key: key(), if_changed_since: None },
        Command::ListKeys { prefix: None, if_changed_since: None },
        Command::ReadHistory { key: key(), versions: Vec::new() },
        Command::Write(Write::new("scope", "c").unwrap()),
        Command::TakeSnapshot { label: Label::parse("l").unwrap(), note: None },
        Command::Export,
        Command::DeleteSession,
    ];
    for command in commands {
        let who = match command {
            Command::Export | Command::DeleteSession => "admin",
            _ => "orchestrator",
        };
        let prepared = || {
            let host = created();
            assert_eq!(write(&host, "scope", "a"), Ok(1));
            assert_eq!(write(&host, "scope", "b"), Ok(2));
            host
        };
        let undisturbed = prepared().ask(who, &command).unwrap();
        let mut reads = 0;
        loop {
            let host = prepared();
            host.moves_after.set(Some(reads));
            let outcome = host.ask(who, &command).unwrap();
            assert_eq!(outcome, undisturbed, "{command:?} at read {reads}");
            if host.moves_after.get().is_some() {
                break;
            }
            reads += 1;
        }
        assert!(reads > 0, "{command:?} reads");
    }
}

/// Without a read transaction, the read that looks for a stored reply can return `Moved`
/// too. Its result was once ignored. The retry was then rejected because of the first
/// request's effects: its expiry had passed, or the key was closed to its writer.
#[test]
fn a_retry_gets_the_first_reply_whichever_read_moves() {
    let mut write = Write::new("scope", "a").unwrap();
    write.options.expiry = Some(Expiry::At(Timestamp(1_000)));
    write.options.access = AccessChange {
        writable_by: Some(
            Participants::new(vec![ParticipantPattern::parse("orchestrator").unwrap()]).unwrap(),
        ),
        ..AccessChange::default()
    };
    write.request_id = Some(RequestId::parse("r").unwrap());
    let batch = Batch::new(
        vec![Write { request_id: None, ..write.clone() }],
        Vec::new(),
        write.request_id.clone(),
    );
    let commands = [Command::Write(write), Command::WriteBatch(batch.unwrap())];
    for (command, now) in commands.iter().flat_map(|it| [(it, 500), (it, 1_000)]) {
        let mut reads = 0;
        loop {
            let host = created();
            let first = host.ask("subagent:a", command).unwrap();
            host.now.set(now);
            host.moves_after.set(Some(reads));
            let again = host.ask("subagent:a", command).map(|it| it.reply);
            assert_eq!(again, Ok(first.reply), "{command:?} at {now}, read {reads}");
            if host.moves_after.get().is_some() {
                break;
            }
            reads += 1;
        }
        assert!(reads > 1, "the session and the request");
    }
}

/// Retries are limited; nothing has changed when they end.
#[test]
fn a_bucket_that_always_moves_is_an_error() {
    let host = created();
    host.moves_on.set(true);
    host.moves_after.set(Some(0));
    let key = Key::parse("scope").unwrap();
    let read = Command::Read { key, if_changed_since: None };
    assert_eq!(host.ask("orchestrator", &read), Err(Error::Overtaken));
    host.moves_after.set(None);
    assert_eq!(write(&host, "scope", "a"), Ok(1));
}

#[test]
fn only_committed_changes_are_logged() {
    let host = created();
    host.fail_next.set(Some(Failure::BeforeCommit));
    assert_eq!(write(&host, "scope", "secret"), Err(Code::StorageUnavailable));
    assert_eq!(write(&host, "scope", &"x".repeat(4_001)), Err(Code::ValueTooLarge));
    assert_eq!(host.log.borrow().len(), 1, "the creation");
    assert_eq!(write(&host, "scope", "secret"), Ok(1));
    let log = format!("{:?}", host.log.borrow());
    assert!(log.contains("scope") && !log.contains("secret"), "{log}");
}

/// A damaged row is a storage error, never a panic or an empty reply.
#[test]
fn damaged_rows_are_rejected() {
    let long = "x".repeat(300);
    for row in ["meta", "k/scope", "v/scope/0000000000000002"] {
        for bytes in [&b""[..], b"\x01", b"\x02", b"\x63rest", b"\xff\xfe", long.as_bytes()] {
            let host = created();
            write(&host, "scope", "a").unwrap();
            damage(&host, row, bytes);
            let key = Key::parse("scope").unwrap();
            let answer = host.ask("orchestrator", &Command::Read { key, if_changed_since: None });
            // A value has no format: any text is valid.
            let is_text = row.starts_with('v') && str::from_utf8(bytes).is_ok();
            match answer {
                Ok(_) => assert!(is_text, "{row} {bytes:?}"),
                Err(err) => assert!(matches!(err, Error::Unread(_)), "{row} {bytes:?} {err:?}"),
            }
        }
    }
}

/// With any one row damaged, nothing panics, and failures are reported as storage errors.
#[test]
fn no_damaged_row_causes_a_panic() {
    let label = || Label::parse("before").unwrap();
    let key = || Key::parse("scope").unwrap();
    let commands = [
        Command::Export,
        Command::Inspect,
        Command::Changes { since: None, limit: 1_000, keys: None, except_own: false },
        Command::Audit { after: Revision(0), limit: 1_000 },
        Command::ReadHistory { key: key(), versions: Vec::new() },
        Command::ReadSnapshot { label: label(), key: None },
        Command::Prompt { participant: None, max_tokens: None },
        Command::RestoreSnapshot(label()),
        Command::DeleteSnapshot(label()),
        Command::Sweep,
        Command::Write(Write::new("scope", "new").unwrap()),
    ];
    let whole = golden::host_with("format-2", golden::FORMAT_2_REVISION);
    for (row, good) in whole.rows("") {
        let half = good.get(..good.len() / 2).unwrap();
        for bytes in [&b""[..], b"\x02", b"\x03\x01", half, b"\xff\xfe"] {
            for command in &commands {
                let host = golden::host_with("format-2", golden::FORMAT_2_REVISION - 1);
                damage(&host, &row, bytes);
                for who in ["admin", "orchestrator", "subagent:a"] {
                    let answer = host.ask(who, command).map_err(|err| err.code());
                    let is_refused = matches!(
                        answer,
                        Err(Code::StorageUnavailable | Code::Forbidden | Code::SnapshotNotFound)
                    );
                    assert!(answer.is_ok() || is_refused, "{row} {command:?} {answer:?}");
                }
            }
        }
    }
}

#[test]
fn request_ids_and_versions_are_retained_for_a_bounded_time() {
    let host = created();
    let with_id = |n: u32| {
        let mut write = Write::new("counter", n.to_string()).unwrap();
        write.request_id = Some(RequestId::parse(&format!("r{n}")).unwrap());
        Command::Write(write)
    };
    for n in 0..1_200 {
        host.ask("orchestrator", &with_id(n)).unwrap();
    }
    assert_eq!(host.rows("c/").len(), 1_201, "the audit trail goes back further than the feed");
    assert_eq!(host.rows("q/").len(), 256);
    assert_eq!(host.rows("v/").len(), 11, "the entry and ten earlier versions");
    assert_eq!(host.log.borrow().len(), 1_201);

    let again = |n| host.ask("orchestrator", &with_id(n)).unwrap().revision;
    assert_eq!(again(1_199), Revision(1_201), "the last is remembered");
    assert_eq!(again(944), Revision(946), "the oldest of 256 is remembered");
    assert_eq!(again(943), Revision(1_202), "the one before is a new request");
    assert_eq!(host.rows("q/").len(), 256);
}

#[test]
fn each_participant_has_its_own_request_ids() {
    let host = created();
    for who in ["orchestrator", "subagent:a", "subagent:a:1"] {
        let mut write = Write::new("scope", who).unwrap();
        write.request_id = Some(RequestId::parse("1").unwrap());
        host.ask(who, &Command::Write(write)).unwrap();
    }
}

/// postcard ignores bytes after a record. A row with trailing bytes, as when one record
/// partly overwrites a longer one, was once read as if it were valid. The fuzz target
/// `records` found it.
#[test]
fn a_record_with_trailing_bytes_is_damaged() {
    let scope = || Key::parse("scope").unwrap();
    for (row, command) in [
        ("meta", Command::ShowSession),
        ("access", Command::ListKeys { prefix: None, if_changed_since: None }),
        ("k/scope", Command::Read { key: scope(), if_changed_since: None }),
        ("s/000000000000000d", Command::ListSnapshots),
        ("c/0000000000000010", Command::Audit { after: Revision(0), limit: 1_000 }),
    ] {
        let host = golden::host_with("format-2", golden::FORMAT_2_REVISION);
        assert!(host.ask("admin", &command).is_ok(), "{row}");
        let rows = host.rows(row);
        damage(&host, row, &[&rows[0].1[..], b"\0"].concat());
        let rejected = host.ask("admin", &command).unwrap_err();
        assert_eq!(rejected.code(), Code::StorageUnavailable, "{row}");
    }
}

/// The condition is checked against the state the commit finds, not the one first read.
#[test]
fn a_condition_is_checked_again_after_a_conflict() {
    let host = created();
    write(&host, "scope", "a").unwrap();
    host.fail_next.set(Some(Failure::Conflict));
    let mut conditional = Write::new("scope", "b").unwrap();
    conditional.condition = Condition { if_version: Some(1), if_revision: None };
    assert!(host.ask("orchestrator", &Command::Write(conditional.clone())).is_ok());
    conditional.value = "c".to_owned();
    let rejected = host.ask("orchestrator", &Command::Write(conditional)).unwrap_err();
    assert_eq!(rejected.code(), Code::VersionConflict);
}
