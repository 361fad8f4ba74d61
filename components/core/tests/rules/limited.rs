//! Tests of callers whose credential is limited to some keys: all others are hidden from
//! them everywhere, and no reply reveals that they exist.

use shared_context_core::{
    Batch, Code, Command, Condition, Config, Delete, Error, Prefix, Reply, RequestId, Write,
    WriteOptions,
    pattern::KeyPattern,
    port::Revision,
    store::{
        Limits,
        access::{Access, AccessRule},
        warning::STALE_AFTER_MS,
    },
    tokens::Tokens,
};

use crate::{
    ORCHESTRATOR, a_delete, a_write, ask, delete, feed, key, keys, label, list, past, read,
    readers, session, set_readers, snapshot, support::TestHost, take_snapshot, write,
};

/// A subagent limited to the keys of an investigation.
const LIMITED: &str = "subagent:a only inv_*,scope";
/// The same participant with a credential for all keys.
const WHOLE: &str = "subagent:a";

/// Returns the error code and text for a rejected `command` of `who`.
fn rejection(host: &TestHost, who: &str, command: &Command) -> (Code, String) {
    let error = host.ask(who, command).unwrap_err();
    (error.code(), error.to_string())
}

#[test]
fn all_other_keys_are_hidden() {
    let host = session(Config::default());
    let first = write(&host, "inv_1", "1");
    write(&host, "constraints", "1");
    write(&host, "gone", "1");
    write(&host, "inv_1", "2");
    write(&host, "constraints", "2");
    delete(&host, "gone");
    take_snapshot(&host, "s");
    write(&host, "scope", "1");
    write(&host, "constraints", "3");

    assert_eq!(keys(&host, LIMITED), ["inv_1", "scope"]);
    assert_eq!(keys(&host, WHOLE), ["constraints", "inv_1", "scope"]);
    assert_eq!(read(&host, LIMITED, "inv_1").as_deref(), Some("2"));
    assert_eq!(past(&host, LIMITED, "inv_1"), ["1"]);
    for key in ["constraints", "gone"] {
        assert_eq!((read(&host, LIMITED, key), past(&host, LIMITED, key).len()), (None, 0));
        assert!(!past(&host, WHOLE, key).is_empty(), "it has a past");
        let one = Command::ReadSnapshot { label: label("s"), key: Some(crate::key(key)) };
        assert_eq!(rejection(&host, LIMITED, &one).0, Code::KeyNotFound);
    }
    let both = ["constraints", "inv_1"].map(key).to_vec();
    let batch = Command::ReadBatch { keys: both, if_changed_since: None };
    let Reply::Entries(it) = ask(&host, LIMITED, &batch).reply else { panic!() };
    assert_eq!((it.entries.len(), it.missing), (1, vec![key("constraints")]));
    assert_eq!(snapshot(&host, LIMITED, "s"), [("inv_1".to_owned(), "2".to_owned())]);
    let diff = Command::DiffSnapshots { from: label("s"), to: None };
    let Reply::Diff(it) = ask(&host, LIMITED, &diff).reply else { panic!() };
    let added: Vec<_> = it.diff.added.iter().map(|it| it.key.as_str()).collect();
    assert_eq!((added, it.diff.changed.len(), it.diff.unchanged), (vec!["scope"], 0, 1));
    assert_eq!(
        feed(&host, LIMITED, Some(Revision(0))),
        ["create_session ", "write inv_1", "write inv_1", "snapshot s", "write scope"]
    );
    assert_eq!(feed(&host, LIMITED, Some(first)).len(), 3);
}

/// `inv_*` does not match keys with a prefix.
#[test]
fn a_pattern_can_match_a_prefix() {
    let host = session(Config { allows_prefixes: true, ..Config::default() });
    for key in ["inv:scope", "inv_scope", "other:scope", "scope"] {
        write(&host, key, "");
    }
    assert_eq!(keys(&host, "subagent:a only inv:*"), ["inv:scope"]);
    assert_eq!(keys(&host, "subagent:a only inv*"), ["inv:scope", "inv_scope"]);
    assert_eq!(keys(&host, "subagent:a only *scope").len(), 4);
    assert_eq!(keys(&host, "subagent:a only inv_*,*"), keys(&host, WHOLE));
}

/// For existing, hidden, closed and deleted keys the error is the same, and it names the
/// granted keys.
#[test]
fn rejecting_a_change_of_another_key_reveals_nothing() {
    let host = session(Config::default());
    for key in ["open", "hidden", "theirs", "gone", "inv_1"] {
        write(&host, key, "1");
    }
    set_readers(&host, "hidden", &[ORCHESTRATOR]);
    ask(&host, WHOLE, &a_write("theirs", "2", WriteOptions::default()));
    delete(&host, "gone");
    let rows = host.rows("");
    let mut rejections = Vec::new();
    for name in ["open", "hidden", "theirs", "gone", "never"] {
        let if_version = |it| Condition { if_version: Some(it), if_revision: None };
        let conditional = |it| Write { condition: if_version(it), ..Write::new(name, "").unwrap() };
        let gone = Delete { key: key(name), condition: if_version(7), request_id: None };
        let set =
            |patterns: &[&str]| Command::SetAccess { key: key(name), change: readers(patterns) };
        for command in [
            a_write(name, "", WriteOptions::default()),
            a_write(name, &"x".repeat(5_000), WriteOptions::default()),
            Command::Write(conditional(0)),
            Command::Write(conditional(1)),
            a_delete(name),
            Command::Delete(gone),
            set(&["*"]),
            set(&[ORCHESTRATOR]),
        ] {
            rejections.push(rejection(&host, LIMITED, &command));
        }
    }
    rejections.dedup();
    let message = "your credential is only for keys that match inv_*, scope; write to one of those";
    assert_eq!(rejections, [(Code::Forbidden, message.to_owned())]);
    assert_eq!(host.rows(""), rows);
    ask(&host, LIMITED, &a_write("inv_2", "1", WriteOptions::default()));
    ask(&host, LIMITED, &a_delete("inv_1"));
}

#[test]
fn a_batch_with_another_key_is_rejected_by_name() {
    let host = session(Config::default());
    let batch = |writes: &[&str], deletes: &[&str]| {
        let writes = writes.iter().map(|it| Write::new(it, "1").unwrap()).collect();
        let delete =
            |it: &&str| Delete { key: key(it), condition: Condition::default(), request_id: None };
        let deletes = deletes.iter().map(delete).collect();
        Command::WriteBatch(Batch::new(writes, deletes, None).unwrap())
    };
    write(&host, "inv_old", "1");
    let rows = host.rows("");
    for (command, outside) in [
        (batch(&["inv_1", "phase"], &[]), "phase"),
        (batch(&["inv_1"], &["phase"]), "phase"),
        // Also if another change of the batch has a different error.
        (batch(&["b", "inv_1", "a"], &["inv_none"]), "b"),
    ] {
        let Error::InBatch { key, error } = host.ask(LIMITED, &command).unwrap_err() else {
            panic!("of a batch")
        };
        assert_eq!((key.as_str(), error.code()), (outside, Code::Forbidden));
        assert!(error.to_string().contains("only for keys that match inv_*, scope"), "{error}");
    }
    assert_eq!(host.rows(""), rows);
    ask(&host, LIMITED, &batch(&["inv_1", "scope"], &["inv_old"]));
}

/// A participant may have had a credential for all keys before: replies from then are not
/// returned to its current one.
#[test]
fn a_retry_on_another_key_gets_no_stored_reply() {
    let id = |it: &str| Some(RequestId::parse(it).unwrap());
    let a_write = |name: &str| Write { request_id: id("1"), ..Write::new(name, "1").unwrap() };
    for (name, is_granted) in [("phase", false), ("inv_1", true)] {
        let host = session(Config::default());
        let gone = Delete { key: key(name), condition: Condition::default(), request_id: id("2") };
        let writes = vec![Write::new("scope", "1").unwrap(), Write::new(name, "1").unwrap()];
        for command in [
            Command::Write(a_write(name)),
            Command::Delete(gone),
            Command::WriteBatch(Batch::new(writes, Vec::new(), id("3")).unwrap()),
        ] {
            let first = ask(&host, WHOLE, &command);
            let again = host.ask(LIMITED, &command).map(|it| (it.revision, it.reply));
            let again = again.map_err(|err| err.code());
            let expected = if is_granted {
                Ok((first.revision, first.reply.clone()))
            } else {
                Err(Code::Forbidden)
            };
            assert_eq!(again, expected, "{command:?}");
            assert_eq!(ask(&host, WHOLE, &command).reply, first.reply);
        }
        // A reused id is only reported after that.
        let other = |name| rejection(&host, LIMITED, &Command::Write(a_write(name))).0;
        assert_eq!((other("never"), other("inv_2")), (Code::Forbidden, Code::RequestIdReused));
    }
}

#[test]
fn a_full_store_names_only_visible_keys() {
    let (value_tokens_max, store_tokens_max) = (Tokens(10), Tokens(10));
    let limits = Limits { value_tokens_max, store_tokens_max, ..Limits::default() };
    let host = session(Config { limits, ..Config::default() });
    write(&host, "constraints", &"x".repeat(20));
    write(&host, "inv_1", &"x".repeat(12));
    let more = a_write("inv_2", &"x".repeat(12), WriteOptions::default());
    for (who, named) in [(LIMITED, vec!["inv_1"]), (WHOLE, vec!["constraints", "inv_1"])] {
        let Error::StoreFull { largest, .. } = host.ask(who, &more).unwrap_err() else { panic!() };
        let largest: Vec<_> = largest.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(largest, named, "{who}");
    }
}

/// A limited caller was once told the total of the whole store, and to make room that it
/// could not make.
#[test]
fn a_full_store_does_not_reveal_its_total() {
    let limits = Limits { value_tokens_max: Tokens(10), store_tokens_max: Tokens(10), keys_max: 3 };
    let host = session(Config { limits, ..Config::default() });
    write(&host, "constraints", &"x".repeat(20));
    write(&host, "inv_1", &"x".repeat(8));
    let more = |size| a_write("inv_2", &"x".repeat(size), WriteOptions::default());
    let expected = "the store would exceed its limit of 10 tokens, with 6 tokens in your keys; ask \
                    the orchestrator to make room, or delete or distill entries first, the largest \
                    are inv_1 (2 tokens)";
    assert_eq!(rejection(&host, LIMITED, &more(16)), (Code::StoreFull, expected.to_owned()));
    let Reply::Written(it) = ask(&host, LIMITED, &more(4)).reply else { panic!() };
    let near = "the store is near its limit of 10 tokens; delete what is settled of your keys";
    assert!(it.warnings.iter().any(|it| it.message == near), "{:?}", it.warnings);
    let another = a_write("scope", "", WriteOptions::default());
    let (code, text) = rejection(&host, LIMITED, &another);
    assert_eq!(code, Code::StoreFull);
    assert!(text.starts_with("the store would exceed its limit of 3 keys, with 3 of yours; ask"));
}

#[test]
fn warnings_name_only_visible_keys() {
    let host = session(Config::default());
    write(&host, "other_inv", "1");
    write(&host, "inv_old", "1");
    host.now.set(host.now.get() + STALE_AFTER_MS);
    let new = a_write("inv_other", "1", WriteOptions::default());
    for (who, expected) in [(LIMITED, vec!["inv_old"]), (WHOLE, vec!["inv_old", "other_inv"])] {
        let Reply::Written(it) = ask(&host, who, &new).reply else { panic!() };
        let text: Vec<String> = it.warnings.into_iter().map(|it| it.message).collect();
        let text = text.join("\n");
        let named = ["inv_old", "other_inv"].into_iter().filter(|it| text.contains(it));
        assert_eq!(named.collect::<Vec<_>>(), expected, "{text}");
        delete(&host, "inv_other");
    }
}

/// A credential that names a key does not override the session's rules or the entry's own
/// lists.
#[test]
fn lists_and_rules_apply_to_granted_keys() {
    let rule = AccessRule {
        keys: KeyPattern::parse("inv_plan*").unwrap(),
        access: Access { writable_by: list(&[ORCHESTRATOR]), ..Access::default() },
    };
    let host = session(Config { access: vec![rule], ..Config::default() });
    for name in ["inv_plan", "inv_1", "inv_2"] {
        write(&host, name, "1");
    }
    set_readers(&host, "inv_1", &[ORCHESTRATOR]);
    assert_eq!(keys(&host, LIMITED), ["inv_2", "inv_plan"]);
    let listing = Command::ListKeys { prefix: None, if_changed_since: None };
    let Reply::Listing(it) = ask(&host, LIMITED, &listing).reply else { panic!() };
    let read_only: Vec<_> = it.entries.iter().map(|it| it.is_read_only).collect();
    assert_eq!(read_only, [false, true]);
    for name in ["inv_plan", "inv_1"] {
        let (code, text) = rejection(&host, LIMITED, &a_write(name, "", WriteOptions::default()));
        assert_eq!(code, Code::Forbidden);
        assert!(
            text.contains("you may not write this key"),
            "the credential is not the reason: {text}"
        );
    }
}

#[test]
fn a_prompt_names_the_granted_keys() {
    let host = session(Config::default());
    let prompt = Command::Prompt { participant: None, max_tokens: None };
    let text = |who: &str| {
        let Reply::Prompt(it) = ask(&host, who, &prompt).reply else { panic!() };
        it.text
    };
    let limited = text(LIMITED);
    assert!(limited.starts_with("You are subagent:a. "), "{limited}");
    assert!(limited.contains("only keys that match inv_*, scope;"), "{limited}");
    assert!(limited.contains("\n  scope - boundaries") && !limited.contains("current_phase"));
    assert!(text(WHOLE).contains("current_phase") && !text(WHOLE).contains("only keys that"));
}

/// A limited caller was told the size of the whole store: the sum of what it does not see.
/// Then a prefix changed its total.
#[test]
fn totals_are_those_of_all_visible_keys() {
    let host = session(Config { allows_prefixes: true, ..Config::default() });
    write(&host, "inv:scope", "four tokens in it");
    write(&host, "scope", "1");
    write(&host, "constraints", "many more tokens than that");
    let total = |who, prefix: Option<&str>| {
        let prefix = prefix.map(|it| Prefix::parse(it).unwrap());
        let Reply::Listing(it) =
            ask(&host, who, &Command::ListKeys { prefix, if_changed_since: None }).reply
        else {
            panic!()
        };
        it.total_tokens.0
    };
    for prefix in [None, Some("inv"), Some("other")] {
        assert_eq!(total("subagent:a only inv:*,scope", prefix), 6, "{prefix:?}");
        assert_eq!(total(WHOLE, prefix), 13, "{prefix:?}");
    }
}
