//! Which earlier versions are kept, and for how long.

use shared_context_core::{Config, WriteOptions, config::Retention};

use crate::{
    CHIEF, a_write, ask, delete, past, read, session, set_readers, support::TestHost, ttl, values,
    write, write_with,
};

fn keeping(history_versions_max: u32, history_bytes_max: u32) -> TestHost {
    let retention = Retention { history_versions_max, history_bytes_max, ..Retention::default() };
    session(Config { retention, ..Config::default() })
}

#[test]
fn the_oldest_versions_go_first_whichever_entry_had_them() {
    let host = keeping(3, 1 << 20);
    for value in ["1", "2", "3"] {
        write(&host, "a", value);
    }
    delete(&host, "a");
    assert_eq!(past(&host, CHIEF, "a"), ["1", "2", "3"]);
    write(&host, "a", "4");
    assert_eq!(past(&host, CHIEF, "a"), ["1", "2", "3"], "a new entry ended nothing");
    write(&host, "a", "5");
    assert_eq!(past(&host, CHIEF, "a"), ["2", "3", "4"]);
    write(&host, "b", "1");
    write(&host, "b", "2");
    assert_eq!(past(&host, CHIEF, "a"), ["2", "3", "4"], "each key has a number of its own");
}

#[test]
fn an_expired_version_makes_room_before_it_is_swept_as_after() {
    let host = keeping(2, 1 << 20);
    for value in ["1", "2", "3"] {
        write_with(&host, "a", value, ttl(1));
    }
    host.now.set(1_001_000);
    assert_eq!(past(&host, CHIEF, "a"), ["2", "3"]);
    write(&host, "b", "");
    assert_eq!(past(&host, CHIEF, "a"), ["2", "3"]);
}

#[test]
fn a_version_that_is_not_to_be_kept_leaves_no_row() {
    let host = keeping(3, 1 << 20);
    let options =
        |keeps: bool| WriteOptions { keeps_history: Some(keeps), ..WriteOptions::default() };
    write(&host, "a", "1");
    write_with(&host, "a", "2", options(false));
    write(&host, "a", "3");
    write_with(&host, "a", "4", options(true));
    delete(&host, "a");
    assert_eq!(past(&host, CHIEF, "a"), ["1", "4"], "what a write did not say stayed");
    assert_eq!(values(&host), ["v/a/0000000000000002", "v/a/0000000000000005"]);
}

#[test]
fn a_session_may_keep_no_history() {
    for host in [keeping(0, 1 << 20), keeping(10, 0)] {
        write_with(&host, "a", "1", ttl(1));
        write_with(&host, "a", "2", ttl(1));
        host.now.set(1_001_000);
        write(&host, "b", "");
        assert_eq!(past(&host, CHIEF, "a"), Vec::<String>::new());
        assert_eq!((host.rows("h/").len(), values(&host).len()), (0, 1));
    }
}

#[test]
fn a_version_larger_than_all_history_may_be_is_not_kept() {
    let host = keeping(10, 1_000);
    write(&host, "a", "small");
    write(&host, "a", &"x".repeat(1_000));
    assert_eq!(past(&host, CHIEF, "a"), ["small"]);
    write(&host, "a", "after");
    assert_eq!(past(&host, CHIEF, "a"), Vec::<String>::new());
    assert_eq!(values(&host).len(), 1);
}

/// Who closes an entry means its past as well; who opens it again does too.
#[test]
fn the_lists_of_an_entry_hold_for_its_past() {
    let host = keeping(10, 1 << 20);
    write(&host, "a", "1");
    write(&host, "a", "2");
    set_readers(&host, "a", &[CHIEF]);
    assert_eq!((read(&host, "subagent:b", "a"), past(&host, "subagent:b", "a").len()), (None, 0));
    set_readers(&host, "a", &["*"]);
    assert_eq!(past(&host, "subagent:b", "a"), ["1"]);
    set_readers(&host, "a", &[CHIEF]);
    delete(&host, "a");
    assert_eq!(past(&host, "subagent:b", "a").len(), 0, "it ended closed");
    assert_eq!(past(&host, CHIEF, "a"), ["1", "2"]);
    write(&host, "a", "another");
    write(&host, "a", "entry");
    assert_eq!(past(&host, "subagent:b", "a"), ["another"]);
}

/// A version that was closed stays so; those before and after it do not suffer.
#[test]
fn a_version_that_was_closed_stays_closed_when_the_entry_is_open() {
    let host = keeping(10, 1 << 20);
    let closed = || WriteOptions { access: crate::readers(&[CHIEF]), ..WriteOptions::default() };
    let open = || WriteOptions { access: crate::readers(&["*"]), ..WriteOptions::default() };
    write(&host, "a", "open");
    write_with(&host, "a", "closed", closed());
    write_with(&host, "a", "open again", open());
    assert_eq!(past(&host, "subagent:b", "a"), ["open"]);
    assert_eq!(past(&host, CHIEF, "a"), ["open", "closed"]);
}

/// A subagent once erased what it had overwritten within seconds: the oldest versions of
/// all went first, and its own writes elsewhere were newer. Now who fills the history pays
/// for it.
#[test]
fn a_flood_of_versions_pushes_out_no_others_version() {
    let host = keeping(10, 64_000);
    let by = |who: &str, key: &str, value: &str| {
        ask(&host, who, &a_write(key, value, WriteOptions::default()));
    };
    write(&host, "plan", "agreed");
    write(&host, "gone", "agreed too");
    by("subagent:a", "plan", "forged");
    ask(&host, "subagent:a", &crate::a_delete("gone"));
    for nth in 0..330_u32 {
        by("subagent:a", &format!("filler_{}", nth % 7), &"x".repeat(2_000));
        if nth % 3 == 0 {
            ask(&host, "subagent:a", &crate::a_delete(&format!("filler_{}", nth % 7)));
        }
    }
    assert_eq!(past(&host, CHIEF, "plan"), ["agreed"]);
    assert_eq!(past(&host, CHIEF, "gone"), ["agreed too"]);
    // Nor does the number of versions of the key.
    for nth in 0..30_u32 {
        by("subagent:a", "plan", &nth.to_string());
    }
    let kept = past(&host, CHIEF, "plan");
    assert_eq!((kept.len(), kept[0].as_str(), kept[1].as_str()), (10, "agreed", "20"));
    // What the victim wrote most of goes as well, its last words over which others wrote
    // at the end.
    for nth in 0..200_u32 {
        write(&host, "own", &format!("{nth}{}", "y".repeat(2_000)));
        write(&host, &format!("own_{}", nth % 7), &"y".repeat(2_000));
    }
    assert_eq!(past(&host, CHIEF, "plan")[0], "agreed");
}
