//! Tests of expiry: exact to the millisecond, swept with the next commit, in the feed
//! once.

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
    ORCHESTRATOR, a_write, ask, delete, error_code, feed, keys, read, session, support::TestHost,
    ttl, values, write, write_with,
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
fn an_entry_exists_until_just_before_its_expiry() {
    let host = session(Config::default());
    write_with(&host, "x", "1", ttl(1));
    host.now.set(1_000_999);
    assert_eq!(read(&host, ORCHESTRATOR, "x"), Some("1".to_owned()));
    host.now.set(1_001_000);
    assert_eq!((read(&host, ORCHESTRATOR, "x"), keys(&host, ORCHESTRATOR).len()), (None, 0));
    let missing = crate::a_delete("x");
    assert_eq!(error_code(&host, ORCHESTRATOR, &missing), Code::KeyNotFound);
    write(&host, "x", "2");
    assert_eq!(feed(&host, ORCHESTRATOR, Some(Revision(2))), ["expire x", "write x"]);
}

#[test]
fn an_expiry_in_the_past_or_too_far_ahead_is_rejected() {
    let host = session(Config::default());
    let ten_years = 1_000_000 + 315_360_000_000;
    for wrong in [0, 999_999, 1_000_000, ten_years + 1, u64::MAX] {
        assert_eq!(
            error_code(&host, ORCHESTRATOR, &a_write("x", "", at(wrong))),
            Code::MalformedRequest
        );
    }
    for good in [1_000_001, ten_years] {
        write_with(&host, "x", "", at(good));
    }
    assert!(Ttl::parse("ttl_seconds", 0).is_err());
    assert!(Ttl::parse("ttl_seconds", 315_360_001).is_err());
    assert!(Ttl::parse("ttl_seconds", 315_360_000).is_ok());
}

#[test]
fn each_write_sets_a_new_expiry() {
    let host = session(Config::default());
    write_with(&host, "x", "1", ttl(1));
    write(&host, "x", "2");
    host.now.set(9_000_000);
    assert_eq!(read(&host, ORCHESTRATOR, "x"), Some("2".to_owned()), "no expiry by default");

    let ttl_default = Some(Ttl::parse("ttl", 2).unwrap());
    let host = session(Config { ttl_default, ..Config::default() });
    write_with(&host, "x", "1", ttl(9));
    write(&host, "x", "2");
    host.now.set(1_002_000);
    assert_eq!(read(&host, ORCHESTRATOR, "x"), None, "the session's default");
}

#[test]
fn expired_entries_free_space_before_they_are_swept() {
    let limits = Limits { keys_max: 1, store_tokens_max: Tokens(1_000), ..Limits::default() };
    let host = session(Config { limits, ..Config::default() });
    write_with(&host, "x", &"x".repeat(4_000), ttl(1));
    assert_eq!(
        error_code(&host, ORCHESTRATOR, &a_write("y", "", WriteOptions::default())),
        Code::StoreFull
    );
    host.now.set(1_001_000);
    write(&host, "y", &"y".repeat(4_000));
    assert_eq!(keys(&host, ORCHESTRATOR), ["y"]);
}

#[test]
fn a_sweep_removes_expired_entries_and_returns_the_next_time() {
    let host = session(Config::default());
    write_with(&host, "a", "", ttl(1));
    write_with(&host, "b", "", ttl(1));
    let last = write_with(&host, "c", "", ttl(5));
    assert_eq!(sweep(&host), (last, Some(1_001_000)), "nothing to do yet");
    host.now.set(1_001_000);
    assert_eq!(sweep(&host), (last.next(), Some(1_005_000)));
    assert_eq!(feed(&host, ORCHESTRATOR, Some(last)), ["expire a", "expire b"]);
    host.now.set(1_005_000);
    assert_eq!(sweep(&host), (last.next().next(), None));
    assert_eq!((host.rows("k/").len(), values(&host).len()), (0, 3), "history has them");
}

/// The recorded instant may be of an entry that has since been overwritten or deleted. A
/// timer that fires then finds nothing, changes nothing, and gets the next instant.
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
        assert_eq!(ask(&host, ORCHESTRATOR, &since).reply, Reply::Unchanged);
    }
    assert_eq!(host.rows(""), rows);
}

/// An archived session cannot be written, but its entries still expire.
#[test]
fn entries_of_an_archived_session_expire() {
    let host = session(Config::default());
    write_with(&host, "a", "", ttl(1));
    ask(&host, "admin", &Command::ArchiveSession);
    host.now.set(1_001_000);
    assert_eq!(keys(&host, ORCHESTRATOR).len(), 0);
    sweep(&host);
    assert_eq!(host.rows("k/").len(), 0);
}

/// One commit during a forward jump of the clock once made every expiry of the session
/// wrong until the clock caught up: expiry was measured from the last change. Leases
/// taken meanwhile did not end.
#[test]
fn expiry_follows_the_clock_when_it_jumps_forward_and_back() {
    let host = session(Config::default());
    write_with(&host, "swept", "", ttl(60));
    host.now.set(4_600_000);
    write(&host, "during", "");
    write_with(&host, "lease", "", ttl(9));
    host.now.set(1_000_000);
    assert_eq!(keys(&host, ORCHESTRATOR), ["during", "lease"], "a swept entry stays removed");
    let written = write_with(&host, "later", "", ttl(1));
    write_with(&host, "until", "", at(1_002_000));
    assert_eq!(
        error_code(&host, ORCHESTRATOR, &a_write("past", "", at(1_000_000))),
        Code::MalformedRequest
    );
    host.now.set(1_000_999);
    assert_eq!(keys(&host, ORCHESTRATOR), ["during", "later", "lease", "until"]);
    host.now.set(1_001_000);
    assert_eq!(keys(&host, ORCHESTRATOR), ["during", "lease", "until"], "after one second");
    assert_eq!(sweep(&host), (written.next().next(), Some(1_002_000)));
    host.now.set(1_002_000);
    assert_eq!(keys(&host, ORCHESTRATOR), ["during", "lease"]);
    let Reply::Listing(listing) =
        ask(&host, ORCHESTRATOR, &Command::ListKeys { prefix: None, if_changed_since: None }).reply
    else {
        panic!()
    };
    let during = &listing.entries[0].entry;
    assert_eq!(during.written_at, Timestamp(4_600_000), "recorded times never go back");
}

/// An entry that expired during a jump and was not swept is visible again afterwards.
#[test]
fn an_entry_not_swept_in_a_clock_jump_is_visible_again() {
    let host = session(Config::default());
    write_with(&host, "a", "1", ttl(60));
    host.now.set(4_600_000);
    assert_eq!(read(&host, ORCHESTRATOR, "a"), None);
    host.now.set(1_059_999);
    assert_eq!(read(&host, ORCHESTRATOR, "a"), Some("1".to_owned()));
    host.now.set(1_060_000);
    assert_eq!(read(&host, ORCHESTRATOR, "a"), None);
}
