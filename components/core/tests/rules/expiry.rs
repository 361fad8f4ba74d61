//! Expiry: exact at the instant, swept with the next commit, told once.

use shared_context_core::{
    Code, Command, Config, Reply, WriteOptions,
    port::Revision,
    store::{
        Limits,
        expiry::{Expiry, Ttl},
    },
    time::Timestamp,
    tokens::Tokens,
};

use crate::{
    CHIEF, a_write, ask, delete, feed, keys, read, refused, session, support::TestHost, ttl,
    values, write, write_with,
};

fn sweep(host: &TestHost) -> (Revision, Option<u64>) {
    let done = ask(host, "admin", &Command::Sweep);
    assert_eq!(done.reply, Reply::Swept);
    (done.revision, done.next_expiry.map(|it| it.0))
}

fn at(at: u64) -> WriteOptions {
    WriteOptions { expiry: Some(Expiry::At(Timestamp(at))), ..WriteOptions::default() }
}

#[test]
fn an_entry_is_there_until_its_instant_and_not_at_it() {
    let host = session(Config::default());
    write_with(&host, "x", "1", ttl(1));
    host.now.set(1_000_999);
    assert_eq!(read(&host, CHIEF, "x"), Some("1".to_owned()));
    host.now.set(1_001_000);
    assert_eq!((read(&host, CHIEF, "x"), keys(&host, CHIEF).len()), (None, 0));
    let missing = crate::a_delete("x");
    assert_eq!(refused(&host, CHIEF, &missing), Code::KeyNotFound);
    write(&host, "x", "2");
    assert_eq!(feed(&host, CHIEF, Some(Revision(2))), ["expire x", "write x"]);
}

#[test]
fn an_instant_that_is_not_ahead_or_too_far_is_refused() {
    let host = session(Config::default());
    let ten_years = 1_000_000 + 315_360_000_000;
    for wrong in [0, 999_999, 1_000_000, ten_years + 1, u64::MAX] {
        assert_eq!(refused(&host, CHIEF, &a_write("x", "", at(wrong))), Code::MalformedRequest);
    }
    for good in [1_000_001, ten_years] {
        write_with(&host, "x", "", at(good));
    }
    assert!(Ttl::parse("ttl_seconds", 0).is_err());
    assert!(Ttl::parse("ttl_seconds", 315_360_001).is_err());
    assert!(Ttl::parse("ttl_seconds", 315_360_000).is_ok());
}

#[test]
fn a_write_sets_the_expiry_anew() {
    let host = session(Config::default());
    write_with(&host, "x", "1", ttl(1));
    write(&host, "x", "2");
    host.now.set(9_000_000);
    assert_eq!(read(&host, CHIEF, "x"), Some("2".to_owned()), "without one: none");

    let ttl_default = Some(Ttl::parse("ttl", 2).unwrap());
    let host = session(Config { ttl_default, ..Config::default() });
    write_with(&host, "x", "1", ttl(9));
    write(&host, "x", "2");
    host.now.set(1_002_000);
    assert_eq!(read(&host, CHIEF, "x"), None, "without one: the session's");
}

#[test]
fn what_expired_makes_room_before_it_is_swept() {
    let limits = Limits { keys_max: 1, store_tokens_max: Tokens(1_000), ..Limits::default() };
    let host = session(Config { limits, ..Config::default() });
    write_with(&host, "x", &"x".repeat(4_000), ttl(1));
    assert_eq!(refused(&host, CHIEF, &a_write("y", "", WriteOptions::default())), Code::StoreFull);
    host.now.set(1_001_000);
    write(&host, "y", &"y".repeat(4_000));
    assert_eq!(keys(&host, CHIEF), ["y"]);
}

#[test]
fn a_sweep_removes_what_expired_and_tells_when_to_come_again() {
    let host = session(Config::default());
    write_with(&host, "a", "", ttl(1));
    write_with(&host, "b", "", ttl(1));
    let last = write_with(&host, "c", "", ttl(5));
    assert_eq!(sweep(&host), (last, Some(1_001_000)), "nothing to do yet");
    host.now.set(1_001_000);
    assert_eq!(sweep(&host), (last.next(), Some(1_005_000)));
    assert_eq!(feed(&host, CHIEF, Some(last)), ["expire a", "expire b"]);
    host.now.set(1_005_000);
    assert_eq!(sweep(&host), (last.next().next(), None));
    assert_eq!((host.rows("k/").len(), values(&host).len()), (0, 3), "history has them");
}

/// The noted instant may be of an entry that has been overwritten or deleted since:
/// a timer that rings then finds nothing, changes nothing, and learns when to ring.
#[test]
fn a_sweep_with_nothing_to_remove_is_no_change() {
    let host = session(Config::default());
    write_with(&host, "a", "", ttl(1));
    write_with(&host, "a", "", ttl(9));
    write_with(&host, "b", "", ttl(2));
    delete(&host, "b");
    let last = write_with(&host, "c", "", ttl(7));
    let rows = host.rows("");
    for now in [1_001_000, 1_002_000, 1_006_999] {
        host.now.set(now);
        assert_eq!(sweep(&host), (last, Some(1_007_000)));
        let since = Command::ListKeys { prefix: None, if_changed_since: Some(last) };
        assert_eq!(ask(&host, CHIEF, &since).reply, Reply::Unchanged);
    }
    assert_eq!(host.rows(""), rows);
}

/// An archived session cannot be written, but its entries end as they were to.
#[test]
fn entries_of_an_archived_session_expire() {
    let host = session(Config::default());
    write_with(&host, "a", "", ttl(1));
    ask(&host, "admin", &Command::ArchiveSession);
    host.now.set(1_001_000);
    assert_eq!(keys(&host, CHIEF).len(), 0);
    sweep(&host);
    assert_eq!(host.rows("k/").len(), 0);
}

/// One commit during a forward jump of the clock once made every expiry of the session
/// wrong until the clock caught up: it was measured against the last change. Leases
/// that were taken meanwhile did not end.
#[test]
fn expiry_follows_the_clock_when_it_jumps_forward_and_back() {
    let host = session(Config::default());
    write_with(&host, "swept", "", ttl(60));
    host.now.set(4_600_000);
    write(&host, "during", "");
    write_with(&host, "lease", "", ttl(9));
    host.now.set(1_000_000);
    assert_eq!(keys(&host, CHIEF), ["during", "lease"], "what was swept stays gone");
    let written = write_with(&host, "later", "", ttl(1));
    write_with(&host, "until", "", at(1_002_000));
    assert_eq!(refused(&host, CHIEF, &a_write("past", "", at(1_000_000))), Code::MalformedRequest);
    host.now.set(1_000_999);
    assert_eq!(keys(&host, CHIEF), ["during", "later", "lease", "until"]);
    host.now.set(1_001_000);
    assert_eq!(keys(&host, CHIEF), ["during", "lease", "until"], "after one second");
    assert_eq!(sweep(&host), (written.next().next(), Some(1_002_000)));
    host.now.set(1_002_000);
    assert_eq!(keys(&host, CHIEF), ["during", "lease"]);
    let Reply::Listing(listing) =
        ask(&host, CHIEF, &Command::ListKeys { prefix: None, if_changed_since: None }).reply
    else {
        panic!()
    };
    let during = &listing.entries[0].entry;
    assert_eq!(during.written_at, Timestamp(4_600_000), "what is recorded never goes back");
}

/// What expired during a jump and was not swept is alive again: nobody removed it.
#[test]
fn what_was_not_swept_in_a_jump_is_alive_again() {
    let host = session(Config::default());
    write_with(&host, "a", "1", ttl(60));
    host.now.set(4_600_000);
    assert_eq!(read(&host, CHIEF, "a"), None);
    host.now.set(1_059_999);
    assert_eq!(read(&host, CHIEF, "a"), Some("1".to_owned()));
    host.now.set(1_060_000);
    assert_eq!(read(&host, CHIEF, "a"), None);
}
