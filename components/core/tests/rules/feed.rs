//! The change feed: how far it goes back, how it is paged, whom it tells.

use shared_context_core::{
    Batch, Code, Command, Config, Error, Reply, Write, audit::AuditRecord, config::Retention,
    pattern::KeyPattern, port::Revision, reply::ChangesPage,
};

use crate::{
    CHIEF, ask, delete, export, feed, refused, session, set_readers, support::TestHost,
    take_snapshot, write,
};

fn page(host: &TestHost, since: u64, limit: u32, keys: Option<&str>) -> ChangesPage {
    let keys = keys.map(|it| KeyPattern::parse(it).unwrap());
    let command = Command::Changes { since: Some(Revision(since)), limit, keys };
    match ask(host, "subagent:b", &command).reply {
        Reply::Changes(it) => it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_feed_goes_back_as_far_as_the_session_keeps_changes() {
    let retention = Retention { changes_max: 256, ..Retention::default() };
    let host = session(Config { retention, ..Config::default() });
    for nth in 0..300_u32 {
        write(&host, "x", &nth.to_string());
    }
    // 301 commits; the last 256 are those of 46 to 301, the audit trail has all.
    assert_eq!(host.rows("c/").len(), 301);
    let audit = Command::Audit { since: Revision(0), limit: 1_000 };
    let Reply::Audit(audited) = ask(&host, "admin", &audit).reply else { panic!() };
    assert_eq!((audited.records.len(), audited.oldest), (301, Some(Revision(1))));
    assert_eq!(page(&host, 45, 1_000, None).changes.len(), 256);
    assert_eq!(feed(&host, CHIEF, None).len(), 256, "without a beginning: from the oldest");
    for since in [0, 44, 302, u64::MAX] {
        let command = Command::Changes { since: Some(Revision(since)), limit: 1, keys: None };
        let error = host.ask(CHIEF, &command).unwrap_err();
        let told = Error::ChangesTruncated { oldest: Revision(45), revision: Revision(301) };
        assert_eq!(error, told);
    }
    assert_eq!(page(&host, 301, 1, None).changes, []);
}

#[test]
fn a_page_ends_where_the_next_one_begins() {
    let host = session(Config::default());
    for nth in 0..3 {
        let writes = ["a", "b", "inv"].map(|it| Write::new(&format!("{it}_{nth}"), "").unwrap());
        let batch = Batch::new(writes.to_vec(), Vec::new(), None).unwrap();
        ask(&host, CHIEF, &Command::WriteBatch(batch));
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
    // Five commits, two a page; one batch is one commit and never parted.
    assert_eq!((pages, all.len(), since), (3, 1 + 9 + 1, 5));
    let only = page(&host, 0, 1_000, Some("inv_*"));
    assert_eq!((only.changes.len(), only.next_since), (3, Revision(5)));
    let none = page(&host, 0, 2, Some("nothing"));
    assert_eq!((none.changes.len(), none.next_since, none.has_more), (0, Revision(2), true));
}

#[test]
fn an_imported_session_has_the_feed_of_its_life_here() {
    let host = session(Config::default());
    write(&host, "x", "");
    let document = export(&host);
    ask(&host, "admin", &Command::DeleteSession);
    ask(&host, "admin", &Command::Import(document));
    assert_eq!(feed(&host, CHIEF, None), ["import_session "]);
    let command = Command::Changes { since: Some(Revision(2)), limit: 1, keys: None };
    assert_eq!(refused(&host, CHIEF, &command), Code::ChangesTruncated);
}

/// What is told of a key that was hidden, is hidden, or is used again.
#[test]
fn hidden_keys_are_not_told_of() {
    let host = session(Config::default());
    let told = |since| feed(&host, "subagent:b", Some(since));
    let first = write(&host, "x", "1");
    set_readers(&host, "x", &[CHIEF]);
    assert_eq!(told(Revision(0)), ["create_session "], "hidden now: nothing of it");
    let hidden = write(&host, "x", "2");
    delete(&host, "x");
    assert_eq!(told(hidden), Vec::<String>::new(), "hidden then: nothing of that");
    assert_eq!(told(first), ["set_access x"], "it was shown to everyone until then");
    let again = write(&host, "x", "3");
    assert_eq!(told(hidden), ["write x"], "another entry");
    set_readers(&host, "x", &["subagent:b", CHIEF]);
    assert_eq!(told(again), ["set_access x"]);
    assert_eq!(feed(&host, "subagent:c", Some(again)), Vec::<String>::new());
    assert_eq!(feed(&host, "admin", Some(first)).len(), 5, "the admin is told everything");
}

/// A subagent once pushed its acts out of the audit trail with 1,300 small writes: it went
/// back as far as the feed. Now it goes back further, and who makes most of it pays for it.
#[test]
fn a_flood_of_commits_pushes_out_no_others_acts() {
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
        let audit = Command::Audit { since: from, limit: 1_000 };
        let Reply::Audit(page) = ask(&host, "admin", &audit).reply else { panic!() };
        since = page.next_since;
        records.extend(page.records);
    }
    let others = |it: &&AuditRecord| it.participant.as_str() != "subagent:b";
    let theirs: Vec<_> = records.iter().filter(others).map(|it| it.revision.0).collect();
    assert_eq!(theirs, [1, 2, 3]);
    let kept = records.len();
    assert!((256 + 4_096..=256 + 4_096 + 256).contains(&kept), "{kept}: it is bounded");
    assert_eq!(feed(&host, CHIEF, None).len(), 256, "the feed has no gap");
}

/// A page had as many commits as were asked for, however large: a thousand that each change
/// a hundred entries were some 25 MB, for every reader that did not read them.
#[test]
fn a_page_ends_when_it_is_large_whatever_was_asked_for() {
    let host = session(Config::default());
    for nth in 0..30 {
        let key = |key| format!("a_key_with_a_name_as_long_as_it_may_be_{key:03}");
        let writes = (0..100).map(|it| Write::new(&key(it), format!("{nth}")).unwrap());
        let batch = Batch::new(writes.collect(), Vec::new(), None).unwrap();
        ask(&host, CHIEF, &Command::WriteBatch(batch));
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
