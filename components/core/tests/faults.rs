//! What storage may do to a session, case by case, and what is logged and kept
//! of its changes.

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

/// Puts `bytes` in the place of what is stored in `row`.
fn damage(host: &TestHost, row: &str, bytes: &[u8]) {
    let mut bucket = host.kv.open("session/s").unwrap();
    let change = Change::Put(row.to_owned(), bytes.to_vec());
    bucket.commit(bucket.revision(), vec![change]).unwrap();
}

/// Whether or not the lost commit happened, what a read then shows is what the
/// next write builds on.
#[test]
fn versions_stay_true_after_a_failed_commit() {
    for (failure, next) in [(Failure::BeforeCommit, 2), (Failure::AfterCommit, 3)] {
        let host = created();
        assert_eq!(write(&host, "scope", "a"), Ok(1));
        host.fail_next.set(Some(failure));
        assert_eq!(write(&host, "scope", "b"), Err(Code::StorageUnavailable));
        assert_eq!(write(&host, "scope", "c"), Ok(next));
    }
}

/// Both are `STORAGE_UNAVAILABLE`, and an agent must do different things: a reader
/// was once told that its change may have been made.
#[test]
fn only_a_failed_commit_leaves_in_doubt_whether_the_change_was_made() {
    let host = created();
    let command = Command::Write(Write::new("scope", "a").unwrap());
    host.fail_next.set(Some(Failure::BeforeCommit));
    let in_doubt = host.ask("orchestrator", &command).unwrap_err();
    assert!(in_doubt.to_string().contains("is not known; read before"), "{in_doubt}");
    // A full disk took nothing, and was answered as one that may have.
    host.fail_next.set(Some(Failure::Unchanged));
    let unstored = host.ask("orchestrator", &command).unwrap_err();
    assert!(unstored.to_string().contains("nothing was changed, try again"), "{unstored}");
    assert_eq!(unstored.code(), in_doubt.code());
    damage(&host, "meta", b"\x63rest");
    let unread = host.ask("orchestrator", &command).unwrap_err();
    assert!(unread.to_string().contains("nothing was changed, try again"), "{unread}");
    assert_eq!(unread.code(), in_doubt.code());
}

/// Where reads are none of a transaction, a bucket may change between two of them.
/// Whichever read is told so, the command is decided anew and answers as ever.
#[test]
fn a_bucket_that_moves_between_two_reads_is_read_anew() {
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

/// Where reads are none of a transaction, the read that tells whether a request was
/// answered before could be overtaken as any other. It was passed over then, and
/// the retry refused for what the first had made of the session: that its instant
/// has passed, or that the key is closed to the one who closed it.
#[test]
fn a_retry_is_answered_as_the_first_time_whichever_read_moves() {
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

/// A reader is not kept for ever; nothing has changed then.
#[test]
fn a_bucket_that_moves_all_the_while_is_given_up() {
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
fn only_what_was_committed_is_logged() {
    let host = created();
    host.fail_next.set(Some(Failure::BeforeCommit));
    assert_eq!(write(&host, "scope", "secret"), Err(Code::StorageUnavailable));
    assert_eq!(write(&host, "scope", &"x".repeat(4_001)), Err(Code::ValueTooLarge));
    assert_eq!(host.log.borrow().len(), 1, "the creation");
    assert_eq!(write(&host, "scope", "secret"), Ok(1));
    let log = format!("{:?}", host.log.borrow());
    assert!(log.contains("scope") && !log.contains("secret"), "{log}");
}

/// A row that is not what was stored is an error of storage, never a panic and
/// never an empty answer.
#[test]
fn damaged_rows_are_refused() {
    let long = "x".repeat(300);
    for row in ["meta", "k/scope", "v/scope/0000000000000002"] {
        for bytes in [&b""[..], b"\x01", b"\x02", b"\x63rest", b"\xff\xfe", long.as_bytes()] {
            let host = created();
            write(&host, "scope", "a").unwrap();
            damage(&host, row, bytes);
            let key = Key::parse("scope").unwrap();
            let answer = host.ask("orchestrator", &Command::Read { key, if_changed_since: None });
            // A value has no format: any text is one.
            let is_text = row.starts_with('v') && str::from_utf8(bytes).is_ok();
            match answer {
                Ok(_) => assert!(is_text, "{row} {bytes:?}"),
                Err(err) => assert!(matches!(err, Error::Unread(_)), "{row} {bytes:?} {err:?}"),
            }
        }
    }
}

/// Whatever one row of a session has become, nothing panics, and what fails says
/// that it is storage.
#[test]
fn any_row_may_be_damaged_and_nothing_panics() {
    let label = || Label::parse("before").unwrap();
    let key = || Key::parse("scope").unwrap();
    let commands = [
        Command::Export,
        Command::Inspect,
        Command::Changes { since: None, limit: 1_000, keys: None },
        Command::Audit { since: Revision(0), limit: 1_000 },
        Command::ReadHistory { key: key(), versions: Vec::new() },
        Command::ReadSnapshot { label: label(), key: None },
        Command::Prompt { participant: None, max_tokens: None },
        Command::RestoreSnapshot(label()),
        Command::DeleteSnapshot(label()),
        Command::Sweep,
        Command::Write(Write::new("scope", "new").unwrap()),
    ];
    let whole = golden::opened("format-2", golden::FORMAT_2_REVISION);
    for (row, good) in whole.rows("") {
        let half = good.get(..good.len() / 2).unwrap();
        for bytes in [&b""[..], b"\x02", b"\x03\x01", half, b"\xff\xfe"] {
            for command in &commands {
                let host = golden::opened("format-2", golden::FORMAT_2_REVISION - 1);
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
fn request_ids_and_versions_are_kept_for_a_bounded_time() {
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
fn each_participant_has_request_ids_of_its_own() {
    let host = created();
    for who in ["orchestrator", "subagent:a", "subagent:a:1"] {
        let mut write = Write::new("scope", who).unwrap();
        write.request_id = Some(RequestId::parse("1").unwrap());
        host.ask(who, &Command::Write(write)).unwrap();
    }
}

/// postcard reads a record and leaves what stands behind it: a row with something at
/// its end, as when one record was laid over a longer one, was answered from as if it
/// were whole. The fuzz target `records` found it.
#[test]
fn a_record_with_something_behind_it_is_damaged() {
    let scope = || Key::parse("scope").unwrap();
    for (row, command) in [
        ("meta", Command::ShowSession),
        ("access", Command::ListKeys { prefix: None, if_changed_since: None }),
        ("k/scope", Command::Read { key: scope(), if_changed_since: None }),
        ("s/000000000000000d", Command::ListSnapshots),
        ("c/0000000000000010", Command::Audit { since: Revision(0), limit: 1_000 }),
    ] {
        let host = golden::opened("format-2", golden::FORMAT_2_REVISION);
        assert!(host.ask("admin", &command).is_ok(), "{row}");
        let rows = host.rows(row);
        damage(&host, row, &[&rows[0].1[..], b"\0"].concat());
        let refused = host.ask("admin", &command).unwrap_err();
        assert_eq!(refused.code(), Code::StorageUnavailable, "{row}");
    }
}

/// The caller's condition is decided on the state the commit finds, not on the
/// one it was first read from.
#[test]
fn a_condition_is_decided_anew_after_a_conflict() {
    let host = created();
    write(&host, "scope", "a").unwrap();
    host.fail_next.set(Some(Failure::Conflict));
    let mut conditional = Write::new("scope", "b").unwrap();
    conditional.condition = Condition { if_version: Some(1), if_revision: None };
    assert!(host.ask("orchestrator", &Command::Write(conditional.clone())).is_ok());
    conditional.value = "c".to_owned();
    let refused = host.ask("orchestrator", &Command::Write(conditional)).unwrap_err();
    assert_eq!(refused.code(), Code::VersionConflict);
}
