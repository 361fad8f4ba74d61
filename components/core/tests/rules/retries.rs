//! Tests of failed conditions and repeated requests.

use shared_context_core::{
    Batch, Code, Command, Condition, Config, Key, Label, Line, Reply, RequestId, Write,
    WriteOptions, port::Revision, store::expiry::Expiry, time::Timestamp,
};

use crate::{ORCHESTRATOR, a_delete, ask, delete, error_code, readers, session, ttl, write};

fn created(key: &str, value: &str, options: WriteOptions) -> Write {
    let condition = Condition { if_version: Some(0), if_revision: None };
    Write { condition, options, ..Write::new(key, value).unwrap() }
}

/// Compare-and-set once failed between callers of one participant: a failed condition
/// counted as met if the entry already had the new value. Eight callers all acquired one
/// lock, and of 480 acknowledged increments 119 were counted.
#[test]
fn a_failed_condition_is_a_conflict_for_any_value() {
    let host = session(Config::default());
    for (key, options) in [("plain", WriteOptions::default()), ("lease", ttl(9))] {
        let first = Command::Write(created(key, "held", options.clone()));
        ask(&host, ORCHESTRATOR, &first);
        let rows = host.rows("");
        assert_eq!(error_code(&host, ORCHESTRATOR, &first), Code::VersionConflict, "{key}");
        let batch = Batch::new(vec![created(key, "held", options)], Vec::new(), None).unwrap();
        assert_eq!(
            error_code(&host, ORCHESTRATOR, &Command::WriteBatch(batch)),
            Code::VersionConflict
        );
        assert_eq!(host.rows(""), rows, "a rejection changes nothing");
    }
}

/// A stale batch once passed its fence if the fence already had the value it wrote, and
/// overwrote newer state.
#[test]
fn a_stale_batch_does_not_pass_its_fence() {
    let host = session(Config::default());
    write(&host, "fence", "1");
    let seen =
        ask(&host, ORCHESTRATOR, &Command::Write(Write::new("fence", "2").unwrap())).revision;
    let fence = |at: Revision| {
        let condition = Condition { if_version: None, if_revision: Some(at) };
        let fence = Write { condition, ..Write::new("fence", "2").unwrap() };
        let writes = vec![fence, Write::new("state", "x").unwrap()];
        Command::WriteBatch(Batch::new(writes, Vec::new(), None).unwrap())
    };
    let newer = ask(&host, ORCHESTRATOR, &fence(seen)).revision;
    let rows = host.rows("");
    assert_eq!(error_code(&host, ORCHESTRATOR, &fence(seen)), Code::VersionConflict);
    assert_eq!(host.rows(""), rows);
    // A recreated entry with the same key and value is a different one.
    delete(&host, "fence");
    write(&host, "fence", "2");
    assert_eq!(error_code(&host, ORCHESTRATOR, &fence(newer)), Code::VersionConflict);
}

/// A retry gets the first reply, even after other changes, until the session is archived.
#[test]
fn a_retry_gets_the_first_reply() {
    let host = session(Config::default());
    let id = |it: &str| Some(RequestId::parse(it).unwrap());
    let options = WriteOptions {
        expiry: Some(Expiry::At(Timestamp(1_001_000))),
        access: readers(&[ORCHESTRATOR]),
        ..WriteOptions::default()
    };
    let first = Write { request_id: id("1"), ..created("x", "1", options) };
    let batch = |request_id| {
        let writes = vec![Write::new("y", "1").unwrap(), Write::new("z", "1").unwrap()];
        Command::WriteBatch(Batch::new(writes, Vec::new(), request_id).unwrap())
    };
    let commands = [Command::Write(first.clone()), batch(id("2"))];
    let first_replies: Vec<_> = commands.iter().map(|it| ask(&host, ORCHESTRATOR, it)).collect();
    delete(&host, "y");
    host.now.set(1_002_000);
    let rows = host.rows("");
    for (command, first_reply) in commands.iter().zip(first_replies) {
        let again = ask(&host, ORCHESTRATOR, command);
        assert_eq!(
            (again.revision, again.reply),
            (first_reply.revision, first_reply.reply),
            "{command:?}"
        );
    }
    assert_eq!(host.rows(""), rows);

    let other = |it: Write| error_code(&host, ORCHESTRATOR, &Command::Write(it));
    let later = WriteOptions { expiry: None, ..first.options.clone() };
    assert_eq!(other(Write { options: later, ..first.clone() }), Code::RequestIdReused);
    let condition = Condition { if_version: None, if_revision: Some(Revision(2)) };
    let edited = WriteOptions { expiry: None, ..first.options.clone() };
    assert_eq!(other(Write { condition, options: edited, ..first.clone() }), Code::RequestIdReused);
    assert_eq!(error_code(&host, ORCHESTRATOR, &batch(id("1"))), Code::RequestIdReused);
    let fresh = Write { request_id: id("3"), ..first };
    assert_eq!(other(fresh), Code::MalformedRequest, "a new request cannot expire in the past");

    ask(&host, "admin", &Command::ArchiveSession);
    assert_eq!(error_code(&host, ORCHESTRATOR, &commands[0]), Code::SessionArchived);
    assert_eq!(error_code(&host, ORCHESTRATOR, &a_delete("z")), Code::SessionArchived);
}

/// A restore whose reply was lost was sent again after another write, and undid that write. A
/// second revocation voided the credentials that were issued after the first.
#[test]
fn a_named_command_takes_effect_once() {
    let host = session(Config::default());
    write(&host, "scope", "1");
    let label = || Label::parse("before").unwrap();
    let redact = Command::Redact {
        key: Key::parse("scope").unwrap(),
        revision: None,
        reason: Line::parse("reason", "a password").unwrap(),
    };
    let take = Command::TakeSnapshot { label: label(), note: None };
    let cases = [
        (ORCHESTRATOR, take),
        (ORCHESTRATOR, Command::RestoreSnapshot(label())),
        (ORCHESTRATOR, redact),
        ("admin", Command::RevokeCredentials),
        ("admin", Command::ArchiveSession),
    ];
    let named = |id: &str, command: &Command| Command::Named {
        request_id: RequestId::parse(id).unwrap(),
        command: Box::new(command.clone()),
    };
    for (nth, (who, command)) in cases.iter().enumerate() {
        if nth < 4 {
            write(&host, "scope", &format!("before {nth}"));
        }
        let id = format!("r-{nth}");
        let first = ask(&host, who, &named(&id, command));
        if nth < 4 {
            write(&host, "scope", &format!("after {nth}"));
        }
        let rows = host.rows("");
        let again = ask(&host, who, &named(&id, command));
        match (&first.reply, &again.reply) {
            // The session is shown as it is.
            (Reply::Session(first), Reply::Session(again)) => {
                assert_eq!(first.credential_epoch, again.credential_epoch, "{command:?}");
            }
            (first, again) => assert_eq!(first, again, "{command:?}"),
        }
        assert_eq!(host.rows(""), rows, "{command:?}");
        for (_, other) in cases.iter().filter(|(it, other)| it == who && other != command) {
            let code = error_code(&host, who, &named(&id, other));
            let is_archived = matches!(command, Command::ArchiveSession) && *who == ORCHESTRATOR;
            assert!(
                code == Code::RequestIdReused || is_archived,
                "{other:?} as {command:?}: {code:?}"
            );
        }
        let stranger = error_code(&host, "subagent:a", &named(&id, command));
        assert!(matches!(stranger, Code::Forbidden | Code::SessionArchived), "{command:?}");
        assert_eq!(host.rows(""), rows, "{command:?}");
    }
}

/// The operator lost the answer to a creation, and with it the only credential of the session.
#[test]
fn a_creation_is_answered_again_until_it_differs() {
    let host = session(Config::default());
    ask(&host, "admin", &Command::DeleteSession);
    let create = |config: Config, id: &str| Command::Named {
        request_id: RequestId::parse(id).unwrap(),
        command: Box::new(Command::CreateSession(Box::new(config))),
    };
    let first = ask(&host, "admin", &create(Config::default(), "1"));
    let rows = host.rows("");
    let again = ask(&host, "admin", &create(Config::default(), "1"));
    assert_eq!((first.revision, &first.reply), (again.revision, &again.reply));
    assert_eq!(host.rows(""), rows);
    let strict = Config { rejects_secrets: true, ..Config::default() };
    for (config, id, code) in
        [(strict, "1", Code::RequestIdReused), (Config::default(), "2", Code::SessionExists)]
    {
        assert_eq!(error_code(&host, "admin", &create(config, id)), code);
    }
    assert_eq!(error_code(&host, ORCHESTRATOR, &create(Config::default(), "1")), Code::Forbidden);
    let twice = create(Config::default(), "3");
    let nested =
        Command::Named { request_id: RequestId::parse("3").unwrap(), command: Box::new(twice) };
    assert_eq!(error_code(&host, "admin", &nested), Code::MalformedRequest);
    assert_eq!(host.rows(""), rows);
}
