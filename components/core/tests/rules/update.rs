//! Tests of changes of a session's configuration: the allowed changes, their effect on existing
//! entries, and the feed.

use shared_context_core::{
    Code, Command, Config, Error, Key, ProjectId, Reply, RequestId, Write,
    audit::AuditAction,
    config::{ConfigChange, PacketConfigChange, Retention},
    namespace::{Convention, Namespace},
    packets::Depth,
    pattern::KeyPattern,
    port::Revision,
    reply::SessionInfo,
    store::{
        Limits,
        access::{Access, AccessRule},
        expiry::Ttl,
    },
    tokens::{Estimator, Tokens},
};

use crate::{
    ORCHESTRATOR, a_write, ask, delete, delete_snapshot, error_code, export, feed, keys, list,
    past, read, restore, session, snapshot, support::TestHost, take_snapshot, values, write,
};

fn change(change: ConfigChange) -> Command {
    Command::UpdateSession(Box::new(change))
}

fn update(host: &TestHost, it: ConfigChange) -> SessionInfo {
    match ask(host, "admin", &change(it)).reply {
        Reply::Session(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn show(host: &TestHost) -> SessionInfo {
    match ask(host, "subagent:a", &Command::ShowSession).reply {
        Reply::Session(it) => *it,
        other => panic!("{other:?}"),
    }
}

fn write_error(host: &TestHost, key: &str, value: &str) -> Code {
    error_code(host, ORCHESTRATOR, &a_write(key, value, crate::WriteOptions::default()))
}

/// A rule that closes some keys to all but the orchestrator.
fn closed(keys: &str) -> AccessRule {
    let access = Access { readable_by: list(&[ORCHESTRATOR]), ..Access::default() };
    AccessRule { keys: KeyPattern::parse(keys).unwrap(), access }
}

fn namespace(key: &str) -> Namespace {
    Namespace {
        keys: vec![Convention {
            key: Key::parse(key).unwrap(),
            group: "Work".to_owned(),
            purpose: "what is done".to_owned(),
            shape: None,
            recommended_tokens: None,
        }],
    }
}

fn since(revision: u64) -> Command {
    let since = Some(Revision(revision));
    Command::Changes { since, limit: 1_000, keys: None, except_own: false }
}

#[test]
fn everything_but_the_estimator_can_be_changed() {
    let host = session(Config::default());
    let before = show(&host);
    let full = ConfigChange {
        value_tokens_max: Some(Tokens(2_000)),
        store_tokens_max: Some(Tokens(20_000)),
        keys_max: Some(2_000),
        estimator: Some(Estimator::default()),
        namespace: Some(Some(namespace("p:scope"))),
        history_versions_max: Some(20),
        history_bytes_max: Some(1 << 21),
        snapshots_max: Some(64),
        changes_max: Some(2_000),
        ttl_default: Some(Some(Ttl::parse("ttl", 60).unwrap())),
        allows_prefixes: Some(true),
        access: Some(vec![closed("p:*")]),
        project: Some(ProjectId::new("webshop")),
        tools: Some(vec!["delta_rounds".to_owned()]),
        rejects_secrets: Some(true),
        packet: Some(Some(PacketConfigChange {
            default_depth: Some(Depth::Deep),
            minimal: Some(Tokens(50)),
            auto_generate: Some(false),
            auto_cleanup: Some(false),
            ..PacketConfigChange::default()
        })),
    };
    let expected = Config::default().changed(full.clone());
    let updated = update(&host, full);
    assert_eq!((updated.config.clone(), show(&host)), (expected, updated.clone()));
    assert_eq!(updated.credential_epoch, before.credential_epoch, "credentials stay valid");
    assert_eq!(updated.incarnation, before.incarnation);
    let record = host.log.borrow().last().cloned().unwrap();
    assert_eq!((record.action, record.entry), (AuditAction::UpdateSession, None));
    assert_eq!(feed(&host, "subagent:a", Some(Revision(1))), ["update_session "]);

    let back = ConfigChange {
        namespace: Some(None),
        ttl_default: Some(None),
        allows_prefixes: Some(false),
        access: Some(Vec::new()),
        project: Some(None),
        tools: Some(Vec::new()),
        packet: Some(None),
        ..ConfigChange::default()
    };
    update(&host, back);
    for row in ["namespace", "access"] {
        assert_eq!(host.rows(row), [], "{row}");
    }
    assert_eq!(show(&host).config.keys_max(), 2_000, "what is absent stays");
}

trait KeysMax {
    fn keys_max(&self) -> u32;
}

impl KeysMax for Config {
    fn keys_max(&self) -> u32 {
        self.limits.keys_max
    }
}

#[test]
fn a_change_to_the_same_commits_nothing() {
    let host = session(Config::default());
    let rows = host.rows("");
    update(&host, ConfigChange::default());
    update(&host, ConfigChange { keys_max: Some(1_000), ..ConfigChange::default() });
    assert_eq!(host.rows(""), rows);
}

#[test]
fn errors_of_an_update_come_in_their_order() {
    let host = session(Config::default());
    let keys = |keys_max| change(ConfigChange { keys_max: Some(keys_max), ..Default::default() });
    let estimator = Some(Estimator::parse("o200k_base").unwrap());
    let counted = change(ConfigChange { estimator, ..ConfigChange::default() });
    for (who, command, code) in [
        ("admin", keys(0), Code::MalformedRequest),
        ("subagent:a", keys(0), Code::MalformedRequest),
        ("admin", counted.clone(), Code::MalformedRequest),
        ("subagent:a", keys(5), Code::Forbidden),
        (ORCHESTRATOR, keys(5), Code::Forbidden),
    ] {
        assert_eq!(error_code(&host, who, &command), code, "{who} {command:?}");
    }
    let message = host.ask("admin", &counted).unwrap_err().to_string();
    assert!(message.contains("create another session with o200k_base"), "{message}");
    ask(&host, "admin", &Command::ArchiveSession);
    assert_eq!(error_code(&host, "admin", &keys(0)), Code::MalformedRequest);
    assert_eq!(error_code(&host, "admin", &keys(5)), Code::SessionArchived);
    assert_eq!(error_code(&host, "subagent:a", &keys(5)), Code::SessionArchived);
}

/// Limits are checked together, with those that did not change.
#[test]
fn a_changed_limit_must_fit_the_others() {
    let host = session(Config::default());
    let store = ConfigChange { store_tokens_max: Some(Tokens(999)), ..ConfigChange::default() };
    assert_eq!(error_code(&host, "admin", &change(store.clone())), Code::MalformedRequest);
    update(&host, ConfigChange { value_tokens_max: Some(Tokens(10)), ..store });
    let rule = ConfigChange { access: Some(vec![closed("p:*")]), ..ConfigChange::default() };
    assert_eq!(error_code(&host, "admin", &change(rule)), Code::MalformedRequest);
}

#[test]
fn what_exceeds_a_lower_limit_stays() {
    let host = session(Config::default());
    for name in ["a", "b", "c"] {
        write(&host, name, "12 tokens, as they are counted, and no more.....");
        take_snapshot(&host, name);
    }
    delete(&host, "c");
    let lower = ConfigChange {
        value_tokens_max: Some(Tokens(5)),
        store_tokens_max: Some(Tokens(20)),
        keys_max: Some(1),
        snapshots_max: Some(2),
        ..ConfigChange::default()
    };
    let info = update(&host, lower);
    assert_eq!((info.key_count, info.total_tokens), (2, Tokens(24)));
    assert_eq!(keys(&host, ORCHESTRATOR), ["a", "b"]);
    assert_eq!(snapshot(&host, ORCHESTRATOR, "c").len(), 3);
    // Nothing makes it worse, and all that makes it better is accepted.
    assert_eq!(write_error(&host, "a", "longer than five tokens"), Code::ValueTooLarge);
    assert_eq!(write_error(&host, "d", "new"), Code::StoreFull);
    let one_more = Command::TakeSnapshot { label: crate::label("d"), note: None };
    let error = host.ask(ORCHESTRATOR, &one_more).unwrap_err();
    assert_eq!(error, Error::SnapshotLimit { snapshots: 3, snapshots_max: 2 });
    write(&host, "a", "short");
    assert_eq!(write_error(&host, "d", "new"), Code::StoreFull);
    delete(&host, "b");
    assert_eq!(write_error(&host, "d", "new"), Code::StoreFull, "one key is as many as may be");
    // A restore brings back what was there. What is over the limits can be carried elsewhere.
    restore(&host, "c");
    assert_eq!(keys(&host, ORCHESTRATOR), ["a", "b", "c"]);
    let document = export(&host);
    let other = TestHost::default();
    other.now.set(2_000_000);
    ask(&other, "admin", &Command::Import(document));
    assert_eq!(show(&other).total_tokens, Tokens(36));
    assert_eq!(write_error(&other, "d", "new"), Code::StoreFull);
    for name in ["a", "b"] {
        delete_snapshot(&host, name);
    }
    take_snapshot(&host, "d");
}

#[test]
fn a_shorter_history_is_pruned_at_once() {
    let host = session(Config::default());
    for value in ["1", "2", "3", "4", "5"] {
        write(&host, "a", value);
        write(&host, "b", value);
    }
    delete(&host, "b");
    take_snapshot(&host, "one");
    let versions = |history_versions_max| ConfigChange {
        history_versions_max: Some(history_versions_max),
        ..ConfigChange::default()
    };
    update(&host, versions(2));
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["3", "4"]);
    assert_eq!(past(&host, ORCHESTRATOR, "b"), ["4", "5"]);
    // Two versions of each key, and the current one of `a`.
    assert_eq!(values(&host).len(), 5);
    update(&host, versions(0));
    assert_eq!((past(&host, ORCHESTRATOR, "a"), host.rows("h/")), (Vec::new(), Vec::new()));
    assert_eq!(values(&host).len(), 1);
    assert_eq!(read(&host, ORCHESTRATOR, "a").as_deref(), Some("5"));
    let Reply::Inspection(it) = ask(&host, "admin", &Command::Inspect).reply else { panic!() };
    assert_eq!((it.history.versions, it.history.bytes), (0, 0));
    update(&host, versions(1));
    write(&host, "a", "6");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["5"]);

    let bytes = ConfigChange { history_bytes_max: Some(10), ..ConfigChange::default() };
    update(&host, bytes);
    assert_eq!(past(&host, ORCHESTRATOR, "a"), Vec::<String>::new());
    assert_eq!(snapshot(&host, ORCHESTRATOR, "one"), [("a".to_owned(), "5".to_owned())]);
}

/// The last version by another participant outlives those of the participant that overwrote it.
#[test]
fn a_shorter_history_keeps_the_last_of_another() {
    let host = session(Config::default());
    ask(&host, "subagent:a", &a_write("a", "theirs", crate::WriteOptions::default()));
    for value in ["1", "2", "3"] {
        write(&host, "a", value);
    }
    let one = ConfigChange { history_versions_max: Some(1), ..ConfigChange::default() };
    update(&host, one);
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["theirs"]);
}

#[test]
fn a_shorter_feed_is_truncated() {
    let host = session(Config::default());
    for nth in 0..400 {
        write(&host, "x", &nth.to_string());
    }
    let changes =
        |changes_max| ConfigChange { changes_max: Some(changes_max), ..Default::default() };
    update(&host, changes(256));
    // 402 commits; the feed has 147 to 402.
    assert_eq!(error_code(&host, ORCHESTRATOR, &since(145)), Code::ChangesTruncated);
    assert_eq!(feed(&host, ORCHESTRATOR, Some(Revision(146))).len(), 256);
    // A longer feed has no more than the shorter had, since older commits may be gone.
    update(&host, changes(10_000));
    assert_eq!(error_code(&host, ORCHESTRATOR, &since(145)), Code::ChangesTruncated);
    for nth in 0..9_000 {
        write(&host, "x", &nth.to_string());
    }
    assert_eq!(feed(&host, ORCHESTRATOR, Some(Revision(146))).len(), 1_000);
    let Reply::Inspection(it) = ask(&host, "admin", &Command::Inspect).reply else { panic!() };
    assert_eq!(it.oldest_change, Some(Revision(147)));
}

/// Changes of a key that a rule hid were shown in the feed after the rule was gone.
#[test]
fn with_other_rules_the_feed_begins_anew() {
    let rules = vec![closed("plan_*")];
    let host = session(Config { access: rules.clone(), ..Config::default() });
    let written = write(&host, "plan_a", "one");
    write(&host, "open", "two");
    assert_eq!(keys(&host, "subagent:a"), ["open"]);
    let known = Some(written.next());
    let no_rules = ConfigChange { access: Some(Vec::new()), ..ConfigChange::default() };
    update(&host, no_rules);
    assert_eq!(keys(&host, "subagent:a"), ["open", "plan_a"]);
    assert_eq!(error_code(&host, "subagent:a", &since(1)), Code::ChangesTruncated);
    assert_eq!(feed(&host, "subagent:a", None), ["update_session "]);
    assert_eq!(feed(&host, "subagent:a", known), ["update_session "], "a reader in time goes on");
    // What was read under the other rules may show another right to write.
    let key = Key::parse("open").unwrap();
    for (command, is_same) in [
        (Command::ListKeys { prefix: None, if_changed_since: known }, false),
        (Command::Read { key: key.clone(), if_changed_since: known }, false),
        (Command::ReadBatch { keys: vec![key.clone()], if_changed_since: known }, false),
        (Command::Read { key, if_changed_since: Some(Revision(4)) }, true),
    ] {
        let reply = ask(&host, "subagent:a", &command).reply;
        assert_eq!(reply == Reply::Unchanged, is_same, "{command:?}");
    }
    let audit = Command::Audit { after: Revision(0), limit: 1_000 };
    let Reply::Audit(audited) = ask(&host, "admin", &audit).reply else { panic!() };
    assert_eq!((audited.records.len(), audited.oldest), (4, Some(Revision(1))));

    update(&host, ConfigChange { access: Some(rules), ..ConfigChange::default() });
    assert_eq!(keys(&host, "subagent:a"), ["open"]);
    assert_eq!(read(&host, "subagent:a", "plan_a"), None);
}

/// The reply to a request was kept for good if its commit was before the feed's first.
#[test]
fn request_ids_are_forgotten_after_an_update() {
    let host = session(Config::default());
    for nth in 0..5_000_u32 {
        let id = RequestId::parse(&nth.to_string()).unwrap();
        let write = Write { request_id: Some(id), ..Write::new("x", "").unwrap() };
        ask(&host, "subagent:a", &Command::Write(write));
        if nth % 100 == 0 {
            let access = if nth % 200 == 0 { vec![closed("p")] } else { Vec::new() };
            update(&host, ConfigChange { access: Some(access), ..ConfigChange::default() });
        }
    }
    assert!(host.rows("q/").len() <= 256, "{}", host.rows("q/").len());
}

#[test]
fn prefixes_end_once_no_key_has_one() {
    let host = session(Config { allows_prefixes: true, ..Config::default() });
    write(&host, "inv:a", "one");
    take_snapshot(&host, "one");
    let end = || ConfigChange { allows_prefixes: Some(false), ..ConfigChange::default() };
    let reject = |what: &str| {
        let error = host.ask("admin", &change(end())).unwrap_err();
        assert_eq!(error.code(), Code::MalformedRequest, "{what}");
        assert!(error.to_string().contains("inv:a"), "{what}: {error}");
        // Others get no names of keys.
        assert_eq!(error_code(&host, "subagent:a", &change(end())), Code::Forbidden, "{what}");
    };
    reject("an entry");
    delete(&host, "inv:a");
    reject("a snapshot");
    delete_snapshot(&host, "one");
    reject("history");
    update(&host, ConfigChange { history_versions_max: Some(0), ..ConfigChange::default() });
    assert!(!update(&host, end()).config.allows_prefixes);
    let read = Command::Read { key: Key::parse("inv:a").unwrap(), if_changed_since: None };
    assert_eq!(error_code(&host, ORCHESTRATOR, &read), Code::InvalidKey);
    let convention = Some(Some(namespace("inv:a")));
    let named = ConfigChange { namespace: convention, ..ConfigChange::default() };
    assert_eq!(error_code(&host, "admin", &change(named)), Code::MalformedRequest);
}

#[test]
fn an_updated_session_is_stored_as_one_made_so() {
    let limits = Limits { keys_max: 5, ..Limits::default() };
    let retention = Retention { snapshots_max: 3, ..Retention::default() };
    let (host, made) = (session(Config::default()), {
        session(Config { limits, retention, ..Config::default() })
    });
    let lower = ConfigChange { keys_max: Some(5), snapshots_max: Some(3), ..Default::default() };
    update(&host, lower);
    let form = |host: &TestHost| {
        let rows = host.rows("meta");
        rows.first().map(|(_, bytes)| bytes[0])
    };
    assert_eq!(form(&host), form(&made), "updates need no format of their own");
    assert_eq!(export(&host).config, export(&made).config);
}
