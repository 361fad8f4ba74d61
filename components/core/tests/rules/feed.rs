//! Tests of the change feed: retention, paging and visibility.

use shared_context_core::{
    Batch, Code, Command, Config, Error, Reply, RoundsCommand, Write,
    audit::AuditRecord,
    config::Retention,
    pattern::KeyPattern,
    port::Revision,
    reply::ChangesPage,
    rounds::{OpenRound, Plan},
};

use crate::{
    ORCHESTRATOR, ask, delete, error_code, export, feed, session, set_readers, support::TestHost,
    take_snapshot, write,
};

fn page(host: &TestHost, since: u64, limit: u32, keys: Option<&str>) -> ChangesPage {
    let keys = keys.map(|it| KeyPattern::parse(it).unwrap());
    let command = Command::Changes { since: Some(Revision(since)), limit, keys, except_own: false };
    match ask(host, "subagent:b", &command).reply {
        Reply::Changes(it) => it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_feed_covers_the_retained_changes() {
    let retention = Retention { changes_max: 256, ..Retention::default() };
    let host = session(Config { retention, ..Config::default() });
    for nth in 0..300_u32 {
        write(&host, "x", &nth.to_string());
    }
    // 301 commits: the feed has the last 256, 46 to 301; the audit trail has all.
    assert_eq!(host.rows("c/").len(), 301);
    let audit = Command::Audit { after: Revision(0), limit: 1_000 };
    let Reply::Audit(audited) = ask(&host, "admin", &audit).reply else { panic!() };
    assert_eq!((audited.records.len(), audited.oldest), (301, Some(Revision(1))));
    assert_eq!(page(&host, 45, 1_000, None).changes.len(), 256);
    assert_eq!(feed(&host, ORCHESTRATOR, None).len(), 256, "by default from the oldest");
    for since in [0, 44, 302, u64::MAX] {
        let command = Command::Changes {
            since: Some(Revision(since)),
            limit: 1,
            keys: None,
            except_own: false,
        };
        let error = host.ask(ORCHESTRATOR, &command).unwrap_err();
        let expected = Error::ChangesTruncated { oldest: Revision(45), revision: Revision(301) };
        assert_eq!(error, expected);
    }
    assert_eq!(page(&host, 301, 1, None).changes, []);
}

#[test]
fn pages_of_the_feed_are_contiguous() {
    let host = session(Config::default());
    for nth in 0..3 {
        let writes = ["a", "b", "inv"].map(|it| Write::new(&format!("{it}_{nth}"), "").unwrap());
        let batch = Batch::new(writes.to_vec(), Vec::new(), None).unwrap();
        ask(&host, ORCHESTRATOR, &Command::WriteBatch(batch));
    }
    take_snapshot(&host, "s");
    let (mut since, mut all, mut pages) = (0, Vec::new(), 0);
    loop {
        let page = page(&host, since, 2, None);
        pages += 1;
        assert!(page.changes.iter().all(|it| it.revision.0 > since));
        assert!(page.changes.iter().all(|it| it.revision <= page.next_since));
        since = page.next_since.0;
        all.extend(page.changes);
        if !page.has_more {
            break;
        }
    }
    // Five commits, two a page; a batch is one commit and never split.
    assert_eq!((pages, all.len(), since), (3, 1 + 9 + 1, 5));
    let only = page(&host, 0, 1_000, Some("inv_*"));
    assert_eq!((only.changes.len(), only.next_since), (3, Revision(5)));
    let none = page(&host, 0, 2, Some("nothing"));
    assert_eq!((none.changes.len(), none.next_since, none.has_more), (0, Revision(2), true));
}

#[test]
fn the_feed_of_an_imported_session_begins_at_its_import() {
    let host = session(Config::default());
    write(&host, "x", "");
    let document = export(&host);
    ask(&host, "admin", &Command::DeleteSession);
    ask(&host, "admin", &Command::Import(document));
    assert_eq!(feed(&host, ORCHESTRATOR, None), ["import_session "]);
    let command =
        Command::Changes { since: Some(Revision(2)), limit: 1, keys: None, except_own: false };
    assert_eq!(error_code(&host, ORCHESTRATOR, &command), Code::ChangesTruncated);
}

/// Covers keys that were hidden, are hidden, or are used again.
#[test]
fn the_feed_has_no_hidden_keys() {
    let host = session(Config::default());
    let feed_since = |since| feed(&host, "subagent:b", Some(since));
    let first = write(&host, "x", "1");
    set_readers(&host, "x", &[ORCHESTRATOR]);
    assert_eq!(feed_since(Revision(0)), ["create_session "], "the key is hidden now");
    let hidden = write(&host, "x", "2");
    delete(&host, "x");
    assert_eq!(feed_since(hidden), Vec::<String>::new(), "the key was hidden then");
    assert_eq!(feed_since(first), ["set_access x"], "it was visible to everyone until then");
    let again = write(&host, "x", "3");
    assert_eq!(feed_since(hidden), ["write x"], "another entry");
    set_readers(&host, "x", &["subagent:b", ORCHESTRATOR]);
    assert_eq!(feed_since(again), ["set_access x"]);
    assert_eq!(feed(&host, "subagent:c", Some(again)), Vec::<String>::new());
    assert_eq!(feed(&host, "admin", Some(first)).len(), 5, "the admin sees everything");
}

/// A subagent once removed its actions from the audit trail with 1,300 small writes: the
/// trail was as short as the feed. Now it goes back further, and the most active
/// participant loses its own records first.
#[test]
fn a_flood_of_commits_does_not_displace_other_records() {
    let retention = Retention { changes_max: 256, ..Retention::default() };
    let host = session(Config { retention, ..Config::default() });
    write(&host, "plan", "agreed");
    let write = |key: &str| Command::Write(Write::new(key, "").unwrap());
    ask(&host, "subagent:a", &write("plan"));
    let flood: u64 = 256 + 4_096 + 512;
    for _ in 0..flood {
        ask(&host, "subagent:b", &write("count"));
    }
    let (mut since, mut records) = (Some(Revision(0)), Vec::new());
    while let Some(from) = since {
        let audit = Command::Audit { after: from, limit: 1_000 };
        let Reply::Audit(page) = ask(&host, "admin", &audit).reply else { panic!() };
        since = page.next_after;
        records.extend(page.records);
    }
    let others = |it: &&AuditRecord| it.participant.as_str() != "subagent:b";
    let theirs: Vec<_> = records.iter().filter(others).map(|it| it.revision.0).collect();
    assert_eq!(theirs, [1, 2, 3]);
    let count = records.len();
    assert!((256 + 4_096..=256 + 4_096 + 256).contains(&count), "{count}: it is bounded");
    assert_eq!(feed(&host, ORCHESTRATOR, None).len(), 256, "the feed has no gap");
}

/// A page once had as many commits as requested, of any size: a thousand commits that
/// each change a hundred entries were some 25 MB, held for every slow reader.
#[test]
fn a_page_ends_at_its_maximum_size() {
    let host = session(Config::default());
    for nth in 0..30 {
        let key = |key| format!("a_key_with_a_name_as_long_as_it_may_be_{key:03}");
        let writes = (0..100).map(|it| Write::new(&key(it), format!("{nth}")).unwrap());
        let batch = Batch::new(writes.collect(), Vec::new(), None).unwrap();
        ask(&host, ORCHESTRATOR, &Command::WriteBatch(batch));
    }
    let (mut since, mut all, mut pages) = (1, Vec::new(), 0);
    loop {
        let page = page(&host, since, 1_000, None);
        assert!((1..=2_000).contains(&page.changes.len()), "{}", page.changes.len());
        pages += 1;
        since = page.next_since.0;
        all.extend(page.changes);
        if !page.has_more {
            break;
        }
    }
    assert!((2..=15).contains(&pages), "{pages}");
    assert_eq!((all.len(), since), (3_000, 31));
    assert!(all.is_sorted_by_key(|it| it.revision));
}

/// An agent that waits for others was woken by its own writes. One that waits for some keys must
/// also notice that a round opens or closes.
#[test]
fn own_changes_can_be_left_out() {
    let host = session(Config::default());
    write(&host, "a", "1");
    let open = OpenRound { query: None, plan: Plan::default(), request_id: None };
    ask(&host, ORCHESTRATOR, &Command::Rounds(RoundsCommand::Open(Box::new(open))));
    let seen = |who: &str, keys: Option<&str>| {
        let keys = keys.map(|it| KeyPattern::parse(it).unwrap());
        let command =
            Command::Changes { since: Some(Revision(1)), limit: 10, keys, except_own: true };
        let Reply::Changes(page) = ask(&host, who, &command).reply else { panic!() };
        page.changes.iter().map(|it| it.action.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(seen("subagent:b", None), ["write", "open_round"]);
    assert_eq!(seen("subagent:b", Some("b_*")), ["open_round"]);
    assert!(seen(ORCHESTRATOR, None).is_empty());
}
